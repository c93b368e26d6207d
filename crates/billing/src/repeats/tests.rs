//! The table of repeats, row by row and in both modes; and what holds of every row.

use super::*;
use crate::{
    ChargeKey, ChargeTerms, Digits, Entry, Mode, Period, PlanId, Scalar, SubscribeId, UserHash,
    Values,
};
use alloy::dyn_abi::DynSolValue;
use alloy::primitives::{Address, B256, U256};
use proptest::prelude::*;
use std::collections::BTreeMap;

const AMOUNT: u64 = 500;
const WALLET: Address = Address::repeat_byte(0x11);
const TOKEN: Address = Address::repeat_byte(0x22);

/// Whatever `who` states besides the ids.
fn stating(who: u8, values: impl IntoIterator<Item = (&'static str, DynSolValue)>) -> Admitted {
    let fields = BTreeMap::from([
        ("subscribeId".into(), Scalar::Text(format!("0{who}").into())),
        ("planId".into(), Scalar::Number("3".into())),
        ("userHash".into(), Scalar::Text(hex::encode([who; 32]).into())),
    ]);
    let values = values.into_iter().map(|(name, value)| (name.into(), value));
    Entry::parse(fields).unwrap().admitted(values.collect::<Values>())
}

fn uint(n: u64) -> DynSolValue {
    DynSolValue::Uint(U256::from(n), 256)
}

fn entry(who: u8) -> Admitted {
    stating(
        who,
        [
            ("amount", uint(AMOUNT)),
            ("planVersion", uint(2)),
            ("userWallet", DynSolValue::Address(WALLET)),
            ("tokenAddress", DynSolValue::Address(TOKEN)),
        ],
    )
}

fn ask(mode: Mode, entries: Vec<Admitted>) -> Order<Admitted> {
    Order {
        request_id: None,
        caller: None,
        mode,
        dry_run: false,
        entries,
        refused: vec![],
        satisfied: vec![],
    }
}

fn order(mode: Mode, who: impl IntoIterator<Item = u8>) -> Order<Admitted> {
    ask(mode, who.into_iter().map(entry).collect())
}

/// The claim of customer `who`, in `batch`.
fn claim(who: u8, batch: i64, state: ClaimState) -> Claim {
    let user = UserHash(B256::repeat_byte(who));
    let key = ChargeKey { plan: PlanId(3), user, period: Period::Numbered(U256::from(1)) };
    let terms =
        ChargeTerms { plan_version: Some(U256::from(2)), wallet: Some(WALLET), token: Some(TOKEN) };
    let by = ClaimedBy { batch: BatchId(batch), state, hash: hash(batch) };
    Claim { subscribe: SubscribeId(who.into()), key, amount: U256::from(AMOUNT), terms, by }
}

fn hash(batch: i64) -> B256 {
    B256::from(U256::from(batch))
}

fn open(who: u8, batch: i64) -> Vec<Claim> {
    vec![claim(who, batch, ClaimState::Open)]
}

fn charged(who: u8, batch: i64) -> Vec<Claim> {
    vec![claim(who, batch, ClaimState::Charged)]
}

fn unproven(who: u8, batch: i64) -> Vec<Claim> {
    vec![claim(who, batch, ClaimState::Unproven)]
}

type Said = (i64, FailCode, Option<B256>);

fn said(refused: &[Refused]) -> Vec<Said> {
    refused.iter().map(|r| (r.subscribe.0, r.code, r.tx_hash)).collect()
}

/// Who is held by which batch.
fn held(satisfied: &[Satisfied]) -> Vec<(i64, i64)> {
    satisfied.iter().map(|one| (one.subscribe.0, one.by.batch.0)).collect()
}

/// What is free, refused and held of a request that is new in part.
fn fresh(repeat: Repeat) -> (Vec<i64>, Vec<Said>, Vec<(i64, i64)>) {
    let Repeat::Fresh(order) = repeat else { panic!("{repeat:?}") };
    let free = order.entries.iter().map(|entry| entry.subscribe.0).collect();
    (free, said(&order.refused), held(&order.satisfied))
}

fn refused(repeat: Repeat) -> (Vec<Said>, Vec<(i64, i64)>) {
    let Repeat::Refused(refused, satisfied) = repeat else { panic!("{repeat:?}") };
    (said(&refused), held(&satisfied))
}

fn of(repeat: Repeat) -> (i64, Vec<(i64, i64)>) {
    let Repeat::Of(batch, satisfied) = repeat else { panic!("{repeat:?}") };
    (batch.0, held(&satisfied))
}

const CONFLICT: FailCode = FailCode::Conflict;
const UNKNOWN: FailCode = FailCode::OutcomeUnknown;
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
        for by in [open, charged] {
            let all = [by(1, 7), by(2, 7), by(3, 7)];
            let whole = of(repeat_of(order(mode, [1, 2, 3]), &all));
            assert_eq!(whole, (7, vec![(1, 7), (2, 7), (3, 7)]));
            assert_eq!(of(repeat_of(order(mode, [2]), &[by(2, 7)])), (7, vec![(2, 7)]));
            let reordered = of(repeat_of(order(mode, [3, 1]), &[by(3, 7), by(1, 7)]));
            assert_eq!(reordered, (7, vec![(3, 7), (1, 7)]));
        }
    }
}

#[test]
fn entries_of_several_batches_are_answered_with_the_newest() {
    for mode in MODES {
        let claims = [charged(1, 7), open(2, 9), charged(3, 8)];
        let repeat = of(repeat_of(order(mode, [1, 2, 3]), &claims));
        assert_eq!(repeat, (9, vec![(1, 7), (2, 9), (3, 8)]));
    }
}

#[test]
fn what_is_free_is_charged_in_either_mode_and_what_is_held_stands_in_nobodys_way() {
    for mode in MODES {
        let claims = [open(1, 7), vec![], charged(3, 8), vec![]];
        let asked = Order { dry_run: true, ..order(mode, [1, 2, 3, 4]) };
        let repeat = repeat_of(asked, &claims);
        assert!(matches!(&repeat, Repeat::Fresh(order) if order.dry_run && order.mode == mode));
        assert_eq!(fresh(repeat), (vec![2, 4], vec![], vec![(1, 7), (3, 8)]));
    }
}

#[test]
fn a_charge_that_is_stated_otherwise_is_a_conflict() {
    let base = || claim(1, 7, ClaimState::Open);
    let mut plan = base();
    plan.key.plan = PlanId(4);
    let user = Claim { subscribe: SubscribeId(1), ..claim(9, 7, ClaimState::Open) };
    let terms = |change: fn(&mut ChargeTerms)| {
        let mut other = base();
        change(&mut other.terms);
        other
    };
    for (what, found) in [
        ("amount", Claim { amount: U256::from(AMOUNT + 1), ..base() }),
        ("plan", plan),
        ("user", user),
        ("subscription", Claim { subscribe: SubscribeId(9), ..base() }),
        ("version", terms(|terms| terms.plan_version = Some(U256::from(3)))),
        ("wallet", terms(|terms| terms.wallet = Some(TOKEN))),
        ("token", terms(|terms| terms.token = Some(WALLET))),
    ] {
        let conflict = (1, CONFLICT, Some(hash(7)));
        for (mode, state) in MODES.into_iter().zip([ClaimState::Open, ClaimState::Charged]) {
            let found = Claim { by: ClaimedBy { state, ..found.by }, ..found };
            let alone = refused(repeat_of(order(mode, [1]), &[vec![found]]));
            assert_eq!(alone, (vec![conflict], vec![]), "{what}");
            let beside = refused(repeat_of(order(mode, [1, 2]), &[vec![found], open(2, 7)]));
            assert_eq!(beside, (vec![conflict], vec![(2, 7)]), "{what}");
            let free = fresh(repeat_of(order(mode, [1, 2]), &[vec![found], vec![]]));
            assert_eq!(free, (vec![2], vec![conflict], vec![]), "{what}: everybody hears a reason");
        }
    }
}

#[test]
fn what_nobody_knows_contradicts_nothing() {
    let mut learnt = claim(1, 7, ClaimState::Charged);
    learnt.terms = ChargeTerms::default();
    assert_eq!(of(repeat_of(order(Mode::All, [1]), &[vec![learnt]])), (7, vec![(1, 7)]));
    // The lookup supplies what is not stated; the claim holds what it supplied then.
    let short = ask(Mode::All, vec![stating(1, [])]);
    assert_eq!(of(repeat_of(short, &[open(1, 7)])), (7, vec![(1, 7)]));
}

#[test]
fn a_claim_that_conflicts_outranks_one_that_agrees() {
    let (agrees, conflicts) = (claim(1, 7, ClaimState::Open), claim(9, 8, ClaimState::Charged));
    for claims in [vec![agrees, conflicts], vec![conflicts, agrees]] {
        let repeat = repeat_of(order(Mode::All, [1]), &[claims]);
        assert_eq!(refused(repeat).0, [(1, CONFLICT, Some(hash(8)))]);
    }
}

#[test]
fn an_outcome_that_nobody_knows_is_never_called_paid_or_under_way() {
    for mode in MODES {
        let alone = refused(repeat_of(order(mode, [1]), &[unproven(1, 7)]));
        assert_eq!(alone, (vec![(1, UNKNOWN, Some(hash(7)))], vec![]));
        let beside = refused(repeat_of(order(mode, [1, 2]), &[unproven(1, 7), charged(2, 7)]));
        assert_eq!(beside, (vec![(1, UNKNOWN, Some(hash(7)))], vec![(2, 7)]));
        let both = repeat_of(order(mode, [1]), &[[unproven(1, 7), open(1, 8)].concat()]);
        assert_eq!(refused(both).0, [(1, UNKNOWN, Some(hash(7)))]);
    }
}

#[test]
fn a_refused_entry_keeps_a_request_from_being_a_mere_repeat() {
    for mode in MODES {
        let mut asked = order(mode, [1, 2]);
        asked.refused.push(entry(3).refused(FailCode::InvalidEntry));
        let repeat = refused(repeat_of(asked, &[open(1, 7), open(2, 7)]));
        let invalid = (3, FailCode::InvalidEntry, None);
        assert_eq!(repeat, (vec![invalid], vec![(1, 7), (2, 7)]));
    }
}

#[test]
fn a_number_comes_back_as_the_caller_wrote_it() {
    let Repeat::Of(_, satisfied) = repeat_of(order(Mode::All, [1]), &[open(1, 7)]) else {
        panic!()
    };
    let written = |digits: &Digits| (digits.digits().to_owned(), digits.is_quoted());
    assert_eq!(written(&satisfied[0].spelling), ("01".to_owned(), true));
    let refused = entry(1).refused(CONFLICT);
    assert_eq!(
        (written(&refused.spelling.plan), written(&refused.spelling.subscribe)),
        (("3".to_owned(), false), ("01".to_owned(), true))
    );
    let most = refused.spelling.subscribe.like(U256::MAX);
    assert_eq!(written(&most), (U256::MAX.to_string(), true));
}

fn claims_of_one() -> impl Strategy<Value = Vec<(u8, i64, u8, bool)>> {
    prop::collection::vec((0..6_u8, 1..4_i64, 0..3_u8, any::<bool>()), 0..3)
}

const STATES: [ClaimState; 3] = [ClaimState::Open, ClaimState::Charged, ClaimState::Unproven];

proptest! {
    #[test]
    fn nothing_that_is_claimed_is_charged_and_nobody_who_pays_is_refused(
        claims in prop::collection::vec(claims_of_one(), 1..6),
        partial: bool,
        turned_down: bool,
    ) {
        let claims: Vec<Vec<Claim>> = claims
            .iter()
            .map(|found| found.iter().map(|(who, batch, state, same_amount)| {
                let amount = U256::from(if *same_amount { AMOUNT } else { 1 });
                Claim { amount, ..claim(*who, *batch, STATES[usize::from(*state)]) }
            }).collect())
            .collect();
        let count = u8::try_from(claims.len()).unwrap();
        let mut asked = order(if partial { Mode::Partial } else { Mode::All }, 0..count);
        asked.refused.extend(turned_down.then(|| entry(9).refused(FailCode::InvalidEntry)));
        let everyone = claims.len().saturating_add(usize::from(turned_down));
        let (free, refused, satisfied) = match repeat_of(asked.clone(), &claims) {
            Repeat::Fresh(order) => {
                prop_assert!(!order.entries.is_empty());
                (order.entries, order.refused, order.satisfied)
            }
            Repeat::Refused(refused, satisfied) => {
                prop_assert!(!refused.is_empty());
                (vec![], refused, satisfied)
            }
            Repeat::Of(newest, satisfied) => {
                let batches = satisfied.iter().map(|one| one.by.batch);
                prop_assert_eq!(batches.max(), Some(newest));
                (vec![], vec![], satisfied)
            }
        };
        let told: usize = [free.len(), refused.len(), satisfied.len()].iter().sum();
        prop_assert_eq!(told, everyone, "everybody is told of once");
        for (entry, found) in asked.entries.iter().zip(&claims) {
            let is_free = free.iter().any(|one| one.subscribe == entry.subscribe);
            prop_assert_eq!(is_free, found.is_empty());
            let pays = |claim: &Claim| same(entry, claim) && claim.by.state != ClaimState::Unproven;
            let held = satisfied.iter().find(|one| one.subscribe == entry.subscribe);
            prop_assert_eq!(held.is_some(), !found.is_empty() && found.iter().all(pays));
            let Some(held) = held else { continue };
            prop_assert!(refused.iter().all(|one| one.subscribe != entry.subscribe));
            prop_assert!(found.iter().any(|claim| claim.by == held.by));
        }
    }
}
