//! The log of a database, and what becomes of it when a connection is closed.

use rusqlite::Connection;
use rusqlite::config::DbConfig;

/// The log of a connection that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogAtClose {
    /// All of it is written to the file.
    Merged,
    /// Nothing of it is written to the file.
    Kept,
}

/// Says what becomes of the log when the connection is closed.
pub(crate) fn when_closed(conn: &Connection, log: LogAtClose) -> rusqlite::Result<()> {
    let kept = log == LogAtClose::Kept;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, kept).map(drop)
}
