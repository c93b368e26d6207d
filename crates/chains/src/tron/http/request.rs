//! The body of a request, read the way the node's own JSON reader does.

use crate::tron::address;
use crate::tron::json::Spelling;
use serde_json::Value;

/// A request's body, and what is wrong with the node that gets it.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    text: String,
    /// The body, `{}` if it is not JSON.
    pub(crate) json: Value,
    /// True if the body is JSON.
    pub(crate) parsed: bool,
    /// Number of blocks the node is behind.
    pub(crate) lag: u64,
    /// True if a call runs out of time at once.
    pub(crate) timeout: bool,
}

impl Request {
    /// A request with a body.
    pub(crate) fn new(body: &str) -> Self {
        let read = serde_json::from_str(body);
        let parsed = read.is_ok();
        let json = read.unwrap_or_else(|_| Value::Object(serde_json::Map::new()));
        Self { text: body.to_owned(), json, parsed, lag: 0, timeout: false }
    }

    /// The same to a node that is some blocks behind.
    pub(crate) fn lagging(mut self, blocks: u64) -> Self {
        self.lag = blocks;
        self
    }

    /// The same with no time to compute.
    pub(crate) fn out_of_time(mut self) -> Self {
        self.timeout = true;
        self
    }

    /// Returns true if addresses are in base58.
    pub(crate) fn spelling(&self) -> Spelling {
        Spelling::of(&self.json)
    }

    /// A text, empty if it is missing. The error is the reader's text.
    pub(crate) fn text(&self, key: &str) -> Result<String, String> {
        match self.json.get(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(self.error(key, "Expected string.")),
        }
    }

    /// A number, 0 if it is missing.
    pub(crate) fn number(&self, key: &str) -> i64 {
        self.json.get(key).and_then(Value::as_i64).unwrap_or(0)
    }

    /// Bytes in hex with or without 0x, an odd first digit padded.
    pub(crate) fn bytes(&self, key: &str) -> Result<Vec<u8>, String> {
        lenient(&self.text(key)?).ok_or_else(|| self.error(key, "INVALID hex String"))
    }

    /// An address in hex, or in base58 if that was asked for.
    pub(crate) fn place(&self, key: &str) -> Result<Vec<u8>, String> {
        let text = self.text(key)?;
        if self.spelling() == Spelling::Base58 && !text.is_empty() {
            return address::from_base58(&text)
                .ok_or_else(|| self.error(key, "INVALID base58 String"));
        }
        self.bytes(key)
    }

    fn error(&self, key: &str, what: &str) -> String {
        let key = format!("\"{key}\"");
        let at = self.text.find(&key).map_or(0, |start| {
            let after = start + key.len();
            let rest = &self.text[after..];
            after + rest.len() - rest.trim_start_matches([':', ' ']).len()
        });
        format!("class org.tron.core.services.http.JsonFormat$ParseException : 1:{at}: {what}")
    }
}

/// Hex as the node reads it; None if it is none.
pub(crate) fn lenient(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let padded = if digits.len() % 2 == 1 { format!("0{digits}") } else { digits.to_owned() };
    hex::decode(padded).ok()
}
