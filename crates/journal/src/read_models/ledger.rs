//! The ledger: every charge that was ever signed or learnt, one after the other, read in short steps so
//! that no commit waits long for a reader.

mod wanted_batches;
mod with_refusals;

pub use with_refusals::{FullLedger, LedgerLine, LedgerLines, REFUSED};

use crate::commit::rows;
use crate::model::Billing;
use crate::read_models::ledger_filter::{LedgerFilter, LedgerOrder, LedgerPlace, PlaceInBatch};
use crate::sql::{Database, OptionalExtension as _, SqlResult};
use crate::{Journal, JournalError};
use billing::BatchId;
use std::sync::Arc;
use wanted_batches::StepBatches;

/// The number of batches that one step looks at: a commit waits for no more than these.
const STEP: i64 = 64;

/// A charge, with the batch that it is part of.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// The batch.
    pub billing: Arc<Billing>,
    /// Which of its charges.
    pub item: usize,
}

impl LedgerEntry {
    /// Returns the entry's place in the ledger.
    pub fn place(&self) -> LedgerPlace {
        LedgerPlace { batch: self.billing.batch, item: PlaceInBatch::Charge(self.item) }
    }
}

/// The findings of one step.
#[derive(Clone, Debug)]
pub(crate) struct LedgerStep {
    /// The charges, in the order that was asked for.
    pub(crate) found: Vec<LedgerEntry>,
    /// After which place the next step begins; none when the ledger is at its end.
    pub(crate) next: Option<LedgerPlace>,
    /// The journal's newest batch; 0 when it has none.
    pub(crate) newest: BatchId,
}

impl Journal {
    /// One step through the charges of the ledger: see [`LedgerStep`]. `limit` is 1 or more.
    pub(crate) async fn ledger_step(
        &self,
        filter: LedgerFilter,
        order: LedgerOrder,
        after: Option<LedgerPlace>,
        limit: usize,
    ) -> Result<LedgerStep, JournalError> {
        self.read(move |conn| step(conn, &filter, order, after, limit)).await
    }

    /// The newest batch; 0 when there is none.
    pub async fn newest_batch(&self) -> Result<BatchId, JournalError> {
        self.read(newest).await
    }

    /// Returns the name of this journal among all others: the id of the first start on it.
    pub async fn name(&self) -> Result<Option<[u8; 16]>, JournalError> {
        self.read(name).await
    }
}

fn newest(conn: &dyn Database) -> SqlResult<BatchId> {
    let sql = "SELECT coalesce(max(id), 0) FROM batch";
    conn.prepare_cached(sql)?.query_row([], |row| Ok(BatchId(row.get(0)?)))
}

/// Looks at the batches after `after` (from the ledger's end without it), and finds at most `limit`
/// charges, which is 1 or more.
pub(crate) fn step(
    conn: &dyn Database,
    filter: &LedgerFilter,
    order: LedgerOrder,
    after: Option<LedgerPlace>,
    limit: usize,
) -> SqlResult<LedgerStep> {
    let newest = newest(conn)?.0;
    let start = after.map(|place| place.batch.0);
    let StepBatches { batches, next } = wanted_batches::look(conn, filter, order, start, newest)?;
    let mut found = Vec::new();
    for batch in batches {
        let Some(billing) = rows::billing(conn, batch)?.map(Arc::new) else { continue };
        let wanted =
            billing.items.iter().enumerate().filter(|(_, line)| filter.wants(&billing, line));
        let mut entries: Vec<_> = wanted
            .map(|(item, _)| LedgerEntry { billing: Arc::clone(&billing), item })
            .filter(|entry| after.is_none_or(|after| order.is_later(entry.place(), after)))
            .collect();
        if order == LedgerOrder::Newest {
            entries.reverse();
        }
        found.extend(entries);
        if found.len() >= limit {
            found.truncate(limit);
            let next = found.last().map(LedgerEntry::place);
            return Ok(LedgerStep { found, next, newest: BatchId(newest) });
        }
    }
    Ok(LedgerStep { found, next, newest: BatchId(newest) })
}

/// Returns the name of this journal among all others: the id of the first start on it. None before there was one.
pub(crate) fn name(conn: &dyn Database) -> SqlResult<Option<[u8; 16]>> {
    conn.query_row("SELECT id FROM boot ORDER BY seq LIMIT 1", [], |row| row.get(0)).optional()
}
