//! Starts of processes on the journal, each with a random id.

use crate::model::BootId;
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};

/// Writes down a start.
pub fn insert_boot(conn: &dyn Database, boot: BootId, at_ms: i64) -> SqlResult<()> {
    conn.execute("INSERT INTO boot (id, at_ms) VALUES (?1, ?2)", params![boot.0, at_ms]).map(drop)
}

/// The newest start that is written down.
pub fn newest_boot(conn: &dyn Database) -> SqlResult<Option<BootId>> {
    let newest = "SELECT id FROM boot ORDER BY seq DESC LIMIT 1";
    let newest = conn.prepare_cached(newest)?.query_row([], |row| row.get(0));
    Ok(newest.optional()?.map(BootId::new))
}

/// The id of the first start. None: there was none yet.
pub(crate) fn first(conn: &dyn Database) -> SqlResult<Option<[u8; 16]>> {
    conn.query_row("SELECT id FROM boot ORDER BY seq LIMIT 1", [], |row| row.get(0)).optional()
}
