//! The gates of lanes for new work, as a matter of record: followers of the history hear of them.

use crate::sql::{Database, SqlResult};
use crate::{HistoryEvent, LaneId, history};
use serde_json::json;

/// Writes down that a lane takes no new work, and why; or that it takes some.
pub(crate) fn note(
    conn: &dyn Database,
    lane: LaneId,
    closed: Option<&str>,
    at_ms: i64,
) -> SqlResult<()> {
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "open": closed.is_none(),
                      "why": closed});
    history::append(conn, at_ms, HistoryEvent::Gate, &body)
}
