//! The input of callers: fields of a JSON object, and parameters of a query.

use super::envelope::Fault;
use crate::store::subscriptions::Page;
use reqwest::Url;
use serde_json::{Map, Value};

/// The largest page.
const LARGEST: u64 = 500;
/// The last page number.
const LAST: u64 = 1_000_000;
/// The longest text that a caller may give (characters).
const LONGEST: usize = 512;

/// A body.
pub(crate) type Object = Map<String, Value>;

/// Reads a body, which has to be an object.
pub(crate) fn object(body: &[u8]) -> Result<Object, Fault> {
    serde_json::from_slice(body)
        .map_err(|_| Fault::Invalid("the body must be a JSON object".to_owned()))
}

/// A text that is there and not blank.
pub(crate) fn text(body: &Object, name: &str) -> Result<String, Fault> {
    optional(body, name)?.ok_or_else(|| Fault::Invalid(format!("{name} is required")))
}

/// A text that may be missing, but not blank.
pub(crate) fn optional(body: &Object, name: &str) -> Result<Option<String>, Fault> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => {
            Err(Fault::Invalid(format!("{name} is blank")))
        }
        Some(Value::String(text)) if text.chars().count() > LONGEST => {
            Err(Fault::Invalid(format!("{name} is longer than {LONGEST} characters")))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Fault::Invalid(format!("{name} must be a string"))),
    }
}

/// A whole number that is there.
pub(crate) fn number<N: TryFrom<u64>>(body: &Object, name: &str) -> Result<N, Fault> {
    let value = body.get(name).filter(|value| !value.is_null());
    let value = value.ok_or_else(|| Fault::Invalid(format!("{name} is required")))?;
    let number = value.as_u64().and_then(|number| N::try_from(number).ok());
    number.ok_or_else(|| Fault::Invalid(format!("{name} must be a whole number")))
}

/// An address of the merchant's. The real platform wants HTTPS that is publicly reachable; on one machine HTTP will do.
pub(crate) fn url(body: &Object, name: &str) -> Result<String, Fault> {
    optional_url(body, name)?.ok_or_else(|| Fault::Invalid(format!("{name} is required")))
}

/// The same where it may be missing.
pub(crate) fn optional_url(body: &Object, name: &str) -> Result<Option<String>, Fault> {
    let Some(text) = optional(body, name)? else { return Ok(None) };
    if is_web_address(&text) {
        return Ok(Some(text));
    }
    Err(Fault::Invalid(format!("{name} must be an absolute http or https address")))
}

/// Returns true if a text is an absolute web address.
pub(crate) fn is_web_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

/// The parameters of a query.
#[derive(Clone, Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part after the question mark.
    pub(crate) fn new(text: &str) -> Result<Self, Fault> {
        let parsed = Url::parse(&format!("http://localhost/?{text}"));
        let parsed = parsed.map_err(|_| Fault::Invalid("the query cannot be read".to_owned()))?;
        Ok(Self(parsed.query_pairs().map(|(name, value)| (name.into(), value.into())).collect()))
    }

    /// A parameter, if it is there and not empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, value)| key == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    /// A whole number, if it is there.
    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, Fault> {
        let number = self.text(name).map(str::parse).transpose();
        number.map_err(|_| Fault::Invalid(format!("{name} must be a whole number")))
    }

    /// `page` and `size`: 1 and 10 unless they are given.
    pub(crate) fn page(&self) -> Result<Page, Fault> {
        let page = self.number("page")?.unwrap_or(1);
        let size = self.number("size")?.unwrap_or(10);
        if !(1..=LAST).contains(&page) || !(1..=LARGEST).contains(&size) {
            return Err(Fault::Invalid(format!("page is 1 to {LAST}, size is 1 to {LARGEST}")));
        }
        Ok(Page { page, size })
    }
}
