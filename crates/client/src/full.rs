//! A typed value beside the JSON text it was read from: what the type does not know is kept, digit
//! for digit.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Deref;

/// A `T`, and the whole JSON value that it was read from. Reads like a `T`; is written as the text
/// that came, so that no field is lost and no number is rounded on its way through.
///
/// Only `serde_json` can read one.
#[derive(Clone, Debug)]
pub struct Full<T> {
    typed: T,
    raw: Box<RawValue>,
}

impl<T: DeserializeOwned> Full<T> {
    /// Reads a `T` out of `raw` and keeps both.
    pub fn from_raw(raw: Box<RawValue>) -> Result<Self, serde_json::Error> {
        Ok(Self { typed: serde_json::from_str(raw.get())?, raw })
    }
}

impl<T> Full<T> {
    /// The typed part alone.
    pub fn into_typed(self) -> T {
        self.typed
    }

    /// The JSON text as it came.
    pub fn raw(&self) -> &RawValue {
        &self.raw
    }

    /// Every field of the JSON object by its name, known or not; empty if it is no object.
    pub fn fields(&self) -> BTreeMap<String, &RawValue> {
        serde_json::from_str(self.raw.get()).unwrap_or_default()
    }
}

impl<T> Deref for Full<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.typed
    }
}

impl<T: PartialEq> PartialEq for Full<T> {
    fn eq(&self, other: &Self) -> bool {
        self.typed == other.typed && self.raw.get() == other.raw.get()
    }
}

impl<T> Serialize for Full<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.raw.serialize(serializer)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Full<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_raw(Box::<RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Known {
        id: u64,
    }

    #[test]
    fn nothing_is_lost_or_rounded() {
        let text = r#"{"id":1, "huge":18446744073709551617,"float":1e400,"text":"\u00e4"}"#;
        let full: Full<Known> = serde_json::from_str(text).unwrap();
        assert_eq!(full.id, 1);
        assert_eq!(full.fields()["huge"].get(), "18446744073709551617");
        assert_eq!(full.fields()["float"].get(), "1e400");
        assert_eq!(serde_json::to_string(&full).unwrap(), text);
    }
}
