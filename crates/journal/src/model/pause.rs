//! The pauses of chains.

use billing::PlatformChainId;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::fmt;

/// The pause of a chain: its author, its start and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The caller's key.
    pub by: String,
    /// Unix ms.
    pub since_ms: i64,
    /// Why, in the words of whoever paused it.
    pub why: Option<String>,
}

impl Pause {
    /// Since when and why, in words.
    pub fn since(&self) -> String {
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        match Timestamp::from_millisecond(self.since_ms) {
            Ok(since) => format!("since {since:.0}{why}"),
            Err(_) => format!("since {}, Unix time{why}", self.since_ms.div_euclid(1000)),
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} {}", self.by, self.since())
    }
}

/// A change to the pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Pause these, where they are not paused already.
    Pause(Vec<PlatformChainId>),
    /// End these pauses, each named by its chain and since when it is (Unix ms): all of them, or none
    /// where one of them is over or another one by now.
    Resume(BTreeMap<PlatformChainId, i64>),
}

/// A pause that was to be ended is not the one that there is. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "chain {0} has not been paused since then, by a caller: nothing was resumed. GET /PayTool/control tells \
     which pauses there are"
)]
pub struct OtherPause(pub PlatformChainId);
