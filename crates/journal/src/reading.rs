//! The tables as crates of read models see them: they are read, and nothing is written.

use crate::commit::rows;
use crate::model::Billing;
use crate::sql::{Database, Params, Row, SqlError, SqlResult, Statement};
use crate::tables::renames::Renames;
use crate::tables::{batch_hours, starts};
use crate::{Journal, JournalError, history};
use alloy::primitives::B256;
use billing::BatchId;
use std::fmt;
use std::ops::Range;

/// The number of rows of the history that are searched in one read.
const ROWS_AT_ONCE: u64 = 10_000;

/// The tables as they are between two commits.
#[derive(Clone, Copy)]
pub struct Reading<'c>(&'c dyn Database);

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reading").finish_non_exhaustive()
    }
}

impl<'c> Reading<'c> {
    pub(crate) fn of(conn: &'c dyn Database) -> Self {
        Self(conn)
    }

    /// A query that is kept for the next time. A statement of any other kind is an error.
    pub fn select(self, sql: &str) -> SqlResult<Statement<'c>> {
        if sql.trim_start().starts_with("SELECT") {
            return self.0.prepare_cached(sql);
        }
        Err(SqlError::foreign("only a SELECT reads"))
    }

    /// The first row that a query finds. It is an error if there is none.
    pub fn first<T>(
        self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.select(sql)?.query_row(params, read)
    }

    /// A batch with everything that is known of it.
    pub fn billing(self, batch: BatchId) -> SqlResult<Option<Billing>> {
        rows::billing(self.0, batch)
    }

    /// The first batch behind `after` that was accepted in `time`, Unix ms.
    pub fn first_in(self, time: &Range<i64>, after: i64) -> SqlResult<Option<i64>> {
        batch_hours::first_in(self.0, time, after)
    }

    /// The last batch before `before` that was accepted in `time`, Unix ms.
    pub fn last_in(self, time: &Range<i64>, before: i64) -> SqlResult<Option<i64>> {
        batch_hours::last_in(self.0, time, before)
    }

    /// The present ids of chains that had others before.
    pub fn renames(self) -> SqlResult<Renames> {
        Renames::read(self.0)
    }
}

impl Journal {
    /// Looks at the tables between two commits. A commit waits for `query`, so it is to be short.
    pub async fn look<T: Send + 'static>(
        &self,
        query: impl FnOnce(Reading<'_>) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.queue.read(move |conn| query(Reading::of(conn))).await
    }

    /// Returns the digest of the history's row that wrote down the end of a batch, which ended at this time (Unix ms);
    /// none if the batch has not ended here. Looks first where that time is, and then farther and farther from there: a
    /// clock may have gone back.
    pub async fn end_in_history(
        &self,
        batch: BatchId,
        settled_ms: i64,
    ) -> Result<Option<B256>, JournalError> {
        let near = move |conn: &dyn Database| {
            let behind = history::head(conn)?.row.saturating_add(1);
            Ok((history::first_since(conn, settled_ms)?, behind))
        };
        let (near, behind): (u64, u64) = self.queue.read(near).await?;
        for rows in outward(near, behind) {
            let found = self.queue.read(move |conn| history::end_of(conn, batch, &rows)).await?;
            if let Some(digest) = found {
                return Ok(B256::try_from(digest.as_slice()).ok());
            }
        }
        Ok(None)
    }

    /// The name of this journal among all others: the id of the first start on it. None: nobody has begun on it.
    pub async fn name(&self) -> Result<Option<[u8; 16]>, JournalError> {
        self.queue.read(starts::first).await
    }
}

/// The rows below `behind`, some at a time: those from `near` on and those before by turns, farther and farther away.
fn outward(near: u64, behind: u64) -> impl Iterator<Item = Range<u64>> {
    let steps = 0..=behind.div_ceil(ROWS_AT_ONCE);
    let both = steps.flat_map(move |step| {
        let away = step.saturating_mul(ROWS_AT_ONCE);
        let (from, end) = (near.saturating_add(away), near.saturating_sub(away));
        let above = from..from.saturating_add(ROWS_AT_ONCE).min(behind);
        [above, end.saturating_sub(ROWS_AT_ONCE)..end]
    });
    both.filter(|rows| !rows.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_looked_at_once_wherever_the_search_begins() {
        let behind = 3 * ROWS_AT_ONCE + 5;
        for near in [0, 1, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE + 7, behind] {
            let first = outward(near, behind).next().unwrap();
            assert!(first.contains(&near) || near == behind, "{first:?}");
            let mut rows: Vec<u64> = outward(near, behind).flatten().collect();
            rows.sort_unstable();
            assert!(rows.into_iter().eq(0..behind), "from {near}");
        }
        assert_eq!(outward(1, 1).next(), Some(0..1));
    }
}
