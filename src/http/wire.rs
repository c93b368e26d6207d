//! The request bodies that callers post, read without losing a digit.
//!
//! A caller passes on what the platform's chargeable list returned, with no mapping code: four
//! shapes mean the same. Everything wrong with a body is said at once.

mod options;

use options::Options;

use super::visible::Visible;
use billing::{BadField, Entry, Fields, Mode, PlatformChainId, RequestId, Scalar};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Place;
use std::fmt;

/// Why a body is not a request. Nothing was signed or sent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Malformed {
    /// Not JSON, or JSON of another shape.
    #[error("the body cannot be read: {}", Visible(.0))]
    Json(String),
    /// The platform's own answer was an error.
    #[error("the list that was passed on has code {}, not 200: fetch it again", Visible(.0))]
    PlatformError(String),
    /// An option is misspelt or has a value that it cannot have.
    #[error("{}", Visible(.0))]
    Option(String),
    /// Entries that cannot even be named in an answer.
    #[error("{}", Visible(.0))]
    Entries(String),
    /// The entries belong to several chains, or one has a chain id that is none.
    #[error("chainId must be one platform chain id, the same in every entry")]
    Chain,
}

/// A body, read.
#[derive(Debug)]
pub(super) struct Posted {
    /// The caller's name for the request.
    pub(super) request_id: Option<RequestId>,
    /// The action when some entries cannot be charged.
    pub(super) mode: Mode,
    /// Stop before signing.
    pub(super) dry_run: bool,
    /// The chain that all entries state; none when none states one.
    pub(super) chain: Option<PlatformChainId>,
    /// The entries.
    pub(super) entries: Vec<Entry>,
}

/// Reads a body of any of the four shapes.
pub(super) fn read(body: &[u8]) -> Result<Posted, Malformed> {
    let top: &RawValue = serde_json::from_slice(body).map_err(|e| json(&e))?;
    if top.get().starts_with('[') {
        return posted(Options::default(), list(top)?);
    }
    if !top.get().starts_with('{') {
        let form = r#"post an array of entries, or {"list": [...]}"#;
        return Err(Malformed::Json(form.to_owned()));
    }
    let top: Object<'_> = serde_json::from_str(top.get()).map_err(|e| json(&e))?;
    let (code, data) = (top.0.get("code").map(|code| code.get()), top.0.get("data"));
    match (code, data) {
        (Some("200"), _) | (None, None) => {}
        (code, _) => return Err(Malformed::PlatformError(code.unwrap_or("missing").to_owned())),
    }
    let Some(data) = data else {
        let options = options::read(&top)?;
        options::nothing_else(&top)?;
        return posted(options, list(top.list()?)?);
    };
    options::no_list_beside_data(&top)?;
    let page: Object<'_> = serde_json::from_str(data.get()).map_err(|e| json(&e))?;
    options::none_in_page(&page)?;
    posted(options::read(&top)?, list(page.list()?)?)
}

fn posted(options: Options, listed: Vec<EntryFields>) -> Result<Posted, Malformed> {
    let chain = one_chain(&listed)?;
    let (mut entries, mut bad) = (Vec::with_capacity(listed.len()), Vec::new());
    for (index, EntryFields(fields)) in listed.into_iter().enumerate() {
        for name in fields.keys() {
            options::check_field(name, &fields)
                .map_err(|why| Malformed::Option(format!("list[{index}].{name}: {why}")))?;
        }
        match Entry::parse(fields) {
            Ok(entry) => entries.push(entry),
            Err(faults) => bad.extend(faults.iter().map(|fault| at(index, fault))),
        }
    }
    if !bad.is_empty() {
        let more = bad.len().saturating_sub(10);
        bad.truncate(10);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        return Err(Malformed::Entries(format!("{}{more}", bad.join("; "))));
    }
    let Options { request_id, mode, dry_run } = options;
    Ok(Posted { request_id, mode, dry_run, chain, entries })
}

fn at(index: usize, fault: &BadField) -> String {
    format!("list[{index}].{fault}")
}

fn one_chain(listed: &[EntryFields]) -> Result<Option<PlatformChainId>, Malformed> {
    let mut chains = listed.iter().map(|EntryFields(fields)| {
        let stated = fields.get("chainId").map(Scalar::to_u256).transpose();
        stated.map_err(|_| Malformed::Chain)
    });
    let first = chains.next().transpose()?.flatten();
    for chain in chains {
        if chain? != first {
            return Err(Malformed::Chain);
        }
    }
    first.map(|id| u32::try_from(id).map(PlatformChainId).map_err(|_| Malformed::Chain)).transpose()
}

fn list(raw: &RawValue) -> Result<Vec<EntryFields>, Malformed> {
    serde_json::from_str(raw.get()).map_err(|e| json(&e))
}

fn json(error: &serde_json::Error) -> Malformed {
    Malformed::Json(error.to_string())
}

/// A JSON object whose values are not looked into yet. A name that occurs twice is an error,
/// because nobody can tell which of two amounts was meant.
struct Object<'a>(BTreeMap<Cow<'a, str>, &'a RawValue>);

impl<'a> Object<'a> {
    fn list(&self) -> Result<&'a RawValue, Malformed> {
        let missing = || Malformed::Json("there is no `list`".to_owned());
        self.0.get("list").copied().ok_or_else(missing)
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// A string: borrowed where it is written without escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Object<'de>, M::Error> {
        let mut values = BTreeMap::new();
        while let Some((Text(name), raw)) = map.next_entry::<Text<'_>, &RawValue>()? {
            match values.entry(name) {
                Place::Vacant(place) => drop(place.insert(raw)),
                Place::Occupied(place) => {
                    return Err(M::Error::custom(format!("{} is stated twice", place.key())));
                }
            }
        }
        Ok(Object(values))
    }
}

/// The fields of one entry, each once. `null` is as good as absent.
struct EntryFields(Fields);

impl<'de> Deserialize<'de> for EntryFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Fields::new();
        for (name, raw) in Object::deserialize(deserializer)?.0 {
            if let Some(value) = scalar(raw).map_err(D::Error::custom)? {
                fields.insert(name.into(), value);
            }
        }
        Ok(Self(fields))
    }
}

fn scalar(raw: &RawValue) -> Result<Option<Scalar>, serde_json::Error> {
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'n') => None,
        Some(b't') => Some(Scalar::Bool(true)),
        Some(b'f') => Some(Scalar::Bool(false)),
        Some(b'"') => Some(Scalar::Text(serde_json::from_str::<Text<'_>>(text)?.0.into())),
        Some(b'[' | b'{') => Some(Scalar::Nested),
        _ => Some(Scalar::Number(text.into())),
    })
}

/// A number from 0 to 2^63 - 1, as a JSON integer or as digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct WholeNumber(pub(super) i64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let number = scalar(raw).map_err(D::Error::custom)?.unwrap_or(Scalar::Nested);
        number.to_int64().map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
