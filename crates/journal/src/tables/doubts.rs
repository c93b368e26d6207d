//! Lanes in doubt: the journal was restored from an old copy, so what they have sent since is
//! forgotten. That is kept in the journal itself until it is learnt, however often it is opened.

use crate::sql::columns::hash;
use crate::sql::{BindValues, Database, OptionalExtension as _, Row, SqlResult, params};
use crate::{HistoryEvent, LaneId, history};
use alloy::primitives::{Address, B256};
use billing::PlatformChainId;
use serde_json::json;

/// A final block up to which everything is learnt that a lane has forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearntUpTo {
    /// Its number.
    pub number: u64,
    /// Its id.
    pub id: B256,
}

/// The place of the doubt about lanes that an old copy may not even know, beside those of the lanes that it knows: no
/// chain has the number, and no account the address.
const UNKNOWN_LANES: LaneId = LaneId { chain: PlatformChainId(0), signer: Address::ZERO };

/// Writes down that this journal is an old copy that knows nothing of what came after the last time at which it certainly
/// was in use. A lane that was in doubt already stays so since then, and so do the lanes that the copy does not know.
pub fn begin(conn: &dyn Database, at_ms: i64) -> SqlResult<()> {
    begin_since(conn, at_ms, known_until_ms(conn)?)
}

/// The same of a journal that was written on after something was forgotten: what came after `known_until_ms` (Unix ms)
/// may be missing.
pub fn begin_since(conn: &dyn Database, at_ms: i64, known_until_ms: i64) -> SqlResult<()> {
    conn.execute(
        "INSERT INTO restored (at_ms, known_until_ms) VALUES (?1, ?2)",
        [at_ms, known_until_ms],
    )?;
    conn.execute(
        "INSERT INTO doubt (chain, signer, since_ms) SELECT chain, signer, ?1 FROM lane WHERE true
         ON CONFLICT DO NOTHING",
        [known_until_ms],
    )?;
    put(conn, UNKNOWN_LANES, known_until_ms)?;
    let body = json!({ "known_until_ms": known_until_ms, "unknown_lanes": true });
    history::append(conn, at_ms, HistoryEvent::Restored, &body)
}

/// Puts a lane in doubt, unless it is in doubt already.
fn put(conn: &dyn Database, lane: LaneId, since_ms: i64) -> SqlResult<()> {
    conn.execute(
        "INSERT INTO doubt (chain, signer, since_ms) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        params![lane.chain.0, lane.signer.as_slice(), since_ms],
    )
    .map(drop)
}

/// Puts a lane in doubt that an old copy may not even know, if no process has taken up all lanes since the copy was put
/// in place.
pub(crate) fn include(conn: &dyn Database, lane: LaneId) -> SqlResult<()> {
    unknown_lanes(conn)?.map_or(Ok(()), |since_ms| put(conn, lane, since_ms))
}

/// Until when the journal knows of every lane, Unix ms, where it is an old copy of which no process has taken up all
/// lanes yet.
pub(crate) fn unknown_lanes(conn: &dyn Database) -> SqlResult<Option<i64>> {
    since(conn, UNKNOWN_LANES)
}

/// Returns true if a lane of the chain may have forgotten what it did.
pub(crate) fn touches(conn: &dyn Database, chain: PlatformChainId) -> SqlResult<bool> {
    let sql = "SELECT 1 FROM doubt WHERE chain IN (?1, ?2)";
    conn.prepare_cached(sql)?.exists([chain.0, UNKNOWN_LANES.chain.0])
}

/// Writes down that a process has taken up all lanes: those that an old copy did not know are in doubt by themselves.
pub(crate) fn all_taken_up(conn: &dyn Database, at_ms: i64) -> SqlResult<()> {
    if unknown_lanes(conn)?.is_none() {
        return Ok(());
    }
    take_away(conn, UNKNOWN_LANES)?;
    history::append(conn, at_ms, HistoryEvent::AllTakenUp, &json!({}))
}

fn take_away(conn: &dyn Database, lane: LaneId) -> SqlResult<()> {
    conn.execute(
        "DELETE FROM doubt WHERE chain = ?1 AND signer = ?2",
        params![lane.chain.0, lane.signer.as_slice()],
    )
    .map(drop)
}

/// Puts a lane in doubt whose account did something after `known_until_ms` that is not in the journal.
pub(crate) fn begin_for(
    conn: &dyn Database,
    lane: LaneId,
    known_until_ms: i64,
    at_ms: i64,
) -> SqlResult<()> {
    put(conn, lane, known_until_ms)?;
    let body =
        json!({"chain": lane.chain.0, "signer": lane.signer, "known_until_ms": known_until_ms});
    history::append(conn, at_ms, HistoryEvent::UsedWithoutJournal, &body)
}

/// Until when the journal knows what the lane did, Unix ms; none when it knows everything.
pub(crate) fn since(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<i64>> {
    let sql = "SELECT since_ms FROM doubt WHERE chain = ?1 AND signer = ?2";
    conn.query_row(sql, params![lane.chain.0, lane.signer.as_slice()], |row| row.get(0)).optional()
}

/// Writes down that everything up to a final block is learnt: a start that comes soon goes on there.
pub(crate) fn has_read(
    conn: &dyn Database,
    lane: LaneId,
    read: LearntUpTo,
    at_ms: i64,
) -> SqlResult<()> {
    let (number, id) = (read.number, read.id);
    let changed = conn.execute(
        "UPDATE doubt SET read_number = ?3, read_id = ?4 WHERE chain = ?1 AND signer = ?2",
        params![lane.chain.0, lane.signer.as_slice(), number, id.as_slice()],
    )?;
    if changed == 0 {
        return Ok(());
    }
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "number": number, "id": id});
    history::append(conn, at_ms, HistoryEvent::BlocksRead, &body)
}

/// Up to which final block everything is learnt; none where that was not written down.
pub(crate) fn read_until(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<LearntUpTo>> {
    let sql = "SELECT read_number, read_id FROM doubt
               WHERE chain = ?1 AND signer = ?2 AND read_number IS NOT NULL";
    let read = |row: &Row<'_>| Ok(LearntUpTo { number: row.get(0)?, id: hash(row, 1)? });
    conn.query_row(sql, params![lane.chain.0, lane.signer.as_slice()], read).optional()
}

/// Until when an old copy knows what its lanes did, Unix ms, though nothing could be written of that: the time of the
/// newest row that is written only where blocks bear out the clock; before the first of those, of the newest lane. A
/// clock that was far ahead may have dated the rows behind that, and whatever is forgotten was signed later.
pub(crate) fn known_until_ms(conn: &dyn Database) -> SqlResult<i64> {
    let known = "SELECT coalesce(
        (SELECT at_ms FROM history
         WHERE event IN ('accepted', 'signed again', 'learnt what was forgotten')
            OR event = 'gate' AND body LIKE '%\"open\":true%' ORDER BY seq DESC LIMIT 1),
        (SELECT at_ms FROM history WHERE event = 'lane opened' ORDER BY seq DESC LIMIT 1),
        (SELECT at_ms FROM history ORDER BY seq LIMIT 1), 0)";
    conn.query_row(known, [], |row| row.get(0))
}

/// When the process before this one left the journal, Unix ms: at its newest row, and where it has written
/// none, at its start. None where no process has started on the journal yet: it is new.
pub fn left_ms(conn: &dyn Database) -> SqlResult<Option<i64>> {
    // The first start is that of the process which made the file, and signed nothing.
    let left = "SELECT coalesce((SELECT at_ms FROM history ORDER BY seq DESC LIMIT 1),
                                (SELECT at_ms FROM boot WHERE seq > 1 ORDER BY seq DESC LIMIT 1))";
    conn.query_row(left, [], |row| row.get(0))
}

/// Ends the doubt: everything that was forgotten is learnt.
pub(crate) fn end(conn: &dyn Database, lane: LaneId, at_ms: i64) -> SqlResult<()> {
    take_away(conn, lane)?;
    let body = json!({"chain": lane.chain.0, "signer": lane.signer});
    history::append(conn, at_ms, HistoryEvent::LearntForgotten, &body)
}

/// Which of these transactions the journal does not know, in the same order.
pub(crate) fn unknown(conn: &dyn Database, hashes: Vec<B256>) -> SqlResult<Vec<B256>> {
    let mut select = conn.prepare_cached("SELECT 1 FROM tx WHERE hash = ?1")?;
    let ask = |hash: &B256, ask: BindValues<'_>| ask(params![hash.as_slice()]);
    let found = select.query_each(&hashes, ask, |_| Ok(()))?;
    let unknown = hashes.into_iter().zip(found).filter(|(_, found)| found.is_empty());
    Ok(unknown.map(|(hash, _)| hash).collect())
}
