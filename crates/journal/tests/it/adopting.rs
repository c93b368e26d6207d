//! What the journal learns of transactions that it did not know, and how an old copy is noticed.

use super::*;

fn billed(items: &[Item], outcomes: Vec<ItemOutcome>) -> ForeignEffect {
    ForeignEffect::Billed {
        contract: CONTRACT,
        items: items.to_vec(),
        execution: Execution::Succeeded(outcomes),
    }
}

/// Waits until the journal's thread has let go of the file: then there is no log beside it.
async fn close(book: Book) -> Room {
    let Book { journal, room } = book;
    drop(journal);
    let log = room.path().join("journal.db-wal");
    while log.exists() {
        tokio::task::yield_now().await;
    }
    room
}

async fn faults(book: Book) -> Vec<String> {
    book.audit().await.faults
}

#[tokio::test]
async fn a_forgotten_batch_brings_its_claims_back() {
    let book = Book::new().await;
    let items = [item(1, 1), item(2, 1)];
    let did = billed(&items, vec![ItemOutcome::Charged, short_of_allowance()]);
    let all = vec![foreign(FIRST, ForeignEffect::Other), foreign(FIRST + 1, did)];
    book.journal.adopt(origin(), all, 600, NOW_MS).await.unwrap();
    assert_eq!(book.next_position().await, FIRST + 2);
    assert!(!book.takes(items[0]).await, "it was charged");
    assert!(book.takes(items[1]).await, "it was not");
    let found = book.journal.billing_by_hash(B256::repeat_byte(0xEE)).await.unwrap().unwrap();
    assert_eq!((found.state, found.position), (BatchState::Charged, FIRST + 1));
    assert_eq!(faults(book).await, Vec::<String>::new());
}

/// A claim is that of a contract: what took the place of a batch may have been billed through another one.
#[tokio::test]
async fn what_took_the_place_of_a_batch_holds_its_claims_at_the_contract_that_it_called() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    let contract = Address::repeat_byte(0xC2);
    let items = vec![item(2, 1)];
    let execution = Execution::Succeeded(vec![ItemOutcome::Charged]);
    let effect = ForeignEffect::Billed { contract, items, execution };
    let verdict = Verdict::Usurped(foreign(FIRST, effect));
    book.settle(Settlement { batch: slot.batch, verdict, guard_s: 600 }).await;
    let chain_time = 0;
    let held = async |contract| {
        let scope = ClaimScope { chain: CHAIN, contract, chain_time };
        book.journal.claims(scope, vec![subject(item(2, 1))]).await.unwrap()[0].len()
    };
    assert_eq!((held(contract).await, held(CONTRACT).await), (1, 0));
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_forgotten_batch_that_reverted_holds_nothing() {
    let book = Book::new().await;
    let (items, execution) = (vec![item(1, 1)], Execution::Reverted);
    let reverted = ForeignEffect::Billed { contract: CONTRACT, items, execution };
    book.journal.adopt(origin(), vec![foreign(FIRST, reverted)], 600, NOW_MS).await.unwrap();
    assert!(book.takes(item(1, 1)).await);
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_call_that_succeeded_and_charged_nobody_is_no_revert_and_no_charge() {
    let book = Book::new().await;
    let empty = foreign(FIRST, billed(&[], vec![]));
    book.journal.adopt(origin(), vec![empty], 600, NOW_MS).await.unwrap();
    let found = book.journal.billing_by_hash(B256::repeat_byte(0xEE)).await.unwrap().unwrap();
    assert_eq!(found.state, BatchState::Cancelled);
    assert_eq!(found.current(), &Recorded::Learnt(B256::repeat_byte(0xEE)), "without its bytes");
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn what_a_call_was_to_charge_stays_claimed_where_nothing_is_told_of_it() {
    let book = Book::new().await;
    let untold = foreign(FIRST, billed(&[item(1, 1)], vec![]));
    book.journal.adopt(origin(), vec![untold], 600, NOW_MS).await.unwrap();
    assert!(!book.takes(item(1, 1)).await);
    assert_eq!(book.claims(item(1, 1)).await[0].by.state, ClaimState::Unproven);
}

#[tokio::test]
async fn a_batch_that_lost_its_place_frees_its_claims_but_for_what_the_other_charged() {
    let book = Book::new().await;
    let items = [item(1, 1), item(2, 1)];
    let slot = book.accept(&items).await.unwrap();
    let winner = foreign(slot.position, billed(&items[..1], vec![ItemOutcome::Charged]));
    let verdict = Verdict::Usurped(winner);
    book.settle(Settlement { batch: slot.batch, verdict, guard_s: 600 }).await;
    assert_eq!(book.billing(slot.batch).await.state, BatchState::Usurped);
    assert_eq!(book.next_position().await, FIRST + 1);
    assert!(!book.takes(items[0]).await);
    assert!(book.takes(items[1]).await);
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_charge_that_another_batch_holds_is_learnt_without_a_second_claim() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    let did = billed(&[item(1, 1)], vec![ItemOutcome::Charged]);
    let forgotten = foreign(slot.position + 1, did);
    book.journal.adopt(origin(), vec![forgotten], 600, NOW_MS).await.unwrap();
    assert_eq!(book.next_position().await, FIRST + 2);
    assert!(!book.takes(item(1, 1)).await);
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_copy_that_is_behind_its_mark_is_noticed() {
    let book = Book::in_a_file().await;
    let (path, copy) = (config(&book.room).path, book.room.path().join("copy"));
    assert!(!book.journal.found().is_old_copy());
    let book = book.restart();
    assert!(!book.journal.found().is_old_copy(), "a restart is not a restore");
    let room = close(book).await;
    std::fs::copy(&path, &copy).unwrap();
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room }.restart();
    assert!(!book.journal.found().is_old_copy());
    let room = close(book).await;
    std::fs::copy(&copy, &path).unwrap();
    let restored = Journal::open(&config(&room)).unwrap();
    assert!(restored.found().is_old_copy());
}

#[tokio::test]
async fn a_lane_of_an_old_copy_is_in_doubt_until_it_has_learnt_what_was_forgotten() {
    let book = Book::in_a_file().await;
    assert_eq!(book.journal.lane(lane()).take_up().await.unwrap().known_until_ms, None);
    let (path, copy) = (config(&book.room).path, book.room.path().join("copy"));
    let room = close(book).await;
    std::fs::copy(&path, &copy).unwrap();
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    book.accept(&[item(1, 1)]).await.unwrap();
    let mut room = close(book).await;
    // The same copy twice: nothing was learnt in between, so it has forgotten as much.
    for _ in 0..2 {
        std::fs::copy(&copy, &path).unwrap();
        let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
        assert!(book.journal.found().is_old_copy());
        assert_eq!(book.journal.lane(lane()).take_up().await.unwrap().known_until_ms, Some(NOW_MS));
        room = close(book).await;
    }
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    assert!(!book.journal.found().is_old_copy(), "it is the newest that there is");
    assert_eq!(book.journal.lane(lane()).take_up().await.unwrap().known_until_ms, Some(NOW_MS));
    book.journal.set_all_taken_up().await.unwrap();
    book.journal.lane(lane()).end_doubt(NOW_MS).await.unwrap();
    let book = book.restart();
    assert_eq!(book.journal.lane(lane()).take_up().await.unwrap().known_until_ms, None);
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_lane_that_the_old_copy_has_never_heard_of_is_in_doubt_as_well() {
    let book = Book::in_a_file().await;
    let room = close(book).await;
    std::fs::remove_file(room.path().join("journal.db.mark")).unwrap();
    let journal = Journal::open(&config(&room)).unwrap();
    let other = Address::repeat_byte(0x77);
    assert_eq!(
        journal.lane(LaneId { signer: other, ..lane() }).take_up().await.unwrap().known_until_ms,
        Some(NOW_MS)
    );
}

#[tokio::test]
async fn a_newer_file_that_is_put_back_after_an_old_copy_ran_is_noticed() {
    let book = Book::in_a_file().await;
    let (path, kept) = (config(&book.room).path, book.room.path().join("kept"));
    let newer = book.room.path().join("newer");
    let room = close(book).await;
    std::fs::copy(&path, &kept).unwrap();
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    assert!(book.takes(item(1, 1)).await);
    let room = close(book).await;
    std::fs::copy(&path, &newer).unwrap();
    std::fs::copy(&kept, &path).unwrap();
    let book = Book { journal: Journal::open(&config(&room)).unwrap(), room };
    assert!(book.journal.found().is_old_copy());
    assert!(book.takes(item(2, 1)).await, "a charge that the newer file does not know");
    let room = close(book).await;
    std::fs::copy(&newer, &path).unwrap();
    let journal = Journal::open(&config(&room)).unwrap();
    assert!(journal.found().is_old_copy(), "it is longer, and it does not know the second charge");
}

#[tokio::test]
async fn a_process_that_ends_while_it_begins_leaves_no_doubt() {
    let book = Book::in_a_file().await;
    let (path, mark) = (config(&book.room).path, book.room.path().join("journal.db.mark"));
    let room = close(book).await;
    let before = std::fs::read_to_string(&mark).unwrap();
    // The mark names the start that is about to begin, then the journal does, then the mark again.
    let journal = Journal::open(&config(&room)).unwrap();
    drop(close(Book { journal, room: Room::new() }).await);
    let id = "SELECT lower(hex(id)) FROM boot ORDER BY seq DESC LIMIT 1";
    while path.with_extension("db-wal").exists() {
        tokio::task::yield_now().await;
    }
    let conn = Connection::open(&path).unwrap();
    let newest: String = conn.query_row(id, [], |row| row.get(0)).unwrap();
    drop(conn);
    std::fs::write(&mark, format!("{} {newest}\n", before.trim_end())).unwrap();
    assert!(!Journal::open(&config(&room)).unwrap().found().is_old_copy());
}

#[tokio::test]
async fn a_learnt_charge_without_a_period_is_guarded_though_an_older_guard_has_run_out() {
    let book = Book::new().await;
    let old = book.accept(&[guarded(1)]).await.unwrap();
    book.settle(end(&old, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    // BLOCK.time + 600 has passed when the forgotten transaction landed.
    let block = BlockRef { number: 99, time: 50_000, hash: None };
    let landed = Landed { hash: B256::repeat_byte(0xEF), block, record: None };
    let effect = billed(&[guarded(1)], vec![ItemOutcome::Charged]);
    let forgotten = ForeignTx { position: FIRST + 1, landed, effect };
    book.journal.adopt(origin(), vec![forgotten], 600, NOW_MS).await.unwrap();
    let soon = Proposal { chain_time: 50_001, ..proposal(&[guarded(1)]) };
    assert!(matches!(book.take(soon).await, Err(AcceptError::Claimed)));
    let later = Proposal { chain_time: 50_600, ..proposal(&[guarded(1)]) };
    book.take(later).await.unwrap();
    assert_eq!(faults(book).await, Vec::<String>::new());
}
