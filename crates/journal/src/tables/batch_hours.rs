//! The hours in which batches were accepted, for whoever looks for a time among millions of batches. Batches are nearly
//! in the order of their times, and a clock may be set back: so every stretch of their numbers has all its hours.

use crate::sql::{Database, SqlResult, params};
use billing::BatchId;
use std::ops::Range;

/// An hour, ms.
const HOUR_MS: i64 = 3_600_000;

/// The number of batches in a stretch.
const STRETCH: i64 = 1024;

/// Lists the hour of a batch that was accepted at `at_ms` (Unix ms).
pub(crate) fn list(conn: &dyn Database, batch: BatchId, at_ms: i64) -> SqlResult<()> {
    let sql = "INSERT INTO batch_hour (hour, stretch) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    conn.prepare_cached(sql)?.queue(params![at_ms.div_euclid(HOUR_MS), batch.0.div_euclid(STRETCH)])
}

/// Returns the number of batches whose hours are not listed.
pub(crate) fn unlisted(conn: &dyn Database) -> SqlResult<u64> {
    let sql = format!(
        "SELECT count(*) FROM batch WHERE NOT EXISTS (SELECT 1 FROM batch_hour
             WHERE hour = accepted_ms / {HOUR_MS} AND stretch = id / {STRETCH})"
    );
    conn.query_row(&sql, [], |row| row.get(0))
}

/// Returns the first batch behind `after` that was accepted in `time` (Unix ms).
pub(crate) fn first_in(
    conn: &dyn Database,
    time: &Range<i64>,
    after: i64,
) -> SqlResult<Option<i64>> {
    let mut from = after.saturating_add(1);
    let sql = "SELECT min(stretch) FROM batch_hour WHERE hour BETWEEN ?1 AND ?2 AND stretch >= ?3";
    while let Some(stretch) = stretch(conn, sql, time, from)? {
        let last = stretch.saturating_add(1).saturating_mul(STRETCH).saturating_sub(1);
        let range = from.max(stretch.saturating_mul(STRETCH))..last.saturating_add(1);
        if let Some(batch) = batch(conn, "min", time, &range)? {
            return Ok(Some(batch));
        }
        from = range.end;
    }
    Ok(None)
}

/// Returns the last batch before `before` that was accepted in `time` (Unix ms).
pub(crate) fn last_in(
    conn: &dyn Database,
    time: &Range<i64>,
    before: i64,
) -> SqlResult<Option<i64>> {
    let mut until = before;
    let sql = "SELECT max(stretch) FROM batch_hour WHERE hour BETWEEN ?1 AND ?2 AND stretch <= ?3";
    while let Some(stretch) = stretch(conn, sql, time, until.saturating_sub(1))? {
        let first = stretch.saturating_mul(STRETCH);
        let range = first..until.min(first.saturating_add(STRETCH));
        if let Some(batch) = batch(conn, "max", time, &range)? {
            return Ok(Some(batch));
        }
        until = range.start;
    }
    Ok(None)
}

/// The next stretch with an hour of `time`, from the one of `batch` on.
fn stretch(
    conn: &dyn Database,
    sql: &str,
    time: &Range<i64>,
    batch: i64,
) -> SqlResult<Option<i64>> {
    let [first, last] = [time.start, time.end.saturating_sub(1)].map(|ms| ms.div_euclid(HOUR_MS));
    conn.prepare_cached(sql)?
        .query_row(params![first, last, batch.div_euclid(STRETCH)], |row| row.get(0))
}

/// The first or the last batch of a range of numbers that was accepted in `time`.
fn batch(
    conn: &dyn Database,
    which: &str,
    time: &Range<i64>,
    range: &Range<i64>,
) -> SqlResult<Option<i64>> {
    let sql = format!(
        "SELECT {which}(id) FROM batch
         WHERE id >= ?1 AND id < ?2 AND accepted_ms >= ?3 AND accepted_ms < ?4"
    );
    conn.prepare_cached(&sql)?
        .query_row(params![range.start, range.end, time.start, time.end], |row| row.get(0))
}
