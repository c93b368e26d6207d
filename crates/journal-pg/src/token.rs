//! The names of transactions.

use journal::sql::{SqlError, SqlResult};
use std::fmt;

/// The name of one transaction, which nobody can guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token([u8; 16]);

impl Token {
    /// One that was never used.
    pub(crate) fn random() -> SqlResult<Self> {
        let mut token = [0; 16];
        getrandom::getrandom(&mut token).map_err(|e| SqlError::foreign(std::io::Error::from(e)))?;
        Ok(Self(token))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}
