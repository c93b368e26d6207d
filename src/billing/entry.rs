//! One element of a request, as the caller wrote it: a statement, never an order.

use super::refusal::Named;
use super::{FailCode, Family, Ineligible, PlanId, Refused, SubscribeId, UserHash, parse_address};
use alloy::primitives::{Address, B256, U256};
use std::collections::BTreeMap;

/// A JSON value of an entry, with its digits kept: no number passes through a float.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A JSON number, as it was written.
    Number(String),
    /// A JSON string.
    Text(String),
    /// `true` or `false`.
    Bool(bool),
    /// An array or an object: nothing that an entry field can be.
    Nested,
}

impl Scalar {
    /// Reads a whole number from 0 to 2^256 - 1, from a JSON integer or from digits.
    pub fn to_u256(&self) -> Result<U256, Ineligible> {
        let wrong = Ineligible::Integer { max: "2^256 - 1" };
        let (Self::Number(digits) | Self::Text(digits)) = self else { return Err(wrong) };
        let all_digits = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if !all_digits {
            return Err(wrong);
        }
        U256::from_str_radix(digits, 10).map_err(|_| wrong)
    }

    /// Reads a whole number from 0 to 2^63 - 1.
    pub fn to_int64(&self) -> Result<i64, Ineligible> {
        let wrong = Ineligible::Integer { max: "2^63 - 1" };
        self.to_u256().ok().and_then(|n| i64::try_from(n).ok()).ok_or(wrong)
    }

    /// Reads 32 bytes of hex, with or without `0x`.
    pub fn to_hash(&self) -> Result<B256, Ineligible> {
        let Self::Text(text) = self else { return Err(Ineligible::Hash) };
        let mut bytes = [0_u8; 32];
        let digits = text.strip_prefix("0x").unwrap_or(text);
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| Ineligible::Hash)?;
        Ok(B256::from(bytes))
    }

    /// Reads an address in a spelling of `family`.
    pub fn to_address(&self, family: Family) -> Result<Address, Ineligible> {
        match self {
            Self::Text(text) => parse_address(family, text),
            Self::Number(_) | Self::Bool(_) | Self::Nested => {
                Err(Ineligible::Type { wanted: "address" })
            }
        }
    }
}

/// One element of the request: the caller's statement that a subscription is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The subscription, echoed in every answer.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// `userHash` as the caller spelt it, to be echoed.
    pub user_spelling: String,
    /// The amount in token base units, if the entry states a readable one.
    pub amount: Option<U256>,
    /// Every field of the entry by name as the caller wrote it, those above included.
    pub fields: BTreeMap<String, Scalar>,
}

/// Which field of an entry is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} {problem}")]
pub struct BadField {
    /// The field's name.
    pub field: String,
    /// What is wrong with it.
    pub problem: Ineligible,
}

impl Entry {
    /// Reads the identity of an entry; the other fields are judged by the contract profile.
    pub fn parse(mut fields: BTreeMap<String, Scalar>) -> Result<Self, Vec<BadField>> {
        if let Some(alias) = fields.remove("subscriptionId") {
            let stated = fields.entry("subscribeId".to_owned()).or_insert_with(|| alias.clone());
            if stated.to_int64() != alias.to_int64() {
                let field = "subscriptionId".to_owned();
                return Err(vec![BadField { field, problem: Ineligible::Contradiction }]);
            }
        }
        let mut bad = Vec::new();
        let mut read = |field: &str| {
            let value = fields.get(field);
            if value.is_none() {
                bad.push(BadField { field: field.to_owned(), problem: Ineligible::Missing });
            }
            value
        };
        let (subscribe, plan, user) = (read("subscribeId"), read("planId"), read("userHash"));
        let mut keep = |field: &str, problem| {
            bad.push(BadField { field: field.to_owned(), problem });
        };
        let subscribe =
            subscribe.and_then(|v| v.to_int64().map_err(|e| keep("subscribeId", e)).ok());
        let plan = plan.and_then(|v| v.to_int64().map_err(|e| keep("planId", e)).ok());
        let hash = user.and_then(|v| v.to_hash().map_err(|e| keep("userHash", e)).ok());
        let (Some(subscribe), Some(plan), Some(hash), Some(Scalar::Text(spelling))) =
            (subscribe, plan, hash, user)
        else {
            return Err(bad);
        };
        let amount = fields.get("amount").and_then(|value| value.to_u256().ok());
        Ok(Self {
            subscribe: SubscribeId(subscribe),
            plan: PlanId(plan),
            user: UserHash(hash),
            user_spelling: spelling.clone(),
            amount,
            fields,
        })
    }

    /// Refuses this entry for `code`.
    pub fn refused(&self, code: FailCode) -> Refused {
        let (amount, user_spelling) = (self.amount, self.user_spelling.clone());
        Refused::new(
            Named { subscribe: self.subscribe, plan: self.plan, user_spelling, amount },
            code,
        )
    }
}
