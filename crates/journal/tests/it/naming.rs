//! The names of requests: what they lead to, and what they may stand for.

use super::*;
use billing::CallerKey;

/// A proposal for `who` in a request of this name.
fn named(id: &str, digest: u8, who: u8) -> Proposal {
    let request = Some(request(id, digest));
    Proposal { request, caller: Some(asked_by()), ..proposal(&[item(who, 1)]) }
}

async fn found(book: &Book, id: &str) -> Vec<BatchId> {
    let billings = book.journal.billings_by_request(id.to_owned(), None).await.unwrap();
    billings.into_iter().map(|billing| billing.batch).collect()
}

#[tokio::test]
async fn a_name_leads_to_every_batch_that_was_named_to_it() {
    let book = Book::new().await;
    let first = book.take(named("a", 1, 1)).await.unwrap().batch;
    let mixed = Proposal { earlier: vec![first], ..named("b", 2, 2) };
    let second = book.take(mixed).await.unwrap().batch;
    book.journal.name_request(request("c", 3), vec![first, second, first]).await.unwrap();
    let book = book.restart();
    assert_eq!(found(&book, "a").await, [first]);
    assert_eq!(found(&book, "b").await, [second, first], "the newest first");
    assert_eq!(found(&book, "c").await, [second, first]);
    assert_eq!(found(&book, "d").await, []);
    // The same request again, when its claims are free again: in the next month, say.
    let again = book.take(named("a", 1, 3)).await.unwrap().batch;
    assert_eq!(found(&book, "a").await, [again, first]);
}

#[tokio::test]
async fn a_name_stands_for_one_request_of_its_caller() {
    let book = Book::new().await;
    book.take(named("a", 1, 1)).await.unwrap();
    let before = book.everything().await;
    let taken = book.take(named("a", 2, 2)).await;
    assert!(matches!(taken, Err(AcceptError::RequestTaken)), "{taken:?}");
    let batch = BatchId(1);
    let taken = book.journal.name_request(request("a", 2), vec![batch]).await;
    assert!(matches!(taken, Err(AcceptError::RequestTaken)), "{taken:?}");
    assert_eq!(book.everything().await, before, "and nothing of it is written");
    let mut others = named("a", 2, 2);
    others.request = Some(NamedRequest { caller: None, ..request("a", 2) });
    others.caller = None;
    book.take(others).await.unwrap();
}

#[tokio::test]
async fn a_name_finds_the_billings_of_its_own_caller() {
    let book = Book::new().await;
    let first = book.take(named("a", 1, 1)).await.unwrap().batch;
    let mut others = named("a", 2, 2);
    others.request = Some(NamedRequest { caller: None, ..request("a", 2) });
    others.caller = None;
    let second = book.take(others).await.unwrap().batch;
    let ours = request("a", 1).caller;
    for (caller, expected) in [
        (ours, vec![first]),
        (None, vec![second]),
        (Some(CallerKey("who reads alone".to_owned())), vec![second, first]),
    ] {
        let found = book.journal.billings_by_request("a".to_owned(), caller).await.unwrap();
        assert_eq!(found.iter().map(|billing| billing.batch).collect::<Vec<_>>(), expected);
    }
}

#[tokio::test]
async fn what_a_name_was_told_before_is_not_written_again() {
    let book = Book::new().await;
    let batch = book.take(named("a", 1, 1)).await.unwrap().batch;
    let standing = async |id, digest| {
        book.journal.request_standing(request(id, digest), vec![batch]).await.unwrap()
    };
    assert_eq!(standing("a", 1).await, RequestStanding::Known);
    assert_eq!(standing("a", 2).await, RequestStanding::Taken);
    assert_eq!(standing("b", 1).await, RequestStanding::New);
    book.journal.name_request(request("b", 1), vec![batch]).await.unwrap();
    assert_eq!(standing("b", 1).await, RequestStanding::Known);
}

#[tokio::test]
async fn a_claim_knows_its_terms_and_what_became_of_it() {
    let book = Book::new().await;
    let mut full = item(1, 1);
    full.terms =
        ChargeTerms { plan_version: Some(U256::MAX), wallet: Some(SIGNER), token: Some(CONTRACT) };
    let items = [full, item(2, 1), item(3, 1)];
    let slot = book.accept(&items).await.unwrap();
    let states = async || {
        let mut all = vec![];
        for item in items {
            let claims = book.claims(item).await;
            all.push(claims.first().map(|claim| (claim.terms, claim.by.state)));
        }
        all
    };
    let (terms, none) = (full.terms, ChargeTerms::default());
    let open = |terms| Some((terms, ClaimState::Open));
    assert_eq!(states().await, [open(terms), open(none), open(none)]);
    let outcomes = vec![ItemOutcome::Charged, ItemOutcome::Unproven, short_of_allowance()];
    book.settle(end(&slot, BatchState::Charged, outcomes)).await;
    let charged = Some((terms, ClaimState::Charged));
    assert_eq!(states().await, [charged, Some((none, ClaimState::Unproven)), None]);
    let book = book.restart();
    assert_eq!(book.billing(slot.batch).await.items[0].item.terms, terms);
}

#[tokio::test]
async fn the_transaction_that_a_claim_names_can_charge() {
    let book = Book::new().await;
    let slot = book.accept(&[item(1, 1)]).await.unwrap();
    for (seq, kind) in [(1, AttemptKind::Bill), (2, AttemptKind::Cancel)] {
        let again = Addition {
            batch: slot.batch,
            seq,
            kind,
            fee: fee(1, None),
            at_ms: NOW_MS,
            sealed: Sealed::new(FIRST, &slot.items, signed(1_000 + u64::from(seq))),
        };
        book.journal.add_attempt(again).await.unwrap().unwrap();
        let newest_bill = signed(1_001).hash;
        assert_eq!(book.claims(item(1, 1)).await[0].by.hash, newest_bill, "attempt {seq}");
        assert_eq!(book.billing(slot.batch).await.current().hash(), newest_bill);
    }
    let cancelled = Settlement {
        verdict: Verdict::Cancelled(Landed {
            hash: signed(1_002).hash,
            block: BLOCK,
            record: None,
        }),
        ..end(&slot, BatchState::Cancelled, vec![])
    };
    book.settle(cancelled).await;
    assert_eq!(book.claims(item(1, 1)).await, []);
    assert_eq!(book.billing(slot.batch).await.current().hash(), signed(1_002).hash, "it decided");
}
