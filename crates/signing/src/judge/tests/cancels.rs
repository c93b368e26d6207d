//! A cancel does nothing, in the place of a billing that the key has signed, and burns no more than a day's fees.

use super::*;

const GWEI: u128 = 1_000_000_000;

/// A step above the configured 100 gwei, and above the tip of 1 gwei.
const MOST: u128 = 112_500_000_001;
const MOST_TIP: u128 = 1_125_000_001;

/// A billing that `judge` has signed for a place, with this bid.
fn signed(judge: &TransactionJudge, nonce: u64, bid: u128) -> Vec<u8> {
    let good = [charge(1, 100, PAYEE)];
    let items = good.each_ref().map(Charge::item);
    let tx = made(call(judge, &good, 5)).evm();
    let tx = TxEip1559 { nonce, gas_limit: 50_000, max_fee_per_gas: bid, ..tx };
    let question = KeyQuestion::of(&tx.encoded_for_signing(), &intent(&items, &[USDT])).unwrap();
    let signature = told(judge, &question).unwrap();
    TxEnvelope::from(tx.into_signed(signature)).encoded_2718()
}

/// A transaction that does nothing, at this place.
fn nothing(judge: &TransactionJudge, nonce: u64, bid: u128) -> TxEip1559 {
    let tx = Made { to: judge.address(), nonce, ..made(vec![]) }.evm();
    TxEip1559 { gas_limit: 21_000, max_fee_per_gas: bid, ..tx }
}

fn cancel(judge: &TransactionJudge, tx: &TxEip1559, earlier: &[u8]) -> Result<Signature, String> {
    let (bytes, earlier) = (tx.encoded_for_signing(), earlier.to_vec());
    told(judge, &KeyQuestion::Cancel(SignAgain { bytes, earlier }))
}

#[test]
fn a_cancel_does_nothing_to_nobody_in_the_place_of_a_billing() {
    let judge = judge(Family::Evm);
    let earlier = signed(&judge, 7, 30_000_000);
    let says = |tx: &TxEip1559| rule(cancel(&judge, tx, &earlier));
    let good = nothing(&judge, 7, 40_000_000);
    assert_eq!(says(&good), "none");
    assert_eq!(says(&TxEip1559 { to: TxKind::Call(USDT), ..good.clone() }), "cancel");
    let bills = made(call(&judge, &[charge(1, 1, PAYEE)], 5)).evm();
    assert_eq!(says(&bills), "cancel");
    assert_eq!(says(&TxEip1559 { nonce: 8, ..good }), "cancel", "both could land");
    let rule = |bytes: &[u8]| {
        let (bytes, earlier) = (bytes.to_vec(), earlier.clone());
        rule(told(&judge, &KeyQuestion::Cancel(SignAgain { bytes, earlier })))
    };
    assert_eq!(rule(b""), "function");
    assert_eq!(rule(&[2, 0xc0]), "function");
}

#[test]
fn a_cancel_needs_a_billing_that_this_key_has_signed() {
    let (judge, other) = (judge(Family::Evm), judge_of("08", &chain(Family::Evm, CALL, CONTRACT)));
    let good = nothing(&judge, 7, 40_000_000);
    let says = |earlier: &[u8]| rule(cancel(&judge, &good, earlier));
    assert_eq!(says(b"nothing"), "cancel");
    assert_eq!(says(&signed(&other, 7, 30_000_000)), "cancel");
    // By one cancel after the other, bids would rise without end.
    let signature = cancel(&judge, &good, &signed(&judge, 7, 30_000_000)).unwrap();
    let cancelled = TxEnvelope::from(good.clone().into_signed(signature)).encoded_2718();
    assert_eq!(says(&cancelled), "cancel");
    // On TRON nothing has a place that could be freed.
    let tron = super::judge(Family::Tvm);
    let earlier = SignAgain { bytes: vec![], earlier: cancelled };
    assert_eq!(rule(told(&tron, &KeyQuestion::Cancel(earlier))), "cancel");
}

#[test]
fn a_cancel_bids_a_step_more_than_a_billing_may_and_no_more() {
    let judge = judge(Family::Evm);
    let earlier = signed(&judge, 7, 100 * GWEI);
    let bid = |fee, tip| {
        let tx = nothing(&judge, 7, fee);
        rule(cancel(&judge, &TxEip1559 { max_priority_fee_per_gas: tip, ..tx }, &earlier))
    };
    assert_eq!(bid(MOST, MOST_TIP), "none");
    assert_eq!(bid(MOST + 1, 1), "max_fee_per_gas");
    assert_eq!(bid(MOST, MOST_TIP + 1), "max_priority_fee_per_gas");
    let gas = |gas_limit| {
        rule(cancel(&judge, &TxEip1559 { gas_limit, ..nothing(&judge, 7, 2) }, &earlier))
    };
    assert_eq!([gas(16_777_216), gas(16_777_217)], ["none", "gas_limit_cap"]);
    // A step above the dearest billing: 1 ether.
    let dear = TxEip1559 { gas_limit: 10_000_010, ..nothing(&judge, 7, MOST) };
    assert_eq!(rule(cancel(&judge, &dear, &earlier)), "cost");
    // Signed when more was allowed.
    let mut lavish = chain(Family::Evm, CALL, CONTRACT);
    let FamilyConfig::Evm(evm) = &mut lavish.family else { panic!("it is an EVM chain") };
    Arc::make_mut(evm).fees.max_fee_per_gas.0 = 200 * GWEI;
    let dear = signed(&judge_of("09", &lavish), 7, 200 * GWEI);
    assert_eq!(rule(cancel(&judge, &nothing(&judge, 7, 225 * GWEI + 1), &dear)), "none");
    assert_eq!(rule(cancel(&judge, &nothing(&judge, 7, 225 * GWEI + 2), &dear)), "max_fee_per_gas");
}

#[test]
fn cancels_burn_no_more_of_a_day_than_the_ceiling_over_its_fees() {
    const RULE: &str = "chains.139.policy.max_fee_per_day";
    let room = tempfile::tempdir().unwrap();
    let (day, _) = DayCeiling::open(&room.path().join("signed"), Clock::telling(|| 0)).unwrap();
    let mut chain = chain(Family::Evm, CALL, CONTRACT);
    let step = U256::from(MOST * 21_000);
    // Three times this is ten cancels, and the billings before them.
    let bills = U256::from(100 * 50_000);
    chain.policy.max_fee_per_day = Some((step * U256::from(10) + bills).div_ceil(U256::from(3)));
    let mut judge = judge_of("09", &chain);
    judge.ceiling = Arc::new(day);
    let earlier: Vec<Vec<u8>> = (0..40).map(|nonce| signed(&judge, nonce, 1)).collect();
    let of = |nonce: usize, bid| {
        let place = u64::try_from(nonce).unwrap();
        rule(cancel(&judge, &nothing(&judge, place, bid), &earlier[nonce]))
    };
    // Of all that is signed for one place, one lands.
    for bid in [GWEI, 2 * GWEI, 100 * GWEI, MOST, MOST] {
        assert_eq!(of(0, bid), "none");
    }
    let others: Vec<String> = (1..40).map(|nonce| of(nonce, MOST)).collect();
    assert_eq!(others.iter().filter(|rule| *rule == "none").count(), 9);
    assert!(others[9..].iter().all(|rule| rule == RULE), "{others:?}");
    // One that costs no more than the billing in its place is signed all the same.
    assert_eq!(of(39, 2), "none");
}
