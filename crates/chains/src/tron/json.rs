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

    /// Adds `true`, or nothing.
    #[must_use]
    pub fn flag(self, key: &str, value: bool) -> Self {
        self.put(key, value.then_some(Value::Bool(true)))
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

/// An address in hex or base58.
pub fn account(bytes: &[u8], visible: bool) -> String {
    if visible { address::base58_bytes(bytes) } else { hex::encode(bytes) }
}

/// The same of an address.
pub fn address_of(address: &Address, visible: bool) -> String {
    account(&address::to21(address), visible)
}
