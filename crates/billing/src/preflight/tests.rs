//! Sums per wallet and token, the order of reasons, and a model that counts naively.

use super::*;
use crate::{Entry, Period, Scalar, Values};
use proptest::prelude::*;
use std::collections::BTreeMap;
use strum::IntoEnumIterator;

const BOTTOMLESS: Funds = Funds { balance: U256::MAX, allowance: U256::MAX };

fn charge(who: u64, wallet: u8, token: u8, amount: U256) -> Charge {
    let fields = BTreeMap::from([
        ("subscribeId".into(), Scalar::Number(who.to_string().into())),
        ("planId".into(), Scalar::Number("3".into())),
        ("userHash".into(), Scalar::Text("ab".repeat(32).into())),
        ("amount".into(), Scalar::Number("1".into())),
    ]);
    Charge {
        entry: Entry::parse(fields).unwrap().admitted(Values::new()),
        period: Period::Guarded,
        amount,
        wallet: Address::repeat_byte(wallet),
        token: Address::repeat_byte(token),
    }
}

fn funds(balance: u64, allowance: u64) -> Funds {
    Funds { balance: U256::from(balance), allowance: U256::from(allowance) }
}

/// A charge of `amount` that the simulated call passes.
fn passes(who: u64, wallet: u8, token: u8, amount: u64, funds: Funds) -> Checked {
    let charge = charge(who, wallet, token, U256::from(amount));
    Checked { charge, funds: Some(funds), opinion: Opinion::Passes }
}

fn refuses(code: FailCode, checked: Checked) -> Checked {
    let opinion = Opinion::Refuses { code, detail: Some("said so".to_owned()) };
    Checked { opinion, ..checked }
}

type Outcome = (Vec<i64>, Vec<(i64, FailCode)>);

fn outcome(checked: Vec<Checked>) -> Outcome {
    let judged = judge(checked);
    let good = judged.good.iter().map(|charge| charge.entry.subscribe.0).collect();
    (good, judged.refused.iter().map(|refused| (refused.subscribe.0, refused.code)).collect())
}

const ALLOWANCE: FailCode = FailCode::AllowanceInsufficient;
const BALANCE: FailCode = FailCode::BalanceInsufficient;

#[test]
fn one_wallet_with_two_subscriptions_needs_the_sum() {
    let twice = |funds| vec![passes(1, 7, 1, 60, funds), passes(2, 7, 1, 40, funds)];
    assert_eq!(outcome(twice(funds(100, 100))), (vec![1, 2], vec![]));
    assert_eq!(outcome(twice(funds(99, 100))), (vec![1], vec![(2, BALANCE)]));
    assert_eq!(outcome(twice(funds(100, 99))), (vec![1], vec![(2, ALLOWANCE)]));
    assert_eq!(outcome(twice(funds(59, 59))), (vec![2], vec![(1, ALLOWANCE)]));
}

#[test]
fn what_is_refused_uses_up_nothing() {
    let same = funds(100, 100);
    let checked = vec![
        passes(1, 7, 1, 101, same),
        refuses(FailCode::SubscriptionCancelled, passes(2, 7, 1, 100, same)),
        Checked { funds: None, ..passes(3, 7, 1, 100, same) },
        passes(4, 7, 1, 100, same),
        passes(5, 7, 1, 1, same),
    ];
    assert_eq!(
        outcome(checked),
        (
            vec![4],
            vec![
                (1, ALLOWANCE),
                (2, FailCode::SubscriptionCancelled),
                (3, FailCode::TokenTransferFailed),
                (5, ALLOWANCE),
            ]
        )
    );
}

#[test]
fn other_wallets_and_other_tokens_are_counted_apart() {
    let same = funds(100, 100);
    let checked = [(1, 7, 1), (2, 8, 1), (3, 7, 2)]
        .map(|(who, wallet, token)| passes(who, wallet, token, 100, same));
    assert_eq!(outcome(checked.to_vec()), (vec![1, 2, 3], vec![]));
}

#[test]
fn the_first_reason_in_precedence_is_told() {
    let rich = passes(1, 7, 1, 100, funds(100, 100));
    let no_allowance = passes(1, 7, 1, 100, funds(100, 99));
    let no_balance = passes(1, 7, 1, 100, funds(99, 100));
    let neither = passes(1, 7, 1, 100, funds(0, 0));
    let unread = Checked { funds: None, ..rich.clone() };
    let table = [
        (rich.clone(), None),
        (no_allowance.clone(), Some(ALLOWANCE)),
        (no_balance.clone(), Some(BALANCE)),
        (neither.clone(), Some(ALLOWANCE)),
        (unread.clone(), Some(FailCode::TokenTransferFailed)),
        (refuses(FailCode::AlreadyCharged, neither.clone()), Some(FailCode::AlreadyCharged)),
        (refuses(FailCode::HolderBlocked, neither), Some(FailCode::HolderBlocked)),
        (refuses(FailCode::AlreadyCharged, unread.clone()), Some(FailCode::AlreadyCharged)),
        (refuses(ALLOWANCE, no_balance.clone()), Some(ALLOWANCE)),
        (refuses(BALANCE, no_allowance), Some(ALLOWANCE)),
        (refuses(FailCode::TokenTransferFailed, no_balance.clone()), Some(BALANCE)),
        (refuses(FailCode::CallReverted, no_balance), Some(BALANCE)),
        (refuses(FailCode::CallReverted, unread), Some(FailCode::TokenTransferFailed)),
        (refuses(FailCode::CallReverted, rich), Some(FailCode::CallReverted)),
    ];
    for (checked, code) in table {
        let (_, refused) = outcome(vec![checked.clone()]);
        assert_eq!(refused.first().map(|(_, code)| *code), code, "{checked:?}");
    }
}

#[test]
fn a_refusal_tells_the_funds_that_were_read_and_the_amount_that_was_due() {
    let short = passes(1, 7, 1, 100, funds(5, 6));
    let judged = judge(vec![refuses(FailCode::TokenPaused, short.clone()), short]);
    let [paused, short] = &judged.refused[..] else { panic!("{judged:?}") };
    assert_eq!(paused.reason(), "Token transfers paused: said so");
    assert_eq!(short.reason(), "Allowance insufficient", "exactly as the platform words it");
    for refused in [paused, short] {
        let told = (refused.amount, refused.balance, refused.allowance);
        assert_eq!(told, (Some(U256::from(100)), Some(U256::from(5)), Some(U256::from(6))));
    }
}

#[test]
fn a_sum_beyond_256_bits_is_not_covered_by_an_unlimited_allowance() {
    let of = |who, amount| Checked {
        charge: charge(who, 7, 1, amount),
        funds: Some(BOTTOMLESS),
        opinion: Opinion::Passes,
    };
    let checked = vec![of(1, U256::MAX), of(2, U256::from(1)), of(3, U256::ZERO)];
    assert_eq!(outcome(checked), (vec![1, 3], vec![(2, ALLOWANCE)]));
}

/// Counts in lists and wider numbers, and looks at every reason there is.
fn naively(checked: &[Checked]) -> Outcome {
    let mut good: Vec<&Checked> = Vec::new();
    let mut refused = Vec::new();
    for one in checked {
        let account = |c: &Checked| (c.charge.wallet, c.charge.token);
        let due = good.iter().filter(|c| account(c) == account(one)).chain([&one]);
        let due: u128 = due.map(|c| c.charge.amount.to::<u128>()).sum();
        let mut reasons = Vec::new();
        match one.funds {
            None => reasons.push(FailCode::TokenTransferFailed),
            Some(funds) if funds.balance.to::<u128>() < due => reasons.push(BALANCE),
            Some(_) => {}
        }
        reasons.extend(one.funds.filter(|f| f.allowance.to::<u128>() < due).map(|_| ALLOWANCE));
        if let Opinion::Refuses { code, .. } = one.opinion {
            reasons.push(code);
        }
        reasons.sort_unstable();
        match reasons.first() {
            None => good.push(one),
            Some(code) => refused.push((one.charge.entry.subscribe.0, *code)),
        }
    }
    (good.iter().map(|c| c.charge.entry.subscribe.0).collect(), refused)
}

proptest! {
    #[test]
    fn nobody_is_billed_beyond_what_a_naive_count_allows(
        rows in prop::collection::vec(
            (0..2_u8, 0..2_u8, 0..50_u64, prop::option::of((0..120_u64, 0..120_u64)), 0..42_usize),
            0..12,
        ),
    ) {
        let checked: Vec<Checked> = rows.iter().zip(1..).map(|((wallet, token, amount, read, code), who)| {
            let checked = passes(who, *wallet, *token, *amount, funds(0, 0));
            let checked = Checked { funds: read.map(|(b, a)| funds(b, a)), ..checked };
            match FailCode::iter().nth(*code) {
                Some(code) => refuses(code, checked),
                None => checked,
            }
        }).collect();
        prop_assert_eq!(outcome(checked.clone()), naively(&checked));
    }
}
