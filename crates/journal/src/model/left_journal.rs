//! The journal as another process left it.

use serde::{Deserialize, Serialize};

/// The journal as another process left it, as far as a lane is concerned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftJournal {
    /// When it was left, Unix ms of that process's machine; none if there was no such process.
    pub left_ms: Option<i64>,
    /// True if that process closed the journal.
    pub was_closed: bool,
    /// Until when the lane's account was known, Unix ms by the time of blocks; none if the lane was not.
    pub known_ms: Option<i64>,
}
