//! The journal as another process left it, for each lane that no process has reconciled with its chain since. A start
//! that ends before that teaches nothing of the lane: neither its rows nor the ends of batches move the time until which
//! everything is known.

use crate::found_at_start::FoundAtStart;
use crate::model::LeftJournal;
use crate::sql::{Database, OptionalExtension as _, SqlError, SqlResult, params};
use crate::tables::lane_past;
use crate::tables::renames::Renames;
use crate::{HistoryEvent, LaneId, history};
use serde::Deserialize;
use serde_json::json;

/// By the index on the rows that tell of it: see schema.sql.
const NEWEST: &str = "SELECT event, body FROM history
    WHERE event IN ('taken up', 'reconciled') AND seq > ?3 AND seq < ?4
    AND CAST(json_extract(body, '$.chain') AS BIGINT) = ?1 AND json_extract(body, '$.signer') = ?2
    ORDER BY seq DESC LIMIT 1";

/// The journal as the last process that has reconciled the lane left it; what was found at this start, if that was the
/// process before this one.
pub(crate) fn left(
    conn: &dyn Database,
    lane: LaneId,
    found: &FoundAtStart,
) -> SqlResult<LeftJournal> {
    match not_reconciled_since(conn, lane)? {
        // A process that was killed since, reconciled or not, may have been running when this copy of it was made.
        Some(left) => Ok(LeftJournal { was_closed: left.was_closed && found.was_closed(), ..left }),
        None => Ok(LeftJournal {
            left_ms: found.left_at_ms(),
            was_closed: found.was_closed(),
            known_ms: lane_past::known_until(conn, lane, found)?,
        }),
    }
}

/// The same, written down for the next start.
pub(crate) fn take_up(
    conn: &dyn Database,
    lane: LaneId,
    left: LeftJournal,
    at_ms: i64,
) -> SqlResult<()> {
    if left.left_ms.is_none() || not_reconciled_since(conn, lane)? == Some(left) {
        return Ok(());
    }
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "left": left});
    history::append(conn, at_ms, HistoryEvent::TakenUp, &body)
}

/// Writes down that the journal knows everything that the lane's account did.
pub(crate) fn reconciled(conn: &dyn Database, lane: LaneId, at_ms: i64) -> SqlResult<()> {
    if not_reconciled_since(conn, lane)?.is_none() {
        return Ok(());
    }
    let body = json!({"chain": lane.chain.0, "signer": lane.signer});
    history::append(conn, at_ms, HistoryEvent::Reconciled, &body)
}

/// Reads the newest row that tells of the lane, whatever its chain was called then.
fn newest_row(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<(String, String)>> {
    let (signer, mut select) = (format!("{:#x}", lane.signer), conn.prepare_cached(NEWEST)?);
    for id in Renames::read(conn)?.ids_of(lane.chain) {
        let of = params![id.chain, signer, id.after, id.before];
        let newest = select.query_row(of, |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        if newest.is_some() {
            return Ok(newest);
        }
    }
    Ok(None)
}

fn not_reconciled_since(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<LeftJournal>> {
    #[derive(Deserialize)]
    struct TakenUp {
        left: LeftJournal,
    }
    let Some((event, body)) = newest_row(conn, lane)? else { return Ok(None) };
    if event != HistoryEvent::TakenUp.word() {
        return Ok(None);
    }
    // A row that cannot be read has changed since it was written: audit tells.
    let taken: TakenUp = serde_json::from_str(&body).map_err(SqlError::foreign)?;
    Ok(Some(taken.left))
}
