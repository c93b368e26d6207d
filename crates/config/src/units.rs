//! The notation of amounts of money, times and sizes in the configuration.
//!
//! Whole numbers throughout: a fraction of an ether is shifted, never computed in floating point. No
//! library, because a slip has to be refused: humantime reads `1M` as a month of 30.44 days and adds up
//! `1m 30s`, bytesize computes sizes in floating point and takes `1MB` for another number than `1MiB`.

use std::fmt;
use std::time::Duration;

/// An amount of a chain's own coin in wei, its smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wei(pub u128);

/// An amount of TRX in sun, its smallest unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sun(pub u64);

/// One TRX, in sun.
const TRX: u128 = 1_000_000;

const GWEI: u128 = 1_000_000_000;
const ETHER: u128 = 1_000_000_000_000_000_000;

impl fmt::Display for Wei {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("ether", ETHER), ("gwei", GWEI), ("wei", 1)];
        let (unit, count) = largest(self.0, &units);
        write!(f, "{count} {unit}")
    }
}

impl fmt::Display for Sun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, count) = largest(self.0.into(), &[("TRX", TRX), ("sun", 1)]);
        write!(f, "{count} {unit}")
    }
}

/// Why a text is not an amount, a time or a size.
type Why = &'static str;

/// Reads `"200 gwei"`, `"0.05 ether"`, `"7 wei"` or a plain number of wei.
pub(super) fn wei(text: &str) -> Result<Wei, Why> {
    let units = [("", 0), ("wei", 0), ("gwei", 9), ("ether", 18)];
    shifted(text, &units, "finer than one wei").map(Wei)
}

/// Reads `"500 TRX"`, `"1.5 TRX"`, `"7 sun"` or a plain number of sun.
pub(super) fn sun(text: &str) -> Result<Sun, Why> {
    let amount = shifted(text, &[("", 0), ("sun", 0), ("TRX", 6)], "finer than one sun")?;
    u64::try_from(amount).map(Sun).map_err(|_| "far too large")
}

/// An amount in the smallest unit. Each unit comes with its number of decimals.
fn shifted(text: &str, units: &[(&str, usize)], too_fine: Why) -> Result<u128, Why> {
    let (number, unit) = number_and_unit(text);
    let known = units.iter().find(|(name, _)| *name == unit);
    let decimals = known.map(|(_, decimals)| *decimals).ok_or("the unit is unknown")?;
    let (whole, fraction) = match number.split_once('.') {
        Some((_, "")) => return Err("not a number"),
        Some(parts) => parts,
        None => (number, ""),
    };
    if !is_digits(whole) || !(fraction.is_empty() || is_digits(fraction)) {
        return Err("not a number");
    }
    if fraction.len() > decimals {
        return Err(too_fine);
    }
    format!("{whole}{fraction:0<decimals$}").parse().map_err(|_| "far too large")
}

/// Reads `"500ms"`, `"10s"`, `"5m"`, `"24h"` or `"7d"`. A number without a unit is no time.
pub(super) fn time(text: &str) -> Result<Duration, Why> {
    let (number, unit) = number_and_unit(text);
    let milliseconds = match unit {
        "" => return Err("the unit is missing"),
        _ => scaled(number, unit, &TIMES)?,
    };
    u64::try_from(milliseconds).map(Duration::from_millis).map_err(|_| "far too large")
}

/// Writes a time the way [`time`] reads it. Exact for whole milliseconds.
pub(super) fn show_time(time: &Duration) -> String {
    let (unit, count) = largest(time.as_millis(), &TIMES);
    format!("{count}{unit}")
}

/// Reads `"64 KiB"`, `"1MiB"`, `"2GiB"`, `"512 B"` or a plain number of bytes.
pub(super) fn size(text: &str) -> Result<u64, Why> {
    let (number, unit) = number_and_unit(text);
    let unit = if unit.is_empty() { "B" } else { unit };
    u64::try_from(scaled(number, unit, &SIZES)?).map_err(|_| "far too large")
}

/// Writes a number of bytes the way [`size`] reads it.
pub(super) fn show_size(bytes: u64) -> String {
    let (unit, count) = largest(bytes.into(), &SIZES);
    format!("{count}{unit}")
}

/// Units of time in milliseconds, largest first.
const TIMES: [(&str, u128); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of size in bytes, largest first. Powers of 1000 (`MB`) are left out on purpose: nobody
/// agrees on what they mean.
const SIZES: [(&str, u128); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

fn number_and_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number.trim_end(), unit)
}

fn scaled(number: &str, unit: &str, units: &[(&str, u128)]) -> Result<u128, Why> {
    let (_, factor) = units.iter().find(|(name, _)| *name == unit).ok_or("the unit is unknown")?;
    if !is_digits(number) {
        return Err("not a whole number");
    }
    let count: u128 = number.parse().map_err(|_| "far too large")?;
    count.checked_mul(*factor).ok_or("far too large")
}

fn largest<'u>(amount: u128, units: &[(&'u str, u128)]) -> (&'u str, u128) {
    let fits = |(_, factor): &&(&str, u128)| amount > 0 && amount.is_multiple_of(*factor);
    let chosen = units.iter().find(fits).or(units.last());
    chosen.map_or(("", amount), |(unit, factor)| {
        (unit, amount.checked_div(*factor).unwrap_or(amount))
    })
}

/// Returns true if a text is a decimal number without sign: one digit at least and nothing else.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_exact() {
        let good = [
            ("1", 1),
            ("0", 0),
            ("7 wei", 7),
            ("200 gwei", 200 * GWEI),
            ("200gwei", 200 * GWEI),
            (" 1.5 gwei ", 1_500_000_000),
            ("0.05 ether", 50_000_000_000_000_000),
            ("0.000000000000000001 ether", 1),
            ("340282366920938463463374607431768211455", u128::MAX),
        ];
        for (text, amount) in good {
            assert_eq!(wei(text), Ok(Wei(amount)), "{text}");
        }
        let bad = [
            "",
            "gwei",
            "-1 gwei",
            "+1",
            "1e9",
            "1 Gwei",
            "1,5 gwei",
            "1. gwei",
            ".5 gwei",
            "1.2.3 gwei",
            "1.5",
            "1.5 wei",
            "0.0000000001 gwei",
            "1 gwei 2",
            "0x10",
            "1_000",
            "340282366920938463463374607431768211456",
            "340282366920938463464 ether",
        ];
        for text in bad {
            assert!(wei(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sun_are_exact() {
        let good = [
            ("7", 7),
            ("7 sun", 7),
            ("500 TRX", 500_000_000),
            ("0.000001 TRX", 1),
            ("1.5TRX", 1_500_000),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, amount) in good {
            assert_eq!(sun(text), Ok(Sun(amount)), "{text}");
        }
        for text in ["", "1 trx", "1 wei", "0.0000001 TRX", "1.5 sun", "18446744073709551616"] {
            assert!(sun(text).is_err(), "{text}");
        }
        assert_eq!(format!("{}, {}", Sun(5_000_000), Sun(5_000_001)), "5 TRX, 5000001 sun");
    }

    #[test]
    fn times_have_units() {
        let good = [("500ms", 500), ("10s", 10_000), ("5 m", 300_000), ("24h", 86_400_000)];
        for (text, millis) in good {
            assert_eq!(time(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["10", "", "s", "1.5s", "-1s", "10 sec", "1m30s", "99999999999999999999d"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        let good = [("1MiB", 1 << 20), ("256 KiB", 256 << 10), ("512", 512), ("512 B", 512)];
        for (text, bytes) in good {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["1MB", "1.5MiB", "", "MiB", "-1", "18446744073709551616", "17179869184GiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(amount in any::<u128>(), millis in any::<u64>(), scale in 0u32..30) {
            let amount = Wei(amount.checked_div(10u128.pow(scale)).unwrap());
            prop_assert_eq!(wei(&amount.to_string()), Ok(amount));
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(time(&show_time(&duration)), Ok(duration));
            prop_assert_eq!(size(&show_size(millis)), Ok(millis));
        }

        #[test]
        fn fractions_of_an_ether_never_round(whole in 0u64..1_000_000, part in 0..ETHER) {
            let text = format!("{whole}.{part:018} ether");
            prop_assert_eq!(wei(&text), Ok(Wei(u128::from(whole).checked_mul(ETHER).unwrap().checked_add(part).unwrap())));
        }

        #[test]
        fn no_text_is_too_strange(text in "\\PC*") {
            let _nothing_panics = (wei(&text), time(&text), size(&text));
        }
    }
}
