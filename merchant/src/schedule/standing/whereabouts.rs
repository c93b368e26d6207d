//! The standing of a subscription, for people and for other programs.

use super::{Decline, Standing};
use crate::time::UnixSeconds;
use std::fmt;

/// The state of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whereabouts {
    /// `free`, `planned`, `billing`, `paused`, `charged`, `stopped` or `unproven`.
    pub word: &'static str,
    /// The transaction that can charge it, charged it, or may have.
    pub tx_hash: Option<String>,
    /// Why it was not charged, as a stable token.
    pub fail_code: Option<String>,
    /// The same in words.
    pub fail_reason: Option<String>,
    /// When it is posted again, if it is paused.
    pub again_at: Option<UnixSeconds>,
}

impl From<Standing> for Whereabouts {
    fn from(standing: Standing) -> Self {
        let word = standing.word();
        let (tx_hash, decline, until_ms) = match standing {
            Standing::Free => (None, None, None),
            Standing::Planned { pause } => (None, pause.map(|pause| pause.decline), None),
            Standing::Billing { tx_hash, .. } | Standing::Unproven { tx_hash, .. } => {
                (Some(tx_hash), None, None)
            }
            Standing::Paused(pause) => (None, Some(pause.decline), Some(pause.until_ms)),
            Standing::Charged { tx_hash, .. } => (tx_hash, None, None),
            Standing::Stopped { decline, .. } => (None, Some(decline), None),
        };
        let (fail_code, fail_reason) = match decline {
            Some(Decline { code, reason, .. }) => (Some(code), Some(reason)),
            None => (None, None),
        };
        let again_at = until_ms.map(|ms| UnixSeconds(ms.div_euclid(1000)));
        Self { word, tx_hash, fail_code, fail_reason, again_at }
    }
}

impl fmt::Display for Whereabouts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)?;
        if let (Some(code), Some(reason)) = (&self.fail_code, &self.fail_reason) {
            write!(f, ": {reason} ({code})")?;
        }
        if let Some(at) = self.again_at {
            write!(f, ", posted again at {at}")?;
        }
        match &self.tx_hash {
            Some(hash) => write!(f, ", transaction {hash}"),
            None => Ok(()),
        }
    }
}
