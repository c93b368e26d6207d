//! Claims go from one journal to another, all of a file or nothing of it.

use super::*;

async fn exported(book: &Book) -> String {
    book.journal.export_claims().await.unwrap().text
}

async fn imports(book: &Book, text: &str) -> Result<(u64, u64), String> {
    let (by, why) = ("operator".to_owned(), "moved".to_owned());
    let told = book.journal.import_claims(text.to_owned(), by, why).await;
    told.map(|imported| (imported.added, imported.known)).map_err(|why| why.to_string())
}

/// A journal that has charged, failed to, and left open.
async fn full() -> Book {
    let book = Book::new().await;
    let items = [item(1, 1), item(2, 1), item(3, 1), guarded(4)];
    let told = vec![
        ItemOutcome::Charged,
        short_of_allowance(),
        ItemOutcome::Unproven,
        ItemOutcome::Charged,
    ];
    let slot = book.accept(&items).await.unwrap();
    book.settle(end(&slot, BatchState::Charged, told)).await;
    let slot = book.accept(&[item(5, 1)]).await.unwrap();
    let mut reverted = end(&slot, BatchState::Reverted, vec![]);
    reverted.verdict = Verdict::Reverted(Landed {
        hash: slot.attempts.first().get().signed.hash,
        block: BLOCK,
        record: None,
    });
    book.settle(reverted).await;
    let slot = book.accept(&[item(6, 1)]).await.unwrap();
    book.settle(end(&slot, BatchState::Cancelled, vec![])).await;
    book
}

async fn states(book: &Book) -> Vec<BatchState> {
    let mut states = Vec::new();
    for batch in 1..=3 {
        states.push(book.billing(BatchId(batch)).await.state);
    }
    states
}

#[tokio::test]
async fn a_number_that_no_column_holds_is_told_with_its_line() {
    let text = exported(&full().await).await;
    let other = Book::new().await;
    for (name, number) in [("guard", u64::MAX), ("blockTime", 1 << 63), ("block", u64::MAX)] {
        let (before, after) = text.split_once(&format!("\"{name}\":")).unwrap();
        let rest = after.trim_start_matches(|digit: char| digit.is_ascii_digit());
        let told =
            imports(&other, &format!("{before}\"{name}\":{number}{rest}")).await.unwrap_err();
        assert!(told.contains("line 2") && told.contains(name), "{told}");
    }
}

#[tokio::test]
async fn what_one_journal_has_charged_no_other_charges_after_an_import() {
    let text = exported(&full().await).await;
    let other = Book::new().await;
    assert_eq!(imports(&other, &text).await, Ok((3, 0)));
    assert_eq!(other.next_position().await, FIRST + 3, "the places are taken");
    let told = [BatchState::Charged, BatchState::Reverted, BatchState::Cancelled];
    assert_eq!(states(&other).await, told);
    let before = other.everything().await.len();
    assert_eq!(imports(&other, &text).await, Ok((0, 3)), "it is idempotent");
    assert_eq!(other.everything().await.len(), before + 1, "but for the row that tells of it");
    assert_eq!(exported(&other).await, text);
    for (item, free) in [(item(1, 1), false), (item(2, 1), true), (item(3, 1), false)] {
        assert_eq!(other.takes(item).await, free, "{item:?}");
    }
    assert!(!other.takes(guarded(4)).await, "it is guarded");
    assert!(other.takes(item(5, 1)).await, "it reverted");
    assert!(other.takes(item(6, 1)).await, "it was cancelled");
    assert_eq!(other.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
async fn nonsense_is_refused_as_a_whole_with_its_line() {
    let text = exported(&full().await).await;
    let other = Book::new().await;
    let before = other.everything().await;
    let lines = [
        (text.replace("\"version\":1", "\"version\":2"), "line 1"),
        (text.replace("\"network\":31337", "\"network\":1"), "line 1"),
        (text.replace(&"c0".repeat(20), &"c1".repeat(20)), "line 1"),
        (text.replace("\"outcome\":\"unproven\"", "\"outcome\":\"failed\""), "line 2"),
        (text.replace("\"succeeded\":true", "\"succeeded\":false"), "line 2"),
        (text.replace("\"amount\":\"500\"", "\"amount\":\"0x1f4\""), "line 2"),
        (text.clone() + "{}\n", "line 5"),
        (text.clone() + "\n", "line 5"),
        (String::new(), "line 1"),
    ];
    for (bad, line) in lines {
        let told = imports(&other, &bad).await.unwrap_err();
        assert!(told.contains(line) && told.contains("Nothing was imported"), "{bad}: {told}");
        assert_eq!(other.everything().await, before);
    }
}

#[tokio::test]
async fn a_file_whose_periods_have_another_name_is_refused() {
    let text = exported(&full().await).await;
    assert!(text.starts_with(r#"{"format":"merchant-signer claims","version":1"#), "{text}");
    let named = r#""period":"period""#;
    for other in [r#""period":"month""#, r#""period":null"#] {
        let book = Book::new().await;
        let told = imports(&book, &text.replacen(named, other, 1)).await.unwrap_err();
        assert!(told.contains("line 1") && told.contains("told apart by"), "{told}");
    }
    let silent = text.replacen(&format!(",{named}"), "", 1);
    let told = imports(&Book::new().await, &silent).await.unwrap_err();
    assert!(told.contains("missing field `period`"), "{told}");
}

#[tokio::test]
async fn a_place_that_another_transaction_has_here_is_refused() {
    let text = exported(&full().await).await;
    let other = Book::new().await;
    // The same nonce, and another transaction.
    let theirs =
        text.replace(&hex::encode(signed(FIRST).hash), &hex::encode(B256::repeat_byte(0xAA)));
    assert!(other.takes(item(9, 1)).await);
    let told = imports(&other, &theirs).await.unwrap_err();
    assert!(told.contains("line 2") && told.contains("nonce 7"), "{told}");
    assert!(other.takes(item(1, 1)).await, "nothing of it was taken");
}

/// Only the nodes can show that a batch lost its place, and only a person may know to whom.
#[tokio::test]
async fn what_was_seen_to_take_the_place_of_an_open_batch_ends_it_once_somebody_says_whom_it_charged()
 {
    let text = exported(&full().await).await;
    let other = Book::new().await;
    let taker = Landed { hash: B256::repeat_byte(0xAA), block: BLOCK, record: None };
    let theirs = text.replace(&hex::encode(signed(FIRST).hash), &hex::encode(taker.hash));
    let slot = other.accept(&[item(9, 1)]).await.unwrap();
    let another = Landed { hash: B256::repeat_byte(0xAB), ..taker.clone() };
    other.journal.note_taker(slot.batch, another, NOW_MS).await.unwrap();
    assert!(imports(&other, &theirs).await.is_err(), "it was another one");
    other.journal.note_taker(slot.batch, taker, NOW_MS).await.unwrap();
    assert_eq!(imports(&other, &theirs).await, Ok((3, 0)));
    assert_eq!(other.billing(slot.batch).await.state, BatchState::Usurped);
    assert!(!other.takes(item(1, 1)).await, "it was charged");
    assert!(other.takes(item(9, 1)).await, "it was not, and never will be by that batch");
    assert_eq!(imports(&other, &theirs).await, Ok((0, 3)), "it is idempotent");
    assert_eq!(other.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
async fn what_was_imported_and_is_learnt_afterwards_is_one_billing() {
    let text = exported(&full().await).await;
    let other = Book::new().await;
    // The second line alone: its place comes behind one that is not known.
    let lines: Vec<&str> = text.lines().collect();
    let lines = [lines[0], lines[2]];
    assert_eq!(imports(&other, &lines.join("\n")).await, Ok((1, 0)));
    assert_eq!(other.next_position().await, FIRST);
    let did = ForeignEffect::Billed {
        contract: CONTRACT,
        items: vec![item(1, 1)],
        execution: Execution::Succeeded(vec![ItemOutcome::Charged]),
    };
    let landed = Landed { hash: signed(FIRST).hash, block: BLOCK, record: None };
    let first = ForeignTx { position: FIRST, landed, effect: did };
    let landed = Landed { hash: signed(FIRST + 1).hash, block: BLOCK, record: None };
    let effect = ForeignEffect::Billed {
        contract: CONTRACT,
        items: vec![item(5, 1)],
        execution: Execution::Reverted,
    };
    let second = ForeignTx { position: FIRST + 1, landed, effect };
    other.journal.adopt(origin(), vec![first, second], 600, NOW_MS).await.unwrap();
    assert_eq!(other.next_position().await, FIRST + 2);
    let audit = other.audit().await;
    assert_eq!((audit.batches, audit.faults), (2, vec![]));
}

#[tokio::test]
async fn a_lane_that_is_opened_after_an_import_begins_behind_what_was_imported() {
    let text = exported(&full().await).await;
    let other = LaneId { signer: Address::repeat_byte(9), ..lane() };
    let [from, to] = [lane(), other].map(|lane| format!("{:#x}", lane.signer));
    let book = Book::new().await;
    assert_eq!(imports(&book, &text.replace(&from, &to)).await, Ok((3, 0)));
    assert_eq!(book.journal.lane(other).open(FIRST, NOW_MS).await.unwrap(), FIRST + 3);
}
