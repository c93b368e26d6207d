//! How batches end, and what is learnt of transactions that the journal did not know.

use super::commit::{LaneId, advance, insert_batch, insert_claim, insert_learnt, next_position};
use super::rows::{lane_of, place, to_i64};
use super::{history, spend};
use crate::billing::{
    BatchId, BatchState, Execution, ForeignEffect, ForeignTx, Item, ItemOutcome, Verdict,
};
use alloy::primitives::B256;
use rusqlite::{Connection, params};
use serde_json::json;

/// The detail of an adopted claim that another batch holds.
pub(super) const ELSEWHERE: &str = "another batch holds this charge as well";

/// The end of a batch, to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Which batch.
    pub batch: BatchId,
    /// How it ended.
    pub verdict: Verdict,
    /// How long charges without a period stay claimed after the block that decided, chain time, s.
    pub guard_s: u64,
}

/// Writes down the end of a batch. A batch that has ended already stays as it is.
pub(super) fn settle(conn: &Connection, end: &Settlement, at_ms: i64) -> rusqlite::Result<()> {
    let (state, hash, block) = (end.verdict.state(), end.verdict.hash(), end.verdict.block());
    let changed = conn
        .prepare_cached(
            "UPDATE batch SET state = ?2, winner = ?3, block = ?4, settled_ms = ?5
             WHERE id = ?1 AND state = 'open'",
        )?
        .execute(params![
            end.batch.0,
            state.word(),
            hash.as_ref().map(B256::as_slice),
            to_i64(block.number),
            at_ms
        ])?;
    if changed == 0 {
        return Ok(());
    }
    match &end.verdict {
        Verdict::Charged(_, outcomes) => settle_items(conn, end, outcomes)?,
        Verdict::Reverted(_)
        | Verdict::Cancelled(_)
        | Verdict::Usurped(_)
        | Verdict::Expired(_) => release_all(conn, end.batch, state)?,
    }
    spend::give_back(conn, end.batch)?;
    let body = history::settled_body(end.batch, (state, hash, block.number), &told(&end.verdict));
    history::append(conn, at_ms, "settled", &body)?;
    match &end.verdict {
        Verdict::Usurped(tx) => adopt(conn, &lane_of(conn, end.batch)?, tx, end.guard_s, at_ms),
        Verdict::Charged(..)
        | Verdict::Reverted(_)
        | Verdict::Cancelled(_)
        | Verdict::Expired(_) => Ok(()),
    }
}

/// The words for what became of each item.
fn told(verdict: &Verdict) -> serde_json::Value {
    match verdict {
        Verdict::Charged(_, outcomes) => outcomes.iter().map(|outcome| words(outcome).0).collect(),
        Verdict::Reverted(_)
        | Verdict::Cancelled(_)
        | Verdict::Usurped(_)
        | Verdict::Expired(_) => json!([]),
    }
}

fn settle_items(
    conn: &Connection,
    end: &Settlement,
    outcomes: &[ItemOutcome],
) -> rusqlite::Result<()> {
    let mut update = conn.prepare_cached(
        // A claim of an adopted batch that another batch holds as well is not live, and stays so.
        "UPDATE claim SET outcome = ?3, detail = coalesce(?4, detail), live = ?5 AND live,
                guard_chain_s = CASE WHEN period = '' THEN ?6 END
         WHERE batch = ?1 AND item = ?2",
    )?;
    let guard = to_i64(end.verdict.block().time.saturating_add(end.guard_s));
    for (index, outcome) in outcomes.iter().enumerate() {
        let (word, detail) = words(outcome);
        let held = !matches!(outcome, ItemOutcome::Failed { .. });
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        update.execute(params![end.batch.0, index, word, detail, held, guard])?;
    }
    Ok(())
}

fn words(outcome: &ItemOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        ItemOutcome::Charged => ("charged", None),
        ItemOutcome::Failed { code, detail } => (code.token(), detail.as_deref()),
        ItemOutcome::Unproven => ("unproven", None),
    }
}

fn release_all(conn: &Connection, batch: BatchId, state: BatchState) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE claim SET live = 0, outcome = ?2 WHERE batch = ?1")?
        .execute(params![batch.0, state.word()])
        .map(drop)
}

/// Writes down a transaction of the account that the journal did not know, and the claims that go
/// with it.
pub(super) fn adopt(
    conn: &Connection,
    lane: &LaneId,
    tx: &ForeignTx,
    guard_s: u64,
    at_ms: i64,
) -> rusqlite::Result<()> {
    let landed = tx.landed;
    match &tx.effect {
        ForeignEffect::Billed { items, execution } => {
            let batch = insert_adopted(conn, lane, tx, items, at_ms)?;
            let verdict = match execution {
                Execution::Succeeded(outcomes) => Verdict::Charged(landed, outcomes.clone()),
                Execution::Reverted => Verdict::Reverted(landed),
            };
            settle(conn, &Settlement { batch, verdict, guard_s }, at_ms)?;
        }
        ForeignEffect::Other => {
            let place = place(lane, tx.position);
            let body =
                json!({"place": place, "transaction": landed.hash, "block": landed.block.number});
            history::append(conn, at_ms, "used elsewhere", &body)?;
        }
    }
    if next_position(conn, lane.chain, lane.signer)? == Some(tx.position) {
        advance(conn, lane.chain, lane.signer)?;
    }
    Ok(())
}

/// Its bytes are not known here: it has landed for good, so nobody has to offer them again.
fn insert_adopted(
    conn: &Connection,
    lane: &LaneId,
    tx: &ForeignTx,
    items: &[Item],
    at_ms: i64,
) -> rusqlite::Result<BatchId> {
    let batch = insert_batch(conn, lane, tx.position, None, at_ms)?;
    for (index, item) in items.iter().enumerate() {
        if !insert_claim(conn, lane, (batch, index), item, true)? {
            insert_claim(conn, lane, (batch, index), item, false)?;
            conn.prepare_cached("UPDATE claim SET detail = ?3 WHERE batch = ?1 AND item = ?2")?
                .execute(params![batch.0, i64::try_from(index).unwrap_or(i64::MAX), ELSEWHERE])?;
        }
    }
    insert_learnt(conn, batch, tx.landed.hash, at_ms)?;
    let place = place(lane, tx.position);
    let transaction = hex::encode(tx.landed.hash);
    let body = history::accepted_body(batch, &place, items, &transaction);
    history::append(conn, at_ms, "adopted", &body)?;
    Ok(batch)
}
