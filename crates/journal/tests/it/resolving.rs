//! What the chain does not tell, a person may; nothing else.

use super::*;
use strum::IntoEnumIterator;

async fn ended(outcomes: Vec<ItemOutcome>) -> (Book, BatchId) {
    ended_in(Book::new().await, outcomes).await
}

async fn ended_in(book: Book, outcomes: Vec<ItemOutcome>) -> (Book, BatchId) {
    let items: Vec<Item> = (1..).zip(&outcomes).map(|(who, _)| item(who, 1)).collect();
    let mut proposal = proposal(&items);
    proposal.request = Some(request("run-1", 1));
    proposal.caller = Some(asked_by());
    let slot = book.take(proposal).await.unwrap();
    book.settle(end(&slot, BatchState::Charged, outcomes)).await;
    (book, slot.batch)
}

fn finding(billing: &str, who: i64, resolution: Resolution) -> PersonsWord {
    let (by, why) = ("operator".to_owned(), "looked at the token's transfers".to_owned());
    let (billing, subscribe) = (billing.to_owned(), SubscribeId(who));
    PersonsWord { billing, subscribe, resolution, by, why, at_ms: NOW_MS }
}

async fn said(book: &Book, finding: PersonsWord) -> Result<bool, Unresolved> {
    match book.journal.resolve(finding).await {
        Ok(resolved) => Ok(resolved.repeated),
        Err(NotWritten::Refused(why)) => Err(why),
        Err(NotWritten::Journal(error)) => panic!("{error}"),
    }
}

async fn faults(book: Book) -> Vec<String> {
    book.audit().await.faults
}

#[tokio::test]
async fn an_unproven_charge_is_free_or_charged_for_ever_as_a_person_says() {
    let (book, _) = ended(vec![ItemOutcome::Unproven, ItemOutcome::Unproven]).await;
    assert_eq!(said(&book, finding("run-1", 1, Resolution::Free)).await, Ok(false));
    assert_eq!(said(&book, finding("run-1", 2, Resolution::Charged)).await, Ok(false));
    let before = book.everything().await;
    assert_eq!(said(&book, finding("run-1", 1, Resolution::Free)).await, Ok(true));
    assert_eq!(
        said(&book, finding("run-1", 1, Resolution::Charged)).await,
        Err(Unresolved::Otherwise("free"))
    );
    assert_eq!(
        said(&book, finding("run-1", 2, Resolution::Free)).await,
        Err(Unresolved::Otherwise("charged"))
    );
    assert_eq!(book.everything().await, before, "nothing was written twice");
    let book = book.restart();
    assert!(book.takes(item(1, 1)).await, "it is free");
    assert!(!book.takes(item(2, 1)).await, "it is charged");
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_but_what_is_unproven_is_resolved() {
    let outcomes = vec![ItemOutcome::Charged, short_of_allowance(), ItemOutcome::Unproven];
    let (book, batch) = ended(outcomes).await;
    let open = book.accept(&[item(9, 1)]).await.unwrap().batch.0.to_string();
    let before = book.everything().await;
    let number = batch.0.to_string();
    let hash = signed(FIRST).hash.to_string();
    for resolution in Resolution::iter() {
        let refused = [
            (finding(&number, 1, resolution), Unresolved::Told("charged")),
            (finding(&hash, 2, resolution), Unresolved::Told("failed")),
            (finding(&open, 9, resolution), Unresolved::Open),
            (finding("nobody", 1, resolution), Unresolved::NoBilling("nobody".to_owned())),
            (
                finding("run-1", 7, resolution),
                Unresolved::NotInIt { billing: "run-1".to_owned(), subscribe: SubscribeId(7) },
            ),
            (
                PersonsWord { why: " ".to_owned(), ..finding(&number, 3, resolution) },
                Unresolved::NoReason,
            ),
        ];
        for (finding, why) in refused {
            assert_eq!(said(&book, finding).await, Err(why));
        }
    }
    assert_eq!(book.everything().await, before);
    assert_eq!(faults(book).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_name_of_several_billings_means_the_one_that_is_unproven() {
    let (book, first) = ended(vec![ItemOutcome::Unproven]).await;
    for (period, outcome) in [(2, ItemOutcome::Charged), (3, ItemOutcome::Unproven)] {
        let mut again = proposal(&[item(1, period)]);
        again.request = Some(request("run-1", 1));
        again.caller = Some(asked_by());
        let slot = book.take(again).await.unwrap();
        book.settle(end(&slot, BatchState::Charged, vec![outcome])).await;
        let meant = said(&book, finding("run-1", 1, Resolution::Charged)).await;
        match period {
            2 => {
                assert_eq!(meant, Ok(false));
                assert_eq!(book.billing(first).await.items[0].resolved, Some(Resolution::Charged));
            }
            _ => assert!(matches!(meant, Err(Unresolved::Ambiguous { .. })), "{meant:?}"),
        }
    }
}

#[tokio::test]
async fn a_resolution_that_was_not_written_by_the_journal_is_found() {
    let outcomes = vec![ItemOutcome::Unproven, ItemOutcome::Unproven];
    let (book, _) = ended_in(Book::in_a_file().await, outcomes).await;
    said(&book, finding("run-1", 2, Resolution::Charged)).await.unwrap();
    let path = config(&book.room).path;
    book.room.forge();
    book.journal.close().await;
    let conn = Connection::open(&path).unwrap();
    conn.execute("UPDATE claim SET resolved = 'released', live = 0", []).unwrap();
    drop(conn);
    let faults = copies::audit(&path, &[]).unwrap().faults;
    assert_eq!(faults.len(), 2, "one differs, and one is too many: {faults:?}");
}
