//! Transactions that took the place of a batch and do not tell whom they charged: what the nodes have shown
//! of them, for the person who says it.

use super::sql::{Database, OptionalExtension as _, SqlResult, params};
use super::{Journal, JournalError, LaneId, history};
use crate::billing::{BatchId, Landed};
use alloy::primitives::B256;
use serde::Deserialize;
use serde_json::json;

/// What the history calls it.
const EVENT: &str = "place taken";

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
        Ok(self.write(move |conn| history::append(conn, at_ms, EVENT, &body)).await??)
    }
}

/// The open batch that has this position, if it was seen that `transaction` took its place.
pub(super) fn lost(
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
    let told = select.query_map(params![EVENT], |row| row.get::<String>(0))?;
    for body in told {
        let taker: Option<PlaceTaken> = serde_json::from_str(&body?).ok();
        if taker.is_some_and(|by| (by.batch, by.transaction) == (open, transaction)) {
            return Ok(Some(BatchId(open)));
        }
    }
    Ok(None)
}
