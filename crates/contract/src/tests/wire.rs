//! Calldata against encodings that the compiler checked, and amounts that stay exact.

use super::*;
use alloy::primitives::{Bytes, keccak256};
use alloy::sol;
use alloy::sol_types::SolCall;
use billing::{Charge, Ineligible};
use proptest::prelude::*;

sol! {
    struct Row {
        uint64 subscribeId;
        uint64 planId;
        uint32 planVersion;
        bytes32 userHash;
        uint32 period;
        uint128 amount;
    }
    function processSubscribePlan(address merKey, Row[] items, uint256 deadline)
        returns (uint8[] reasons);
    function subscribeOf(address merKey, uint64 planId, bytes32 userHash)
        returns (address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, uint32 period);
    function charge(bytes32[] userHash, uint256[] amount);
    function collect(uint64 planId, bytes32 userHash);
    struct Odd { bytes32 userHash; address biller; bool trial; string note; bytes proof; bytes4 tag; int32 zone; }
    function odd(Odd item, uint40 deadline, uint256 planVersion);
}

fn row_fields() -> [(&'static str, Scalar); 2] {
    [("planVersion", number(2)), ("period", text(3))]
}

fn charges(profile: &Profile, entries: &[Entry], looked: Option<&Looked>) -> Vec<Charge> {
    entries.iter().map(|entry| complete(profile, entry, looked).unwrap()).collect()
}

fn row(n: u8, amount: u128) -> Row {
    Row {
        subscribeId: u64::from(n),
        planId: 7,
        planVersion: 2,
        userHash: user(n),
        period: 3,
        amount,
    }
}

#[test]
fn rows_are_encoded_as_the_compiler_would() {
    let profile = parsed(&BillingConfig { lookup: None, ..rows() });
    let big = u128::MAX;
    let entries = vec![stated(1, 100, &row_fields()), stated(2, big, &row_fields())];
    for entry in &entries {
        profile.admit(entry).unwrap();
    }
    let call = processSubscribePlanCall {
        merKey: MERCHANT,
        items: vec![row(1, 100), row(2, big)],
        deadline: U256::from(NOW.deadline),
    };
    let charges = charges(&profile, &entries, None);
    assert_eq!(profile.encode(&charges, &NOW).unwrap(), call.abi_encode());
    assert!(profile.per_item() && !profile.single() && !profile.has_lookup());
}

#[test]
fn what_the_lookup_returned_is_what_is_charged() {
    let profile = parsed(&rows());
    let entry = entry(1, &[]);
    let asked = subscribeOfCall { merKey: MERCHANT, planId: 7, userHash: user(1) };
    assert_eq!(profile.lookup_call(&profile.admit(&entry).unwrap()).unwrap(), asked.abi_encode());
    let returned = subscribeOfReturn {
        userWallet: WALLET,
        tokenAddress: TOKEN,
        amount: 100,
        planVersion: 2,
        period: 3,
    };
    let looked = profile.read_lookup(&subscribeOfCall::abi_encode_returns(&returned)).unwrap();
    let charges = charges(&profile, &[entry], Some(&looked));
    assert_eq!((charges[0].wallet, charges[0].token), (WALLET, TOKEN));
    assert_eq!((charges[0].amount, charges[0].period), (U256::from(100), third()));
    let call = processSubscribePlanCall {
        merKey: MERCHANT,
        items: vec![row(1, 100)],
        deadline: U256::from(NOW.deadline),
    };
    assert_eq!(profile.encode(&charges, &NOW).unwrap(), call.abi_encode());
}

#[test]
fn plain_arrays_are_encoded_as_the_compiler_would() {
    let profile = parsed(&arrays());
    let entries = vec![stated(1, 5, &[]), stated(2, U256::MAX, &[])];
    let charges = charges(&profile, &entries, None);
    let call =
        chargeCall { userHash: vec![user(1), user(2)], amount: vec![U256::from(5), U256::MAX] };
    assert_eq!(profile.encode(&charges, &NOW).unwrap(), call.abi_encode());
    assert_eq!(charges[0].period, Period::Guarded);
}

#[test]
fn a_call_without_arrays_charges_one_and_never_two() {
    let profile = parsed(&one());
    assert!(profile.single() && !profile.per_item());
    let charges = charges(&profile, &[stated(1, 5, &[]), stated(2, 5, &[])], None);
    let call = collectCall { planId: 7, userHash: user(1) };
    assert_eq!(profile.encode(&charges[..1], &NOW).unwrap(), call.abi_encode());
    assert_eq!(profile.encode(&charges, &NOW).unwrap_err().problem, Ineligible::Differs);
    assert_eq!(profile.encode(&[], &NOW).unwrap_err().problem, Ineligible::Missing);
}

#[test]
fn every_scalar_type_is_encoded_as_the_compiler_would() {
    let profile = parsed(&BillingConfig {
        call: "odd((bytes32 userHash, address biller, bool trial, string note, bytes proof, \
               bytes4 tag, int32 zone) item, uint40 deadline, uint planVersion)"
            .to_owned(),
        constants: texts(&[("planVersion", "0xff"), ("biller", &MERCHANT.to_string())]),
        ..one()
    });
    let more = [
        ("trial", Scalar::Bool(true)),
        ("note", text("für März")),
        ("proof", text("0x010203")),
        ("tag", text("deadbeef")),
        ("zone", number(-120)),
    ];
    let charges = charges(&profile, &[stated(1, 5, &more)], None);
    let item = Odd {
        userHash: user(1),
        biller: MERCHANT,
        trial: true,
        note: "für März".to_owned(),
        proof: vec![1, 2, 3].into(),
        tag: [0xde, 0xad, 0xbe, 0xef].into(),
        zone: -120,
    };
    let deadline = alloy::primitives::aliases::U40::from(NOW.deadline);
    let call = oddCall { item, deadline, planVersion: U256::from(255) };
    assert_eq!(profile.encode(&charges, &NOW).unwrap(), call.abi_encode());
}

#[test]
fn a_value_that_the_call_takes_once_must_be_shared_by_all() {
    let profile = parsed(&BillingConfig {
        call: "charge(uint32 period, bytes32[] userHash, address signer)".to_owned(),
        ..arrays()
    });
    let entry = |n, period: u8| stated(n, 5, &[("period", number(period))]);
    let same = charges(&profile, &[entry(1, 3), entry(2, 3)], None);
    assert!(profile.encode(&same, &NOW).is_ok());
    let other = charges(&profile, &[entry(1, 3), entry(2, 4)], None);
    let bad = profile.encode(&other, &NOW).unwrap_err();
    assert_eq!(bad.to_string(), "period must be the same in every entry of one request");
}

#[test]
fn a_subscription_id_may_go_by_its_other_name() {
    let config = BillingConfig {
        call: "collect(uint64 subscriptionId)".to_owned(),
        charged: Some("event C(uint64 indexed subscriptionId)".to_owned()),
        ..one()
    };
    let profile = parsed(&config);
    let charges = charges(&profile, &[stated(9, 5, &[])], None);
    assert!(profile.encode(&charges, &NOW).unwrap().ends_with(&[0, 9]));
    let topics = vec![keccak256("C(uint64)"), B256::with_last_byte(9)];
    let log = Log::new_unchecked(CONTRACT, topics, Bytes::new());
    let told = profile.charge_event(CONTRACT, &[log], &[item(9, Period::Guarded)], 0).unwrap();
    assert_eq!(told.declaration, "event C(uint64 indexed subscriptionId)", "as its contract says");
}

proptest! {
    #[test]
    fn an_amount_stays_exact_from_text_to_word_to_text(words: [u64; 4]) {
        let amount = U256::from_limbs(words);
        for spelt in [number(amount), text(amount)] {
            let profile = parsed(&arrays());
            let entry = entry(1, &[&wallet_and_token()[..], &[("amount", spelt)]].concat());
            profile.admit(&entry).unwrap();
            let charges = charges(&profile, &[entry], None);
            let data = profile.encode(&charges, &NOW).unwrap();
            let word = U256::from_be_slice(data.last_chunk::<32>().unwrap());
            prop_assert_eq!(word.to_string(), amount.to_string());
        }
    }

    #[test]
    fn an_amount_beyond_its_type_is_refused(words: [u64; 4], bytes in 1..=32_usize) {
        let bits = bytes.saturating_mul(8);
        // About the size of the type: four bits more, and often fewer.
        let amount = U256::from_limbs(words).wrapping_shr(252_usize.saturating_sub(bits));
        let call = format!("charge(bytes32[] userHash, uint{bits}[] amount)");
        let profile = parsed(&BillingConfig { call, ..arrays() });
        let admitted = profile.admit(&stated(1, amount, &[]));
        prop_assert_eq!(admitted.is_ok(), amount.bit_len() <= bits);
    }
}
