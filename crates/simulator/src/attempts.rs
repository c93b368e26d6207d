//! The transactions that a journal has signed or learnt.

use crate::world::Kind;
use alloy::primitives::B256;
use rusqlite::Connection;

/// The newest batch of a journal, and the newest attempt in the place of an earlier one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewestAttempts {
    pub(crate) batch: i64,
    pub(crate) later: i64,
}

impl NewestAttempts {
    /// Those of the journal that `conn` reads.
    pub(crate) fn of(conn: &Connection) -> Self {
        let sql = "SELECT (SELECT coalesce(max(id), 0) FROM batch),
                          (SELECT coalesce(max(rowid), 0) FROM later_attempt)";
        let read = |row: &rusqlite::Row<'_>| Ok(Self { batch: row.get(0)?, later: row.get(1)? });
        conn.prepare_cached(sql).and_then(|mut one| one.query_row([], read)).unwrap_or_default()
    }
}

/// The transactions that were signed after the `known` ones.
pub(crate) fn attempts(conn: &Connection, known: NewestAttempts) -> Vec<(B256, Kind)> {
    let sql = "SELECT hash, 'bill' FROM batch WHERE id > ?1
               UNION ALL SELECT hash, kind FROM later_attempt WHERE rowid > ?2";
    let mut select = conn.prepare_cached(sql).expect("the schema has it");
    let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, String>(1)?));
    let rows = select.query_map([known.batch, known.later], row).expect("it is read");
    rows.map(|row| {
        let (hash, kind) = row.expect("a row");
        let kind = if kind == "cancel" { Kind::Cancel } else { Kind::Bill };
        (B256::from_slice(&hash), kind)
    })
    .collect()
}

/// The transactions of one batch.
pub(crate) fn attempts_of(conn: &Connection, batch: i64) -> Vec<B256> {
    let mut select = conn
        .prepare_cached("SELECT hash FROM attempt WHERE batch = ?1")
        .expect("the schema has it");
    let rows = select.query_map([batch], |row| row.get::<_, Vec<u8>>(0)).expect("it is read");
    rows.map(|row| B256::from_slice(&row.expect("a row"))).collect()
}
