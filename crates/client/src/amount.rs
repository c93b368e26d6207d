//! Money, exactly. Requests carry decimals (`"10.5"`), callbacks and details integers in base units
//! (`"10500000"`); the currency's `decimals` lead from one to the other. Nothing here rounds.

use ruint::aliases::U256;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A `U256` has at most this many digits.
const MOST_DIGITS: u8 = 77;

/// An amount in the smallest unit of its token: an integer below 2^256.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaseUnits(pub U256);

/// An amount as people write it: digits with an optional fraction, never negative. `10.50` and
/// `10.5` are the same amount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Decimal {
    digits: U256,
    /// Number of digits behind the point; the last of them is not 0.
    scale: u8,
}

/// Why a text is no amount, or an amount cannot be said in another unit.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AmountError {
    /// Something else than digits with at most one point between them.
    #[error("{0:?} is no amount: write digits, with a point before a fraction, and nothing else")]
    NotAnAmount(String),
    /// More than 256 bits.
    #[error("the amount is too large")]
    TooLarge,
    /// More digits behind the point than the currency has.
    #[error("{amount} has {scale} digits behind the point; the currency has {decimals}")]
    TooFine {
        /// The amount.
        amount: Decimal,
        /// Its digits behind the point.
        scale: u8,
        /// Those of the currency.
        decimals: u8,
    },
}

impl BaseUnits {
    /// The same amount as a decimal of a currency with so many `decimals`.
    pub fn to_decimal(self, decimals: u8) -> Result<Decimal, AmountError> {
        if decimals > MOST_DIGITS {
            return Err(AmountError::TooLarge);
        }
        Ok(Decimal { digits: self.0, scale: decimals }.without_trailing_zeros())
    }
}

impl Decimal {
    /// The same amount in base units of a currency with so many `decimals`.
    ///
    /// Refuses an amount that is finer than a base unit, rather than round it.
    pub fn to_base_units(self, decimals: u8) -> Result<BaseUnits, AmountError> {
        let Some(zeros) = decimals.checked_sub(self.scale) else {
            return Err(AmountError::TooFine { amount: self, scale: self.scale, decimals });
        };
        let shift = U256::from(10_u8).checked_pow(U256::from(zeros));
        let units = shift.and_then(|shift| self.digits.checked_mul(shift));
        // 10^78 does not fit, but nothing of it does.
        let nothing = self.digits.is_zero().then_some(U256::ZERO);
        units.or(nothing).map(BaseUnits).ok_or(AmountError::TooLarge)
    }

    /// The integer, if there is no fraction: how callbacks write base units.
    pub fn integer(self) -> Option<BaseUnits> {
        (self.scale == 0).then_some(BaseUnits(self.digits))
    }

    /// For a screen: at least two digits behind the point, thousands apart by a thin space.
    pub fn for_people(self) -> String {
        let plain = self.to_string();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let mut grouped = String::new();
        for (digit, left) in whole.chars().zip((1..=whole.len()).rev()) {
            grouped.push(digit);
            if left > 1 && left % 3 == 1 {
                grouped.push('\u{2009}');
            }
        }
        format!("{grouped}.{fraction:0<2}")
    }

    fn without_trailing_zeros(self) -> Self {
        let ten = U256::from(10_u8);
        let (mut digits, mut scale) = (self.digits, self.scale);
        while let Some(less) = scale.checked_sub(1) {
            match (digits.checked_div(ten), digits.checked_rem(ten)) {
                (Some(tenth), Some(U256::ZERO)) => (digits, scale) = (tenth, less),
                _ => break,
            }
        }
        Self { digits, scale }
    }
}

impl FromStr for BaseUnits {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        digits(text).ok_or_else(|| AmountError::NotAnAmount(text.to_owned()))?.map(Self)
    }
}

impl FromStr for Decimal {
    type Err = AmountError;

    fn from_str(text: &str) -> Result<Self, AmountError> {
        let wrong = || AmountError::NotAnAmount(text.to_owned());
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return Err(wrong()),
            None => (text, ""),
        };
        if whole.is_empty() {
            return Err(wrong());
        }
        let fraction = fraction.trim_end_matches('0');
        let digits = digits(&format!("{whole}{fraction}")).ok_or_else(wrong)??;
        let scale = u8::try_from(fraction.len()).ok().filter(|scale| *scale <= MOST_DIGITS);
        Ok(Self { digits, scale: scale.ok_or(AmountError::TooLarge)? })
    }
}

/// `None` if there is anything but digits, an error if there are too many of them.
fn digits(text: &str) -> Option<Result<U256, AmountError>> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(U256::from_str_radix(text, 10).map_err(|_| AmountError::TooLarge))
}

impl fmt::Display for BaseUnits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Plain digits with a point before a fraction, as requests carry it.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scale = usize::from(self.scale);
        let digits =
            format!("{:0>width$}", self.digits.to_string(), width = scale.saturating_add(1));
        let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{whole}{point}{fraction}")
    }
}

impl Serialize for BaseUnits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From a JSON integer of any size, or a string of its digits. Only `serde_json` can read it.
impl<'de> Deserialize<'de> for BaseUnits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_digits(&Box::<RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// From a JSON number without exponent, or a string of it. Only `serde_json` can read it.
impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_digits(&Box::<RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn from_digits<T: FromStr<Err = AmountError>>(raw: &RawValue) -> Result<T, AmountError> {
    let text = raw.get();
    text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text).parse()
}

#[cfg(test)]
mod tests;
