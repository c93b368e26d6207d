//! Addresses: 20 bytes inside the machine, 21 bytes with 0x41 on the wire, base58check for people.

use revm::primitives::{Address, keccak256};

/// The 21 bytes of an address.
pub fn to21(address: &Address) -> Vec<u8> {
    let mut bytes = vec![0x41];
    bytes.extend_from_slice(address.as_slice());
    bytes
}

/// The address in 21 bytes; None if they are not one.
pub fn from21(bytes: &[u8]) -> Option<Address> {
    let rest = bytes.strip_prefix(&[0x41])?;
    Address::try_from(rest).ok()
}

/// Hex of the 21 bytes.
pub fn hex21(address: &Address) -> String {
    hex::encode(to21(address))
}

/// `T…`.
pub fn base58(address: &Address) -> String {
    base58_bytes(&to21(address))
}

/// Base58check of any bytes, as java-tron writes what it takes for an address.
pub fn base58_bytes(bytes: &[u8]) -> String {
    bs58::encode(bytes).with_check().into_string()
}

/// The bytes of `T…`; None if the check sum is wrong.
pub fn from_base58(text: &str) -> Option<Vec<u8>> {
    bs58::decode(text).with_check(None).into_vec().ok()
}

/// The address of a private key; None if it is not one.
pub fn of_key(key: &[u8]) -> Option<Address> {
    let key = k256::ecdsa::SigningKey::from_slice(key).ok()?;
    Some(Address::from_public_key(key.verifying_key()))
}

/// The address of a contract that the transaction `txid` of `owner` deploys.
pub fn deployed(txid: &[u8], owner: &Address) -> Address {
    Address::from_word(keccak256([txid, &to21(owner)].concat()))
}
