//! The takers of batches' places that do not tell whom they charged, for the person who states it: transactions
//! that nodes have shown, and places that no transaction used up.

use crate::commit::acceptance::is_taken;
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};
use crate::{HistoryEvent, Journal, JournalError, LaneId, history};
use alloy::primitives::B256;
use billing::{BatchId, Landed};
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize)]
struct PlaceTaken {
    batch: i64,
    transaction: B256,
}

impl Journal {
    /// Writes down that a transaction in a final block took the place of an open batch.
    pub async fn note_taker(
        &self,
        batch: BatchId,
        by: Landed,
        at_ms: i64,
    ) -> Result<(), JournalError> {
        let body = json!({"batch": batch.0, "transaction": by.hash, "block": by.block.number});
        self.queue
            .write(move |conn| history::append(conn, at_ms, HistoryEvent::PlaceTaken, &body))
            .await
    }
}

/// The first place of the lane that was used up by no transaction, and of whose batch no person has said yet whom that
/// let charge.
pub(crate) fn used_up(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<u64>> {
    let sql = "SELECT min(position) FROM batch WHERE chain = ?1 AND signer = ?2
           AND lost = 1 AND winner IS NULL AND EXISTS
           (SELECT 1 FROM claim WHERE claim.batch = batch.id AND resolved IS NULL)";
    let place = params![lane.chain.0, lane.signer.as_slice()];
    conn.prepare_cached(sql)?.query_row(place, |row| row.get(0))
}

/// The first place from this one on that no batch has: of those that were imported before the lane was known,
/// everything is known.
pub(crate) fn first_free(conn: &dyn Database, lane: LaneId, mut position: u64) -> SqlResult<u64> {
    while is_taken(conn, lane, position)? {
        position = position.saturating_add(1);
    }
    Ok(position)
}

/// The batch whose place was used up by no transaction, if that happened to the one at this position.
pub(crate) fn used_up_at(
    conn: &dyn Database,
    lane: LaneId,
    position: u64,
) -> SqlResult<Option<BatchId>> {
    let sql = "SELECT id FROM batch WHERE chain = ?1 AND signer = ?2 AND position = ?3
               AND lost = 1 AND winner IS NULL";
    let place = params![lane.chain.0, lane.signer.as_slice(), position];
    conn.query_row(sql, place, |row| row.get(0).map(BatchId)).optional()
}

/// The open batch that has this position, if it was seen that `transaction` took its place.
pub(crate) fn lost(
    conn: &dyn Database,
    lane: LaneId,
    position: u64,
    transaction: B256,
) -> SqlResult<Option<BatchId>> {
    let sql = "SELECT id FROM batch WHERE chain = ?1 AND signer = ?2 AND position = ?3 AND state = 'open'";
    let place = params![lane.chain.0, lane.signer.as_slice(), position];
    let open: Option<i64> = conn.query_row(sql, place, |row| row.get(0)).optional()?;
    let Some(open) = open else { return Ok(None) };
    let mut select = conn.prepare("SELECT body FROM history WHERE event = ?1")?;
    let told =
        select.query_map(params![HistoryEvent::PlaceTaken.word()], |row| row.get::<String>(0))?;
    for body in told {
        let taker: Option<PlaceTaken> = serde_json::from_str(&body?).ok();
        if taker.is_some_and(|by| (by.batch, by.transaction) == (open, transaction)) {
            return Ok(Some(BatchId(open)));
        }
    }
    Ok(None)
}
