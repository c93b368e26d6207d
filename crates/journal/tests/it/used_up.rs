//! A place that no transaction took, and that is used all the same: its batch ends, and a person says whom that
//! charged.

use super::*;

/// A journal in which the place of one batch of these items was used up.
async fn used_up(items: &[Item]) -> (Book, BatchId) {
    let book = Book::new().await;
    let batch = book.accept(items).await.unwrap().batch;
    let end = Settlement { batch, verdict: Verdict::UsedUp(BLOCK), guard_s: 600 };
    book.settle(end).await;
    (book, batch)
}

async fn says(book: &Book, batch: BatchId, who: i64, resolution: Resolution) {
    let finding = PersonsWord {
        billing: batch.0.to_string(),
        subscribe: SubscribeId(who),
        resolution,
        by: "operator".to_owned(),
        why: "looked at what the authorization let happen".to_owned(),
        at_ms: NOW_MS,
    };
    assert!(!book.journal.resolve(finding).await.unwrap().repeated);
}

/// The claims file of a person: what took the place, and whom it charged.
fn file(charged: &[u8]) -> String {
    let claims: Vec<String> = charged
        .iter()
        .map(|who| {
            format!(
                r#"{{"subscribeId":{who},"planId":3,"userHash":"{}","period":"1","amount":"500","planVersion":null,"wallet":null,"token":null,"outcome":"charged"}}"#,
                user(*who).0
            )
        })
        .collect();
    let transaction = B256::repeat_byte(0x77);
    format!(
        r#"{{"format":"merchant-signer claims","version":1,"networks":[{{"chain":139,"family":"evm","network":31337,"contract":"{CONTRACT}","period":"period"}}]}}
{{"chain":139,"contract":"{CONTRACT}","signer":"{SIGNER}","position":{FIRST},"transaction":"{transaction}","block":88,"blockTime":1000,"guard":600,"claims":[{}]}}"#,
        claims.join(",")
    )
}

async fn imports(book: &Book, file: String) -> Result<Imported, String> {
    let (by, why) = ("operator".to_owned(), "the authorization let it charge these".to_owned());
    book.journal.import_claims(file, by, why).await.map_err(|why| why.to_string())
}

async fn sound(book: Book) {
    let book = book.restart();
    assert_eq!(book.audit().await.faults, Vec::<String>::new());
}

#[tokio::test]
async fn nothing_of_a_batch_whose_place_is_used_up_is_free_before_a_person_says_so() {
    let (book, batch) = used_up(&[item(1, 1), item(2, 1)]).await;
    let billing = book.billing(batch).await;
    assert_eq!(
        (billing.state, billing.winner, billing.block),
        (BatchState::Usurped, None, Some(BLOCK))
    );
    assert_eq!(book.claims(item(1, 1)).await[0].by.state, ClaimState::Unproven);
    assert!(!book.takes(item(1, 1)).await);
    assert_eq!(book.journal.lane(lane()).used_up().await.unwrap(), Some(FIRST));
    says(&book, batch, 1, Resolution::Free).await;
    assert_eq!(
        book.journal.lane(lane()).used_up().await.unwrap(),
        Some(FIRST),
        "half of it is said"
    );
    says(&book, batch, 2, Resolution::Charged).await;
    assert_eq!(book.journal.lane(lane()).used_up().await.unwrap(), None);
    assert_eq!(book.claims(item(2, 1)).await[0].by.state, ClaimState::Charged);
    assert!(book.takes(item(1, 1)).await && !book.takes(item(2, 1)).await);
    sound(book).await;
}

#[tokio::test]
async fn a_file_that_says_whom_it_charged_ends_what_is_not_known_of_a_used_up_place() {
    let (book, batch) = used_up(&[item(1, 1), item(2, 1)]).await;
    assert_eq!(imports(&book, file(&[2, 3])).await, Ok(Imported { added: 1, known: 0 }));
    assert_eq!(book.journal.lane(lane()).used_up().await.unwrap(), None);
    let held = book.claims(item(2, 1)).await;
    assert_eq!((held[0].by.state, held[0].by.hash), (ClaimState::Charged, B256::repeat_byte(0x77)));
    assert_eq!(book.billing(batch).await.items[0].resolved, Some(Resolution::Free));
    assert!(book.takes(item(1, 1)).await && !book.takes(item(2, 1)).await);
    assert!(!book.takes(item(3, 1)).await);
    sound(book).await;
}

#[tokio::test]
async fn a_used_up_place_of_an_idle_lane_is_passed_by_a_file_that_names_it() {
    let book = Book::new().await;
    assert_eq!(imports(&book, file(&[])).await, Ok(Imported { added: 1, known: 0 }));
    assert_eq!(book.next_position().await, FIRST + 1);
    sound(book).await;
}

#[tokio::test]
async fn what_is_not_known_of_a_used_up_place_goes_along_to_another_journal() {
    let (book, batch) = used_up(&[item(1, 1), item(2, 1), item(3, 1)]).await;
    says(&book, batch, 1, Resolution::Free).await;
    says(&book, batch, 2, Resolution::Charged).await;
    let text = book.journal.export_claims().await.unwrap().text;
    let other = Book::new().await;
    assert_eq!(imports(&other, text).await, Ok(Imported { added: 1, known: 0 }));
    assert!(other.takes(item(1, 1)).await);
    assert_eq!(other.claims(item(2, 1)).await[0].by.state, ClaimState::Charged);
    assert_eq!(other.claims(item(3, 1)).await[0].by.state, ClaimState::Unproven);
    sound(other).await;
}

#[tokio::test]
async fn the_guard_of_a_used_up_place_ends_as_any_other() {
    let (book, _) = used_up(&[guarded(1)]).await;
    let at = |chain_time| Proposal { chain_time, ..proposal(&[guarded(1)]) };
    assert!(matches!(book.take(at(BLOCK.time + 599)).await, Err(AcceptError::Claimed)));
    book.take(at(BLOCK.time + 600)).await.unwrap();
    sound(book).await;
}
