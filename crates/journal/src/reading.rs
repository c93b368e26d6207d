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

    /// Returns the digest of the history's row that wrote down the end of a batch, looking from the newest row back;
    /// none if the batch has not ended here.
    pub async fn end_in_history(&self, batch: BatchId) -> Result<Option<B256>, JournalError> {
        let mut end = self.queue.read(history::head).await?.row.saturating_add(1);
        while end > 0 {
            let rows = end.saturating_sub(ROWS_AT_ONCE)..end;
            end = rows.start;
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
