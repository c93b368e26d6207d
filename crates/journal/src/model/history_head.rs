//! The extent of a history.

use std::fmt;
use std::str::FromStr;

/// The extent of a history. Kept elsewhere, it proves later that nothing before it was changed or cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryHead {
    /// The last row's number, from 1 on; 0 where there is none.
    pub row: u64,
    /// Its digest, hex: 64 digits, or the first of them where a person kept no more.
    pub digest: String,
}

impl fmt::Display for HistoryHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.row, self.digest)
    }
}

/// The error for a text that is no head of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a head is ROW:DIGEST, as `audit` prints it and the log tells it, with 8 to 64 hex digits")]
pub struct NoHead;

impl FromStr for HistoryHead {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        let (row, digest) = text.split_once(':').ok_or(NoHead)?;
        let digest = digest.to_ascii_lowercase();
        let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !(8..=64).contains(&digest.len()) {
            return Err(NoHead);
        }
        let row = row.parse().ok().filter(|row| *row > 0).ok_or(NoHead)?;
        Ok(Self { row, digest })
    }
}
