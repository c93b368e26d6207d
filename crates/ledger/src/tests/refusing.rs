//! Refusals stand in the ledger beside charges, and cost the journal nothing.

use super::*;
use billing::{Entry, Scalar};
use std::sync::atomic::{AtomicI64, Ordering};

const DAY_MS: i64 = 86_400_000;

/// What a subscription heard that could not be charged.
fn refused(who: i64, code: FailCode) -> billing::Refused {
    let number = |n: i64| Scalar::Number(n.to_string().into());
    let fields = [
        ("subscribeId", number(who)),
        ("planId", number(3)),
        ("userHash", Scalar::Text(hex::encode(user(u8::try_from(who % 256).unwrap()).0).into())),
        ("amount", number(10)),
    ];
    let fields = fields.map(|(name, value)| (name.into(), value));
    Entry::parse(fields.into()).unwrap().refused(code)
}

fn request_of(refused: Vec<billing::Refused>) -> RefusedRequest {
    let (caller, request_id) = (Some(asked_by().label), Some("run/1".to_owned()));
    RefusedRequest { chain: CHAIN, family: Family::Evm, caller, request_id, refused }
}

/// Those beside the journal of `book`, on a clock.
fn beside(book: &Book, clock: Clock) -> Ledger {
    let refusals = Refusals::of(&config(&book.room).into(), clock);
    Ledger { journal: book.journal.clone(), refusals }
}

fn stands_still() -> Clock {
    Clock::telling(|| NOW_MS)
}

async fn all(
    ledger: &Ledger,
    filter: LedgerFilter,
    order: LedgerOrder,
    limit: usize,
) -> Vec<LedgerLine> {
    let (mut all, mut after) = (vec![], None);
    loop {
        let step = ledger.step(filter.clone(), order, after, limit).await.unwrap();
        assert!(step.found.len() <= limit);
        all.extend(step.found);
        after = step.next;
        if after.is_none() {
            return all;
        }
    }
}

async fn kept(ledger: &Ledger) -> Vec<KeptRefusal> {
    let lines = all(ledger, LedgerFilter::default(), LedgerOrder::Oldest, 10).await;
    let refusals = lines.into_iter().filter_map(|line| match line {
        LedgerLine::Charge(_) => None,
        LedgerLine::Refusal(refusal) => Some(*refusal),
    });
    refusals.collect()
}

#[tokio::test]
async fn the_same_refusal_is_one_line_a_day_and_says_how_often() {
    static NOW: AtomicI64 = AtomicI64::new(NOW_MS);
    let book = Book::in_a_file().await;
    let ledger = beside(&book, Clock::telling(|| NOW.load(Ordering::Relaxed)));
    let refusals = ledger.refusals.as_ref().unwrap();
    for minute in 0..3 {
        NOW.store(NOW_MS + minute * 60_000, Ordering::Relaxed);
        let poor = refused(1, FailCode::BalanceInsufficient);
        refusals.note(request_of(vec![poor, refused(2, FailCode::AllowanceInsufficient)]));
    }
    refusals.note(request_of(vec![refused(1, FailCode::AllowanceInsufficient)]));
    NOW.store(NOW_MS + DAY_MS, Ordering::Relaxed);
    refusals.note(request_of(vec![refused(1, FailCode::BalanceInsufficient)]));
    let told = kept(&ledger).await;
    let told: Vec<_> = told
        .iter()
        .map(|one| (one.subscribe.0, one.code, one.times, one.last_ms - one.first_ms))
        .collect();
    let (poor, forbidden) = (FailCode::BalanceInsufficient, FailCode::AllowanceInsufficient);
    assert_eq!(
        told,
        [(1, poor, 3, 120_000), (2, forbidden, 3, 120_000), (1, forbidden, 1, 0), (1, poor, 1, 0)]
    );
}

#[tokio::test]
async fn charges_and_refusals_are_told_once_in_one_order_in_pages_of_any_size() {
    let book = Book::in_a_file().await;
    let ledger = beside(&book, stands_still());
    let refusals = ledger.refusals.as_ref().unwrap();
    // Before the first batch, behind some, several behind one, and behind the last.
    let mut who = 0;
    let mut refuse = |count: i64| {
        let some = (who..who + count).map(|who| refused(who, FailCode::PlanInactive)).collect();
        who += count;
        refusals.note(request_of(some));
        refusals.write().unwrap();
    };
    refuse(2);
    for number in 0..150_u64 {
        book.accept(&[item(1, number), item(2, number)]).await.unwrap();
        refusals.seen(newest_batch(&ledger.journal).await.unwrap());
        if number % 7 == 0 || number == 149 {
            refuse(3);
        }
    }
    let filter = LedgerFilter::default;
    let whole: Vec<_> = all(&ledger, filter(), LedgerOrder::Oldest, 1000)
        .await
        .iter()
        .map(LedgerLine::place)
        .collect();
    assert_eq!(whole.len(), 300 + 2 + 23 * 3);
    assert!(whole.is_sorted() && whole.windows(2).all(|two| two[0] != two[1]), "{whole:?}");
    let newest: Vec<_> = whole.iter().rev().copied().collect();
    for limit in [1, 2, 3, 7, 64] {
        for (order, expected) in [(LedgerOrder::Oldest, &whole), (LedgerOrder::Newest, &newest)] {
            let told = all(&ledger, filter(), order, limit).await;
            let told: Vec<_> = told.iter().map(LedgerLine::place).collect();
            assert_eq!(&told, expected, "{limit} {order:?}");
            let state = Some(REFUSED.to_owned());
            let told = all(&ledger, LedgerFilter { state, ..filter() }, order, limit).await;
            assert_eq!(told.len(), 2 + 23 * 3, "{limit} {order:?}");
        }
    }
}

#[tokio::test]
async fn what_is_refused_while_somebody_reads_comes_at_the_end() {
    let book = Book::in_a_file().await;
    let ledger = beside(&book, stands_still());
    let refusals = ledger.refusals.as_ref().unwrap();
    for number in 0..3 {
        book.accept(&[item(1, number)]).await.unwrap();
    }
    let all = LedgerFilter::default();
    let first = ledger.step(all.clone(), LedgerOrder::Oldest, None, 2).await.unwrap();
    // Nobody has told those who write it how far the journal is by now.
    refusals.note(request_of(vec![refused(9, FailCode::PlanInactive)]));
    refusals.write().unwrap();
    let rest = ledger.step(all, LedgerOrder::Oldest, first.next, 9).await.unwrap();
    let told: Vec<_> = rest.found.iter().map(|line| line.place().item).collect();
    assert_eq!(told, [PlaceInBatch::Charge(0), PlaceInBatch::Refusal(1)]);
}

#[tokio::test]
async fn only_refusals_that_fit_everything_that_is_asked_are_told() {
    let book = Book::in_a_file().await;
    let slot = book.accept(&[item(1, 1), item(2, 1)]).await.unwrap();
    book.settle(end(&slot, BatchState::Charged, vec![ItemOutcome::Charged, short_of_allowance()]))
        .await;
    let ledger = beside(&book, stands_still());
    let refusals = ledger.refusals.as_ref().unwrap();
    let wallet = Address::repeat_byte(0xEE);
    let terms = ChargeTerms { wallet: Some(wallet), ..ChargeTerms::default() };
    let theirs = billing::Refused { terms, ..refused(1, FailCode::AllowanceInsufficient) };
    refusals.note(request_of(vec![theirs, refused(7, FailCode::NotDueYet)]));
    let count = async |filter: LedgerFilter| {
        let told = all(&ledger, filter.clone(), LedgerOrder::Oldest, 2).await.len();
        assert_eq!(all(&ledger, filter, LedgerOrder::Newest, 1).await.len(), told);
        told
    };
    let some = LedgerFilter::default;
    assert_eq!(count(some()).await, 4);
    assert_eq!(count(LedgerFilter { subscribe: Some(SubscribeId(1)), ..some() }).await, 2);
    assert_eq!(count(LedgerFilter { subscribe: Some(SubscribeId(7)), ..some() }).await, 1);
    assert_eq!(count(LedgerFilter { wallet: Some(wallet), ..some() }).await, 1);
    assert_eq!(count(LedgerFilter { user: Some(user(7)), ..some() }).await, 1);
    let reason = Some(FailCode::AllowanceInsufficient);
    assert_eq!(count(LedgerFilter { reason, ..some() }).await, 2, "on chain and before");
    for (state, expected) in [("charged", 1), ("failed", 1), (REFUSED, 2)] {
        let state = Some(state.to_owned());
        assert_eq!(
            count(LedgerFilter { state: state.clone(), ..some() }).await,
            expected,
            "{state:?}"
        );
    }
    assert_eq!(count(LedgerFilter { caller: Some(asked_by().label), ..some() }).await, 2);
    assert_eq!(
        count(LedgerFilter { caller: Some(CallerLabel("x".to_owned())), ..some() }).await,
        0
    );
    assert_eq!(count(LedgerFilter { chain: Some(CHAIN), ..some() }).await, 4);
    let other = PlatformChainId(1);
    assert_eq!(count(LedgerFilter { chains: Some(vec![other]), ..some() }).await, 0);
    assert_eq!(count(LedgerFilter { chains: Some(vec![other, CHAIN]), ..some() }).await, 4);
    assert_eq!(count(LedgerFilter { from_ms: Some(NOW_MS + 1), ..some() }).await, 0);
    assert_eq!(count(LedgerFilter { until_ms: Some(NOW_MS), ..some() }).await, 0);
}

#[tokio::test]
async fn a_flood_is_counted_and_the_journal_does_not_hear_of_it() {
    let book = Book::in_a_file().await;
    let ledger = beside(&book, stands_still());
    let refusals = ledger.refusals.as_ref().unwrap();
    let commits = book.journal.figures().commits.load(Ordering::Relaxed);
    let before = book.everything().await;
    for page in 0..11 {
        let some = (0..1000).map(|n| refused(page * 1000 + n, FailCode::NotDueYet)).collect();
        refusals.note(request_of(some));
    }
    assert_eq!(refusals.dropped(), 1000, "ten thousand wait at most");
    let state = Some(REFUSED.to_owned());
    let told =
        all(&ledger, LedgerFilter { state, ..LedgerFilter::default() }, LedgerOrder::Newest, 1000);
    assert_eq!(told.await.len(), 10_000);
    assert_eq!(book.journal.figures().commits.load(Ordering::Relaxed), commits);
    assert_eq!(book.everything().await, before);
}

#[tokio::test]
async fn what_is_old_enough_is_forgotten() {
    static NOW: AtomicI64 = AtomicI64::new(NOW_MS);
    let book = Book::in_a_file().await;
    let clock = Clock::telling(|| NOW.load(Ordering::Relaxed));
    let ledger = beside(&book, clock);
    ledger.refusals.as_ref().unwrap().note(request_of(vec![refused(1, FailCode::NotDueYet)]));
    assert_eq!(kept(&ledger).await.len(), 1);
    NOW.store(NOW_MS + DAY_MS + 1, Ordering::Relaxed);
    // The next process: one that has just looked for old ones looks a minute later.
    let ledger = beside(&book, clock);
    ledger.refusals.as_ref().unwrap().note(request_of(vec![refused(2, FailCode::NotDueYet)]));
    let told = kept(&ledger).await;
    assert_eq!(told.iter().map(|one| one.subscribe.0).collect::<Vec<_>>(), [2]);
    assert_eq!(ledger.refusals.unwrap().dropped(), 0, "their time was over");
}

#[tokio::test]
async fn behind_an_older_copy_of_the_journal_they_stand_at_its_end() {
    let book = Book::in_a_file().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let ledger = beside(&book, stands_still());
    let refusals = ledger.refusals.as_ref().unwrap();
    refusals.seen(BatchId(500));
    refusals.note(request_of(vec![refused(1, FailCode::NotDueYet)]));
    refusals.write().unwrap();
    let ledger = beside(&book, stands_still());
    let newest = newest_batch(&ledger.journal).await.unwrap();
    ledger.refusals.as_ref().unwrap().begin(newest).unwrap();
    book.accept(&[item(1, 2)]).await.unwrap();
    let told = all(&ledger, LedgerFilter::default(), LedgerOrder::Oldest, 1).await;
    let told: Vec<_> = told.iter().map(|line| (line.place().batch.0, line.place().item)).collect();
    let (charge, refusal) = (PlaceInBatch::Charge(0), PlaceInBatch::Refusal(1));
    assert_eq!(told, [(1, charge), (1, refusal), (2, charge)]);
}

#[tokio::test]
async fn a_full_disk_and_a_broken_file_cost_refusals_and_nothing_else() {
    let book = Book::in_a_file().await;
    book.accept(&[item(1, 1)]).await.unwrap();
    let full = JournalConfig { min_free_bytes: u64::MAX, ..config(&book.room) };
    let refusals = Refusals::of(&full.into(), stands_still()).unwrap();
    refusals.note(request_of(vec![refused(1, FailCode::NotDueYet)]));
    assert!(matches!(refusals.write(), Err(Unkept::NoRoom)));
    assert_eq!(refusals.dropped(), 1);
    assert!(!book.room.path().join("journal.db.refusals").exists());

    std::fs::write(
        book.room.path().join("journal.db.refusals"),
        "no database, but long enough for one",
    )
    .unwrap();
    let ledger = beside(&book, stands_still());
    let refusals = ledger.refusals.as_ref().unwrap();
    refusals.note(request_of(vec![refused(1, FailCode::NotDueYet)]));
    assert!(matches!(refusals.write(), Err(Unkept::File(_))));
    assert_eq!(refusals.dropped(), 1);
    let (filter, order) = (LedgerFilter::default(), LedgerOrder::Newest);
    let told = ledger.step(filter.clone(), order, None, 9).await;
    assert!(matches!(told, Err(LedgerError::Refusals(_))), "nobody is told that there are none");
    let open = LedgerFilter { state: Some("open".to_owned()), ..filter };
    assert_eq!(ledger.step(open, order, None, 9).await.unwrap().found.len(), 1);
}

#[tokio::test]
async fn a_restart_finds_what_was_refused_and_nobody_else_reads_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let book = Book::in_a_file().await;
    let ledger = beside(&book, stands_still());
    ledger.refusals.as_ref().unwrap().note(request_of(vec![refused(1, FailCode::NotDueYet)]));
    let before = kept(&ledger).await;
    assert_eq!(kept(&beside(&book, stands_still())).await, before);
    let file = std::fs::metadata(book.room.path().join("journal.db.refusals")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let never = JournalConfig { keep_refusals: None, ..config(&book.room) };
    assert!(Refusals::of(&never.into(), stands_still()).is_none());
}
