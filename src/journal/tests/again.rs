//! Another attempt for a batch: in its place, in order, and only while it is open.

use super::*;

/// Stands for a hash: another one for every attempt.
fn replaced(position: u64, seq: u32) -> u64 {
    position.wrapping_add(1_000_u64.wrapping_mul(seq.into()))
}

/// Another transaction for the same position.
fn bump(batch: BatchId, seq: u32) -> Addition {
    let seal: Seal = Box::new(move |position, _| {
        let hash = B256::from(U256::from(replaced(position, seq)));
        Ok(Signed { hash, raw: vec![9], gas_required: 21_000 })
    });
    Addition { batch, seq, kind: AttemptKind::Bill, fee: fee(0, None), at_ms: NOW_MS, seal }
}

#[tokio::test]
async fn another_attempt_takes_the_place_of_its_batch_and_is_kept_with_the_first() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    book.accept(&[item(2, 1)]).await.unwrap();
    let second = book.journal.add_attempt(bump(slot.batch, 1)).await.unwrap().unwrap();
    assert_eq!(
        second.get().signed.hash,
        B256::from(U256::from(replaced(FIRST, 1))),
        "its position"
    );
    assert_eq!(book.next_position().await, FIRST + 2, "no new place is taken");

    let book = book.restart();
    let open = book.journal.take_up(lane()).await.unwrap().1;
    assert_eq!(open[0].attempts, slot.attempts.followed_by(second.clone()));
    let found = book.journal.billing_by_hash(second.get().signed.hash).await.unwrap().unwrap();
    assert_eq!((found.batch, found.current()), (slot.batch, &Recorded::Signed(second)));
}

#[tokio::test]
async fn an_attempt_is_added_once_and_in_order() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    for (seq, taken) in [(2, false), (0, false), (1, true), (1, false), (2, true)] {
        let added = book.journal.add_attempt(bump(slot.batch, seq)).await.unwrap();
        assert_eq!(added.is_some(), taken, "attempt {seq}");
    }
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    let late = book.journal.add_attempt(bump(slot.batch, 3)).await.unwrap();
    assert_eq!(late, None, "the chain has decided");
}

#[tokio::test]
async fn an_attempt_that_cannot_be_signed_leaves_nothing() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    let before = book.everything().await;
    let seal: Seal = Box::new(|_, _| Err(SealFault::Unread.into()));
    let refused = book.journal.add_attempt(Addition { seal, ..bump(slot.batch, 1) }).await;
    assert!(matches!(refused, Err(AcceptError::Seal(_))), "{refused:?}");
    assert_eq!(book.everything().await, before);
}
