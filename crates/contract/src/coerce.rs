//! Scalar ABI types, and how a JSON value, a configured text or a word from the chain becomes a
//! value of one. Exact: no number passes through a float, and nothing is cut to fit.

use alloy::dyn_abi::{DynSolType, DynSolValue};
use alloy::primitives::{Address, B256, I256, U256};
use billing::{Family, Ineligible, Scalar, parse_address, spell_address};
use std::fmt;

/// Most characters of a contract's words that are passed on.
const LONGEST: usize = 160;

/// A scalar ABI type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbiKind {
    Uint(usize),
    Int(usize),
    Address,
    Bool,
    Fixed(usize),
    Bytes,
    Text,
}

impl fmt::Display for AbiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uint(bits) => write!(f, "uint{bits}"),
            Self::Int(bits) => write!(f, "int{bits}"),
            Self::Address => f.write_str("address"),
            Self::Bool => f.write_str("bool"),
            Self::Fixed(len) => write!(f, "bytes{len}"),
            Self::Bytes => f.write_str("bytes"),
            Self::Text => f.write_str("string"),
        }
    }
}

impl AbiKind {
    /// The type that Solidity spells `word`.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let bits = |digits: &str| match digits {
            "" => Some(256),
            _ => size(digits).filter(|bits| *bits <= 256 && bits.is_multiple_of(8)),
        };
        match word {
            "address" => Some(Self::Address),
            "bool" => Some(Self::Bool),
            "bytes" => Some(Self::Bytes),
            "string" => Some(Self::Text),
            _ => {
                let uint = || word.strip_prefix("uint").and_then(bits).map(Self::Uint);
                let int = || word.strip_prefix("int").and_then(bits).map(Self::Int);
                let len = || word.strip_prefix("bytes").and_then(size).filter(|len| *len <= 32);
                uint().or_else(int).or_else(|| len().map(Self::Fixed))
            }
        }
    }

    /// The type as alloy decodes it.
    pub(super) fn sol(self) -> DynSolType {
        match self {
            Self::Uint(bits) => DynSolType::Uint(bits),
            Self::Int(bits) => DynSolType::Int(bits),
            Self::Address => DynSolType::Address,
            Self::Bool => DynSolType::Bool,
            Self::Fixed(len) => DynSolType::FixedBytes(len),
            Self::Bytes => DynSolType::Bytes,
            Self::Text => DynSolType::String,
        }
    }

    /// The type to decode what a contract returned, so that [`Self::strict`] sees every bit.
    pub(super) fn raw(self) -> DynSolType {
        match self {
            Self::Bytes | Self::Text => DynSolType::Bytes,
            Self::Uint(_) | Self::Int(_) | Self::Address | Self::Bool | Self::Fixed(_) => {
                DynSolType::Uint(256)
            }
        }
    }

    /// Returns true if the type is a number.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Self::Uint(_) | Self::Int(_))
    }

    /// Returns true if one entry field can be of both types. Numbers of every width can.
    pub(super) fn alike(self, other: Self) -> bool {
        self == other || (self.is_number() && other.is_number())
    }

    /// Reads the field of an entry.
    pub(super) fn read(self, family: Family, value: &Scalar) -> Result<DynSolValue, Ineligible> {
        match (self, value) {
            (Self::Uint(bits), Scalar::Number(digits) | Scalar::Text(digits)) => {
                decimal(digits).and_then(|n| self.number(n)).ok_or(Ineligible::Uint { bits })
            }
            (Self::Int(_), Scalar::Number(digits) | Scalar::Text(digits)) => {
                self.signed(digits).ok_or(self.not_readable())
            }
            (Self::Address, value) => value.to_address(family).map(DynSolValue::Address),
            (Self::Bool, Scalar::Bool(value)) => Ok(DynSolValue::Bool(*value)),
            (Self::Fixed(_) | Self::Bytes, Scalar::Text(text)) => {
                self.hex(text).ok_or(self.not_readable())
            }
            (Self::Text, Scalar::Text(text)) => Ok(DynSolValue::String(text.to_string())),
            (_, Scalar::Number(_) | Scalar::Text(_) | Scalar::Bool(_) | Scalar::Nested) => {
                Err(self.not_readable())
            }
        }
    }

    /// Reads a constant of the configuration: like a field, and numbers also as `0x…`.
    pub(super) fn constant(self, family: Family, text: &str) -> Result<DynSolValue, Ineligible> {
        match (self, text.strip_prefix("0x")) {
            (Self::Bool, _) => text.parse().map(DynSolValue::Bool).map_err(|_| self.not_readable()),
            (Self::Uint(_) | Self::Int(_), Some(digits)) => {
                hexadecimal(digits).and_then(|n| self.number(n)).ok_or(self.not_readable())
            }
            (Self::Address, _) => parse_address(family, text).map(DynSolValue::Address),
            _ => self.read(family, &Scalar::Text(text.into())),
        }
    }

    /// `n` as this type, if it is a number type that holds it.
    pub(super) fn number(self, n: U256) -> Option<DynSolValue> {
        match self {
            Self::Uint(bits) => (n.bit_len() <= bits).then_some(DynSolValue::Uint(n, bits)),
            Self::Int(bits) => {
                let n = I256::from_raw(n);
                (n.is_positive() || n.is_zero()).then(|| signed(n, bits)).flatten()
            }
            Self::Address | Self::Bool | Self::Fixed(_) | Self::Bytes | Self::Text => None,
        }
    }

    /// A value of an alike type as this type. None where this type is too narrow for it.
    pub(super) fn convert(self, value: &DynSolValue) -> Option<DynSolValue> {
        if !self.is_number() {
            return Some(value.clone());
        }
        match (value.as_int(), value.as_uint()) {
            (Some((n, _)), _) if n.is_negative() => match self {
                Self::Int(bits) => signed(n, bits),
                Self::Uint(_)
                | Self::Address
                | Self::Bool
                | Self::Fixed(_)
                | Self::Bytes
                | Self::Text => None,
            },
            (Some((n, _)), _) => self.number(n.into_raw()),
            (None, Some((n, _))) => self.number(n),
            (None, None) => None,
        }
    }

    /// Reads a value that a contract returned, decoded as [`Self::raw`]. None if bits are set that a value of this
    /// type does not have.
    pub(super) fn strict(self, raw: &DynSolValue) -> Option<DynSolValue> {
        if let Some(bytes) = raw.as_bytes() {
            return match self {
                Self::Bytes => Some(DynSolValue::Bytes(bytes.to_vec())),
                Self::Text => String::from_utf8(bytes.to_vec()).ok().map(DynSolValue::String),
                Self::Uint(_) | Self::Int(_) | Self::Address | Self::Bool | Self::Fixed(_) => None,
            };
        }
        let word = raw.as_word()?;
        let n = U256::from_be_bytes(word.0);
        match self {
            Self::Uint(_) => self.number(n),
            Self::Int(bits) => signed(I256::from_raw(n), bits),
            Self::Address => {
                (n.bit_len() <= 160).then(|| DynSolValue::Address(Address::from_word(word)))
            }
            Self::Bool => (n.bit_len() <= 1).then_some(DynSolValue::Bool(!n.is_zero())),
            Self::Fixed(len) => {
                let clean = word.iter().skip(len).all(|byte| *byte == 0);
                clean.then_some(DynSolValue::FixedBytes(word, len))
            }
            Self::Bytes | Self::Text => None,
        }
    }

    fn signed(self, digits: &str) -> Option<DynSolValue> {
        let Self::Int(bits) = self else { return None };
        decimal(digits.strip_prefix('-').unwrap_or(digits))?;
        signed(I256::from_dec_str(digits).ok()?, bits)
    }

    fn hex(self, text: &str) -> Option<DynSolValue> {
        let bytes = hex::decode(text.strip_prefix("0x").unwrap_or(text)).ok()?;
        match self {
            Self::Bytes => Some(DynSolValue::Bytes(bytes)),
            Self::Fixed(len) if bytes.len() == len => {
                Some(DynSolValue::FixedBytes(B256::right_padding_from(&bytes), len))
            }
            Self::Fixed(_)
            | Self::Uint(_)
            | Self::Int(_)
            | Self::Address
            | Self::Bool
            | Self::Text => None,
        }
    }

    /// Returns the complaint about a value that is not of this type.
    pub(super) fn not_readable(self) -> Ineligible {
        match self {
            Self::Uint(bits) => Ineligible::Uint { bits },
            Self::Int(size) => Ineligible::Abi { kind: "int", size },
            Self::Fixed(32) => Ineligible::Hash,
            Self::Fixed(size) => Ineligible::Abi { kind: "bytes", size },
            Self::Address => Ineligible::Type { wanted: "address" },
            Self::Bool => Ineligible::Type { wanted: "bool" },
            Self::Bytes => Ineligible::Type { wanted: "bytes" },
            Self::Text => Ineligible::Type { wanted: "string" },
        }
    }
}

/// Returns true if two values are the same word or text, whatever the width of their types.
pub(super) fn same(one: &DynSolValue, other: &DynSolValue) -> bool {
    match (one.as_word(), other.as_word()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Returns true if a value is what a contract returns for a record that it does not have.
pub(super) fn is_zero(value: &DynSolValue) -> bool {
    match (value.as_word(), value.as_bytes(), value.as_str()) {
        (Some(word), _, _) => word.is_zero(),
        (None, Some(bytes), _) => bytes.is_empty(),
        (None, None, text) => text.is_none_or(str::is_empty),
    }
}

/// A value in words for people.
pub(super) fn show(family: Family, value: &DynSolValue) -> String {
    if let Some(value) = value.as_bool() {
        return value.to_string();
    }
    if let Some(text) = value.as_str() {
        return clean(text);
    }
    if let Some(address) = value.as_address() {
        return spell_address(family, address);
    }
    match (value.as_uint(), value.as_int(), value.as_fixed_bytes()) {
        (Some((n, _)), _, _) => n.to_string(),
        (None, Some((n, _)), _) => n.to_string(),
        (None, None, Some((word, len))) => hex_text(word.get(..len).unwrap_or(word)),
        (None, None, None) => clean(&hex_text(value.as_bytes().unwrap_or_default())),
    }
}

/// A code of the contract as the table of reasons spells it.
pub(super) fn digits(code: &DynSolValue) -> String {
    show(Family::Evm, code)
}

/// Words from outside, short and without control characters.
pub(super) fn clean(words: &str) -> String {
    words.chars().filter(|c| !c.is_control()).take(LONGEST).collect()
}

fn hex_text(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}

fn signed(n: I256, bits: usize) -> Option<DynSolValue> {
    let fits = usize::try_from(n.bits()).is_ok_and(|needs| needs <= bits);
    fits.then_some(DynSolValue::Int(n, bits))
}

fn size(digits: &str) -> Option<usize> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    digits.parse().ok().filter(|size| plain && *size > 0)
}

fn decimal(digits: &str) -> Option<U256> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| U256::from_str_radix(digits, 10).ok()).flatten()
}

fn hexadecimal(digits: &str) -> Option<U256> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    plain.then(|| U256::from_str_radix(digits, 16).ok()).flatten()
}
