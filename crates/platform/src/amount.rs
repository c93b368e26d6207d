//! Amounts of tokens: integers in base units inside, decimals in requests and for people.

use alloy::primitives::U256;

/// Reads a decimal number of tokens into base units. Nothing is rounded: more digits than the token has are refused, and so
/// are signs, exponents and separators.
pub(crate) fn parse(text: &str, decimals: u8) -> Option<U256> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let places = usize::from(decimals);
    let well_formed = !whole.is_empty() && digits(whole) && digits(fraction);
    if !well_formed || fraction.len() > places || text.ends_with('.') {
        return None;
    }
    U256::from_str_radix(&format!("{whole}{fraction:0<places$}"), 10).ok()
}

/// Base units as a decimal number, without zeros that say nothing.
pub(crate) fn show(value: U256, decimals: u8) -> String {
    let places = usize::from(decimals);
    let digits = format!("{value:0>width$}", value = value.to_string(), width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        assert_eq!(parse("10.5", 6), Some(U256::from(10_500_000)));
        assert_eq!(parse("0.000001", 6), Some(U256::ONE));
        assert_eq!(parse("100", 18).map(|value| show(value, 18)).as_deref(), Some("100"));
        for bad in ["", ".5", "1.", "-1", "+1", "1e3", "1,5", "0.0000001", "1 "] {
            assert_eq!(parse(bad, 6), None, "{bad}");
        }
        assert_eq!(show(U256::from(1_050_000), 6), "1.05");
        assert_eq!(show(U256::ZERO, 6), "0");
    }
}
