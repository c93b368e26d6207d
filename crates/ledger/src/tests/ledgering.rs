//! The ledger has every charge once, in one order, whatever was asked and however small the pages are.

use super::*;

fn even() -> CallerLabel {
    CallerLabel("even".to_owned())
}

/// 150 batches, which is more than a step looks at, of one charge, two and three in turn; every third
/// batch has ended, and the third charge of a batch of three has failed.
async fn book() -> Book {
    let book = Book::new().await;
    for (number, (charges, seconds)) in (0_u64..150).zip([1, 2, 3].into_iter().cycle().zip(0_i64..))
    {
        let items: Vec<Item> = (1..=charges).map(|who| item(who, number)).collect();
        let at_ms = NOW_MS.saturating_add(seconds.saturating_mul(1000));
        let caller = number.is_multiple_of(2).then(|| AskedBy { label: even(), ..asked_by() });
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
        let step = step_of(&book.journal, filter.clone(), order, after, limit).await.unwrap();
        assert!(step.found.len() <= limit);
        assert_eq!(step.newest, BatchId(150));
        all.extend(step.found.iter().map(|entry| (entry.billing.batch.0, entry.item)));
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
    assert_eq!(count(LedgerFilter { caller: Some(even()), ..all() }).await, 150);
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
        let step = step_of(&book.journal, filter, LedgerOrder::Oldest, None, 9).await.unwrap();
        let found: Vec<_> = step.found.iter().map(|entry| entry.item).collect();
        assert_eq!(found, expected, "{asked}");
    }
}

#[tokio::test]
async fn the_charges_of_a_user_and_of_a_wallet_are_found_in_one_step_whatever_else_there_is() {
    let book = Book::new().await;
    for number in 0..300_u64 {
        let who = match number {
            0 | 100 | 200 => paid_by(0xEE, item(7, number)),
            150 => paid_by(0xEE, item(8, number)),
            _ => paid_by(1, item(1 + u8::try_from(number % 5).unwrap(), number)),
        };
        let slot = book.accept(&[who]).await.unwrap();
        if number == 100 {
            book.settle(end(&slot, BatchState::Reverted, vec![])).await;
        }
    }
    let all = LedgerFilter::default;
    let of = |user_of| LedgerFilter { user: Some(user(user_of)), ..all() };
    let wallet = |byte| LedgerFilter { wallet: Some(Address::repeat_byte(byte)), ..all() };
    for (filter, expected) in [
        (of(7), vec![1, 101, 201]),
        (of(8), vec![151]),
        (of(9), vec![]),
        (wallet(0xEE), vec![1, 101, 151, 201]),
        (wallet(0xDD), vec![]),
    ] {
        for order in [LedgerOrder::Oldest, LedgerOrder::Newest] {
            let step = step_of(&book.journal, filter.clone(), order, None, 9).await.unwrap();
            let mut found: Vec<i64> =
                step.found.iter().map(|entry| entry.billing.batch.0).collect();
            found.sort_unstable();
            assert_eq!((found, step.next), (expected.clone(), None), "{filter:?}");
        }
    }
}

#[tokio::test]
async fn what_is_accepted_while_somebody_reads_comes_at_the_end() {
    let book = book().await;
    let (all, order) = (LedgerFilter::default(), LedgerOrder::Oldest);
    let first = step_of(&book.journal, all.clone(), order, None, 1).await.unwrap();
    book.accept(&[item(9, 1)]).await.unwrap();
    let mut after = first.next;
    let mut last = None;
    while after.is_some() {
        let step = step_of(&book.journal, all.clone(), order, after, 100).await.unwrap();
        last = step.found.last().map(|entry| entry.billing.items[entry.item].item).or(last);
        after = step.next;
    }
    assert_eq!(last, Some(item(9, 1)));
}

#[tokio::test]
async fn a_time_far_away_is_found_in_few_steps_and_a_clock_that_was_set_back_hides_nothing() {
    let book = Book::new().await;
    let at = |number: u64| match number {
        // The clock was wrong once, by as much as the rest takes.
        5 => NOW_MS + 145_000,
        _ => NOW_MS + i64::try_from(number).unwrap() * 1000,
    };
    for number in 0..400_u64 {
        let items = [item(1, number)];
        book.take(Proposal { at_ms: at(number), ..proposal(&items) }).await.unwrap();
    }
    let (from_ms, until_ms) = (Some(NOW_MS + 140_000), Some(NOW_MS + 150_000));
    let filter = LedgerFilter { from_ms, until_ms, ..LedgerFilter::default() };
    for order in [LedgerOrder::Oldest, LedgerOrder::Newest] {
        let (mut found, mut steps, mut after) = (vec![], 0, None);
        loop {
            let step = step_of(&book.journal, filter.clone(), order, after, 100).await.unwrap();
            found.extend(step.found.iter().map(|entry| entry.billing.accepted_ms));
            (steps, after) = (steps + 1, step.next);
            if after.is_none() {
                break;
            }
        }
        found.sort_unstable();
        assert_eq!(found.len(), 11, "{order:?}: {found:?}");
        assert_eq!(found.iter().filter(|ms| **ms == NOW_MS + 145_000).count(), 2);
        assert!(steps <= 5, "{order:?}: {steps} steps");
    }
}

#[tokio::test]
async fn a_subscription_and_what_is_open_are_found_in_one_step() {
    let book = Book::new().await;
    for number in 0..300_u64 {
        let items = if number % 100 == 7 { [item(9, number)] } else { [item(1, number)] };
        let slot = book.accept(&items).await.unwrap();
        match number {
            7 => book.settle(end(&slot, BatchState::Reverted, vec![])).await,
            100 => {}
            _ => book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged])).await,
        }
    }
    let subscribe = LedgerFilter { subscribe: Some(SubscribeId(9)), ..LedgerFilter::default() };
    let open = LedgerFilter { state: Some("open".to_owned()), ..LedgerFilter::default() };
    for (filter, expected) in [(subscribe, vec![8, 108, 208]), (open, vec![101])] {
        for order in [LedgerOrder::Oldest, LedgerOrder::Newest] {
            let step = step_of(&book.journal, filter.clone(), order, None, 100).await.unwrap();
            let mut found: Vec<_> = step.found.iter().map(|entry| entry.billing.batch.0).collect();
            found.sort_unstable();
            assert_eq!((found, step.next), (expected.clone(), None), "{order:?}");
        }
    }
}

#[tokio::test]
async fn a_subscription_with_more_periods_than_a_calendar_has_is_found_too() {
    let book = Book::new().await;
    let items: Vec<Item> = (0..2_100).map(|number| item(1, number)).collect();
    book.accept(&items).await.unwrap();
    book.accept(&[item(2, 1)]).await.unwrap();
    let filter = LedgerFilter { subscribe: Some(SubscribeId(1)), ..LedgerFilter::default() };
    let step = step_of(&book.journal, filter, LedgerOrder::Newest, None, 9_999).await.unwrap();
    assert_eq!(step.found.len(), 2_100);
}

#[tokio::test]
async fn a_step_looks_at_few_charges_however_large_the_batches_are() {
    let book = Book::new().await;
    for batch in 0..5_u64 {
        let items: Vec<Item> = (0..900).map(|number| item(1, batch * 900 + number)).collect();
        book.accept(&items).await.unwrap();
    }
    let failed = LedgerFilter { state: Some("failed".to_owned()), ..LedgerFilter::default() };
    for order in [LedgerOrder::Oldest, LedgerOrder::Newest] {
        let step = step_of(&book.journal, failed.clone(), order, None, 9).await.unwrap();
        let next = step.next.map(|place| place.batch);
        assert_eq!((step.found.len(), next), (0, Some(BatchId(3))), "{order:?}");
        let places = places_of(&book, &LedgerFilter::default(), order).await;
        assert_eq!(places.len(), 4500, "{order:?}: each charge once");
    }
}

/// All places, in the order that they are told in.
async fn places_of(book: &Book, filter: &LedgerFilter, order: LedgerOrder) -> Vec<LedgerPlace> {
    let (mut all, mut after) = (vec![], None);
    loop {
        let step = step_of(&book.journal, filter.clone(), order, after, 9_999).await.unwrap();
        all.extend(step.found.iter().map(LedgerEntry::place));
        after = step.next;
        if after.is_none() {
            return all;
        }
    }
}
