//! What was charged elsewhere while a batch held the charge is held as soon as that batch lets go of it.

use super::*;

fn learnt(place: u64, hash: u8, effect: ForeignEffect) -> ForeignTx {
    let landed = Landed { hash: B256::repeat_byte(hash), block: BLOCK, record: None };
    ForeignTx { position: place, landed, effect }
}

fn billed(items: &[Item], outcome: &ItemOutcome) -> ForeignEffect {
    let execution = Execution::Succeeded(vec![outcome.clone(); items.len()]);
    ForeignEffect::Billed { contract: CONTRACT, items: items.to_vec(), execution }
}

/// A journal whose open batch holds what a stranger has charged at the place behind it.
async fn held_here_and_charged_elsewhere(item: Item) -> (Book, Slot<Durable<Attempt>>) {
    let book = Book::new().await;
    let slot = book.accept(&[item]).await.unwrap();
    let taken = learnt(FIRST + 1, 0xEE, billed(&[item], &ItemOutcome::Charged));
    book.journal.adopt(origin(), vec![taken], 600, NOW_MS).await.unwrap();
    (book, slot)
}

async fn is_held_by_the_stranger(book: &Book, item: Item) -> bool {
    let claims = book.claims(item).await;
    let [claim] = claims.as_slice() else { panic!("{claims:?}") };
    claim.by.hash == B256::repeat_byte(0xEE) && claim.by.state == ClaimState::Charged
}

async fn sound(book: Book) {
    let book = book.restart();
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
async fn an_open_batch_is_known_to_be_charged_elsewhere_until_it_ends() {
    let (book, slot) = held_here_and_charged_elsewhere(item(1, 1)).await;
    assert!(book.journal.is_charged_elsewhere(slot.batch).await.unwrap());
    let other = book.accept(&[item(2, 1)]).await.unwrap();
    assert!(!book.journal.is_charged_elsewhere(other.batch).await.unwrap());
    book.settle(end(&slot, BatchState::Cancelled, vec![])).await;
    assert!(!book.journal.is_charged_elsewhere(slot.batch).await.unwrap());
    sound(book).await;
}

#[tokio::test]
async fn a_strangers_charge_is_held_however_the_batch_that_had_the_claim_ends() {
    for state in
        [BatchState::Reverted, BatchState::Cancelled, BatchState::Expired, BatchState::Usurped]
    {
        let (book, slot) = held_here_and_charged_elsewhere(item(1, 1)).await;
        let mut end = end(&slot, state, vec![]);
        if let Verdict::Usurped(by) = &mut end.verdict {
            by.landed.hash = B256::repeat_byte(0xAA);
        }
        book.settle(end).await;
        assert!(is_held_by_the_stranger(&book, item(1, 1)).await, "{state:?}");
        assert!(!book.takes(item(1, 1)).await, "{state:?}");
        sound(book).await;
    }
}

#[tokio::test]
async fn a_strangers_charge_is_held_when_the_item_fails_in_the_batch_that_had_the_claim() {
    let (book, slot) = held_here_and_charged_elsewhere(item(1, 1)).await;
    book.settle(end(&slot, BatchState::Charged, vec![short_of_allowance()])).await;
    assert!(is_held_by_the_stranger(&book, item(1, 1)).await);
    assert!(!book.takes(item(1, 1)).await);
    sound(book).await;
}

#[tokio::test]
async fn a_strangers_charge_is_held_when_a_person_frees_the_claim_that_was_in_its_way() {
    let (book, slot) = held_here_and_charged_elsewhere(item(1, 1)).await;
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Unproven])).await;
    assert_eq!(book.claims(item(1, 1)).await[0].by.state, ClaimState::Unproven);
    let finding = PersonsWord {
        billing: slot.batch.0.to_string(),
        subscribe: SubscribeId(1),
        resolution: Resolution::Free,
        by: "operator".to_owned(),
        why: "another transaction charged it".to_owned(),
        at_ms: NOW_MS,
    };
    book.journal.resolve(finding).await.unwrap();
    assert!(is_held_by_the_stranger(&book, item(1, 1)).await);
    sound(book).await;
}

/// The history of a key that is used elsewhere: the stranger takes the place of one batch, and charges what the
/// next one holds.
#[tokio::test]
async fn what_took_the_place_of_a_batch_holds_what_it_charged_when_the_next_batch_fails() {
    let book = Book::new().await;
    let first = book.accept(&[item(1, 1)]).await.unwrap();
    let second = book.accept(&[item(2, 1)]).await.unwrap();
    let verdict = Verdict::Usurped(learnt(
        first.position,
        0xEE,
        billed(&[item(2, 1)], &ItemOutcome::Charged),
    ));
    book.settle(Settlement { batch: first.batch, verdict, guard_s: 600 }).await;
    assert_eq!(book.claims(item(2, 1)).await[0].by.batch, second.batch);
    book.settle(end(&second, BatchState::Charged, vec![short_of_allowance()])).await;
    assert!(is_held_by_the_stranger(&book, item(2, 1)).await);
    assert!(!book.takes(item(2, 1)).await && book.takes(item(1, 1)).await);
    sound(book).await;
}

/// By its subscription one batch holds it, by its user another: both have to let go.
#[tokio::test]
async fn a_strangers_charge_waits_for_every_batch_that_holds_a_part_of_it() {
    let book = Book::new().await;
    let (by_user, by_subscription) = (Item { subscribe: SubscribeId(8), ..item(1, 1) }, {
        let mut other = item(1, 1);
        other.key.user = user(9);
        other
    });
    let one = book.accept(&[by_user]).await.unwrap();
    let two = book.accept(&[by_subscription]).await.unwrap();
    let taken = learnt(FIRST + 2, 0xEE, billed(&[item(1, 1)], &ItemOutcome::Charged));
    book.journal.adopt(origin(), vec![taken], 600, NOW_MS).await.unwrap();
    book.settle(end(&one, BatchState::Reverted, vec![])).await;
    assert_eq!(book.claims(item(1, 1)).await[0].by.batch, two.batch);
    book.settle(end(&two, BatchState::Reverted, vec![])).await;
    assert!(is_held_by_the_stranger(&book, item(1, 1)).await);
    sound(book).await;
}

#[tokio::test]
async fn of_two_guarded_charges_the_one_that_is_guarded_longer_is_held() {
    let book = Book::new().await;
    let ours = book.accept(&[guarded(1)]).await.unwrap();
    let mut later = learnt(FIRST + 1, 0xEE, billed(&[guarded(1)], &ItemOutcome::Charged));
    later.landed.block.time = BLOCK.time + 100;
    book.journal.adopt(origin(), vec![later], 600, NOW_MS).await.unwrap();
    book.settle(end(&ours, BatchState::Charged, vec![ItemOutcome::Charged])).await;
    assert!(is_held_by_the_stranger(&book, guarded(1)).await);
    let at = |chain_time| Proposal { chain_time, ..proposal(&[guarded(1)]) };
    let both_ended = BLOCK.time + 700;
    assert!(matches!(book.take(at(both_ended - 1)).await, Err(AcceptError::Claimed)));
    book.take(at(both_ended)).await.unwrap();
    sound(book).await;
}

#[tokio::test]
async fn a_strangers_charge_that_was_made_free_or_held_by_hand_is_found() {
    let (book, slot) = held_here_and_charged_elsewhere(item(1, 1)).await;
    book.room.forge();
    book.settle(end(&slot, BatchState::Reverted, vec![])).await;
    let sql = "UPDATE claim SET live = 0 WHERE elsewhere = 1";
    book.journal.write(move |conn| run(conn, sql)).await.unwrap();
    let fault = "the claims that charges made elsewhere hold are not those of the history";
    assert_eq!(book.audit().await.faults, [fault]);
    let (book, _) = held_here_and_charged_elsewhere(item(1, 1)).await;
    book.room.forge();
    let sql = "UPDATE claim SET live = 0 WHERE batch = 1;
               UPDATE claim SET live = 1 WHERE elsewhere = 1";
    book.journal.write(move |conn| run(conn, sql)).await.unwrap();
    assert!(book.audit().await.faults.contains(&fault.to_owned()));
}
