//! The sums of a day: no crowd, crash or end gets past a limit.

use super::*;
use policy::Refusal;
use proptest::prelude::*;
use std::collections::BTreeMap;

const USDT: Unit = Unit::Token(Address::repeat_byte(0x0A));
const DAI: Unit = Unit::Token(Address::repeat_byte(0x0B));
const DAY_MS: i64 = 86_400_000;

/// A batch of one item each of which costs 500 of a token, with this limit for the day.
fn counting(items: &[Item], unit: Unit, most: u64) -> Proposal {
    let total = items.iter().map(|item| item.amount.to::<u64>()).sum();
    let places = (0..items.len()).collect();
    Proposal { counts: vec![count(unit, places, total, Some(most))], ..proposal(items) }
}

async fn spent(book: &Book, at_ms: i64) -> BTreeMap<String, u64> {
    let spent = book.journal.spent(lane().chain, at_ms).await.unwrap();
    spent.into_iter().map(|sum| (sum.unit, sum.amount.to())).collect()
}

async fn spent_of(book: &Book, unit: Unit) -> u64 {
    spent(book, NOW_MS).await.get(&unit.word()).copied().unwrap_or(0)
}

async fn audited(book: &Book) {
    let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
    assert_eq!(audit.faults, Vec::<String>::new());
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, AcceptError>) -> String {
    match outcome {
        Err(AcceptError::Policy(Refusal { rule, .. })) => rule,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_batch_over_the_limit_of_the_day_leaves_nothing_and_the_limit_itself_is_let_through() {
    let book = Book::new().await;
    book.take(counting(&[item(1, 1), item(2, 1)], USDT, 1_500)).await.unwrap();
    let before = book.everything().await;
    let over = book.take(counting(&[item(3, 1), item(4, 1)], USDT, 1_500)).await;
    assert_eq!(refused(over), USDT.word());
    assert_eq!(book.everything().await, before);
    book.take(counting(&[item(3, 1)], USDT, 1_500)).await.unwrap();
    assert_eq!(spent_of(&book, USDT).await, 1_500);
    let restarted = book.restart();
    let over = restarted.take(counting(&[item(5, 1)], USDT, 1_500)).await;
    assert_eq!(refused(over), USDT.word(), "a restart forgets nothing");
    restarted.take(counting(&[item(5, 1)], DAI, 500)).await.unwrap();
    audited(&restarted).await;
}

#[tokio::test]
async fn a_crowd_that_comes_at_once_is_let_through_as_far_as_the_limit_goes() {
    let book = Book::new().await;
    let place = |who: u8| FIRST + u64::from((who - 1).min(7));
    let crowd = (1..=20).map(|who| counting(&[item(who, 1)], USDT, 3_500).at(place(who)));
    let answers = book.accept_together(crowd).await;
    let (taken, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(taken.len(), 7);
    for answer in refused {
        assert_eq!(self::refused(answer), USDT.word());
    }
    assert_eq!(spent_of(&book, USDT).await, 3_500);
    audited(&book).await;
}

#[tokio::test]
async fn a_new_day_has_sums_of_its_own() {
    let book = Book::new().await;
    book.take(counting(&[item(1, 1)], USDT, 500)).await.unwrap();
    let tomorrow = Proposal { at_ms: NOW_MS + DAY_MS, ..counting(&[item(2, 1)], USDT, 500) };
    book.take(tomorrow).await.unwrap();
    for at_ms in [NOW_MS, NOW_MS + DAY_MS] {
        assert_eq!(spent(&book, at_ms).await, [(USDT.word(), 500)].into());
    }
    assert_eq!(spent(&book, NOW_MS + 2 * DAY_MS).await, [].into());
}

/// The other account of the chain, with a batch of one item that costs 500 of a token.
fn by_another(who: u8, unit: Unit, most: u64) -> Proposal {
    let lane = LaneId { signer: Address::repeat_byte(0x52), ..lane() };
    let origin = Origin { lane, ..origin() };
    let mut other = Proposal { origin, ..counting(&[item(who, 1)], unit, most) };
    *other.sealed.parts().signed = signed(u64::from(who) + 90);
    other
}

#[tokio::test]
async fn a_limit_is_one_of_all_accounts_together_however_many_sign() {
    let book = Book::new().await;
    let other = by_another(3, USDT, 1_500).origin.lane;
    book.journal.lane(other).open(FIRST, NOW_MS).await.unwrap();
    book.take(counting(&[item(1, 1)], USDT, 1_500)).await.unwrap();
    let slot = book.take(by_another(3, USDT, 1_500)).await.unwrap();
    book.take(counting(&[item(2, 1)], USDT, 1_500)).await.unwrap();
    assert_eq!(spent_of(&book, USDT).await, 1_500);
    let over = book.take(counting(&[item(4, 1)], USDT, 1_500)).await;
    assert_eq!(refused(over), USDT.word());
    let over = book.take(by_another(5, USDT, 1_500)).await;
    assert_eq!(refused(over), USDT.word(), "by whichever account");
    let room = book.journal.room(other.chain, vec![count(USDT, vec![], 1, Some(1_500))], NOW_MS);
    assert_eq!(refused(room.await), USDT.word());
    book.settle(end(&slot, BatchState::Reverted, vec![])).await;
    assert_eq!(spent_of(&book, USDT).await, 1_000, "what one gives back");
    book.take(counting(&[item(4, 1)], USDT, 1_500)).await.expect("another may take");
    audited(&book).await;
}

#[tokio::test]
async fn what_another_attempt_may_cost_is_held_to_the_limit_of_all_accounts() {
    let book = Book::new().await;
    let mut other = by_another(3, USDT, 1_500);
    book.journal.lane(other.origin.lane).open(FIRST, NOW_MS).await.unwrap();
    other.counts = vec![fee(60, Some(100))];
    book.take(other).await.unwrap();
    let first = Proposal { counts: vec![fee(30, Some(100))], ..proposal(&[item(1, 1)]) };
    let slot = book.take(first).await.unwrap();
    let add = |seq, cost| book.journal.add_attempt(again(&slot, seq, fee(cost, Some(100)), NOW_MS));
    assert_eq!(refused(add(1, 41).await), "fee");
    assert!(add(1, 40).await.unwrap().is_some());
    assert_eq!(spent_of(&book, Unit::Fee).await, 100);
    audited(&book).await;
}

#[tokio::test]
async fn what_nobody_was_charged_for_is_given_back_once_and_fees_are_not() {
    let book = Book::new().await;
    let both = vec![
        count(USDT, vec![0, 2], 1_000, Some(1_000)),
        count(DAI, vec![1], 500, Some(500)),
        fee(70, Some(100)),
    ];
    let items = [item(1, 1), item(2, 1), item(3, 1)];
    let charged = Proposal { counts: both.clone(), ..proposal(&items) };
    let charged = book.take(charged).await.unwrap();
    let failed = vec![short_of_allowance(), ItemOutcome::Unproven, ItemOutcome::Charged];
    let end_of_it = end(&charged, BatchState::Charged, failed);
    book.settle(end_of_it.clone()).await;
    book.settle(end_of_it).await;
    let left = [(USDT.word(), 500), (DAI.word(), 500), (Unit::Fee.word(), 70)];
    assert_eq!(spent(&book, NOW_MS).await, left.into(), "an item that failed, and once");

    let again = book.take(counting(&[item(1, 1)], USDT, 1_000)).await.unwrap();
    assert_eq!(spent_of(&book, USDT).await, 1_000);
    book.journal
        .settle(vec![end(&again, BatchState::Reverted, vec![])], NOW_MS + DAY_MS)
        .await
        .unwrap();
    assert_eq!(spent_of(&book, USDT).await, 500, "to the day that it was counted on");
    book.take(counting(&[item(1, 1)], USDT, 1_000)).await.unwrap();
    let dear = Proposal { counts: vec![fee(31, Some(100))], ..proposal(&[item(9, 1)]) };
    assert_eq!(refused(book.take(dear).await), "fee");
    audited(&book).await;
}

fn again(slot: &Slot<Durable<Attempt>>, seq: u32, fee: Count, at_ms: i64) -> Addition {
    let hash = B256::from(U256::from(seq).wrapping_add(U256::from(1_000)));
    let signed = Signed { hash, raw: vec![9], gas_required: 1 };
    let sealed = Sealed::new(slot.position, &slot.items, signed);
    Addition { batch: slot.batch, seq, kind: AttemptKind::Bill, fee, at_ms, sealed }
}

#[tokio::test]
async fn of_the_attempts_of_a_batch_only_the_dearest_is_counted() {
    let book = Book::new().await;
    let first = Proposal { counts: vec![fee(50, Some(100))], ..proposal(&[item(1, 1)]) };
    let slot = book.take(first).await.unwrap();
    let add =
        |seq, cost, at_ms| book.journal.add_attempt(again(&slot, seq, fee(cost, Some(100)), at_ms));
    assert!(add(1, 60, NOW_MS).await.unwrap().is_some());
    assert_eq!(spent_of(&book, Unit::Fee).await, 60);
    assert!(add(2, 40, NOW_MS).await.unwrap().is_some(), "a cheaper one costs no more");
    assert_eq!(spent_of(&book, Unit::Fee).await, 60);
    assert_eq!(refused(add(3, 101, NOW_MS).await), "fee");
    assert!(add(3, 100, NOW_MS).await.unwrap().is_some());
    assert!(add(4, 130, NOW_MS + DAY_MS).await.unwrap().is_some(), "the rest, tomorrow");
    assert_eq!(spent_of(&book, Unit::Fee).await, 100);
    assert_eq!(spent(&book, NOW_MS + DAY_MS).await, [("fee".to_owned(), 30)].into());
    audited(&book).await;
}

#[tokio::test]
async fn a_look_at_the_room_takes_none() {
    let book = Book::new().await;
    let room = |amount| {
        book.journal.room(lane().chain, vec![count(USDT, vec![], amount, Some(500))], NOW_MS)
    };
    room(500).await.unwrap();
    room(500).await.unwrap();
    assert_eq!(refused(room(501).await), USDT.word());
}

/// A clock is set back, a batch of a day that is over gives back, and a later day begins.
#[tokio::test]
async fn every_day_keeps_its_sums_in_whichever_order_they_come() {
    let book = Book::new().await;
    let on = |who: u8, day: i64| Proposal {
        at_ms: NOW_MS + day * DAY_MS,
        ..counting(&[item(who, 1)], USDT, 1_000)
    };
    let first = book.take(on(1, 0)).await.unwrap();
    for (who, day) in [(2, 2), (3, 0), (4, 1), (5, 2)] {
        book.take(on(who, day)).await.unwrap();
    }
    assert_eq!(refused(book.take(on(6, 0)).await), USDT.word(), "the day before is full, too");
    assert_eq!(refused(book.take(on(6, 2)).await), USDT.word());
    book.settle(end(&first, BatchState::Reverted, vec![])).await;
    let book = book.restart();
    for (day, sum) in [(0, 500), (1, 500), (2, 1_000)] {
        assert_eq!(spent(&book, NOW_MS + day * DAY_MS).await, [(USDT.word(), sum)].into());
    }
    book.take(on(6, 0)).await.unwrap();
    audited(&book).await;
    let other = "UPDATE spend SET amount = '1'";
    let changed = book.journal.write(move |conn| conn.execute(other, [])).await.unwrap();
    assert_eq!(changed, 2, "days that are over");
    book.room.forge();
    assert_eq!(book.audit().await.faults.len(), 2);
}

#[tokio::test]
async fn a_sum_that_was_changed_behind_the_journals_back_is_found() {
    let book = Book::in_a_file().await;
    book.take(counting(&[item(1, 1)], USDT, 1_000)).await.unwrap();
    for sql in [
        "UPDATE lane SET sums = replace(sums, '500', '1')",
        "UPDATE lane SET sums = replace(sums, '500', 'none')",
        "UPDATE lane SET sums = 'none'",
        "UPDATE lane SET day = day - 1",
        "UPDATE lane SET day = NULL, sums = NULL",
        "INSERT INTO spend SELECT chain, signer, day, json_each.key, '500' FROM lane, json_each(sums)",
        "UPDATE batch SET counted = replace(counted, '500', '1')",
        "UPDATE batch SET counted = replace(counted, 'given_back\":\"0', 'given_back\":\"1')",
        "UPDATE batch SET counted = '[]'",
    ] {
        let faults = book.journal.read(move |conn| {
            run(conn, &format!("BEGIN; {sql}"))?;
            let audit = audit(conn)?;
            run(conn, "ROLLBACK")?;
            Ok(audit.faults)
        });
        assert!(!faults.await.unwrap().is_empty(), "{sql}");
    }
    audited(&book).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Each number is a batch: whether it ends, and which of its two items fail.
    #[test]
    fn whatever_happens_the_sum_is_what_is_claimed(batches in prop::collection::vec(0..8_u8, 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (book, mut sum) = (Book::new().await, 0_u64);
            for (n, fate) in batches.into_iter().enumerate() {
                let items = [item(1, n.try_into().unwrap()), item(2, n.try_into().unwrap())];
                let answer = book.take(counting(&items, USDT, 6_000)).await;
                assert_eq!(answer.is_ok(), sum <= 5_000, "after {sum}");
                let Ok(slot) = answer else { continue };
                sum = sum.wrapping_add(1_000);
                let fails = |bit: u8| fate & bit != 0;
                let outcome = |bit| if fails(bit) { short_of_allowance() } else { ItemOutcome::Charged };
                if fails(4) {
                    book.settle(end(&slot, BatchState::Charged, vec![outcome(1), outcome(2)])).await;
                    sum = sum.wrapping_sub([0, 500, 1_000][usize::try_from((fate & 3).count_ones()).unwrap()]);
                }
            }
            assert_eq!(spent_of(&book, USDT).await, sum);
            audited(&book).await;
        });
    }
}

#[tokio::test]
async fn what_was_charged_otherwise_counts_as_it_was_charged() {
    let taken = |amount: Option<u64>, token| {
        let amount = amount.map(U256::from);
        ItemOutcome::ChargedAsTold(TakenAsTold { amount, token, wallet: None })
    };
    let Unit::Token(dai) = DAI else { panic!("it is a token") };
    for (outcome, usdt, dai) in [
        (taken(Some(600), None), 1_100, 0),
        (taken(Some(400), None), 900, 0),
        (taken(None, Some(dai)), 500, 500),
        (taken(Some(7), Some(dai)), 500, 7),
    ] {
        let book = Book::new().await;
        book.room.forge();
        let slot = book.take(counting(&[item(1, 1), item(2, 1)], USDT, 5_000)).await;
        let slot = slot.unwrap();
        let outcomes = vec![outcome.clone(), ItemOutcome::Charged];
        book.settle(end(&slot, BatchState::Charged, outcomes)).await;
        assert_eq!(
            (spent_of(&book, USDT).await, spent_of(&book, DAI).await),
            (usdt, dai),
            "{outcome:?}"
        );
        let line = &book.billing(slot.batch).await.items[0];
        assert_eq!(line.outcome, Some(LineOutcome::Told(outcome)));
        assert!(line.live, "it was charged");
        audited(&book).await;
        let other = "UPDATE claim SET detail = 'amount=500' WHERE detail IS NOT NULL";
        let changed = book.journal.write(move |conn| conn.execute(other, [])).await.unwrap();
        assert_eq!(changed, 1);
        let audit = book.journal.read(|conn| audit(conn)).await.unwrap();
        assert_eq!(audit.faults, ["batch 1 did not end as its rows say"]);
    }
}
