//! Settled records leave the state after some time. Every subscription keeps its one row, and any record that is
//! open, differs or was not told stays as long as it does.

use super::{Book, Inbox, meta, set_meta};
use crate::schedule::rules::Rules;
use crate::store::StoreError;
use rusqlite::{Connection, params};

/// When it was last done, Unix milliseconds.
const DONE: &str = "pruned_ms";
/// Shortest time between two prunings, milliseconds.
const DAY_MS: i64 = 86_400_000;

impl Book {
    /// Drops what has been settled for longer than it is kept, once a day at most. With an inbox, a
    /// charge stays until its callback has come. Answers how many rows left.
    pub(crate) fn prune(
        &mut self,
        inbox: Inbox,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<usize, StoreError> {
        let before_ms = now_ms.saturating_sub(rules.keep_ms);
        self.store.write(|t| {
            let last = meta(t, DONE)?.unwrap_or(i64::MIN);
            if (0..DAY_MS.min(rules.keep_ms)).contains(&now_ms.saturating_sub(last)) {
                return Ok(0);
            }
            set_meta(t, DONE, now_ms)?;
            sweep(t, before_ms, inbox)
        })
    }
}

/// A member belongs to a batch, and an alias to whatever names its transaction.
fn sweep(conn: &Connection, before_ms: i64, inbox: Inbox) -> rusqlite::Result<usize> {
    let rows = [
        conn.execute(
            "DELETE FROM member WHERE batch IN
                 (SELECT id FROM batch WHERE state != 'planned' AND planned_ms < ?1)",
            [before_ms],
        )?,
        conn.execute(
            "DELETE FROM batch WHERE state != 'planned' AND planned_ms < ?1",
            [before_ms],
        )?,
        conn.execute("DELETE FROM callback WHERE matched = 1 AND heard_ms < ?1", [before_ms])?,
        conn.execute("DELETE FROM outbox WHERE sent = 1", [])?,
        conn.execute(
            "DELETE FROM charge WHERE settled_ms < ?1 AND state IN ('charged', 'failed', 'freed')
                 AND (state != 'charged' OR callback IS NOT NULL OR NOT ?2)",
            params![before_ms, inbox == Inbox::Read],
        )?,
        conn.execute(
            "DELETE FROM alias WHERE tx_hash NOT IN (SELECT tx_hash FROM flight)
                 AND tx_hash NOT IN (SELECT tx_hash FROM charge)",
            [],
        )?,
    ];
    Ok(rows.into_iter().fold(0, usize::saturating_add))
}
