//! Messages as the node prints them: bytes as hex, defaults left out, addresses in base58 when `visible` is asked for.

pub mod accounts;
pub mod blocks;
pub mod transactions;

use super::address;
use revm::primitives::Address;
use serde_json::{Map, Value};

/// An object that leaves defaults out.
#[derive(Clone, Debug, Default)]
pub struct Sparse(Map<String, Value>);

impl Sparse {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number unless it is 0.
    #[must_use]
    pub fn number(self, key: &str, value: impl Into<i128>) -> Self {
        let value = i64::try_from(value.into()).unwrap_or(i64::MAX);
        self.put(key, (value != 0).then_some(Value::from(value)))
    }

    /// Adds a text unless it is empty.
    #[must_use]
    pub fn text(self, key: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        self.put(key, (!value.is_empty()).then_some(Value::from(value)))
    }

    /// Adds bytes in hex unless there are none.
    #[must_use]
    pub fn bytes(self, key: &str, value: &[u8]) -> Self {
        self.text(key, hex::encode(value))
    }

    /// Adds `true`.
    #[must_use]
    pub fn flag(self, key: &str) -> Self {
        self.put(key, Some(Value::Bool(true)))
    }

    /// Adds whatever there is.
    #[must_use]
    pub fn put(mut self, key: &str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), value);
        }
        self
    }

    /// The object.
    pub fn done(self) -> Value {
        Value::Object(self.0)
    }
}

/// The spelling of addresses, which a question chooses by its field `visible`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Of a question without the field.
    Hex,
    /// Of a question that sets it.
    Base58,
}

impl Spelling {
    /// The spelling that a question chooses.
    pub fn of(question: &Value) -> Self {
        let is_visible = question.get("visible").and_then(Value::as_bool).unwrap_or(false);
        if is_visible { Self::Base58 } else { Self::Hex }
    }
}

/// An address in a spelling.
pub fn account(bytes: &[u8], spelling: Spelling) -> String {
    match spelling {
        Spelling::Hex => hex::encode(bytes),
        Spelling::Base58 => address::base58_bytes(bytes),
    }
}

/// The same of an address.
pub fn address_of(address: &Address, spelling: Spelling) -> String {
    account(&address::to21(address), spelling)
}
