//! The letters to the merchant: written with the change that they tell of, kept until the inbox has them.

use super::Book;
use crate::store::StoreError;
use rusqlite::{Connection, params};

/// Something to tell. The id is its name for ever: the inbox recognises a second delivery by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) id: i64,
    /// Letters of one stream keep their order.
    pub(crate) stream: String,
    /// JSON.
    pub(crate) body: String,
}

/// Adds a letter to the transaction that it tells of.
pub(super) fn add(conn: &Connection, stream: &str, body: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO outbox (stream, body) VALUES (?1, ?2)")?
        .execute(params![stream, body])
        .map(drop)
}

impl Book {
    /// The oldest letters that are not sent.
    pub(crate) fn letters(&self, most: u32) -> Result<Vec<Letter>, StoreError> {
        let sql = "SELECT id, stream, body FROM outbox WHERE sent = 0 ORDER BY id LIMIT ?1";
        let mut statement = self.store.conn().prepare_cached(sql)?;
        let rows = statement.query_map([most], |row| {
            Ok(Letter { id: row.get(0)?, stream: row.get(1)?, body: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the number of letters that are not sent.
    pub(crate) fn waiting_letters(&self) -> Result<i64, StoreError> {
        let sql = "SELECT count(*) FROM outbox WHERE sent = 0";
        Ok(self.store.conn().prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    /// Every letter up to this one has arrived.
    pub(crate) fn sent(&mut self, up_to: i64) -> Result<(), StoreError> {
        self.store.write(|t| {
            t.execute("UPDATE outbox SET sent = 1 WHERE sent = 0 AND id <= ?1", [up_to]).map(drop)
        })
    }
}
