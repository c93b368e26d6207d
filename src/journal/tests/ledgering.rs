//! The ledger has every charge once, in one order, whatever was asked and however small the pages are.

use super::*;

/// 150 batches, which is more than a step looks at, of one charge, two and three in turn; every third
/// batch has ended, and the third charge of a batch of three has failed.
async fn book() -> Book {
    let book = Book::new().await;
    for (number, (charges, seconds)) in (0_u64..150).zip([1, 2, 3].into_iter().cycle().zip(0_i64..))
    {
        let items: Vec<Item> = (1..=charges).map(|who| item(who, number)).collect();
        let at_ms = NOW_MS.saturating_add(seconds.saturating_mul(1000));
        let caller = number.is_multiple_of(2).then(|| "even".to_owned());
        let slot = Proposal { caller, at_ms, ..proposal(&items) };
        let slot = book.take(slot).await.unwrap();
        if charges == 3 {
            let said = vec![ItemOutcome::Charged, ItemOutcome::Unproven, short_of_allowance()];
            book.settle(end(&slot, BatchState::Charged, said)).await;
        }
    }
    book
}

/// All places that pages of `limit` charges tell.
async fn places(
    book: &Book,
    filter: &LedgerFilter,
    order: LedgerOrder,
    limit: usize,
) -> Vec<(i64, usize)> {
    let (mut all, mut after) = (vec![], None);
    loop {
        let step = book.journal.ledger_step(filter.clone(), order, after, limit).await.unwrap();
        assert!(step.found.len() <= limit);
        assert_eq!(step.newest, BatchId(150));
        all.extend(step.found.iter().map(|entry| (entry.place().batch.0, entry.place().item)));
        after = step.next;
        if after.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn every_charge_is_told_once_in_either_order_and_in_pages_of_any_size() {
    let book = book().await;
    let sizes = [1_usize, 2, 3].into_iter().cycle();
    let expected: Vec<(i64, usize)> = (1..=150_i64)
        .zip(sizes)
        .flat_map(|(batch, size)| (0..size).map(move |item| (batch, item)))
        .collect();
    let newest: Vec<_> = expected.iter().rev().copied().collect();
    let all = LedgerFilter::default();
    for limit in [1, 2, 7, 64, 1000] {
        assert_eq!(places(&book, &all, LedgerOrder::Oldest, limit).await, expected, "{limit}");
        assert_eq!(places(&book, &all, LedgerOrder::Newest, limit).await, newest, "{limit}");
    }
}

#[tokio::test]
async fn only_what_fits_everything_that_is_asked_is_told() {
    let book = book().await;
    let count = async |filter: LedgerFilter| {
        let told = places(&book, &filter, LedgerOrder::Oldest, 10).await;
        assert_eq!(places(&book, &filter, LedgerOrder::Newest, 3).await.len(), told.len());
        told.len()
    };
    let all = LedgerFilter::default;
    assert_eq!(count(LedgerFilter { subscribe: Some(SubscribeId(3)), ..all() }).await, 50);
    assert_eq!(count(LedgerFilter { user: Some(user(2)), ..all() }).await, 100);
    assert_eq!(count(LedgerFilter { plan: Some(PlanId(4)), ..all() }).await, 0);
    assert_eq!(count(LedgerFilter { chain: Some(CHAIN), ..all() }).await, 300);
    assert_eq!(count(LedgerFilter { caller: Some("even".to_owned()), ..all() }).await, 150);
    for (state, expected) in
        [("open", 150), ("charged", 50), ("unproven", 50), ("failed", 50), ("reverted", 0)]
    {
        let state = Some(state.to_owned());
        assert_eq!(
            count(LedgerFilter { state: state.clone(), ..all() }).await,
            expected,
            "{state:?}"
        );
    }
    let (from_ms, until_ms) = (Some(NOW_MS + 3000), Some(NOW_MS + 6000));
    assert_eq!(count(LedgerFilter { from_ms, until_ms, ..all() }).await, 6);
    let subscribe = Some(SubscribeId(3));
    assert_eq!(count(LedgerFilter { subscribe, from_ms, until_ms, ..all() }).await, 1);
}

#[tokio::test]
async fn a_wallet_has_the_charges_that_it_pays() {
    let book = Book::new().await;
    let wallet = Address::repeat_byte(0xEE);
    let pays = ChargeTerms { wallet: Some(wallet), ..ChargeTerms::default() };
    book.accept(&[item(1, 1), Item { terms: pays, ..item(2, 1) }, item(3, 1)]).await.unwrap();
    for (asked, expected) in [(wallet, vec![1]), (Address::ZERO, vec![])] {
        let filter = LedgerFilter { wallet: Some(asked), ..LedgerFilter::default() };
        let step = book.journal.ledger_step(filter, LedgerOrder::Oldest, None, 9).await.unwrap();
        let found: Vec<_> = step.found.iter().map(|entry| entry.item).collect();
        assert_eq!(found, expected, "{asked}");
    }
}

#[tokio::test]
async fn what_is_accepted_while_somebody_reads_comes_at_the_end() {
    let book = book().await;
    let (all, order) = (LedgerFilter::default(), LedgerOrder::Oldest);
    let first = book.journal.ledger_step(all.clone(), order, None, 1).await.unwrap();
    book.accept(&[item(9, 1)]).await.unwrap();
    let mut after = first.next;
    let mut last = None;
    while after.is_some() {
        let step = book.journal.ledger_step(all.clone(), order, after, 100).await.unwrap();
        last = step.found.last().map(|entry| entry.billing.items[entry.item].item).or(last);
        after = step.next;
    }
    assert_eq!(last, Some(item(9, 1)));
}

#[tokio::test]
async fn a_journal_has_one_name_for_ever() {
    let book = Book::new().await;
    let name = book.journal.name().await.unwrap().unwrap();
    let book = book.restart();
    assert_eq!(book.journal.name().await.unwrap(), Some(name));
    assert_ne!(Book::new().await.journal.name().await.unwrap(), Some(name));
}
