//! Which file a log belongs on. A journal that nobody closed is a file and the log (`-wal`) of what was committed
//! since the log began. Put an old copy of the file under it, and the two make a journal that never was.
//!
//! So the first row of the history in every log says that a log begins there (behind the one that says that an
//! old copy was noticed, where followers learn that the history has parted). Its digest goes on from the newest
//! row that the file held then: what follows the file's own newest row has to be such a row, and the only one.

use crate::HistoryEvent;
use crate::history::{self, HistoryRow};
use crate::sql::{Database, SqlResult};
use rusqlite::Connection;
use serde_json::json;

/// The number of pages of the log that are written to the file at once: 32 MiB.
const PAGES: i64 = 8192;

/// Returns true if the next commit is the first of a new log. Asked before a transaction begins.
pub(crate) fn log_begins(conn: &Connection) -> rusqlite::Result<bool> {
    let (logged, written) = checkpoint(conn, "PRAGMA wal_checkpoint(NOOP)")?;
    Ok(logged == written)
}

/// Writes down that a log begins, inside the transaction that begins it. It has the time of the row before it: by
/// the newest row's is told what a process knew last.
pub(crate) fn begin_log(conn: &dyn Database) -> SqlResult<()> {
    let newest_ms = "SELECT coalesce((SELECT at_ms FROM history ORDER BY seq DESC LIMIT 1), 0)";
    let at_ms = conn.query_row(newest_ms, [], |row| row.get(0))?;
    history::append(conn, at_ms, HistoryEvent::LogBegun, &json!({}))
}

/// Writes the log to the file, if a process has left one. It has proven whole by what the system remembers of it, which
/// need not be on the disk: a write that failed is told once, to the process that ends by it. Of what is in the file
/// nothing is lost with the log.
pub(crate) fn write_left_log(conn: &Connection) -> rusqlite::Result<()> {
    checkpoint(conn, "PRAGMA wal_checkpoint(PASSIVE)").map(drop)
}

/// Writes a long log to the file, after which the next commit begins another one.
pub(crate) fn write_long_log(conn: &Connection) -> rusqlite::Result<()> {
    let (logged, written) = checkpoint(conn, "PRAGMA wal_checkpoint(NOOP)")?;
    if logged.saturating_sub(written) >= PAGES {
        checkpoint(conn, "PRAGMA wal_checkpoint(PASSIVE)")?;
    }
    Ok(())
}

/// Returns the number of pages that the log has, and the number of them that the file has as well.
fn checkpoint(conn: &Connection, how: &str) -> rusqlite::Result<(i64, i64)> {
    conn.prepare_cached(how)?.query_row([], |row| Ok((row.get(1)?, row.get(2)?)))
}

/// The evidence of a file and its log on whether they belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belonging {
    /// The log was begun on just this file.
    Proven,
    /// Nothing: the log was begun by a program that wrote down nothing, or is in the file already.
    Unsaid,
    /// The log was begun on another file, unless this one was just being written.
    Doubtful,
}

/// Checks that the log under `conn` was begun on just the file that `alone` reads without it.
pub(crate) fn belonging(alone: &Connection, conn: &dyn Database) -> SqlResult<Belonging> {
    let base = history::newest(alone)?;
    let rows = "SELECT seq, at_ms, event, body, digest FROM history WHERE seq > ?1 ORDER BY seq";
    let mut select = conn.prepare_cached(rows)?;
    let mut rows = select.query([base.seq])?;
    let (mut last, mut before) = (base.seq, base.digest);
    let (mut found, mut first) = (Belonging::Unsaid, true);
    while let Some(row) = rows.next_row()? {
        let (event, body): (String, String) = (row.get(2)?, row.get(3)?);
        let read = HistoryRow { seq: row.get(0)?, at_ms: row.get(1)?, event: &event, body: &body };
        let digest: Vec<u8> = row.get(4)?;
        let follows =
            last.checked_add(1) == Some(read.seq) && read.digest(&before).as_slice() == digest;
        found = match (follows, read.kind() == Some(HistoryEvent::LogBegun)) {
            (true, false) => found,
            (true, true) if first => Belonging::Proven,
            (false, _) | (true, true) => return Ok(Belonging::Doubtful),
        };
        first &= read.kind() == Some(HistoryEvent::Restored);
        (last, before) = (read.seq, digest);
    }
    Ok(found)
}
