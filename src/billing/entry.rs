//! One element of a request, as the caller wrote it: a statement, never an order.

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

/// A whole number as the caller wrote it in JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    digits: String,
    quoted: bool,
}

impl Digits {
    /// The number that `scalar` holds, if it holds nothing but digits.
    fn read(scalar: &Scalar) -> Option<Self> {
        scalar.to_u256().ok()?;
        match scalar {
            Scalar::Number(digits) => Some(Self { digits: digits.clone(), quoted: false }),
            Scalar::Text(digits) => Some(Self { digits: digits.clone(), quoted: true }),
            Scalar::Bool(_) | Scalar::Nested => None,
        }
    }

    /// `number`, as an integer or in quotes like this one.
    #[must_use]
    pub fn like(&self, number: U256) -> Self {
        Self { digits: number.to_string(), quoted: self.quoted }
    }

    /// As JSON.
    pub fn json(&self) -> String {
        if self.quoted { format!("\"{}\"", self.digits) } else { self.digits.clone() }
    }
}

/// How the caller wrote what answers repeat. Digits in a string stay a string: a caller whose JSON
/// numbers are floats posts strings, and loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// `subscribeId`.
    pub subscribe: Digits,
    /// `planId`.
    pub plan: Digits,
    /// `userHash`.
    pub user: String,
    /// `amount`, where the entry states a readable one.
    pub amount: Option<Digits>,
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
    /// How the caller wrote it, to be echoed.
    pub spelling: Spelling,
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

impl Spelling {
    fn read(fields: &BTreeMap<String, Scalar>) -> Option<Self> {
        let digits = |field: &str| fields.get(field).and_then(Digits::read);
        let Some(Scalar::Text(user)) = fields.get("userHash") else { return None };
        Some(Self {
            subscribe: digits("subscribeId")?,
            plan: digits("planId")?,
            user: user.clone(),
            amount: digits("amount"),
        })
    }
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
        let (Some(subscribe), Some(plan), Some(hash), Some(spelling)) =
            (subscribe, plan, hash, Spelling::read(&fields))
        else {
            return Err(bad);
        };
        let amount = fields.get("amount").and_then(|value| value.to_u256().ok());
        Ok(Self {
            subscribe: SubscribeId(subscribe),
            plan: PlanId(plan),
            user: UserHash(hash),
            spelling,
            amount,
            fields,
        })
    }

    /// Refuses this entry for `code`.
    pub fn refused(&self, code: FailCode) -> Refused {
        let amount = self.amount;
        Refused::new(self.subscribe, self.plan, self.spelling.clone(), amount, code)
    }
}
