//! The ends of batches, and the handling of transactions that the journal did not know.

use crate::commit::acceptance::{
    NewBatch, NewClaim, advance, insert_batch, is_taken, keep_payers, next_batch,
    release_expired_guards,
};
use crate::commit::rows::origin_of;
use crate::commit::{day_sums, waiting_claims};
use crate::model::{Origin, Settlement};
use crate::sql::columns::outcome_words;
use crate::sql::{Database, SqlResult, params};
use crate::tables::scopes;
use crate::{HistoryEvent, history};
use alloy::primitives::B256;
use billing::{
    BatchId, BatchState, Execution, ForeignEffect, ForeignTx, Item, ItemOutcome, TakenAsTold,
    Verdict,
};
use serde_json::json;
use std::collections::BTreeMap;

/// Writes down how batches ended. Those that had ended already stay as they are.
pub(crate) fn settle_all(conn: &dyn Database, ends: &[Settlement], at_ms: i64) -> SqlResult<()> {
    ends.iter().try_for_each(|end| settle(conn, end, at_ms))
}

/// Writes down the end of a batch. One that has ended already stays as it is.
pub(crate) fn settle(conn: &dyn Database, end: &Settlement, at_ms: i64) -> SqlResult<()> {
    let (state, hash, block) = (end.verdict.state(), end.verdict.hash(), end.verdict.block());
    // The fee of another's transaction is no cost of this batch.
    let record = end.verdict.landed().and_then(|landed| landed.record.as_ref());
    let record = record.filter(|_| state != BatchState::Usurped);
    let changed = conn
        .prepare_cached(
            "UPDATE batch SET state = ?2, winner = ?3, block = ?4, block_s = ?5, settled_ms = ?6,
                    ending = ?7, message = ?8, used = ?9, fee = ?10, block_hash = ?11
             WHERE id = ?1 AND state = 'open'",
        )?
        .execute(params![
            end.batch.0,
            state.word(),
            hash.as_ref().map(B256::as_slice),
            block.number,
            block.time,
            at_ms,
            record.map(|record| record.ending.word()),
            record.and_then(|record| record.message.as_deref()),
            record.map(|record| record.used),
            record.map(|record| record.fee.to_string()),
            block.hash.as_ref().map(B256::as_slice)
        ])?;
    if changed == 0 {
        return Ok(());
    }
    if state == BatchState::Usurped {
        let lost = "UPDATE batch SET lost = 1 WHERE id = ?1";
        conn.prepare_cached(lost)?.queue([end.batch.0])?;
    }
    match &end.verdict {
        Verdict::Charged(_, outcomes) => settle_items(conn, end, outcomes)?,
        Verdict::UsedUp(_) => hold_unproven(conn, end)?,
        Verdict::Reverted(_)
        | Verdict::Cancelled(_)
        | Verdict::Usurped(_)
        | Verdict::Expired(_) => release_all(conn, end.batch)?,
    }
    let corrected = day_sums::correct(conn, end.batch, end.verdict.outcomes())?;
    let (batch, winner, outcomes) = (end.batch, hash, told(&end.verdict));
    let holds = matches!(end.verdict, Verdict::Charged(..) | Verdict::UsedUp(_));
    let guard_until = holds.then(|| end.guard_until());
    let settled =
        history::Settled { batch, state, winner, block, record, outcomes, guard_until, corrected };
    history::append(conn, at_ms, HistoryEvent::Settled, &settled.body())?;
    waiting_claims::pass_on(conn, end.batch, at_ms)?;
    if let Verdict::Usurped(tx) = &end.verdict {
        adopt(conn, &origin_of(conn, end.batch)?, tx, end.guard_s, at_ms)?;
    }
    Ok(())
}

/// The words for what became of each item that was not just charged, by its place.
fn told(verdict: &Verdict) -> BTreeMap<usize, String> {
    let all = verdict.outcomes().iter().enumerate();
    all.filter(|(_, outcome)| **outcome != ItemOutcome::Charged)
        .map(|(place, outcome)| (place, outcome_words(outcome).told().into_owned()))
        .collect()
}

fn settle_items(conn: &dyn Database, end: &Settlement, outcomes: &[ItemOutcome]) -> SqlResult<()> {
    // Most are charged as their batch says, and nothing is written. A learnt claim waits by its own outcome.
    conn.prepare_cached(
        "UPDATE claim SET outcome = 'charged', guard_until_s = CASE WHEN period = '' THEN ?3 END
         WHERE batch = ?1 AND item < ?2 AND (period = '' OR elsewhere = 1)",
    )?
    .queue(params![end.batch.0, outcomes.len(), end.guard_until()])?;
    let mut update = conn.prepare_cached(
        // A claim of an adopted batch that another batch holds as well is not live, and stays so.
        "UPDATE claim SET outcome = ?3, code = ?4, detail = ?5, live = live * ?6,
                guard_until_s = CASE WHEN period = '' THEN ?7 END
         WHERE batch = ?1 AND item = ?2",
    )?;
    let guard = end.guard_until();
    for (index, outcome) in outcomes.iter().enumerate() {
        match outcome {
            ItemOutcome::Charged => continue,
            ItemOutcome::ChargedAsTold(taken) => {
                keep_told(conn, end.batch, index, taken)?;
                continue;
            }
            ItemOutcome::Failed { .. } | ItemOutcome::Unproven => {}
        }
        let words = outcome_words(outcome);
        let held = !matches!(outcome, ItemOutcome::Failed { .. });
        let (word, code, detail) = (words.outcome.word(), words.code, words.detail);
        update.queue(params![end.batch.0, index, word, code, detail, held, guard])?;
    }
    Ok(())
}

/// Keeps what the event of a charge tells, and who paid by it.
fn keep_told(
    conn: &dyn Database,
    batch: BatchId,
    item: usize,
    taken: &TakenAsTold,
) -> SqlResult<()> {
    conn.prepare_cached("UPDATE claim SET detail = ?3 WHERE batch = ?1 AND item = ?2")?
        .queue(params![batch.0, item, taken.to_string()])?;
    let Some(wallet) = taken.wallet else { return Ok(()) };
    let sql = "INSERT INTO payer (wallet, user_hash)
               SELECT ?3, user_hash FROM claim WHERE batch = ?1 AND item = ?2 ON CONFLICT DO NOTHING";
    conn.prepare_cached(sql)?.queue(params![batch.0, item, wallet.as_slice()])
}

/// Nobody can tell whether they were charged.
fn hold_unproven(conn: &dyn Database, end: &Settlement) -> SqlResult<()> {
    conn.prepare_cached(
        "UPDATE claim SET outcome = 'unproven', guard_until_s = CASE WHEN period = '' THEN ?2 END
         WHERE batch = ?1",
    )?
    .queue(params![end.batch.0, end.guard_until()])
}

fn release_all(conn: &dyn Database, batch: BatchId) -> SqlResult<()> {
    conn.prepare_cached("UPDATE claim SET live = 0, outcome = 'released' WHERE batch = ?1")?
        .queue([batch.0])
}

/// Writes down a transaction of the account that the journal did not know, and the claims that go
/// with it.
pub(crate) fn adopt(
    conn: &dyn Database,
    origin: &Origin,
    tx: &ForeignTx,
    guard_s: u64,
    at_ms: i64,
) -> SqlResult<()> {
    let landed = tx.landed.clone();
    match &tx.effect {
        // An imported billing is learnt once.
        ForeignEffect::Billed { .. } if is_learnt(conn, origin, tx)? => {}
        ForeignEffect::Billed { contract, items, execution } => {
            let called = Origin { contract: *contract, ..*origin };
            let batch = insert_adopted(conn, &called, tx, items, at_ms)?;
            let verdict = match execution {
                // The transaction used the place up, and charged nobody.
                Execution::Succeeded(_) if items.is_empty() => Verdict::Cancelled(landed),
                Execution::Succeeded(outcomes) => {
                    // The claim of an item that no event speaks of stays: it may have been charged.
                    let untold = std::iter::repeat(ItemOutcome::Unproven);
                    let all = outcomes.iter().cloned().chain(untold).take(items.len());
                    Verdict::Charged(landed, all.collect())
                }
                Execution::Reverted => Verdict::Reverted(landed),
            };
            settle(conn, &Settlement { batch, verdict, guard_s }, at_ms)?;
        }
        ForeignEffect::Other => {
            let place = origin.place(tx.position);
            let body =
                json!({"place": place, "transaction": landed.hash, "block": landed.block.number});
            history::append(conn, at_ms, HistoryEvent::UsedElsewhere, &body)?;
        }
    }
    let mut taken = tx.position;
    // Places that were imported before those that come ahead of them.
    while is_taken_for_good(conn, origin, tx, taken)? && advance(conn, origin.lane, taken)? {
        taken = taken.saturating_add(1);
    }
    Ok(())
}

fn is_taken_for_good(
    conn: &dyn Database,
    origin: &Origin,
    tx: &ForeignTx,
    position: u64,
) -> SqlResult<bool> {
    Ok(position == tx.position || is_taken(conn, origin.lane, position)?)
}

/// Returns true if this transaction is known as the one that ended the batch in its place.
fn is_learnt(conn: &dyn Database, origin: &Origin, tx: &ForeignTx) -> SqlResult<bool> {
    let sql = "SELECT 1 FROM tx JOIN batch ON batch.id = tx.batch
               WHERE tx.hash = ?1 AND winner = ?1 AND chain = ?2 AND signer = ?3 AND position = ?4
               AND state IN ('charged', 'reverted', 'cancelled')";
    let (hash, lane) = (tx.landed.hash, origin.lane);
    conn.prepare_cached(sql)?.exists(params![
        hash.as_slice(),
        lane.chain.0,
        lane.signer.as_slice(),
        tx.position
    ])
}

/// Its bytes are not known here: it has landed for good, so nobody has to offer them again.
fn insert_adopted(
    conn: &dyn Database,
    origin: &Origin,
    tx: &ForeignTx,
    items: &[Item],
    at_ms: i64,
) -> SqlResult<BatchId> {
    let (origin, position, batch) = (*origin, tx.position, next_batch(conn)?);
    let new = NewBatch {
        batch,
        origin,
        profile: None,
        position,
        request_id: None,
        caller: None,
        counted: &[],
        hash: tx.landed.hash,
        signed: None,
    };
    insert_batch(conn, &new, at_ms)?;
    let scope = scopes::of(conn, &origin)?;
    let freed = release_expired_guards(conn, scope, items, tx.landed.block.time)?;
    let mut elsewhere = Vec::new();
    let mut inserting = NewClaim::inserting(conn)?;
    for (index, item) in items.iter().enumerate() {
        let new = |live| NewClaim { batch, index, scope, item, live };
        let mut insert = |live| new(live).bind(|claim| inserting.execute(claim));
        if insert(true)? == 0 {
            insert(false)?;
            conn.prepare_cached("UPDATE claim SET elsewhere = 1 WHERE batch = ?1 AND item = ?2")?
                .queue(params![batch.0, index])?;
            elsewhere.push(index);
        }
    }
    keep_payers(conn, items)?;
    let transaction = hex::encode(tx.landed.hash);
    let adopted = history::Accepted {
        batch,
        origin,
        profile: None,
        position,
        request: None,
        caller: None,
        transaction,
        counted: &[],
        elsewhere,
        freed,
    };
    history::append(conn, at_ms, HistoryEvent::Adopted, &adopted.body(items)?)?;
    Ok(batch)
}
