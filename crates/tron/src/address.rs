//! TRON's spellings of an address.
//!
//! In memory an address is its 20 bytes, the same that an Ethereum key has. The prefix byte 0x41 exists
//! only in protobuf, in JSON and on paper.

use alloy::primitives::Address;

/// The byte before the 20 bytes of an address, on the main network and on every test network in use. java-tron:
/// `crypto/.../DecodeUtil.java`, `addressPreFixByte`.
pub const PREFIX: u8 = 0x41;

/// The 21 bytes that protobuf holds.
pub fn prefixed(address: Address) -> [u8; 21] {
    let mut bytes = [PREFIX; 21];
    for (to, from) in bytes.iter_mut().skip(1).zip(address.as_slice()) {
        *to = *from;
    }
    bytes
}

/// The 20 bytes of 21; none where they are not an address.
pub fn unprefixed(bytes: &[u8]) -> Option<Address> {
    match bytes.split_first() {
        Some((&PREFIX, rest)) => Address::try_from(rest).ok(),
        _ => None,
    }
}

/// `41…`: how JSON holds it.
pub fn to_hex(address: Address) -> String {
    hex::encode(prefixed(address))
}

/// `T…`: how people know it.
pub fn to_base58(address: Address) -> String {
    bs58::encode(prefixed(address)).with_check().into_string()
}

/// The address in `T…`; none where the text is not one, or its check sum is wrong.
pub fn from_base58(text: &str) -> Option<Address> {
    unprefixed(&bs58::decode(text).with_check(None).into_vec().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::address;
    use proptest::prelude::*;

    #[test]
    fn usdt_is_spelled_as_everywhere() {
        let usdt = address!("a614f803b6fd780986a42c78ec9c7f77e6ded13c");
        assert_eq!(to_base58(usdt), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t");
        assert_eq!(to_hex(usdt), "41a614f803b6fd780986a42c78ec9c7f77e6ded13c");
        assert_eq!(from_base58("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"), Some(usdt));
        assert_eq!(from_base58("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6s"), None);
    }

    #[test]
    fn only_21_bytes_with_the_prefix_are_an_address() {
        assert_eq!(unprefixed(&[]), None);
        assert_eq!(unprefixed(&[0x41; 20]), None);
        assert_eq!(unprefixed(&[0x41; 22]), None);
        assert_eq!(unprefixed(&[0xa0; 21]), None);
        assert_eq!(unprefixed(&[0x41; 21]), Some(Address::repeat_byte(0x41)));
    }

    proptest! {
        #[test]
        fn every_spelling_is_read_as_what_was_written(bytes: [u8; 20]) {
            let address = Address::from(bytes);
            prop_assert_eq!(unprefixed(&prefixed(address)), Some(address));
            prop_assert_eq!(from_base58(&to_base58(address)), Some(address));
            let hex = hex::decode(to_hex(address)).unwrap();
            prop_assert_eq!(unprefixed(&hex), Some(address));
        }
    }
}
