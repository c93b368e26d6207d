//! How a batch ends decides which of its claims are held, once and for all.

use super::*;

fn live(billing: &Billing) -> Vec<bool> {
    billing.items.iter().map(|line| line.live).collect()
}

fn outcomes(billing: &Billing) -> Vec<Option<LineOutcome>> {
    billing.items.iter().map(|line| line.outcome.clone()).collect()
}

#[tokio::test]
async fn a_charged_batch_keeps_the_claims_of_all_but_those_that_failed() {
    let book = Book::new().await;
    let items = [item(1, 1), item(2, 1), item(3, 1)];
    let slot = book.accept(&items).await.unwrap();
    let said = vec![ItemOutcome::Charged, short_of_allowance(), ItemOutcome::Unproven];
    book.settle(end(&slot, BatchState::Charged, said.clone())).await;

    let billing = book.billing(slot.batch).await;
    assert_eq!(live(&billing), [true, false, true]);
    let told: Vec<_> = said.into_iter().map(|one| Some(LineOutcome::Told(one))).collect();
    assert_eq!(outcomes(&billing), told);
    assert_eq!((billing.state, billing.block), (BatchState::Charged, Some(BLOCK)));
    assert_eq!((billing.winner, billing.settled_ms), (Some(signed(FIRST).hash), Some(NOW_MS)));
    assert_eq!(book.journal.lane(lane()).take_up().await.unwrap().open, []);
    for (item, free) in items.into_iter().zip([false, true, false]) {
        assert_eq!(book.takes(item).await, free, "{item:?}");
    }
}

#[tokio::test]
async fn a_batch_that_charged_nobody_frees_every_claim() {
    for state in [BatchState::Reverted, BatchState::Cancelled] {
        let book = Book::new().await;
        let items = [item(1, 1), guarded(2)];
        let slot = book.accept(&items).await.unwrap();
        book.settle(end(&slot, state, vec![])).await;
        let billing = book.billing(slot.batch).await;
        assert_eq!((billing.state, live(&billing)), (state, vec![false, false]));
        assert_eq!(outcomes(&billing), vec![Some(LineOutcome::Released); 2]);
        let again = book.accept(&items).await.unwrap();
        assert_eq!(again.position, FIRST + 1, "a place in the lane is used once");
    }
}

#[tokio::test]
async fn an_end_is_written_once_whatever_comes_later() {
    let ends: [(BatchState, Vec<ItemOutcome>); 4] = [
        (BatchState::Charged, vec![ItemOutcome::Charged]),
        (BatchState::Charged, vec![short_of_allowance()]),
        (BatchState::Reverted, vec![]),
        (BatchState::Cancelled, vec![]),
    ];
    for first in &ends {
        let book = Book::new().await;
        let slot = book.accept(&[item(1, 1)]).await.unwrap();
        book.settle(end(&slot, first.0, first.1.clone())).await;
        let before = book.everything().await;
        for later in &ends {
            book.settle(end(&slot, later.0, later.1.clone())).await;
            assert_eq!(book.everything().await, before, "{first:?}, then {later:?}");
        }
    }
}

#[tokio::test]
async fn a_late_word_on_an_old_batch_does_not_free_the_new_claim() {
    let book = Book::new().await;
    let old = book.accept(&[item(1, 1)]).await.unwrap();
    book.settle(end(&old, BatchState::Reverted, vec![])).await;
    let new = book.accept(&[item(1, 1)]).await.unwrap();
    book.settle(end(&old, BatchState::Cancelled, vec![])).await;
    assert_eq!(book.claims(item(1, 1)).await[0].by.batch, new.batch);
    assert!(!book.takes(item(1, 1)).await);
}

#[tokio::test]
async fn several_ends_are_written_together_or_not_at_all() {
    let book = Book::new().await;
    let (a, b) = (book.accept(&[item(1, 1)]).await, book.accept(&[item(2, 1)]).await);
    let (a, b) = (a.unwrap(), b.unwrap());
    let before = book.everything().await;
    // A transaction that the journal knows already cannot be learnt as another's.
    let execution = Execution::Reverted;
    let effect = ForeignEffect::Billed { contract: CONTRACT, items: vec![item(3, 1)], execution };
    let known = Landed { hash: a.attempts.first().get().signed.hash, block: BLOCK, record: None };
    let usurper = ForeignTx { position: b.position, landed: known, effect };
    let impossible =
        Settlement { batch: b.batch, verdict: Verdict::Usurped(usurper), guard_s: 600 };
    let ends = [end(&a, BatchState::Reverted, vec![]), impossible];
    assert!(book.journal.settle(ends.to_vec(), NOW_MS).await.is_err());
    assert_eq!(book.everything().await, before);
    let ends = [&a, &b].map(|slot| end(slot, BatchState::Reverted, vec![]));
    book.journal.settle(ends.to_vec(), NOW_MS).await.unwrap();
    assert!(book.takes(item(1, 1)).await && book.takes(item(2, 1)).await);
}

/// Stores a second transaction of a batch, as a replacement will.
async fn replace(book: &Book, batch: BatchId, hash: B256) {
    let tx = "INSERT INTO tx (hash, batch) VALUES (?1, ?2)";
    let sql = "INSERT INTO later_attempt (hash, batch, seq, kind, raw, gas_required, signed_ms)
               VALUES (?1, ?2, 1, 'bill', ?3, 22000, 0)";
    let insert = move |conn: &dyn Database| {
        conn.execute(tx, rusqlite::params![hash.as_slice(), batch.0])?;
        conn.execute(sql, rusqlite::params![hash.as_slice(), batch.0, [2_u8]]).map(drop)
    };
    book.journal.write(insert).await.unwrap();
}

#[tokio::test]
async fn a_repeat_names_the_newest_transaction_while_open_and_the_winner_when_final() {
    let book = Book::new().await;
    book.room.forge();
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    let (first, newer) = (signed(FIRST).hash, B256::repeat_byte(0xEE));
    let named = async || {
        let billing = book.billing(slot.batch).await;
        let current = billing.current().hash();
        assert_eq!(book.claims(item(1, 1)).await[0].by.hash, current);
        for hash in billing.attempts.iter().map(Recorded::hash) {
            let found = book.journal.billing_by_hash(hash).await.unwrap();
            assert_eq!(found.as_ref(), Some(&billing), "any of its hashes finds a batch");
        }
        current
    };
    assert_eq!(named().await, first);
    replace(&book, slot.batch, newer).await;
    assert_eq!(named().await, newer);
    let open = book.journal.lane(lane()).take_up().await.unwrap().open;
    assert_eq!(open[0].attempts.newest().get().signed.hash, newer);
    assert_eq!(open[0].attempts.first().get().signed.hash, first, "no attempt is forgotten");
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    assert_eq!(named().await, first, "the older bytes won");
    let book = book.restart();
    let claim = book.claims(item(1, 1)).await[0];
    assert_eq!((claim.by.hash, claim.by.state), (first, ClaimState::Charged));
}

#[tokio::test]
async fn what_a_transaction_cost_is_kept_with_it_and_with_the_history() {
    let book = Book::in_a_file().await;
    book.room.forge();
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    let (ending, fee) = (CallEnding::OutOfTime, U256::from(u128::MAX));
    let message = Some("CPU timeout".to_owned());
    let record = TxRecord { ending, message, used: 600_000, fee };
    let Verdict::Reverted(landed) = end(&slot, BatchState::Reverted, vec![]).verdict else {
        panic!()
    };
    let landed = Landed { record: Some(record.clone()), ..landed };
    let verdict = Verdict::Reverted(landed);
    let ended = Settlement { batch: slot.batch, verdict, guard_s: 600 };
    book.settle(ended.clone()).await;
    book.settle(ended).await;
    let book = book.restart();
    assert_eq!(book.billing(slot.batch).await.record, Some(record));
    let path = config(&book.room).path;
    book.journal.close().await;
    assert_eq!(copies::audit(&path, &[]).unwrap().faults, Vec::<String>::new());
    let conn = Connection::open(&path).unwrap();
    conn.execute("UPDATE batch SET fee = '1' WHERE fee IS NOT NULL", []).unwrap();
    drop(conn);
    assert_eq!(copies::audit(&path, &[]).unwrap().faults.len(), 1, "it was changed");
}

#[tokio::test]
async fn an_end_is_not_searched_for_in_rows_that_are_not_there() {
    let book = Book::in_a_file().await;
    book.room.forge();
    let open = book.accept(&[item(1, 1)]).await.unwrap();
    let Book { journal, room } = book;
    journal.close().await;
    let path = config(&room).path;
    let conn = Connection::open(&path).unwrap();
    let far =
        "UPDATE history SET seq = 9000000000000000 WHERE seq = (SELECT max(seq) FROM history)";
    conn.execute(far, []).unwrap();
    drop(conn);
    let journal = Journal::open(&config(&room)).unwrap();
    assert!(journal.end_in_history(open.batch, NOW_MS).await.is_err(), "a row is missing");
}
