//! Ids: integers of 0 to 2^63 - 1. JSON may carry them as integers or as strings of digits.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The text is no id.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0:?} is no id: ids are whole numbers from 0 to 9223372036854775807")]
pub struct IdError(String);

/// A number of 0 to 2^63 - 1 out of a JSON integer or a string of digits.
struct Number(i64);

impl FromStr for Number {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| digits).map(Self).ok_or_else(|| IdError(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling<'a> {
            Integer(i64),
            #[serde(borrow)]
            Text(Cow<'a, str>),
        }
        match Spelling::deserialize(deserializer)? {
            Spelling::Integer(number) if number >= 0 => Ok(Self(number)),
            Spelling::Integer(number) => Err(D::Error::custom(IdError(number.to_string()))),
            Spelling::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Number::from_str(text).map(|number| Self(number.0))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_i64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Number::deserialize(deserializer).map(|number| Self(number.0))
            }
        }
    )*};
}

ids! {
    /// The platform's own id of a chain; not the chain id that the chain itself has.
    ChainId
    /// A token, or the chain's coin, on one chain.
    CurrencyId
    /// A plan; chosen by the merchant.
    PlanId
    /// A subscription order: `subscriptionId` of a link, `subscribeId` of the chargeable list.
    SubscriptionId
    /// A user with recharge addresses.
    UserId
    /// A recharge address.
    WalletId
    /// A deposit.
    RechargeId
    /// A withdrawal.
    WithdrawId
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_digits_are_read_without_loss() {
        for text in ["9223372036854775807", "\"9223372036854775807\""] {
            assert_eq!(serde_json::from_str::<PlanId>(text).unwrap(), PlanId(i64::MAX));
        }
        for text in ["-1", "\"-1\"", "1.0", "9223372036854775808", "\"\"", "\"+1\"", "null"] {
            assert!(serde_json::from_str::<PlanId>(text).is_err(), "{text}");
        }
        assert!("".parse::<PlanId>().is_err());
    }
}
