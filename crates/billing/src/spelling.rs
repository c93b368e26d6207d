//! The values as a caller wrote them, and the way to write them back.

use super::{Family, Ineligible, parse_address};
use alloy::primitives::{Address, B256, U256};
use smol_str::{SmolStr, ToSmolStr as _};
use std::collections::BTreeMap;

/// The fields of an entry, by name.
pub type Fields = BTreeMap<SmolStr, Scalar>;

/// A JSON value of an entry, with its digits kept: no number passes through a float. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// A JSON number, as it was written.
    Number(SmolStr),
    /// A JSON string.
    Text(SmolStr),
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

/// A whole number as the caller wrote it in JSON. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digits {
    digits: SmolStr,
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
        Self { digits: number.to_smolstr(), quoted: self.quoted }
    }

    /// The digits alone.
    pub fn digits(&self) -> &str {
        &self.digits
    }

    /// Returns true if the caller wrote a string.
    pub fn is_quoted(&self) -> bool {
        self.quoted
    }
}

/// The caller's spelling of the values that answers repeat. Digits in a string stay a string: a caller whose JSON
/// numbers are floats posts strings, and loses nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// `subscribeId`.
    pub subscribe: Digits,
    /// `planId`.
    pub plan: Digits,
    /// `userHash`.
    pub user: SmolStr,
    /// `amount`, where the entry states a readable one.
    pub amount: Option<Digits>,
}

impl Spelling {
    /// The spelling of an entry with these fields, if it can be named.
    pub(super) fn read(fields: &Fields) -> Option<Self> {
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
