//! The table of repeats, row by row and in both modes.

use super::*;
use crate::billing::{Entry, Scalar, Values};
use alloy::dyn_abi::DynSolValue;
use proptest::prelude::*;
use std::collections::BTreeMap;

const AMOUNT: u64 = 500;

fn entry(who: u8) -> Entry {
    stating(who, Some(AMOUNT))
}

fn stating(who: u8, amount: Option<u64>) -> Entry {
    let mut fields = BTreeMap::from([
        ("subscribeId".to_owned(), Scalar::Number(who.to_string())),
        ("planId".to_owned(), Scalar::Number("3".to_owned())),
        ("userHash".to_owned(), Scalar::Text(hex::encode([who; 32]))),
    ]);
    if let Some(amount) = amount {
        fields.insert("amount".to_owned(), Scalar::Number(amount.to_string()));
    }
    Entry::parse(fields).unwrap()
}

/// As a contract profile that knows the amount reads it.
fn read(entry: &Entry) -> Admitted {
    let amount = |n| ("amount".to_owned(), DynSolValue::Uint(n, 256));
    entry.admitted(entry.amount.map(amount).into_iter().collect::<Values>())
}

fn order(mode: Mode, who: impl IntoIterator<Item = u8>) -> Order<Admitted> {
    let order = Order::admit(who.into_iter().map(entry).collect(), 100).unwrap();
    Order { mode, ..order.read(|entry| Ok(read(entry))) }
}

/// The claim of customer `who`, in `batch`.
fn claim(who: u8, batch: i64, state: BatchState) -> Claim {
    let user = UserHash(B256::repeat_byte(who));
    let key = ChargeKey { plan: PlanId(3), user, period: Period::Numbered(U256::from(1)) };
    let by = ClaimedBy { batch: BatchId(batch), state, hash: hash(batch) };
    Claim { subscribe: SubscribeId(who.into()), key, amount: U256::from(AMOUNT), by }
}

fn hash(batch: i64) -> B256 {
    B256::from(U256::from(batch))
}

fn open(who: u8, batch: i64) -> Vec<Claim> {
    vec![claim(who, batch, BatchState::Open)]
}

fn charged(who: u8, batch: i64) -> Vec<Claim> {
    vec![claim(who, batch, BatchState::Charged)]
}

type Said = (i64, FailCode, Option<B256>);

fn said(refused: &[Refused]) -> Vec<Said> {
    refused.iter().map(|r| (r.subscribe.0, r.code, r.tx_hash)).collect()
}

/// What is free and what is refused, of a request that is new in part.
fn fresh(repeat: Repeat) -> (Vec<i64>, Vec<Said>) {
    let Repeat::Fresh(order) = repeat else { panic!("{repeat:?}") };
    (order.entries.iter().map(|entry| entry.subscribe.0).collect(), said(&order.refused))
}

fn refused(repeat: Repeat) -> Vec<Said> {
    let Repeat::Refused(refused) = repeat else { panic!("{repeat:?}") };
    said(&refused)
}

const IN_PROGRESS: FailCode = FailCode::BillingInProgress;
const PAID: FailCode = FailCode::AlreadyCharged;
const FREE: FailCode = FailCode::NotAttempted;
const CONFLICT: FailCode = FailCode::Conflict;
const MODES: [Mode; 2] = [Mode::All, Mode::Partial];

#[test]
fn what_nobody_claimed_goes_the_normal_way_as_it_came() {
    // Batches that ended reverted, cancelled or expired hold no claims, nor does an earlier code 2.
    for mode in MODES {
        let asked = Order { dry_run: true, ..order(mode, [1, 2]) };
        assert_eq!(repeat_of(asked.clone(), &[vec![], vec![]]), Repeat::Fresh(asked.clone()));
        assert_eq!(repeat_of(asked.clone(), &[]), Repeat::Fresh(asked));
    }
}

#[test]
fn the_same_entries_or_a_subset_of_one_batch_are_answered_with_that_batch() {
    for mode in MODES {
        for held in [open, charged] {
            let all = [held(1, 7), held(2, 7), held(3, 7)];
            assert_eq!(repeat_of(order(mode, [1, 2, 3]), &all), Repeat::Of(BatchId(7)));
            assert_eq!(repeat_of(order(mode, [2]), &[held(2, 7)]), Repeat::Of(BatchId(7)));
            let reordered = [held(3, 7), held(1, 7)];
            assert_eq!(repeat_of(order(mode, [3, 1]), &reordered), Repeat::Of(BatchId(7)));
        }
    }
}

#[test]
fn of_claimed_and_free_ones_all_or_nothing_charges_nothing() {
    let claims = [open(1, 7), vec![], charged(3, 8)];
    assert_eq!(
        refused(repeat_of(order(Mode::All, [1, 2, 3]), &claims)),
        [(1, IN_PROGRESS, Some(hash(7))), (3, PAID, Some(hash(8))), (2, FREE, None),]
    );
}

#[test]
fn of_claimed_and_free_ones_partial_charges_the_free_ones() {
    let claims = [open(1, 7), vec![], charged(3, 8), vec![]];
    let asked = Order { dry_run: true, ..order(Mode::Partial, [1, 2, 3, 4]) };
    let repeat = repeat_of(asked, &claims);
    assert!(
        matches!(&repeat, Repeat::Fresh(order) if order.dry_run && order.mode == Mode::Partial)
    );
    assert_eq!(
        fresh(repeat),
        (vec![2, 4], vec![(1, IN_PROGRESS, Some(hash(7))), (3, PAID, Some(hash(8))),])
    );
}

#[test]
fn entries_of_two_batches_are_no_repeat_of_either() {
    for mode in MODES {
        let claims = [open(1, 7), charged(2, 8)];
        assert_eq!(
            refused(repeat_of(order(mode, [1, 2]), &claims)),
            [(1, IN_PROGRESS, Some(hash(7))), (2, PAID, Some(hash(8))),]
        );
    }
}

#[test]
fn the_same_charge_with_another_amount_plan_or_user_is_a_conflict() {
    let other_user = claim(9, 7, BatchState::Open);
    let mut other_plan = claim(1, 7, BatchState::Open);
    other_plan.key.plan = PlanId(4);
    let mut other_amount = claim(1, 7, BatchState::Open);
    other_amount.amount = U256::from(AMOUNT + 1);
    let mut other_subscription = claim(1, 7, BatchState::Open);
    other_subscription.subscribe = SubscribeId(9);
    let user_of_another = Claim { subscribe: SubscribeId(1), ..other_user };
    for (what, found) in [
        ("amount", other_amount),
        ("plan", other_plan),
        ("user", user_of_another),
        ("subscription", other_subscription),
    ] {
        for (mode, state) in MODES.into_iter().zip([BatchState::Open, BatchState::Charged]) {
            let found = Claim { by: ClaimedBy { state, ..found.by }, ..found };
            let repeat = repeat_of(order(mode, [1]), &[vec![found]]);
            assert_eq!(refused(repeat), [(1, CONFLICT, Some(hash(7)))], "{what}");
            let repeat = repeat_of(order(mode, [1, 2]), &[vec![found], open(2, 7)]);
            let one = (1, CONFLICT, Some(hash(7)));
            assert_eq!(refused(repeat), [one, (2, IN_PROGRESS, Some(hash(7)))], "{what}");
        }
        let both = [vec![found], vec![]];
        let (free, said) = fresh(repeat_of(order(Mode::Partial, [1, 2]), &both));
        assert_eq!((free, said), (vec![2], vec![(1, CONFLICT, Some(hash(7)))]), "{what}");
        let said = refused(repeat_of(order(Mode::All, [1, 2]), &both));
        assert_eq!(said, [(1, CONFLICT, Some(hash(7))), (2, FREE, None)], "{what}");
    }
}

#[test]
fn a_claim_that_conflicts_outranks_one_that_agrees() {
    let (agrees, conflicts) = (claim(1, 7, BatchState::Open), claim(9, 8, BatchState::Charged));
    for claims in [vec![agrees, conflicts], vec![conflicts, agrees]] {
        let repeat = repeat_of(order(Mode::All, [1]), &[claims]);
        assert_eq!(refused(repeat), [(1, CONFLICT, Some(hash(8)))]);
    }
}

#[test]
fn an_entry_that_states_no_amount_repeats_whatever_was_charged() {
    // The lookup supplies the amount; the claim holds the one that it supplied then.
    let order = Order::admit(vec![stating(1, None)], 9).unwrap().read(|entry| Ok(read(entry)));
    assert_eq!(repeat_of(order, &[open(1, 7)]), Repeat::Of(BatchId(7)));
}

#[test]
fn a_refused_entry_keeps_a_request_from_being_a_mere_repeat() {
    for mode in MODES {
        let repeat = repeat_of(order(mode, [1, 2, 1]), &[open(1, 7), open(2, 7)]);
        assert_eq!(
            refused(repeat),
            [
                (1, FailCode::DuplicateEntry, None),
                (1, IN_PROGRESS, Some(hash(7))),
                (2, IN_PROGRESS, Some(hash(7))),
            ]
        );
    }
}

/// How many entries are told of.
fn size(entries: &[Admitted], refused: &[Refused]) -> usize {
    entries.len().saturating_add(refused.len())
}

fn claims_of_one() -> impl Strategy<Value = Vec<(u8, i64, bool, bool)>> {
    prop::collection::vec((0..6_u8, 1..4_i64, any::<bool>(), any::<bool>()), 0..3)
}

proptest! {
    #[test]
    fn nothing_that_is_claimed_is_ever_charged(
        claims in prop::collection::vec(claims_of_one(), 1..6),
        partial: bool,
        duplicate: bool,
    ) {
        let claims: Vec<Vec<Claim>> = claims
            .iter()
            .map(|found| found.iter().map(|(who, batch, is_open, same_amount)| {
                let state = if *is_open { BatchState::Open } else { BatchState::Charged };
                let amount = U256::from(if *same_amount { AMOUNT } else { 1 });
                Claim { amount, ..claim(*who, *batch, state) }
            }).collect())
            .collect();
        let count = u8::try_from(claims.len()).unwrap();
        let mode = if partial { Mode::Partial } else { Mode::All };
        let asked = order(mode, (0..count).chain(duplicate.then_some(0)));
        let free = |index: usize| claims[index].is_empty();
        let everyone = size(&asked.entries, &asked.refused);
        match repeat_of(asked.clone(), &claims) {
            Repeat::Fresh(order) => {
                let expected = asked.entries.iter().zip(0..).filter(|(_, at)| free(*at));
                let expected: Vec<Admitted> = expected.map(|(entry, _)| entry.clone()).collect();
                prop_assert!(!order.entries.is_empty());
                prop_assert_eq!(&order.entries, &expected);
                prop_assert!(partial || (0..claims.len()).all(free));
                prop_assert_eq!(size(&order.entries, &order.refused), everyone);
            }
            Repeat::Refused(refused) => {
                prop_assert_eq!(refused.len(), everyone, "every entry is told of once");
                prop_assert!((0..claims.len()).any(|at| !free(at)));
            }
            Repeat::Of(batch) => {
                for (entry, found) in asked.entries.iter().zip(&claims) {
                    prop_assert!(!found.is_empty());
                    for claim in found {
                        prop_assert_eq!(claim.subscribe, entry.subscribe);
                        prop_assert_eq!(claim.amount, U256::from(AMOUNT));
                    }
                    prop_assert!(found.iter().any(|claim| claim.by.batch == batch));
                }
            }
        }
    }
}
