//! The kinds of value that a key can have: how each is read, and how to say what was expected.
//!
//! A problem never quotes the text it is about, since any text may be a secret.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use alloy::primitives::Address;
use config_rs::{Value, ValueKind};
use strum::IntoEnumIterator;

use super::faults::nearest;
use super::secret_url::RpcUrl;
use super::units::{self, Sun, Wei};
use billing::{Family, parse_address};

/// Reads a value, or says what it is instead.
type Parse<T> = Box<dyn Fn(&Value) -> Result<T, String>>;

/// The form that a value must have.
pub(super) struct Expected<T> {
    /// Ends the sentence "expected …".
    pub(super) expects: String,
    /// Reads the value, or says what it is instead.
    pub(super) parse: Parse<T>,
}

impl<T: 'static> Expected<T> {
    fn new(
        expects: impl Into<String>,
        parse: impl Fn(&Value) -> Result<T, String> + 'static,
    ) -> Self {
        Self { expects: expects.into(), parse: Box::new(parse) }
    }

    /// A kind that is written as text.
    pub(super) fn of_text<E: Display>(
        expects: impl Into<String>,
        parse: impl Fn(&str) -> Result<T, E> + 'static,
    ) -> Self {
        Self::new(expects, move |value| parse(as_text(value)?).map_err(|why| why.to_string()))
    }

    /// The same kind, as another type.
    pub(super) fn map<U: 'static>(self, turn: impl Fn(T) -> U + 'static) -> Expected<U> {
        let parse = self.parse;
        Expected::new(self.expects, move |value| parse(value).map(&turn))
    }

    /// The same kind, held to a range.
    fn within(self, range: RangeInclusive<T>) -> Self
    where
        T: PartialOrd,
    {
        let parse = self.parse;
        Self::new(self.expects, move |value| {
            let read = parse(value)?;
            if range.contains(&read) { Ok(read) } else { Err("out of range".to_owned()) }
        })
    }
}

/// Returns the kind of a value, in words for people.
pub(super) fn noun(value: &Value) -> &'static str {
    match value.kind {
        ValueKind::Nil => "nothing",
        ValueKind::Boolean(_) => "true or false",
        ValueKind::I64(_) | ValueKind::I128(_) | ValueKind::U64(_) | ValueKind::U128(_) => {
            "a number"
        }
        ValueKind::Float(_) => "a number with a fraction",
        ValueKind::String(_) => "text",
        ValueKind::Table(_) => "a table",
        ValueKind::Array(_) => "a list",
    }
}

fn as_text(value: &Value) -> Result<&str, String> {
    if let ValueKind::String(text) = &value.kind {
        return if text.is_empty() { Err("is empty".to_owned()) } else { Ok(text) };
    }
    Err(format!("is {}", noun(value)))
}

/// A scalar as text, however it was written. Negative numbers keep their sign.
pub(super) fn as_scalar(value: &Value) -> Result<String, String> {
    match &value.kind {
        ValueKind::Boolean(flag) => Ok(flag.to_string()),
        ValueKind::I64(number) => Ok(number.to_string()),
        ValueKind::I128(number) => Ok(number.to_string()),
        ValueKind::U64(number) => Ok(number.to_string()),
        ValueKind::U128(number) => Ok(number.to_string()),
        ValueKind::Nil
        | ValueKind::Float(_)
        | ValueKind::String(_)
        | ValueKind::Table(_)
        | ValueKind::Array(_) => as_text(value).map(str::to_owned),
    }
}

/// One word of a closed list.
pub(super) fn word<T>(problem: &'static str) -> Expected<T>
where
    T: IntoEnumIterator + Into<&'static str> + FromStr + 'static,
{
    let words: Vec<&'static str> = T::iter().map(Into::into).collect();
    let expects = format!("\"{}\"", words.join("\" or \""));
    Expected::of_text(expects, move |text| {
        text.parse().map_err(|_| match nearest(text, words.iter().copied()) {
            Some(word) => format!("{problem} (did you mean \"{word}\"?)"),
            None => problem.to_owned(),
        })
    })
}

/// `true` or `false`.
pub(super) fn flag() -> Expected<bool> {
    Expected::new("true or false", |value| match as_scalar(value)?.as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("is neither".to_owned()),
    })
}

/// A whole number in a range.
pub(super) fn whole<T>(range: RangeInclusive<T>) -> Expected<T>
where
    T: TryFrom<u64> + PartialOrd + Display + 'static,
{
    let expects = format!("a whole number from {} to {}", range.start(), range.end());
    Expected::new(expects, |value| {
        let digits = as_scalar(value)?;
        if !units::is_digits(&digits) {
            return Err("is not such a number".to_owned());
        }
        let number = digits.parse::<u64>().ok();
        number.and_then(|number| T::try_from(number).ok()).ok_or("out of range".to_owned())
    })
    .within(range)
}

/// A time in a range.
pub(super) fn time(range: RangeInclusive<Duration>) -> Expected<Duration> {
    let (from, to) = (units::show_time(range.start()), units::show_time(range.end()));
    let expects = format!("a time from \"{from}\" to \"{to}\" (units ms, s, m, h, d)");
    Expected::of_scalar(expects, units::time).within(range)
}

/// A time in a range, or a word for none.
pub(super) fn optional_time(
    none: &'static str,
    range: RangeInclusive<Duration>,
) -> Expected<Option<Duration>> {
    let some = time(range);
    Expected::new(format!("\"{none}\" or {}", some.expects), move |value| {
        if as_scalar(value)? == none { Ok(None) } else { (some.parse)(value).map(Some) }
    })
}

/// A number of bytes in a range.
pub(super) fn size(range: RangeInclusive<u64>) -> Expected<u64> {
    let (from, to) = (units::show_size(*range.start()), units::show_size(*range.end()));
    let expects = format!("a size from \"{from}\" to \"{to}\" (units B, KiB, MiB, GiB)");
    Expected::of_scalar(expects, units::size).within(range)
}

/// The same for what is kept in memory.
pub(super) fn memory(range: RangeInclusive<usize>) -> Expected<usize> {
    let (from, to) = range.into_inner();
    let bytes = size(wide(from)..=wide(to));
    Expected::new(bytes.expects, move |value| {
        usize::try_from((bytes.parse)(value)?).map_err(|_| "out of range".to_owned())
    })
}

fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// An amount of the chain's own coin in a range.
pub(super) fn wei(range: RangeInclusive<Wei>) -> Expected<Wei> {
    let (from, to) = (range.start(), range.end());
    let expects = format!("an amount from \"{from}\" to \"{to}\" (units wei, gwei, ether)");
    Expected::of_scalar(expects, units::wei).within(range)
}

/// An amount of TRX in a range.
pub(super) fn sun(range: RangeInclusive<Sun>) -> Expected<Sun> {
    let (from, to) = (range.start(), range.end());
    let expects = format!("an amount from \"{from}\" to \"{to}\" (units sun, TRX)");
    Expected::of_scalar(expects, units::sun).within(range)
}

impl<T: 'static> Expected<T> {
    /// A kind that is written as text, or as a number when no unit is needed.
    pub(super) fn of_scalar<E: Display>(
        expects: impl Into<String>,
        parse: impl Fn(&str) -> Result<T, E> + 'static,
    ) -> Self {
        Self::new(expects, move |value| parse(&as_scalar(value)?).map_err(|why| why.to_string()))
    }
}

/// Any text of at most so many bytes without control characters other than line breaks.
pub(super) fn text(expects: &str, longest: usize) -> Expected<String> {
    Expected::of_text(expects, move |text| {
        let strange = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\r' | '\t');
        match text {
            _ if text.trim().is_empty() => Err("is empty"),
            _ if text.len() > longest => Err("is too long"),
            _ if text.contains(strange) => Err("has control characters"),
            _ => Ok(text.to_owned()),
        }
    })
}

/// A name such as a contract or an entry gives to its fields: `^[A-Za-z_][A-Za-z0-9_]*$`.
pub(super) fn field_name(expects: &str) -> Expected<String> {
    Expected::of_text(expects, |text| {
        is_field_name(text).then(|| text.to_owned()).ok_or("is not a name")
    })
}

/// Returns true if a text can be the name of a field.
pub(super) fn is_field_name(text: &str) -> bool {
    let starts_well =
        text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    starts_well && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// An IP address with a port.
pub(super) fn socket_address() -> Expected<SocketAddr> {
    Expected::of_text("an IP address and a port, such as \"127.0.0.1:9980\"", |text| {
        text.parse().map_err(|_| match text.rsplit_once(':') {
            _ if text.parse::<IpAddr>().is_ok() => "has no port",
            Some((host, port)) if port.parse::<u16>().is_ok() && !host.contains([':', '[']) => {
                "has no IP address before its port: a name, such as localhost, is not looked up"
            }
            Some(_) | None => "lacks one of the two",
        })
    })
}

/// Accepts a path of the file system. `places` says where a relative path starts.
pub(super) fn path(expects: &str) -> Expected<PathBuf> {
    Expected::of_text(expects, |text| match text {
        _ if text.contains('\0') => Err("has a zero byte"),
        _ => Ok(PathBuf::from(text)),
    })
}

/// The URL of a node.
pub(super) fn rpc_url() -> Expected<RpcUrl> {
    Expected::of_text("the http or https URL of a node", RpcUrl::parse)
}

/// An EVM address other than zero. With capitals in it, the checksum of EIP-55 must be right.
pub(super) fn address() -> Expected<Address> {
    address_of(Family::Evm, "an address: 0x and 40 hexadecimal digits")
}

/// A TRON address other than zero, in any of its spellings.
pub(super) fn tron_address() -> Expected<Address> {
    address_of(Family::Tvm, "a TRON address: T…, or 41 and 40 hexadecimal digits")
}

fn address_of(family: Family, expects: &str) -> Expected<Address> {
    Expected::of_text(expects, move |text| {
        let address = parse_address(family, text).map_err(|why| why.to_string())?;
        if address.is_zero() { Err("is the zero address".to_owned()) } else { Ok(address) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_to_listen_on_lacks_is_told() {
        for (text, told) in [
            ("127.0.0.1:9980", None),
            ("[::1]:9980", None),
            ("127.0.0.1", Some("has no port")),
            ("::1", Some("has no port")),
            ("localhost:9980", Some("has no IP address before its port")),
            (":9980", Some("has no IP address before its port")),
            ("localhost", Some("lacks one of the two")),
            ("127.0.0.1:99999", Some("lacks one of the two")),
            ("::1:9980:", Some("lacks one of the two")),
        ] {
            let why = (socket_address().parse)(&Value::new(None, text)).err();
            assert_eq!(why.is_some(), told.is_some(), "{text}: {why:?}");
            assert!(why.unwrap_or_default().starts_with(told.unwrap_or_default()), "{text}");
        }
    }
}
