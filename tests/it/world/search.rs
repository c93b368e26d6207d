//! Looks for secrets in whatever was written or said, in every spelling that a mistake could give them.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Outputs and where they came from, and the secrets that must be in none of them.
#[derive(Debug, Default)]
pub(crate) struct Search {
    heap: Vec<(String, String)>,
    needles: Vec<(String, String)>,
}

/// One character per byte, so that bytes and text are searched alike.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

impl Search {
    /// A secret text, of which no half may be shown either.
    pub(crate) fn forbid_text(&mut self, name: &str, secret: &str) {
        let (first, second) = secret.split_at(secret.len() / 2);
        self.forbid_spellings(name, secret.as_bytes());
        self.forbid(&format!("the first half of {name}"), latin(first.as_bytes()));
        self.forbid(&format!("the second half of {name}"), latin(second.as_bytes()));
    }

    /// A secret of 32 bytes, of which no quarter may be shown either.
    pub(crate) fn forbid_key(&mut self, name: &str, hex_digits: &str) {
        let bytes = hex::decode(hex_digits).unwrap();
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        for (order, bytes) in [("big-endian", bytes), ("little-endian", reversed)] {
            self.forbid_spellings(&format!("{name}, {order}"), &bytes);
            for quarter in bytes.chunks(8) {
                let name = format!("a quarter of {name}, {order}");
                self.forbid(&name, latin(quarter));
                self.forbid(&name, hex::encode(quarter));
                self.forbid(&name, hex::encode_upper(quarter));
                let list = format!("{quarter:?}");
                self.forbid(&name, list.trim_matches(['[', ']']).to_owned());
                let word = u64::from_be_bytes(quarter.try_into().unwrap());
                self.forbid(&name, word.to_string());
            }
        }
    }

    fn forbid_spellings(&mut self, name: &str, bytes: &[u8]) {
        self.forbid(name, latin(bytes));
        self.forbid(&format!("{name} in hex"), hex::encode(bytes));
        self.forbid(&format!("{name} in HEX"), hex::encode_upper(bytes));
        for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            self.forbid(&format!("{name} in base64"), engine.encode(bytes));
        }
    }

    fn forbid(&mut self, name: &str, spelling: String) {
        self.needles.push((name.to_owned(), spelling));
    }

    /// Adds an output.
    pub(crate) fn add(&mut self, place: &str, output: impl AsRef<[u8]>) {
        self.heap.push((place.to_owned(), latin(output.as_ref())));
    }

    /// Every secret that was found, with its place.
    pub(crate) fn found(&self) -> Vec<String> {
        let mut found = vec![];
        for (place, output) in &self.heap {
            for (name, spelling) in &self.needles {
                if let Some(at) = output.find(spelling) {
                    let line = output[..at].rfind('\n').map_or(0, |end| end + 1);
                    let around: String = output[line..].chars().take(300).collect();
                    found.push(format!("{name} in {place}: {around}"));
                }
            }
        }
        found
    }

    /// How much was searched, bytes.
    pub(crate) fn size(&self) -> usize {
        self.heap.iter().map(|(_, output)| output.len()).sum()
    }
}
