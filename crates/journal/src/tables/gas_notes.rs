//! Low gas money of a lane, as a matter of record: followers of the history hear of it.

use crate::sql::{Database, SqlResult};
use crate::{Journal, JournalError, LaneId, history};
use serde_json::json;

/// The word for it in the history.
pub(crate) const WORD: &str = "gas";

/// A note that the gas money of a lane runs low, or lasts again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GasNote {
    /// The lane.
    pub lane: LaneId,
    /// True if the gas money runs low; false if it lasts again.
    pub low: bool,
    /// For how long it lasts, in words.
    pub why: String,
}

impl Journal {
    /// Writes down whether the gas money of a lane runs low.
    pub async fn note_gas(&self, told: GasNote) -> Result<(), JournalError> {
        let at_ms = self.now_ms();
        self.queue.write(move |conn| note(conn, &told, at_ms)).await
    }
}

/// Writes it down.
fn note(conn: &dyn Database, note: &GasNote, at_ms: i64) -> SqlResult<()> {
    let GasNote { lane, low, why } = note;
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "low": low, "why": why});
    history::append(conn, at_ms, WORD, &body)
}
