//! Amounts as people write them: of the coin that pays for transactions, and of its smaller units.

use super::Family;
use alloy::primitives::U256;

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

/// How many digits are shown from the first that is not zero: more than anybody reads.
const SHOWN: usize = 6;

/// What the coin of a chain is called, by the chain's own id.
fn symbol(family: Family, network: u64) -> &'static str {
    let other = || OTHERS.iter().find(|(ids, _)| ids.contains(&network)).map(|(_, name)| *name);
    match family {
        Family::Evm => other().unwrap_or("ETH"),
        Family::Tvm => "TRX",
    }
}

/// An amount of a chain's coin (wei or sun) with its symbol: `0.000566237 ETH`. Digits that nobody reads are cut off.
pub fn coins(amount: U256, family: Family, network: u64) -> String {
    let decimals = match family {
        Family::Evm => 18,
        Family::Tvm => 6,
    };
    format!("{} {}", decimal(amount, decimals), symbol(family, network))
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
}
