//! Low gas money of a lane, as a matter of record: followers of the history hear of it.

use crate::sql::{Database, SqlResult};
use crate::{HistoryEvent, LaneId, history};
use serde_json::json;

/// The gas money of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GasMoney {
    /// It runs low.
    Low,
    /// It lasts again.
    Lasts,
}

/// Writes down how it is, and for how long it lasts, in words.
pub(crate) fn note(
    conn: &dyn Database,
    lane: LaneId,
    money: GasMoney,
    why: &str,
    at_ms: i64,
) -> SqlResult<()> {
    let low = money == GasMoney::Low;
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "low": low, "why": why});
    history::append(conn, at_ms, HistoryEvent::Gas, &body)
}
