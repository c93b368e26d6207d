//! The ids of starts of processes.

use std::fmt;

/// The id of a start of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootId(pub(crate) [u8; 16]);

impl fmt::Display for BootId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl BootId {
    /// These random bytes.
    pub fn new(id: [u8; 16]) -> Self {
        Self(id)
    }

    /// One that was never used.
    pub fn random() -> std::io::Result<Self> {
        let mut id = [0; 16];
        getrandom::getrandom(&mut id)?;
        Ok(Self(id))
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }

    /// As it is printed. None: it is no id.
    pub fn parse(text: &str) -> Option<Self> {
        let mut id = [0; 16];
        hex::decode_to_slice(text, &mut id).ok()?;
        Some(Self(id))
    }
}
