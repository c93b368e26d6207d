//! Three contracts that the tests speak to: rows with a lookup, plain arrays, one at a time.

mod compare;
mod decode;
mod faults;
mod meaning;
mod terms;
mod wire;
mod written;

use super::*;
use alloy::primitives::{B256, U256, address};
use billing::{
    ChargeTerms, Entry, Item, NoCharge, Period, PlanId, Refused, Scalar, SubscribeId, TakenAsTold,
    UserHash,
};
use config::{Config, FamilyConfig};
use std::collections::BTreeMap;
use std::time::Duration;

const MERCHANT: Address = address!("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed");
const WALLET: Address = address!("0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359");
const TOKEN: Address = address!("0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB");
const CONTRACT: Address = address!("0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb");
const NOW: Computed = Computed { deadline: 1_790_000_000, signer: CONTRACT };

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn blank() -> BillingConfig {
    BillingConfig {
        call: String::new(),
        lookup: None,
        charged: None,
        skipped: None,
        constants: BTreeMap::new(),
        reasons: BTreeMap::new(),
        period: None,
        deadline: Duration::from_mins(10),
        guard: Duration::from_hours(1),
    }
}

/// The reference contract: rows, a lookup, both events. Its reasons are a few of every sort.
fn rows() -> BillingConfig {
    let config = Config::from_toml(include_str!("../../config/src/tests/local.toml"), &[]).unwrap();
    let FamilyConfig::Evm(evm) = &config.chains[0].family else { panic!("it is an EVM chain") };
    BillingConfig {
        constants: texts(&[("merKey", &MERCHANT.to_checksum(None))]),
        reasons: texts(&[
            ("1", "ALLOWANCE_INSUFFICIENT"),
            ("2", "BALANCE_INSUFFICIENT"),
            ("NotDue", "NOT_DUE_YET"),
            ("PeriodPassed(uint32 period)", "PERIOD_PASSED"),
            ("Pausable: paused", "TOKEN_PAUSED"),
        ]),
        ..evm.billing.clone()
    }
}

/// A contract without periods, lookup and events.
fn arrays() -> BillingConfig {
    BillingConfig { call: "charge(bytes32[] userHash, uint256[] amount)".to_owned(), ..blank() }
}

/// A contract that charges one at a time.
fn one() -> BillingConfig {
    BillingConfig {
        call: "function collect(uint64 planId, bytes32 userHash)".to_owned(),
        ..blank()
    }
}

fn parsed(config: &BillingConfig) -> Profile {
    Profile::parse(config, Family::Evm).unwrap()
}

#[expect(clippy::needless_pass_by_value, reason = "reads better in tables")]
fn number(n: impl ToString) -> Scalar {
    Scalar::Number(n.to_string().into())
}

#[expect(clippy::needless_pass_by_value, reason = "reads better in tables")]
fn text(text: impl ToString) -> Scalar {
    Scalar::Text(text.to_string().into())
}

fn user(n: u8) -> B256 {
    B256::repeat_byte(n)
}

/// Subscription `n` of plan 7, with nothing but its identity and `more`.
fn entry(n: u8, more: &[(&str, Scalar)]) -> Entry {
    let identity =
        [("subscribeId", number(n)), ("planId", text(7)), ("userHash", text(hex::encode(user(n))))];
    let fields = identity.iter().chain(more).cloned();
    Entry::parse(fields.map(|(name, value)| (name.into(), value)).collect()).unwrap()
}

/// The charge that an entry becomes.
#[expect(clippy::result_large_err, reason = "a refusal is an answer, as large as a charge")]
fn complete(profile: &Profile, entry: &Entry, looked: Option<&Looked>) -> Result<Charge, Refused> {
    profile.complete(profile.admit(entry).unwrap(), looked)
}

fn wallet_and_token() -> [(&'static str, Scalar); 2] {
    [("userWallet", text(WALLET)), ("tokenAddress", text(TOKEN))]
}

/// Subscription `n`, stating `amount` and all that the checks need.
fn stated(n: u8, amount: impl ToString, more: &[(&str, Scalar)]) -> Entry {
    let all = [&wallet_and_token()[..], &[("amount", number(amount))], more].concat();
    entry(n, &all)
}

fn item(n: u8, period: Period) -> Item {
    let key = billing::ChargeKey { plan: PlanId(7), user: UserHash(user(n)), period };
    Item {
        subscribe: SubscribeId(i64::from(n)),
        key,
        amount: U256::from(100),
        terms: ChargeTerms::default(),
    }
}

fn third() -> Period {
    Period::Numbered(U256::from(3))
}
