//! Amounts as people write them: of the coin that pays for transactions, and of its smaller units.

use super::Family;
use alloy::primitives::U256;
use alloy::primitives::utils::format_units;

/// EVM chains whose coin is not ETH, by their EIP-155 ids.
const OTHERS: [(&[u64], &str); 8] = [
    (&[56, 97], "BNB"),
    (&[137, 80_002], "POL"),
    (&[25], "CRO"),
    (&[100], "xDAI"),
    (&[250], "FTM"),
    (&[5000], "MNT"),
    (&[42_220], "CELO"),
    (&[43_114], "AVAX"),
];

/// The number of digits shown from the first that is not zero: more than anybody reads.
const SHOWN: usize = 6;

/// The unit in which a person is told an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denomination {
    /// The coin of a chain.
    Coin {
        /// The family of the chain.
        family: Family,
        /// The chain's own id.
        network: u64,
    },
    /// A token.
    Token {
        /// The name of the token.
        name: String,
        /// The number of decimals of the token; none where nobody tells it.
        decimals: Option<u8>,
    },
}

impl Denomination {
    /// An amount (wei, sun or base units) with its symbol. An amount of a token is exact; without its decimals it is
    /// told in base units, and called that.
    pub fn tell(&self, amount: U256) -> String {
        match self {
            Self::Coin { family, network } => coins(amount, *family, *network),
            Self::Token { name, decimals } => {
                match decimals.and_then(|decimals| whole(amount, decimals)) {
                    Some(whole) => format!("{whole} {name}"),
                    None => format!("{amount} base units of {name}"),
                }
            }
        }
    }
}

/// Returns the symbol of a chain's coin, by the chain's own id.
pub fn coin_symbol(family: Family, network: u64) -> &'static str {
    let other = || OTHERS.iter().find(|(ids, _)| ids.contains(&network)).map(|(_, name)| *name);
    match family {
        Family::Evm => other().unwrap_or("ETH"),
        Family::Tvm => "TRX",
    }
}

/// An amount of a chain's coin (wei or sun) with its symbol: `0.000566237 ETH`. Digits that nobody reads are cut off.
pub fn coins(amount: U256, family: Family, network: u64) -> String {
    let decimals = usize::from(family.coin_decimals());
    format!("{} {}", decimal(amount, decimals), coin_symbol(family, network))
}

/// An amount of the smallest unit as a decimal number, cut off after a few digits that are not leading zeros. Whole
/// units are never cut.
pub fn decimal(amount: U256, decimals: usize) -> String {
    let digits = format!("{amount:0>width$}", width = decimals.saturating_add(1));
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
    let zeros = fraction.len().saturating_sub(fraction.trim_start_matches('0').len());
    let kept = if whole == "0" { zeros.saturating_add(SHOWN) } else { SHOWN };
    let fraction = fraction.get(..kept).unwrap_or(fraction).trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// Base units in whole ones: every digit that counts, and none behind it.
pub fn whole(units: U256, decimals: u8) -> Option<String> {
    let text = format_units(units, decimals).ok()?;
    if !text.contains('.') {
        return Some(text);
    }
    Some(text.trim_end_matches('0').trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_told_in_coins_with_the_name_of_the_coin() {
        let wei = |amount: u128| U256::from(amount);
        assert_eq!(coins(wei(566_237_007_927_318), Family::Evm, 1), "0.000566237 ETH");
        assert_eq!(coins(wei(9_999_991_541_751_961_474_777), Family::Evm, 137), "9999.991541 POL");
        assert_eq!(coins(U256::ZERO, Family::Evm, 31337), "0 ETH");
        assert_eq!(coins(wei(27_280_300), Family::Tvm, 0), "27.2803 TRX");
        assert_eq!(coins(wei(1), Family::Evm, 56), "0.000000000000000001 BNB");
        assert_eq!(decimal(wei(31_200_000_001), 9), "31.2");
        assert_eq!(decimal(U256::MAX, 0), U256::MAX.to_string());
    }

    #[test]
    fn a_token_is_told_exactly_and_in_base_units_where_nobody_knows_its_decimals() {
        let usdt = |decimals| Denomination::Token { name: "USDT".to_owned(), decimals };
        let amount = U256::from(9_990_001);
        assert_eq!(usdt(Some(6)).tell(amount), "9.990001 USDT");
        assert_eq!(usdt(None).tell(amount), "9990001 base units of USDT");
        let trx = Denomination::Coin { family: Family::Tvm, network: 0 };
        assert_eq!(trx.tell(amount), "9.990001 TRX");
    }

    #[test]
    fn no_digit_is_lost_and_none_is_added() {
        for (units, decimals, told) in [
            ("0", 6, "0"),
            ("10000000", 6, "10"),
            ("9990000", 6, "9.99"),
            ("1", 18, "0.000000000000000001"),
            ("500", 0, "500"),
            ("123456789012345678901", 18, "123.456789012345678901"),
        ] {
            assert_eq!(whole(units.parse().unwrap(), decimals).as_deref(), Some(told), "{units}");
        }
        let all = whole(U256::MAX, 77).unwrap();
        assert_eq!(all.replace('.', ""), U256::MAX.to_string());
    }
}
