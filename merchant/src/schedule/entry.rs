//! One entry of the chargeable list, as far as the scheduler has to understand it.
//!
//! The scheduler posts the platform's own text to the Signer, untouched; the fields read here serve to group, to
//! tell one period from the next, and to recognise callbacks.

use super::terms::Terms;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use thiserror::Error;

/// A subscription that the platform calls due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The platform's chain id.
    pub(crate) chain: i64,
    /// `subscribeId`.
    pub(crate) id: i64,
    pub(crate) plan: Option<i64>,
    pub(crate) wallet: Option<String>,
    pub(crate) trade_no: Option<String>,
    /// Digests of what would be charged.
    pub(crate) terms: Terms,
    /// The entry as the platform wrote it.
    pub(crate) text: String,
}

/// Why an entry cannot be posted.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum EntryError {
    /// The JSON is no object.
    #[error("the entry is no object: {0}")]
    NoObject(String),
    /// A field that every entry needs is missing or no integer.
    #[error("the entry has no {0} that is an integer")]
    NoInteger(&'static str),
}

impl Due {
    /// Reads an entry.
    pub(crate) fn read(raw: &RawValue) -> Result<Self, EntryError> {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get())
            .map_err(|error| EntryError::NoObject(error.to_string()))?;
        let id = integer(&fields, "subscribeId")
            .or_else(|| integer(&fields, "subscriptionId"))
            .ok_or(EntryError::NoInteger("subscribeId"))?;
        Ok(Self {
            chain: integer(&fields, "chainId").ok_or(EntryError::NoInteger("chainId"))?,
            id,
            plan: integer(&fields, "planId"),
            wallet: text(&fields, "userWallet"),
            trade_no: text(&fields, "outTradeNo"),
            terms: Terms::of(&fields, raw.get()),
            text: raw.get().to_owned(),
        })
    }
}

/// An integer, or its digits in a string: 64-bit ids travel in both ways.
pub(crate) fn integer(fields: &BTreeMap<String, &RawValue>, name: &str) -> Option<i64> {
    fields.get(name)?.get().trim_matches('"').parse().ok()
}

/// A string that is not empty.
pub(crate) fn text(fields: &BTreeMap<String, &RawValue>, name: &str) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Text {
        Text(String),
        Integer(i64),
    }
    let text = match serde_json::from_str(fields.get(name)?.get()).ok()? {
        Text::Text(text) => text,
        Text::Integer(number) => number.to_string(),
    };
    (!text.is_empty()).then_some(text)
}

/// A hash or address as it is compared: lower case, without `0x`.
pub(crate) fn plain(spelling: &str) -> String {
    let digits = spelling.strip_prefix("0x").unwrap_or(spelling);
    // Base58 addresses tell letters by their case.
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        digits.to_ascii_lowercase()
    } else {
        digits.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Due, EntryError> {
        Due::read(&RawValue::from_string(text.to_owned()).unwrap())
    }

    #[test]
    fn an_entry_is_understood_and_left_as_it_is() {
        let text = r#"{ "subscribeId":"9007199254740993","chainId":139,"planId":5,
            "amount":18446744073709551617,"userWallet":"0xAB","next":1}"#;
        let due = read(text).unwrap();
        assert_eq!((due.chain, due.id, due.plan), (139, 9_007_199_254_740_993, Some(5)));
        assert_eq!(due.text, text);
        assert_eq!(plain(due.wallet.as_deref().unwrap()), "ab");
        assert_eq!(read(r#"{"chainId":1}"#), Err(EntryError::NoInteger("subscribeId")));
        assert!(matches!(read("[]"), Err(EntryError::NoObject(_))));
    }
}
