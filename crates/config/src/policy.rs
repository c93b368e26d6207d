//! The limits on signing on a chain besides the rules that always hold: how many charges, of which tokens, how much
//! of each, and how much fee money. Everything here is optional; an absent value is no limit.

use std::collections::BTreeMap;

use alloy::primitives::{Address, U256};

use super::faults::Reported;
use super::kinds::{Expected, flag, sun, wei, whole};
use super::reader::TableReader;
use super::units::{Sun, Wei, is_digits};
use billing::{Family, parse_address};

/// The limits of one chain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicyConfig {
    /// Most charges that one transaction may make: 1 to 10000. None: as many as a request may hold.
    pub max_batch: Option<usize>,
    /// The most that transactions may cost in one UTC day, at their ceilings, in wei or sun.
    pub max_fee_per_day: Option<U256>,
    /// The tokens that may be charged, by the operator's names for them. Empty: every token.
    pub tokens: BTreeMap<String, TokenLimits>,
    /// Addresses that entries may state in an address field, by the name of the field. Empty: anything.
    pub allowed: BTreeMap<String, Vec<Address>>,
    /// True if the configuration says in so many words that nothing is limited.
    pub unlimited: bool,
}

/// The limits on charges in one token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenLimits {
    /// The token's contract. No two names have the same.
    pub address: Address,
    /// The most of one charge, base units.
    pub max_amount: Option<U256>,
    /// The most of all charges of one UTC day, base units.
    pub max_amount_per_day: Option<U256>,
    /// Decimals of the token, 0 to 77: for people, and no limit. None: amounts are told in base units alone.
    pub decimals: Option<u8>,
}

impl PolicyConfig {
    pub(super) fn read(reader: &mut TableReader<'_>, family: Family) -> Result<Self, Reported> {
        let max_batch = reader.optional("max_batch", &whole(1..=10_000));
        let max_fee_per_day = reader.optional("max_fee_per_day", &fee(family));
        let tokens = reader.words("tokens", |_, text| token(family, text).map(drop));
        let known = tokens.as_ref().ok().cloned();
        let of_token = |name: &str| match &known {
            Some(known) if !known.contains_key(name) => {
                Err("names no token of policy.tokens".to_owned())
            }
            _ => Ok(()),
        };
        let judge = |name: &str, text: &str| of_token(name).and_then(|()| amount(text).map(drop));
        let most = reader.words("max_amount", judge);
        let most_per_day = reader.words("max_amount_per_day", judge);
        let places =
            |name: &str, text: &str| of_token(name).and_then(|()| decimals(text).map(drop));
        let places = reader.words("decimals", places);
        let allowed = reader.words("allowed", |_, text| addresses(family, text).map(drop));
        let unlimited = reader.optional("unlimited", &flag()).map(Option::unwrap_or_default);
        let (tokens, most, most_per_day, places) = (tokens?, most?, most_per_day?, places?);
        let mut limits = BTreeMap::<String, TokenLimits>::new();
        for (name, text) in tokens {
            let Ok(address) = token(family, &text) else { continue };
            if let Some((twin, _)) = limits.iter().find(|(_, other)| other.address == address) {
                let problem = format!("is the same token as {twin}; keep one of the two");
                return Err(reader.fault_at(&format!("{}.tokens.{name}", reader.path()), problem));
            }
            let max_amount = most.get(&name).and_then(|text| amount(text).ok());
            let max_amount_per_day = most_per_day.get(&name).and_then(|text| amount(text).ok());
            let decimals = places.get(&name).and_then(|text| decimals(text).ok());
            limits.insert(name, TokenLimits { address, max_amount, max_amount_per_day, decimals });
        }
        let read = |(name, text): (String, String)| Some((name, addresses(family, &text).ok()?));
        let (max_batch, max_fee_per_day) = (max_batch?, max_fee_per_day?);
        let allowed = allowed?.into_iter().filter_map(read).collect();
        let unlimited = unlimited?;
        let read = Self { max_batch, max_fee_per_day, tokens: limits, allowed, unlimited };
        if unlimited && read.limits_money() {
            return Err(reader.fault("unlimited", "is true beside limits; keep one of the two"));
        }
        Ok(read)
    }

    /// Returns true if the policy limits amounts or fees, or names the tokens that are meant.
    pub fn limits_money(&self) -> bool {
        self.max_fee_per_day.is_some() || !self.tokens.is_empty()
    }

    /// Returns true if the policy limits any total of a day.
    pub fn limits_of_day(&self) -> bool {
        let mut tokens = self.tokens.values();
        self.max_fee_per_day.is_some() || tokens.any(|token| token.max_amount_per_day.is_some())
    }

    /// Reports the faults of a policy on a chain that holds something of value.
    pub(super) fn check_serious(&self, reader: &TableReader<'_>) {
        let path = format!("{}.policy", reader.path());
        if !self.limits_money() && !self.unlimited {
            let problem = "missing: this chain is not marked as a test chain, and nothing limits what a \
                           stolen secret of a caller can have charged; write tokens, max_amount, \
                           max_amount_per_day and max_fee_per_day, or unlimited = true";
            reader.fault_at(&path, problem);
        }
    }
}

/// Addresses with blanks between.
fn addresses(family: Family, text: &str) -> Result<Vec<Address>, String> {
    let all: Vec<Address> =
        text.split_whitespace().map(|one| token(family, one)).collect::<Result<_, _>>()?;
    if all.is_empty() { Err("is empty".to_owned()) } else { Ok(all) }
}

fn token(family: Family, text: &str) -> Result<Address, String> {
    let read = parse_address(family, text).map_err(|problem| problem.to_string())?;
    if read.is_zero() { Err("is the zero address".to_owned()) } else { Ok(read) }
}

/// An amount of a token: base units have no name that would fit every token.
fn amount(text: &str) -> Result<U256, String> {
    let read = is_digits(text).then(|| U256::from_str_radix(text, 10).ok()).flatten();
    let wanted = "is not an amount in base units; expected a whole number from 1 to 2^256 - 1";
    read.filter(|amount| !amount.is_zero()).ok_or_else(|| wanted.to_owned())
}

fn decimals(text: &str) -> Result<u8, String> {
    let read = text.parse().ok().filter(|places| *places <= 77);
    read.ok_or_else(|| "is no number of decimals; expected a whole number from 0 to 77".to_owned())
}

/// An amount of the chain's own coin.
fn fee(family: Family) -> Expected<U256> {
    match family {
        Family::Evm => wei(Wei(1)..=Wei(u128::MAX)).map(|Wei(wei)| U256::from(wei)),
        Family::Tvm => sun(Sun(1)..=Sun(u64::MAX)).map(|Sun(sun)| U256::from(sun)),
    }
}
