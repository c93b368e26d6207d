//! In which units people count a token: what the token itself says of its symbol and its decimals. For eyes alone:
//! nothing is computed or concluded from it.

use super::reads::{Answers, Read};
use alloy::primitives::Address;
use alloy::sol;
use alloy::sol_types::SolCall;

sol! {
    function symbol() returns (string text);
    function decimals() returns (uint8 places);
}

/// More decimals than that have no use for people.
const MOST_DECIMALS: u8 = 36;

/// A longer symbol is none.
const LONGEST_SYMBOL: usize = 12;

/// Longest answer expected, bytes.
const ANSWER: usize = 96;

/// The units of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenUnits {
    /// Its symbol: letters, digits, dots, dashes and dollars; empty where it tells none that is so.
    pub symbol: String,
    /// Number of digits after the decimal point.
    pub decimals: u8,
}

impl TokenUnits {
    pub(super) fn reads(token: Address) -> [Read; 2] {
        [decimalsCall {}.abi_encode(), symbolCall {}.abi_encode()].map(|data| Read {
            target: token,
            data,
            answer: ANSWER,
        })
    }

    /// None where it tells no decimals.
    pub(super) fn of(answers: Answers) -> Option<Self> {
        let [decimals, symbol] = <[_; 2]>::try_from(answers).ok()?;
        let decimals = decimalsCall::abi_decode_returns(&decimals?).ok()?;
        let symbol = symbol.map(|told| read_symbol(&told)).unwrap_or_default();
        (decimals <= MOST_DECIMALS).then_some(Self { symbol, decimals })
    }
}

/// A text, or 32 bytes as the oldest tokens have it.
fn read_symbol(told: &[u8]) -> String {
    let text = symbolCall::abi_decode_returns(told).unwrap_or_else(|_| {
        let letters = told.iter().copied().take_while(|letter| *letter != 0);
        String::from_utf8(letters.collect()).unwrap_or_default()
    });
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '$');
    let good = text.len() <= LONGEST_SYMBOL && text.chars().all(plain);
    if good { text } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{Bytes, U256};
    use alloy::sol_types::SolValue as _;

    fn told(symbol: &[u8], decimals: u64) -> Option<TokenUnits> {
        let places: Bytes = U256::from(decimals).abi_encode().into();
        TokenUnits::of(vec![Some(places), Some(Bytes::copy_from_slice(symbol))])
    }

    #[test]
    fn a_token_is_shown_in_its_units_and_what_it_calls_itself_cannot_deceive() {
        let of = |symbol: &str, decimals| TokenUnits { symbol: symbol.to_owned(), decimals };
        assert_eq!(told(&"USDT".abi_encode(), 6), Some(of("USDT", 6)));
        let mut old = [0_u8; 32];
        old[..3].copy_from_slice(b"MKR");
        assert_eq!(told(&old, 18), Some(of("MKR", 18)));
        for odd in ["1000 USDT paid", "US\u{202e}DT", "averyveryverylongone"] {
            assert_eq!(told(&odd.abi_encode(), 6), Some(of("", 6)), "{odd}");
        }
        assert_eq!(told(&"USDT".abi_encode(), 37), None);
        assert_eq!(TokenUnits::of(vec![None, None]), None);
    }
}
