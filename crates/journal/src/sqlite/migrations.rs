//! From one version of the schema to the next. `schema.sql` is the oldest version that is kept; each
//! later one is a step here, for files and for servers, and a new journal is made by taking them all. A step is taken
//! while no Signer has the journal, all of them in one transaction: in a file by whoever opens it, on a server by the
//! owner of its tables (crates/journal-pg/src/steps.rs).
//!
//! A step that was released is never changed. docs/versions.md says what is promised.

use crate::sql::SqlResult;
use crate::{HistoryEvent, history};
use rusqlite::Connection;
use serde_json::json;

/// The version that `schema.sql` makes: the oldest that can be opened.
pub const OLDEST: i64 = 5;

/// Every later version, in order.
pub const STEPS: &[Migration] = &[];

/// The step that makes a version out of the one before it.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// The version that it makes: one more than that of the step before it.
    pub to: i64,
    /// The statements for a journal in a file.
    pub in_file: &'static str,
    /// The statements for a journal on a server.
    pub on_server: &'static str,
}

/// The steps that a program knows.
#[derive(Clone, Copy, Debug)]
pub struct Steps(pub &'static [Migration]);

impl Default for Steps {
    /// Those of this program.
    fn default() -> Self {
        Self(STEPS)
    }
}

impl Steps {
    /// The version that the last of them makes.
    pub fn newest(self) -> i64 {
        newest(self.0)
    }
}

/// The version that the last of `steps` makes.
pub(crate) fn newest(steps: &[Migration]) -> i64 {
    steps.last().map_or(OLDEST, |step| step.to)
}

/// Takes every step that the journal has not taken, all of them in one transaction. Each is a row of
/// the history.
pub(crate) fn migrate(conn: &Connection, steps: &[Migration]) -> SqlResult<()> {
    let version = |conn: &Connection| {
        conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    let found = version(conn)?;
    if found >= newest(steps) {
        return Ok(());
    }
    let transaction = conn.unchecked_transaction()?;
    // Rebuilding a table passes through states in which rows refer to nothing.
    transaction.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    let newest_ms = "SELECT coalesce((SELECT at_ms FROM history ORDER BY seq DESC LIMIT 1), 0)";
    for step in steps.iter().filter(|step| step.to > found) {
        transaction.execute_batch(step.in_file)?;
        transaction.pragma_update(None, "user_version", step.to)?;
        let at_ms = transaction.query_row(newest_ms, [], |row| row.get(0))?;
        history::append(
            &*transaction,
            at_ms,
            HistoryEvent::Migrated,
            &json!({ "version": step.to }),
        )?;
    }
    transaction.commit()?;
    tracing::warn!(from = found, to = newest(steps), "the journal was brought to a newer version");
    Ok(())
}
