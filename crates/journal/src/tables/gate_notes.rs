//! The gates of lanes for new work, as a matter of record: followers of the history hear of them.

use crate::sql::{Database, SqlResult};
use crate::{Journal, JournalError, LaneId, history};
use serde_json::json;

/// The word for it in the history.
pub(crate) const WORD: &str = "gate";

/// A note that a lane takes new work, or takes none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateNote {
    /// The lane.
    pub lane: LaneId,
    /// Why it takes no new work; none where it does.
    pub closed: Option<String>,
}

impl Journal {
    /// Writes down whether a lane takes new work.
    pub async fn note_gate(&self, told: GateNote) -> Result<(), JournalError> {
        let at_ms = self.now_ms();
        self.queue.write(move |conn| note(conn, &told, at_ms)).await
    }
}

/// Writes it down.
fn note(conn: &dyn Database, note: &GateNote, at_ms: i64) -> SqlResult<()> {
    let GateNote { lane, closed } = note;
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "open": closed.is_none(),
                      "why": closed});
    history::append(conn, at_ms, WORD, &body)
}
