//! The history: one row for every step, each carrying the hash of the one before it, so that what
//! was written can be shown not to have been changed since.

use super::columns::{LineOutcome, kind_word, outcome_words, period_text};
use super::record::{Billing, Line, Recorded};
use super::rename::Renames;
use super::{Origin, Resolution, profiles, rows, spend};
use crate::billing::{
    Attempt, BatchId, BatchState, BlockRef, ChargeTerms, Item, ItemOutcome, Period, TxRecord,
};
use alloy::primitives::B256;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Appends a row inside the current transaction.
pub(super) fn append(
    conn: &Connection,
    at_ms: i64,
    event: &str,
    body: &Value,
) -> rusqlite::Result<()> {
    let last = "SELECT seq, digest FROM history ORDER BY seq DESC LIMIT 1";
    let (seq, before) =
        conn.prepare_cached(last)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).or_else(
            |e| if e == rusqlite::Error::QueryReturnedNoRows { Ok((0, vec![])) } else { Err(e) },
        )?;
    let row =
        HistoryRow { seq: i64::saturating_add(seq, 1), at_ms, event, body: &body.to_string() };
    conn.prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![row.seq, at_ms, event, row.body, row.digest(&before)])
        .map(drop)
}

struct HistoryRow<'a> {
    seq: i64,
    at_ms: i64,
    event: &'a str,
    body: &'a str,
}

impl HistoryRow<'_> {
    fn digest(&self, before: &[u8]) -> Vec<u8> {
        let mut hash = Sha256::new();
        hash.update(before);
        hash.update(self.seq.to_be_bytes());
        hash.update(self.at_ms.to_be_bytes());
        hash.update(self.event);
        hash.update([0]);
        hash.update(self.body);
        hash.finalize().to_vec()
    }
}

/// What the history says of an accepted batch: enough to notice any later change to its rows.
pub(super) struct Accepted<'a> {
    pub(super) batch: BatchId,
    pub(super) origin: Origin,
    /// The number of the profile that it was signed by; none for an adopted one.
    pub(super) profile: Option<i64>,
    pub(super) position: u64,
    pub(super) caller: Option<&'a str>,
    /// The digest of its first transaction's bytes; of an adopted one, whose bytes are not known, its
    /// hash.
    pub(super) transaction: String,
}

impl Accepted<'_> {
    pub(super) fn body(&self, items: &[Item]) -> Value {
        json!({
            "batch": self.batch.0,
            "place": self.origin.place(self.position),
            "profile": self.profile,
            "caller": self.caller,
            "claims": claims_digest(items),
            "transaction": self.transaction,
        })
    }
}

/// The digest of signed bytes, hex.
pub(super) fn bytes_digest(raw: &[u8]) -> String {
    hex::encode(Sha256::digest(raw))
}

/// What the history says of another attempt.
pub(super) fn attempt_body(attempt: &Attempt) -> Value {
    json!({
        "batch": attempt.batch.0,
        "attempt": attempt.seq,
        "kind": kind_word(attempt.kind),
        "transaction": bytes_digest(&attempt.signed.raw),
    })
}

/// What the history says of the end of a batch.
pub(super) struct Settled<'a> {
    pub(super) batch: BatchId,
    pub(super) state: BatchState,
    /// The transaction that decided.
    pub(super) winner: Option<B256>,
    pub(super) block: BlockRef,
    /// What that transaction cost, where it is one of the batch's own.
    pub(super) record: Option<&'a TxRecord>,
    /// The words for what became of each item.
    pub(super) outcomes: Value,
}

impl Settled<'_> {
    pub(super) fn body(self) -> Value {
        let record = self.record.map(|record| {
            json!({"ending": record.ending.word(), "message": record.message, "used": record.used,
                   "fee": record.fee.to_string()})
        });
        json!({"batch": self.batch.0, "state": self.state.word(), "winner": self.winner,
               "block": self.block.number, "block_time": self.block.time, "record": record,
               "outcomes": self.outcomes})
    }
}

fn claims_digest(items: &[Item]) -> String {
    let mut hash = Sha256::new();
    for item in items {
        hash.update(item.subscribe.0.to_be_bytes());
        hash.update(item.key.plan.0.to_be_bytes());
        hash.update(item.key.user.0);
        hash.update(period_text(item.key.period));
        hash.update([0]);
        hash.update(item.amount.to_be_bytes::<32>());
        let ChargeTerms { plan_version, wallet, token } = item.terms;
        hash.update(plan_version.map(|version| version.to_string()).unwrap_or_default());
        hash.update([0]);
        for address in [wallet, token] {
            hash.update([u8::from(address.is_some())]);
            hash.update(address.unwrap_or_default());
        }
    }
    hex::encode(hash.finalize())
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Rows of history.
    pub rows: u64,
    /// Batches whose claims, bytes and end were compared with it.
    pub batches: u64,
    /// The digest of the last row, hex. Kept elsewhere, it proves later that nothing before it was
    /// changed or cut off.
    pub head: String,
    /// What is wrong; empty when nothing is.
    pub faults: Vec<String>,
}

/// Verifies the chain of digests, and every batch against what the history says of it.
pub(super) fn audit(conn: &Connection) -> rusqlite::Result<Audit> {
    let mut audit = Audit { rows: 0, batches: 0, head: String::new(), faults: Vec::new() };
    let (mut before, mut settled, mut resolved) = (Vec::<u8>::new(), 0_u64, 0_u64);
    let mut select =
        conn.prepare("SELECT seq, at_ms, event, body, digest FROM history ORDER BY seq")?;
    let renames = Renames::read(conn)?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (event, body): (String, String) = (row.get(2)?, row.get(3)?);
        let read = HistoryRow { seq: row.get(0)?, at_ms: row.get(1)?, event: &event, body: &body };
        let digest: Vec<u8> = row.get(4)?;
        audit.rows = audit.rows.saturating_add(1);
        if i64::try_from(audit.rows) != Ok(read.seq) {
            audit.faults.push(format!("history row {} is missing", audit.rows));
            break;
        }
        if read.digest(&before) != digest {
            audit
                .faults
                .push(format!("history row {} does not follow from the one before it", read.seq));
        }
        match event.as_str() {
            "accepted" | "adopted" => {
                audit.batches = audit.batches.saturating_add(1);
                let body = renames.in_terms_of_now(read.seq, &body);
                compare(conn, &body, &mut audit.faults, was_accepted);
            }
            "signed again" => compare(conn, &body, &mut audit.faults, has_attempt),
            "settled" => {
                settled = settled.saturating_add(1);
                compare(conn, &body, &mut audit.faults, has_ended);
            }
            "resolved" => {
                resolved = resolved.saturating_add(1);
                compare(conn, &body, &mut audit.faults, was_resolved);
            }
            _ => {}
        }
        before = digest;
    }
    audit.head = hex::encode(&before);
    count(conn, "batch", audit.batches, "batches", &mut audit.faults)?;
    count(conn, "batch WHERE state <> 'open'", settled, "ended batches", &mut audit.faults)?;
    let which = "claim WHERE resolved IS NOT NULL";
    count(conn, which, resolved, "resolved charges", &mut audit.faults)?;
    audit.faults.extend(profiles::faults(conn)?);
    match spend::faults(conn) {
        Ok(faults) => audit.faults.extend(faults),
        Err(error) => audit.faults.push(format!("the sums of a day cannot be read: {error}")),
    }
    Ok(audit)
}

fn count(
    conn: &Connection,
    which: &str,
    known: u64,
    what: &str,
    faults: &mut Vec<String>,
) -> rusqlite::Result<()> {
    let sql = format!("SELECT count(*) FROM {which}");
    let found: i64 = conn.query_row(&sql, [], |row| row.get(0))?;
    if u64::try_from(found) != Ok(known) {
        faults.push(format!("{found} {what}, but the history knows {known}"));
    }
    Ok(())
}

/// Compares a batch with what one row of history says of it.
fn compare(
    conn: &Connection,
    body: &str,
    faults: &mut Vec<String>,
    agrees: fn(&Billing, &Value) -> Result<(), &'static str>,
) {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let number = body.get("batch").and_then(Value::as_i64).unwrap_or_default();
    match rows::billing(conn, BatchId(number)) {
        Ok(Some(billing)) => {
            if let Err(difference) = agrees(&billing, &body) {
                faults.push(format!("batch {number} {difference}"));
            }
        }
        Ok(None) => faults.push(format!("batch {number} is gone")),
        Err(error) => faults.push(format!("batch {number} cannot be read: {error}")),
    }
}

fn was_accepted(billing: &Billing, body: &Value) -> Result<(), &'static str> {
    let items: Vec<Item> = billing.items.iter().map(|line| line.item).collect();
    let transaction = match billing.attempts.first() {
        Recorded::Signed(attempt) => bytes_digest(&attempt.get().signed.raw),
        Recorded::Learnt(hash) => hex::encode(hash),
    };
    let accepted = Accepted {
        batch: billing.batch,
        origin: billing.origin,
        // Compared by itself: see profiles.rs.
        profile: body.get("profile").and_then(Value::as_i64),
        position: billing.position,
        caller: billing.caller.as_deref(),
        transaction,
    };
    if accepted.body(&items) != *body {
        return Err("differs from what was accepted");
    }
    let open = billing.state == BatchState::Open;
    if open && !billing.items.iter().all(|line| line.live && line.outcome.is_none()) {
        return Err("is undecided, but not all of its claims are held");
    }
    Ok(())
}

fn has_attempt(billing: &Billing, body: &Value) -> Result<(), &'static str> {
    let same = |recorded: &Recorded| match recorded {
        Recorded::Signed(attempt) => attempt_body(attempt.get()) == *body,
        Recorded::Learnt(_) => false,
    };
    if billing.attempts.iter().any(same) { Ok(()) } else { Err("lacks an attempt") }
}

fn has_ended(billing: &Billing, body: &Value) -> Result<(), &'static str> {
    let charged = billing.state == BatchState::Charged;
    let outcomes = if charged {
        json!(billing.items.iter().filter_map(told).collect::<Vec<_>>())
    } else {
        body.get("outcomes").cloned().unwrap_or_default()
    };
    let block = billing.block.ok_or("has ended, but no block decided")?;
    let (batch, state, winner) = (billing.batch, billing.state, billing.winner);
    let record = billing.record.as_ref();
    let settled = Settled { batch, state, winner, block, record, outcomes };
    if settled.body() != *body {
        return Err("did not end as its rows say");
    }
    let right = |line: &Line| {
        let freed = line.resolved == Some(Resolution::Free);
        let failed =
            freed || matches!(line.outcome, Some(LineOutcome::Told(ItemOutcome::Failed { .. })));
        // The guard of a charge without a period ends without an entry in the history.
        let guarded = line.item.key.period == Period::Guarded;
        line.live == (charged && !failed) || (charged && !failed && (guarded || line.elsewhere))
    };
    if billing.items.iter().all(right) { Ok(()) } else { Err("has ended, but its claims differ") }
}

fn was_resolved(billing: &Billing, body: &Value) -> Result<(), &'static str> {
    let place = body.get("item").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
    let line = place.and_then(|place| billing.items.get(place));
    let said = body.get("resolution").and_then(Value::as_str).and_then(Resolution::from_word);
    match line {
        Some(line) if said.is_some() && line.resolved == said => Ok(()),
        Some(_) | None => Err("was resolved otherwise than its rows say"),
    }
}

fn told(line: &Line) -> Option<&'static str> {
    match line.outcome.as_ref()? {
        LineOutcome::Told(outcome) => Some(outcome_words(outcome).told()),
        LineOutcome::Released => Some("released"),
    }
}
