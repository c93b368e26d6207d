//! How batches end, and what is learnt of transactions that the journal did not know.

use super::commit::{LaneId, advance, insert_attempt, insert_batch, insert_claim, next_position};
use super::rows::{lane_of, place, to_i64};
use super::{history, spend};
use crate::billing::{
    Attempt, AttemptKind, BatchId, BatchState, Deed, End, Item, ItemOutcome, Signed, Stranger,
    Verdict, Winner,
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
    let (state, hash) = (end.verdict.state, end.verdict.hash());
    let (block, outcomes) = (end.verdict.block(), end.verdict.outcomes());
    let changed = conn
        .prepare_cached(
            "UPDATE batch SET state = ?2, winner = ?3, block = ?4, settled_ms = ?5
             WHERE id = ?1 AND state = 'open'",
        )?
        .execute(params![
            end.batch.0,
            state.word(),
            hash.as_ref().map(B256::as_slice),
            to_i64(block),
            at_ms
        ])?;
    if changed == 0 {
        return Ok(());
    }
    match state {
        BatchState::Charged => settle_items(conn, end)?,
        BatchState::Reverted
        | BatchState::Cancelled
        | BatchState::Usurped
        | BatchState::Expired => release_all(conn, end.batch, state)?,
        BatchState::Open => return Err(rusqlite::Error::InvalidQuery),
    }
    spend::give_back(conn, end.batch)?;
    let outcomes: Vec<_> = outcomes.iter().map(|outcome| words(outcome).0).collect();
    let body = history::settled_body(end.batch, (state, hash, block), &json!(outcomes));
    history::append(conn, at_ms, "settled", &body)?;
    match &end.verdict.end {
        End::Lost(stranger) => {
            adopt(conn, &lane_of(conn, end.batch)?, stranger, end.guard_s, at_ms)
        }
        End::Won(_) | End::Late { .. } => Ok(()),
    }
}

fn settle_items(conn: &Connection, end: &Settlement) -> rusqlite::Result<()> {
    let mut update = conn.prepare_cached(
        // A claim of an adopted batch that another batch holds as well is not live, and stays so.
        "UPDATE claim SET outcome = ?3, detail = coalesce(?4, detail), live = ?5 AND live,
                guard_chain_s = CASE WHEN period = '' THEN ?6 END
         WHERE batch = ?1 AND item = ?2",
    )?;
    let guard = to_i64(end.verdict.block_time().saturating_add(end.guard_s));
    for (index, outcome) in end.verdict.outcomes().iter().enumerate() {
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
/// with it. One whose charges cannot be told is not taken: nobody knows what it holds.
pub(super) fn adopt(
    conn: &Connection,
    lane: &LaneId,
    stranger: &Stranger,
    guard_s: u64,
    at_ms: i64,
) -> rusqlite::Result<()> {
    if stranger.did == Deed::Opaque {
        return Err(rusqlite::Error::InvalidQuery);
    }
    if let Deed::Billed { items, outcomes } = &stranger.did {
        let batch = insert_adopted(conn, lane, stranger, items, at_ms)?;
        let succeeded = !outcomes.is_empty();
        let state = if succeeded { BatchState::Charged } else { BatchState::Reverted };
        let winner = Winner {
            hash: stranger.hash,
            succeeded,
            block: stranger.block,
            block_time: stranger.block_time,
            outcomes: outcomes.clone(),
        };
        let verdict = Verdict { state, end: End::Won(winner) };
        settle(conn, &Settlement { batch, verdict, guard_s }, at_ms)?;
    } else {
        let place = place(lane, stranger.position);
        let body = json!({"place": place, "transaction": stranger.hash, "block": stranger.block});
        history::append(conn, at_ms, "used elsewhere", &body)?;
    }
    if next_position(conn, lane.chain, lane.signer)? == Some(stranger.position) {
        advance(conn, lane.chain, lane.signer)?;
    }
    Ok(())
}

/// Its bytes are the chain's business: it has landed for good.
fn insert_adopted(
    conn: &Connection,
    lane: &LaneId,
    stranger: &Stranger,
    items: &[Item],
    at_ms: i64,
) -> rusqlite::Result<BatchId> {
    let batch = insert_batch(conn, lane, stranger.position, None, at_ms)?;
    for (index, item) in items.iter().enumerate() {
        if !insert_claim(conn, lane, (batch, index), item, true)? {
            insert_claim(conn, lane, (batch, index), item, false)?;
            conn.prepare_cached("UPDATE claim SET detail = ?3 WHERE batch = ?1 AND item = ?2")?
                .execute(params![batch.0, i64::try_from(index).unwrap_or(i64::MAX), ELSEWHERE])?;
        }
    }
    let signed = Signed { hash: stranger.hash, raw: vec![], gas_required: 0 };
    let attempt = Attempt { batch, seq: 0, kind: AttemptKind::Bill, signed };
    insert_attempt(conn, &attempt, at_ms)?;
    let place = place(lane, stranger.position);
    let body = history::accepted_body(batch, &place, items, &attempt.signed.raw);
    history::append(conn, at_ms, "adopted", &body)?;
    Ok(batch)
}
