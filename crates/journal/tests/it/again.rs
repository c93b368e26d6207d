//! Another attempt for a batch: in its place, in order, and only while it is open.

use super::*;

/// Stands for a hash: another one for every attempt.
fn replaced(position: u64, seq: u32) -> u64 {
    position.wrapping_add(1_000_u64.wrapping_mul(seq.into()))
}

/// Another transaction for the same position.
fn bump(slot: &Slot<Durable<Attempt>>, seq: u32) -> Addition {
    let hash = B256::from(U256::from(replaced(slot.position, seq)));
    let signed = Signed { hash, raw: vec![9], gas_required: 21_000 };
    let sealed = Sealed::new(slot.position, &slot.items, signed);
    let (batch, kind) = (slot.batch, AttemptKind::Bill);
    Addition { batch, seq, kind, fee: fee(0, None), at_ms: NOW_MS, sealed }
}

#[tokio::test]
async fn another_attempt_takes_the_place_of_its_batch_and_is_kept_with_the_first() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    book.accept(&[item(2, 1)]).await.unwrap();
    let second = book.journal.add_attempt(bump(&slot, 1)).await.unwrap().unwrap();
    assert_eq!(
        second.get().signed.hash,
        B256::from(U256::from(replaced(FIRST, 1))),
        "its position"
    );
    assert_eq!(book.next_position().await, FIRST + 2, "no new place is taken");

    let book = book.restart();
    let open = book.journal.lane(lane()).take_up().await.unwrap().open;
    assert_eq!(open[0].attempts, slot.attempts.followed_by(second.clone()));
    let found = book.journal.billing_by_hash(second.get().signed.hash).await.unwrap().unwrap();
    assert_eq!((found.batch, found.current()), (slot.batch, &Recorded::Signed(second)));
}

#[tokio::test]
async fn an_attempt_is_added_once_and_in_order() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    for (seq, taken) in [(2, false), (0, false), (1, true), (1, false), (2, true)] {
        let added = book.journal.add_attempt(bump(&slot, seq)).await.unwrap();
        assert_eq!(added.is_some(), taken, "attempt {seq}");
    }
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    let late = book.journal.add_attempt(bump(&slot, 3)).await.unwrap();
    assert_eq!(late, None, "the chain has decided");
}

#[tokio::test]
async fn an_attempt_that_was_signed_for_another_place_or_other_charges_leaves_nothing() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    let other = book.accept(&[item(2, 1)]).await.unwrap();
    let before = book.everything().await;
    let elsewhere = Slot { position: other.position, ..slot.clone() };
    let others = Slot { items: other.items, ..slot.clone() };
    let more = Slot { items: vec![item(1, 1), item(3, 1)], ..slot.clone() };
    for signed_for in [elsewhere, others, more] {
        let refused = book.journal.add_attempt(bump(&signed_for, 1)).await;
        assert!(matches!(refused, Err(AcceptError::OtherBatch)), "{refused:?}");
        assert_eq!(book.everything().await, before);
    }
    assert!(book.journal.add_attempt(bump(&slot, 1)).await.unwrap().is_some());
}
