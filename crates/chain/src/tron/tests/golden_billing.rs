//! The recorded batch of 14b: one item of every kind, billed through the contract of the recordings.

use super::*;
use alloy::primitives::FixedBytes;
use alloy::sol;
use alloy::sol_types::SolCall;
use billing::{Charge, Entry, Family, Item, Scalar, spell_address};
use config::BillingConfig;
use contract::Profile;

sol! {
    struct BillingItem {
        uint64 subscribeId;
        uint64 planId;
        uint32 planVersion;
        bytes32 userHash;
        uint32 period;
        uint128 amount;
    }

    function processSubscribePlan(address merKey, BillingItem[] items, uint256 deadline) returns (uint8[] out);
}

pub(super) const FILE: &str = "14b_billing_mixed_failures.json";

/// The biller of the recordings.
pub(super) const BILLER: &str = "cfbf825d76ebb4b902e8b8d5a8fe1fbc5b60b8320d50377ada9eee872d856368";

/// What the recordings say of the single items, in order.
pub(super) const REASONS: [u8; 13] = [0, 2, 1, 11, 3, 10, 10, 6, 7, 4, 0, 7, 9];

/// What the contract's numbers mean.
pub(super) const WORDS: [(u8, &str); 11] = [
    (1, "ALLOWANCE_INSUFFICIENT"),
    (2, "BALANCE_INSUFFICIENT"),
    (3, "SUBSCRIPTION_NOT_FOUND"),
    (4, "SUBSCRIPTION_CANCELLED"),
    (5, "PLAN_INACTIVE"),
    (6, "NOT_DUE_YET"),
    (7, "ALREADY_CHARGED"),
    (8, "PERIOD_PASSED"),
    (9, "SUBSCRIPTION_ENDED"),
    (10, "TERMS_MISMATCH"),
    (11, "TOKEN_TRANSFER_FAILED"),
];

pub(super) fn contract() -> Address {
    "0xa931a6ca2aabe2cc49a1bb494bf9f2df133d6a87".parse().unwrap()
}

/// A recorded step.
pub(super) fn step(file: &str, at: usize) -> Value {
    recorded(file)["steps"][at].clone()
}

/// The call that was simulated and then sent.
fn call() -> processSubscribePlanCall {
    let data = step(FILE, 5)["request"]["body"]["data"].as_str().unwrap().to_owned();
    processSubscribePlanCall::abi_decode(&hex::decode(data).unwrap()).unwrap()
}

pub(super) fn profile() -> Profile {
    let constants = [("merKey".to_owned(), call().merKey.to_string())];
    let config = BillingConfig {
        call: "processSubscribePlan(address merKey, (uint64 subscribeId, uint64 planId, uint32 \
               planVersion, bytes32 userHash, uint32 period, uint128 amount)[] items, uint256 \
               deadline) returns (uint8[] out)"
            .to_owned(),
        lookup: None,
        charged: Some(
            "event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, bytes32 \
             indexed userHash, uint64 planId, uint32 planVersion, uint32 period, address \
             userWallet, address token, uint128 amount)"
                .to_owned(),
        ),
        skipped: Some(
            "event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, \
             bytes32 indexed userHash, uint64 planId, uint32 period, uint8 reason, uint256 \
             tokenAllowance, uint256 tokenBalance, bytes revertData)"
                .to_owned(),
        ),
        constants: constants.into_iter().collect(),
        reasons: WORDS.iter().map(|(n, word)| (n.to_string(), (*word).to_owned())).collect(),
        period: None,
        deadline: Duration::from_mins(10),
        guard: Duration::from_hours(1),
    };
    Profile::parse(&config, Family::Tvm).unwrap()
}

/// How far after the head of the recordings the recorded call's deadline lies.
pub(super) fn deadline(head_s: u64) -> Duration {
    let deadline: u64 = call().deadline.to();
    Duration::from_secs(deadline.checked_sub(head_s).unwrap())
}

/// The charges of the recorded call, in order. Wallet and token are made up.
pub(super) fn charges() -> Vec<Charge> {
    call().items.iter().map(charge).collect()
}

fn charge(item: &BillingItem) -> Charge {
    let number = |name: &str, n: String| (name.into(), Scalar::Number(n.into()));
    let address = |name: &str, byte| {
        let spelt = spell_address(Family::Tvm, Address::repeat_byte(byte));
        (name.into(), Scalar::Text(spelt.into()))
    };
    let [.., last] = FixedBytes::<8>::from(item.subscribeId.to_be_bytes()).0;
    let fields: billing::Fields = [
        number("subscribeId", item.subscribeId.to_string()),
        number("planId", item.planId.to_string()),
        number("planVersion", item.planVersion.to_string()),
        number("period", item.period.to_string()),
        number("amount", item.amount.to_string()),
        ("userHash".into(), Scalar::Text(hex::encode(item.userHash).into())),
        address("userWallet", last),
        address("tokenAddress", 9),
    ]
    .into();
    let admitted = profile().admit(&Entry::parse(fields).unwrap()).unwrap();
    profile().complete(admitted, None).unwrap()
}

pub(super) fn items() -> Vec<Item> {
    charges().iter().map(Charge::item).collect()
}
