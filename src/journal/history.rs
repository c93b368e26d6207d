//! The history: one row for every step, each carrying the hash of the one before it, so that what
//! was written can be shown not to have been changed since.

use super::rows;
use crate::billing::{BatchId, Item};
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
    let row = Row { seq: i64::saturating_add(seq, 1), at_ms, event, body: &body.to_string() };
    conn.prepare_cached("INSERT INTO history VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute(params![row.seq, at_ms, event, row.body, row.digest(&before)])
        .map(drop)
}

struct Row<'a> {
    seq: i64,
    at_ms: i64,
    event: &'a str,
    body: &'a str,
}

impl Row<'_> {
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
pub(super) fn accepted_body(batch: BatchId, place: &Value, items: &[Item], raw: &[u8]) -> Value {
    json!({
        "batch": batch.0,
        "place": place,
        "claims": claims_digest(items),
        "transaction": hex::encode(Sha256::digest(raw)),
    })
}

fn claims_digest(items: &[Item]) -> String {
    let mut hash = Sha256::new();
    for item in items {
        hash.update(item.subscribe.0.to_be_bytes());
        hash.update(item.key.plan.0.to_be_bytes());
        hash.update(item.key.user.0);
        hash.update(rows::period_text(item.key.period));
        hash.update([0]);
        hash.update(item.amount.to_be_bytes::<32>());
    }
    hex::encode(hash.finalize())
}

/// What an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Rows of history.
    pub rows: u64,
    /// Batches whose claims and bytes were compared with it.
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
    let mut before: Vec<u8> = Vec::new();
    let mut select =
        conn.prepare("SELECT seq, at_ms, event, body, digest FROM history ORDER BY seq")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (event, body): (String, String) = (row.get(2)?, row.get(3)?);
        let read = Row { seq: row.get(0)?, at_ms: row.get(1)?, event: &event, body: &body };
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
        if event == "accepted" {
            audit.batches = audit.batches.saturating_add(1);
            compare_batch(conn, &body, &mut audit.faults)?;
        }
        before = digest;
    }
    audit.head = hex::encode(&before);
    let batches: i64 = conn.query_row("SELECT count(*) FROM batch", [], |row| row.get(0))?;
    if u64::try_from(batches) != Ok(audit.batches) {
        audit.faults.push(format!("{batches} batches, but the history knows {}", audit.batches));
    }
    Ok(audit)
}

fn compare_batch(conn: &Connection, body: &str, faults: &mut Vec<String>) -> rusqlite::Result<()> {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let number = body.get("batch").and_then(Value::as_i64).unwrap_or_default();
    let Some(billing) = rows::billing(conn, BatchId(number))? else {
        faults.push(format!("batch {number} is gone"));
        return Ok(());
    };
    let items: Vec<Item> = billing.items.iter().map(|line| line.item).collect();
    let raw = &billing.attempts.first().get().signed.raw;
    let expected = accepted_body(BatchId(number), &billing.place(), &items, raw);
    if expected != body {
        faults.push(format!("batch {number} differs from what was accepted"));
    }
    Ok(())
}
