//! The scheduler's state on disk. Every method that changes it is one durable transaction, and each
//! step of the loop is one such method: killed between two of them, the next process goes on there.

mod batches;
mod callbacks;
mod differences;
mod flights;
mod listing;
mod outbox;
mod pruning;
mod standings;

pub(crate) use batches::Batch;
pub(crate) use callbacks::{Callback, Who};
pub(crate) use flights::{Flight, Look};
pub(crate) use listing::{Admitted, Listed};
pub(crate) use outbox::Letter;

use super::standing::Standing;
use crate::store::{Shape, Store, StoreError};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::path::Path;

/// Marks the file as a scheduler's: "DUES".
const SHAPE: Shape = Shape {
    name: "scheduler's state",
    application_id: 0x4455_4553,
    version: 2,
    schema: include_str!("book/schema.sql"),
    indexes: include_str!("book/indexes.sql"),
};

/// The query for the number of subscriptions in each standing.
const CENSUS: &str = "SELECT word, count(*) FROM subscription GROUP BY word ORDER BY word";

/// The inbox beside a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inbox {
    /// Its callbacks are read into the book.
    Read,
    /// There is none.
    None,
}

/// The scheduler's state.
#[derive(Debug)]
pub(crate) struct Book {
    store: Store,
}

impl Book {
    /// Opens the state for this process alone; a second scheduler is refused.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        Store::open(path, &SHAPE).map(|store| Self { store })
    }

    /// Opens the state beside a scheduler, to read it.
    pub(crate) fn beside(path: &Path) -> Result<Self, StoreError> {
        Store::beside(path, &SHAPE).map(|store| Self { store })
    }

    /// Counts a run, and answers its number.
    pub(crate) fn begin_run(&mut self) -> Result<i64, StoreError> {
        self.store.write(|t| {
            let run = meta(t, "runs")?.unwrap_or(0).saturating_add(1);
            set_meta(t, "runs", run)?;
            Ok(run)
        })
    }

    /// A number that no other scheduler's state has: its letters are known by it.
    pub(crate) fn identity(&mut self) -> Result<i64, StoreError> {
        self.store.write(|t| {
            if let Some(known) = meta(t, "identity")? {
                return Ok(known);
            }
            let made = t.query_row("SELECT abs(random())", [], |row| row.get(0))?;
            set_meta(t, "identity", made)?;
            Ok(made)
        })
    }

    /// The standing of one subscription.
    pub(crate) fn standing(&self, key: (i64, i64)) -> Result<Option<Standing>, StoreError> {
        Ok(standings::standing(self.store.conn(), key)?)
    }

    /// Returns the number of subscriptions in each standing: (word, number).
    pub(crate) fn census(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let mut statement = self.store.conn().prepare_cached(CENSUS)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn meta(conn: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached("SELECT value FROM meta WHERE name = ?1")?
        .query_row([name], |row| row.get(0))
        .optional()
}

fn set_meta(conn: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?
        .execute(params![name, value])
        .map(drop)
}

#[cfg(test)]
mod tests;
