//! TRON's spellings of an address. Inside the program an address is its 20 bytes; the prefix byte
//! 0x41 exists only in protobuf, in JSON and on paper. Reading is [`parse_address`]'s.
//!
//! [`parse_address`]: crate::billing::parse_address

use crate::billing::{Family, spell_address};
use alloy::primitives::Address;

/// What stands before the 20 bytes, on the main network and on every test network.
const PREFIX: u8 = 0x41;

/// The 21 bytes that protobuf holds.
pub(super) fn prefixed(address: Address) -> [u8; 21] {
    let mut bytes = [PREFIX; 21];
    for (to, from) in bytes.iter_mut().skip(1).zip(address.as_slice()) {
        *to = *from;
    }
    bytes
}

/// The 20 bytes of 21; none where they are not an address.
pub(super) fn unprefixed(bytes: &[u8]) -> Option<Address> {
    match bytes.split_first() {
        Some((&PREFIX, rest)) => Address::try_from(rest).ok(),
        _ => None,
    }
}

/// `41…`: how JSON holds it.
pub(super) fn to_hex(address: Address) -> String {
    hex::encode(prefixed(address))
}

/// `T…`: how people know it.
pub(super) fn to_base58(address: Address) -> String {
    spell_address(Family::Tvm, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::parse_address;
    use alloy::primitives::address;
    use proptest::prelude::*;

    #[test]
    fn usdt_is_spelled_as_everywhere() {
        let usdt = address!("a614f803b6fd780986a42c78ec9c7f77e6ded13c");
        assert_eq!(to_base58(usdt), "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t");
        assert_eq!(to_hex(usdt), "41a614f803b6fd780986a42c78ec9c7f77e6ded13c");
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
            for text in [to_hex(address), to_base58(address)] {
                prop_assert_eq!(parse_address(Family::Tvm, &text), Ok(address));
            }
        }
    }
}
