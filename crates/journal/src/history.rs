//! The history: one row for every step, each carrying the hash of the one before it, so that what
//! was written can be shown not to have been changed since.

use crate::model::{Added, Corrected};
use crate::sql::columns::{json_text, period_text};
use crate::sql::{Database, OptionalExtension as _, Row, SqlError, SqlResult, params};
use crate::{HistoryEvent, HistoryHead, LaneId, Origin};
use alloy::primitives::{Address, B256};
use billing::{
    AskedBy, Attempt, BatchId, BatchState, BlockRef, ChargeTerms, Item, Signed, TxRecord,
};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use smol_str::ToSmolStr as _;
use std::collections::BTreeMap;
use std::ops::Range;

/// The point from which the history goes on: the number and the digest of its newest row.
#[derive(Debug, Default)]
pub(crate) struct Newest {
    pub(crate) seq: i64,
    pub(crate) digest: Vec<u8>,
}

const LAST: &str = "SELECT seq, digest FROM history ORDER BY seq DESC LIMIT 1";

/// Returns the point from which the history goes on now.
pub(crate) fn newest(conn: &dyn Database) -> SqlResult<Newest> {
    let read = |row: &Row<'_>| Ok(Newest { seq: row.get(0)?, digest: row.get(1)? });
    let newest = conn.prepare_cached(LAST)?.query_row([], read);
    newest.optional().map(Option::unwrap_or_default)
}

/// Appends a row inside the current transaction.
pub(crate) fn append(
    conn: &dyn Database,
    at_ms: i64,
    event: HistoryEvent,
    body: &impl Serialize,
) -> SqlResult<()> {
    append_to(conn, &newest(conn)?, at_ms, event, body)
}

/// Appends a row behind the newest one. The fields of a body are in the order of their names.
pub(crate) fn append_to(
    conn: &dyn Database,
    newest: &Newest,
    at_ms: i64,
    event: HistoryEvent,
    body: &impl Serialize,
) -> SqlResult<()> {
    let event = event.word();
    let seq = newest.seq.saturating_add(1);
    let row = HistoryRow { seq, at_ms, event, body: &json_text(body)? };
    let digest = row.digest(&newest.digest);
    let insert =
        "INSERT INTO history (seq, at_ms, event, body, digest) VALUES (?1, ?2, ?3, ?4, ?5)";
    conn.prepare_cached(insert)?.queue(params![seq, at_ms, event, row.body, digest])
}

/// Returns the time of the first row, Unix ms; none in an empty journal.
pub(crate) fn begun_ms(conn: &dyn Database) -> SqlResult<Option<i64>> {
    conn.prepare_cached("SELECT at_ms FROM history WHERE seq = 1")?
        .query_row([], |row| row.get(0))
        .optional()
}

/// Returns the first row that was written at this time (Unix ms) or later, as far as halving finds it where a clock
/// went back; the row behind the last if there is none.
pub(crate) fn first_since(conn: &dyn Database, at_ms: i64) -> SqlResult<u64> {
    let mut time = conn.prepare_cached("SELECT at_ms FROM history WHERE seq = ?1")?;
    let (mut from, mut to) = (1, head(conn)?.row.saturating_add(1));
    while from < to {
        let middle = u64::midpoint(from, to);
        let written_ms: Option<i64> =
            time.query_row(params![middle], |row| row.get(0)).optional()?;
        if written_ms.is_some_and(|written_ms| written_ms < at_ms) {
            from = middle.saturating_add(1);
        } else {
            to = middle;
        }
    }
    Ok(from)
}

/// Returns the digest of the row that wrote down the end of a batch, if that is one of these rows. The last of them has
/// to be there.
pub(crate) fn end_of(
    conn: &dyn Database,
    batch: BatchId,
    rows: &Range<u64>,
) -> SqlResult<Option<Vec<u8>>> {
    // Rows are numbered without a gap. Without this a head that is no row's would be searched for without an end.
    let last = rows.end.saturating_sub(1);
    let numbered = "SELECT 1 FROM history WHERE seq = ?1";
    if last > 0 && !conn.prepare_cached(numbered)?.exists([last])? {
        return Err(SqlError::NO_ROW);
    }
    // The fields of a row's body are in the order of their names.
    let begins = format!("{{\"batch\":{},%", batch.0);
    let sql =
        "SELECT digest FROM history WHERE seq >= ?1 AND seq < ?2 AND event = ?3 AND body LIKE ?4";
    let of = params![rows.start, rows.end, HistoryEvent::Settled.word(), begins];
    conn.prepare_cached(sql)?.query_row(of, |row| row.get(0)).optional()
}

/// The last row.
pub fn head(conn: &dyn Database) -> SqlResult<HistoryHead> {
    let head = conn.prepare_cached(LAST)?.query_row([], |row| {
        Ok(HistoryHead { row: row.get(0)?, digest: hex::encode(row.get::<Vec<u8>>(1)?) })
    });
    Ok(head.optional()?.unwrap_or_else(|| HistoryHead { row: 0, digest: String::new() }))
}

/// Returns true if the row of `head`, with that digest, is part of the history.
pub fn holds(conn: &dyn Database, head: &HistoryHead) -> SqlResult<bool> {
    let digest = "SELECT digest FROM history WHERE seq = ?1";
    let found = conn.query_row(digest, [head.row], |row| row.get::<Vec<u8>>(0)).optional()?;
    Ok(head.row == 0 || found.map(hex::encode).as_ref() == Some(&head.digest))
}

/// One row, but for its digest.
pub(crate) struct HistoryRow<'a> {
    pub(crate) seq: i64,
    pub(crate) at_ms: i64,
    pub(crate) event: &'a str,
    pub(crate) body: &'a str,
}

impl HistoryRow<'_> {
    /// The kind of the row. None: a later program has written it.
    pub(crate) fn kind(&self) -> Option<HistoryEvent> {
        HistoryEvent::from_word(self.event)
    }

    /// The digest that the row carries when the one before it carries `before`.
    pub(crate) fn digest(&self, before: &[u8]) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(before);
        hash.update(self.seq.to_be_bytes());
        hash.update(self.at_ms.to_be_bytes());
        hash.update(self.event);
        hash.update([0]);
        hash.update(self.body);
        hash.finalize().into()
    }
}

/// The history's record of an accepted batch: what others are built from stands in it, and a digest of the rest, so that
/// any later change to its rows is noticed.
pub(crate) struct Accepted<'a> {
    pub(crate) batch: BatchId,
    pub(crate) origin: Origin,
    /// The number of the profile that it was signed by; none for an adopted one.
    pub(crate) profile: Option<i64>,
    pub(crate) position: u64,
    /// The caller's name for the request, and what that stands for.
    pub(crate) request: Option<(&'a str, B256)>,
    pub(crate) caller: Option<&'a AskedBy>,
    /// The digest of its first transaction; of an adopted one, whose bytes are not known, its hash.
    pub(crate) transaction: String,
    /// The amounts that the batch added to the sums of the day.
    pub(crate) counted: &'a [Added],
    /// The items that another batch held when it was learnt from the chain.
    pub(crate) elsewhere: Vec<usize>,
    /// The claims that it freed, because their guards had ended.
    pub(crate) freed: Vec<ClaimPlace>,
}

/// A claim's place: the batch, and where in it.
pub(crate) type ClaimPlace = (i64, i64);

/// The body of the row: its fields in the order of their names.
#[derive(Serialize)]
pub(crate) struct AcceptedBody<'a> {
    batch: i64,
    caller: Option<&'a str>,
    content: String,
    counted: &'a [Added],
    elsewhere: &'a [usize],
    freed: &'a [ClaimPlace],
    place: AcceptedPlace,
    /// By its hash followers are told of a batch that was learnt.
    transaction: Option<&'a str>,
}

#[derive(Serialize)]
struct AcceptedPlace {
    chain: u32,
    position: u64,
    signer: Address,
}

/// The content of a batch's rows that its row in the history holds the digest of.
#[derive(Serialize)]
struct AcceptedContent<'a> {
    caller_key: Option<&'a str>,
    claims: String,
    contract: Address,
    profile: Option<i64>,
    request: Option<(&'a str, B256)>,
    transaction: &'a str,
}

impl AcceptedBody<'_> {
    /// Returns true if a row of the history has another body.
    pub(crate) fn differs_from(&self, body: &Value) -> bool {
        serde_json::to_value(self).ok().as_ref() != Some(body)
    }
}

impl Accepted<'_> {
    pub(crate) fn body(&self, items: &[Item]) -> SqlResult<AcceptedBody<'_>> {
        let LaneId { chain, signer } = self.origin.lane;
        Ok(AcceptedBody {
            batch: self.batch.0,
            caller: self.caller.map(|by| by.label.as_str()),
            content: self.content(items)?,
            counted: self.counted,
            elsewhere: &self.elsewhere,
            freed: &self.freed,
            place: AcceptedPlace { chain: chain.0, position: self.position, signer },
            transaction: self.profile.is_none().then_some(&self.transaction),
        })
    }

    /// Returns the digest of what the rows of the batch hold besides, hex.
    fn content(&self, items: &[Item]) -> SqlResult<String> {
        let content = AcceptedContent {
            caller_key: self.caller.map(|by| by.key.as_str()),
            claims: claims_digest(items),
            contract: self.origin.contract,
            profile: self.profile,
            request: self.request,
            transaction: &self.transaction,
        };
        Ok(hex::encode(Sha256::digest(json_text(&content)?)))
    }
}

/// The digest of a signed transaction and of what is kept beside its bytes, hex.
pub(crate) fn transaction_digest(signed: &Signed) -> String {
    let mut hash = Sha256::new();
    hash.update(signed.hash);
    hash.update(signed.gas_required.to_be_bytes());
    hash.update(&signed.raw);
    hex::encode(hash.finalize())
}

/// Returns the history's record of another attempt, and of the amounts that it added to the sum of the day.
pub(crate) fn attempt_body(attempt: &Attempt, counted: &[Added]) -> Value {
    json!({
        "batch": attempt.batch.0,
        "attempt": attempt.seq,
        "kind": attempt.kind.word(),
        "transaction": transaction_digest(&attempt.signed),
        "counted": counted,
    })
}

/// The history's record of the end of a batch.
pub(crate) struct Settled<'a> {
    pub(crate) batch: BatchId,
    pub(crate) state: BatchState,
    /// The transaction that decided.
    pub(crate) winner: Option<B256>,
    pub(crate) block: BlockRef,
    /// The cost of that transaction, if it is one of the batch's own.
    pub(crate) record: Option<&'a TxRecord>,
    /// The words for what became of each item that was not just charged, by its place.
    pub(crate) outcomes: BTreeMap<usize, String>,
    /// Until when its charges without a period stay claimed, chain time, s; none where it charged nobody.
    pub(crate) guard_until: Option<u64>,
    /// The changes that the batch's end made in the sums of days.
    pub(crate) corrected: Corrected,
}

impl Settled<'_> {
    pub(crate) fn body(self) -> Value {
        let record = self.record.map(|record| {
            json!({"ending": record.ending.word(), "message": record.message, "used": record.used,
                   "fee": record.fee.to_string()})
        });
        json!({"batch": self.batch.0, "state": self.state.word(), "winner": self.winner,
               "block": self.block.number, "block_time": self.block.time,
               "block_hash": self.block.hash, "record": record,
               "outcomes": self.outcomes, "guard_until": self.guard_until,
               "corrected": self.corrected})
    }
}

fn claims_digest(items: &[Item]) -> String {
    let mut hash = Sha256::new();
    for item in items {
        hash.update(item.subscribe.0.to_be_bytes());
        hash.update(item.key.plan.0.to_be_bytes());
        hash.update(item.key.user.0);
        hash.update(period_text(item.key.period).as_str());
        hash.update([0]);
        hash.update(item.amount.to_be_bytes::<32>());
        let ChargeTerms { plan_version, wallet, token } = item.terms;
        hash.update(plan_version.map(|version| version.to_smolstr()).unwrap_or_default().as_str());
        hash.update([0]);
        for address in [wallet, token] {
            hash.update([u8::from(address.is_some())]);
            hash.update(address.unwrap_or_default());
        }
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DayCount;
    use billing::PlatformChainId;

    fn in_order(value: &impl Serialize) {
        let written = serde_json::to_string(value).unwrap();
        let by_name: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(written, by_name.to_string());
    }

    #[test]
    fn fields_are_in_the_order_of_their_names() {
        let (amount, items) = ("7".to_owned(), "0,1".to_owned());
        let added = Added { amount, items, unit: "fee".to_owned() };
        let lane = LaneId { chain: PlatformChainId(139), signer: Address::ZERO };
        let accepted = Accepted {
            batch: BatchId(1),
            origin: Origin { lane, contract: Address::ZERO },
            profile: Some(1),
            position: 7,
            request: Some(("r", B256::ZERO)),
            caller: None,
            transaction: String::new(),
            counted: std::slice::from_ref(&added),
            elsewhere: vec![1],
            freed: vec![(1, 2)],
        };
        in_order(&accepted.body(&[]).unwrap());
        in_order(&DayCount::of(1, added.clone()));
        in_order(&AcceptedContent {
            caller_key: None,
            claims: String::new(),
            contract: Address::ZERO,
            profile: None,
            request: None,
            transaction: "",
        });
    }
}
