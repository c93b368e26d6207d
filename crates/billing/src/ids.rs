//! Names for the numbers that cross function boundaries, and how each is read from text.

use alloy::primitives::{Address, B256, U256};
use std::fmt;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// A chain id as the platform counts them (`chainId` in every body). Never used for signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlatformChainId(pub u32);

impl PlatformChainId {
    /// Returns true if a configuration can name the id: 1 to 2147483647.
    pub fn can_be_configured(self) -> bool {
        (1..=i32::MAX.unsigned_abs()).contains(&self.0)
    }
}

impl fmt::Display for PlatformChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The platform's number of a subscription, 0 to 2^63 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubscribeId(pub i64);

/// The merchant's number of a plan, 0 to 2^63 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlanId(pub i64);

/// The 32 bytes that name a user's record on chain. Opaque: never parsed, never recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserHash(pub B256);

/// The billing period that a charge is for, as the contract counts periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Period {
    /// The period has a number, stated by the entry or looked up on chain.
    Numbered(U256),
    /// The contract knows no periods: one charge at a time, guarded by a time after finality.
    Guarded,
}

impl Period {
    /// Its number, where it has one.
    pub fn number(self) -> Option<U256> {
        match self {
            Self::Numbered(number) => Some(number),
            Self::Guarded => None,
        }
    }
}

/// The key under which nobody may be charged twice, within one contract on one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChargeKey {
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// The period.
    pub period: Period,
}

/// The caller's own name for a request, to find its billing by: 1 to 64 visible ASCII characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(String);

impl RequestId {
    /// Reads a request id.
    pub fn parse(text: &str) -> Result<Self, Ineligible> {
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err(Ineligible::RequestId) }
    }

    /// The id as the caller wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The API key of a caller, which keeps it when its secret changes. Names of requests are the key's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallerKey(pub String);

impl CallerKey {
    /// The key as the caller sends it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The operator's name for a caller and the secret that it signs with. The ledger, the log and metrics name
/// callers by it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallerLabel(pub String);

impl CallerLabel {
    /// The label as the operator wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The caller who asked for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedBy {
    /// The API key.
    pub key: CallerKey,
    /// The operator's name for the secret that the request was signed with.
    pub label: CallerLabel,
}

/// A request that has a name. Of one caller, the same name has to mean the same entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedRequest {
    /// The name.
    pub id: RequestId,
    /// The API key of whoever asks; none where nobody has to sign requests.
    pub caller: Option<CallerKey>,
    /// The digest of what the request asks, however that is written.
    pub digest: B256,
}

/// The two kinds of chain. They share keys and addresses, and hardly anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Family {
    /// Ethereum and the chains that work like it.
    Evm,
    /// TRON.
    Tvm,
}

impl Family {
    /// The word for it in the journal and in settings.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The family that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// Returns the number of decimals of the coin in which a chain of this family takes its fees.
    pub fn coin_decimals(self) -> u8 {
        match self {
            Self::Evm => 18,
            Self::Tvm => 6,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Evm => "EVM",
            Self::Tvm => "TVM",
        })
    }
}

/// Why a text is not the value that it should be. The words are for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ineligible {
    /// Not an address of this family.
    #[error("must be an address: 0x and 40 hex digits")]
    EvmAddress,
    /// A TRON address where the chain is EVM.
    #[error("is a TRON address, but this chain is an EVM chain")]
    TronOnEvm,
    /// Not a TRON address.
    #[error("must be a TRON address: T…, or 41 and 40 hex digits")]
    TronAddress,
    /// The EIP-55 or base58 checksum is wrong: most likely a typing error.
    #[error("has a wrong checksum")]
    Checksum,
    /// Not a whole number that fits.
    #[error("must be a whole number from 0 to {max}, as a JSON integer or as digits in a string")]
    Integer {
        /// The largest number that fits, in words.
        max: &'static str,
    },
    /// Not 32 bytes of hex.
    #[error("must be 64 hex digits, with or without 0x")]
    Hash,
    /// Not a usable request id.
    #[error("must be 1 to 64 visible ASCII characters")]
    RequestId,
    /// Absent, and nothing else supplies it.
    #[error("is missing")]
    Missing,
    /// Of a JSON type that no value of this kind has.
    #[error("has a type that cannot be read as {wanted}")]
    Type {
        /// The expected ABI type.
        wanted: &'static str,
    },
    /// Not a whole number of this many bits.
    #[error(
        "must be a whole number from 0 to 2^{bits} - 1, as a JSON integer or as digits in a string"
    )]
    Uint {
        /// The number of bits that the value may have.
        bits: usize,
    },
    /// Not a value of this ABI type.
    #[error("cannot be read as {kind}{size}")]
    Abi {
        /// The ABI type without its size.
        kind: &'static str,
        /// Its size, as ABI types count it.
        size: usize,
    },
    /// Two names for one thing, with different values.
    #[error("contradicts subscribeId: state one of them")]
    Contradiction,
    /// A value that the contract takes once per call, and the entries do not share.
    #[error("must be the same in every entry of one request")]
    Differs,
}

/// Reads an address in the spellings of `family`.
///
/// EVM: `0x` and 40 hex digits; mixed case must carry a right EIP-55 checksum. TRON: base58check
/// `T…`, or hex with the prefix byte `41`, or the 20 bytes as `0x…` with the same checksum.
pub fn parse_address(family: Family, text: &str) -> Result<Address, Ineligible> {
    match family {
        Family::Evm if text.starts_with('T') => Err(Ineligible::TronOnEvm),
        Family::Evm => parse_evm(text),
        Family::Tvm => parse_tron(text),
    }
}

/// Writes an address the way people read it on a chain of `family`: with the checksum of EIP-55, or
/// as base58check (`T…`).
pub fn spell_address(family: Family, address: Address) -> String {
    match family {
        Family::Evm => address.to_checksum(None),
        Family::Tvm => {
            let bytes = [[TRON_PREFIX].as_slice(), address.as_slice()].concat();
            bs58::encode(bytes).with_check().into_string()
        }
    }
}

/// The byte in front of the 20 bytes of a TRON address, except in an ABI word.
const TRON_PREFIX: u8 = 0x41;

fn parse_evm(text: &str) -> Result<Address, Ineligible> {
    let digits = text.strip_prefix("0x").ok_or(Ineligible::EvmAddress)?;
    let address = address_of_hex(digits).ok_or(Ineligible::EvmAddress)?;
    let letters = || digits.chars().filter(char::is_ascii_alphabetic);
    let one_case =
        letters().all(|c| c.is_ascii_lowercase()) || letters().all(|c| c.is_ascii_uppercase());
    if one_case || address.to_checksum_buffer(None).as_str() == text {
        Ok(address)
    } else {
        Err(Ineligible::Checksum)
    }
}

fn parse_tron(text: &str) -> Result<Address, Ineligible> {
    if text.starts_with("0x") {
        let bad = |why| if why == Ineligible::Checksum { why } else { Ineligible::TronAddress };
        return parse_evm(text).map_err(bad);
    }
    if let (42, Some(digits)) = (text.len(), text.strip_prefix("41")) {
        return address_of_hex(digits).ok_or(Ineligible::TronAddress);
    }
    let bytes = match bs58::decode(text).with_check(None).into_vec() {
        Ok(bytes) => bytes,
        Err(bs58::decode::Error::InvalidChecksum { .. }) => return Err(Ineligible::Checksum),
        Err(_) => return Err(Ineligible::TronAddress),
    };
    match bytes.split_first() {
        Some((&TRON_PREFIX, rest)) => Address::try_from(rest).map_err(|_| Ineligible::TronAddress),
        _ => Err(Ineligible::TronAddress),
    }
}

fn address_of_hex(digits: &str) -> Option<Address> {
    let mut bytes = [0_u8; 20];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(Address::from(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_every_spelling_of_its_family() {
        let usdt = parse_address(Family::Tvm, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").unwrap();
        let hex41 = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c";
        assert_eq!(parse_address(Family::Tvm, hex41), Ok(usdt));
        assert_eq!(parse_address(Family::Evm, &format!("0x{}", &hex41[2..])), Ok(usdt));
        for family in [Family::Evm, Family::Tvm] {
            assert_eq!(parse_address(family, &spell_address(family, usdt)), Ok(usdt));
        }
        assert_eq!(spell_address(Family::Tvm, usdt), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t");
    }

    #[test]
    fn a_mistyped_address_is_not_read() {
        let table = [
            (Family::Evm, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", Ineligible::TronOnEvm),
            (Family::Tvm, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6u", Ineligible::Checksum),
            (Family::Evm, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", Ineligible::EvmAddress),
            (Family::Evm, "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", Ineligible::EvmAddress),
            (Family::Evm, "0x12", Ineligible::EvmAddress),
            (Family::Tvm, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD", Ineligible::Checksum),
            (Family::Tvm, "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeA", Ineligible::TronAddress),
            (Family::Tvm, "", Ineligible::TronAddress),
        ];
        for (family, text, why) in table {
            let read = parse_address(family, text);
            assert!(read.is_err(), "{text}");
            if why != Ineligible::EvmAddress {
                assert_eq!(read, Err(why), "{text}");
            }
        }
    }
}
