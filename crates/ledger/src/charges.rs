//! Every charge that was ever signed or learnt, one after the other, read in short steps so
//! that no commit waits long for a reader.

mod wanted_batches;

use crate::filter::{LedgerFilter, LedgerOrder, LedgerPlace, PlaceInBatch};
use billing::BatchId;
use journal::sql::SqlResult;
use journal::{Billing, Journal, JournalError, Reading};
use std::sync::Arc;
use wanted_batches::StepBatches;

/// The number of batches that one step looks at: a commit waits for no more than these.
const STEP: i64 = 64;

/// The number of charges after which a step looks at no further batch, wanted or not: large batches are fewer.
const MOST_CHARGES: usize = 2_000;

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

/// The newest batch; 0 when there is none.
pub async fn newest_batch(journal: &Journal) -> Result<BatchId, JournalError> {
    journal.look(newest).await
}

/// One step through the charges of a journal. `limit` is 1 or more.
pub(crate) async fn step_of(
    journal: &Journal,
    filter: LedgerFilter,
    order: LedgerOrder,
    after: Option<LedgerPlace>,
    limit: usize,
) -> Result<LedgerStep, JournalError> {
    journal.look(move |tables| step(tables, &filter, order, after, limit)).await
}

fn newest(tables: Reading<'_>) -> SqlResult<BatchId> {
    let sql = "SELECT coalesce(max(id), 0) FROM batch";
    tables.select(sql)?.query_row([], |row| Ok(BatchId(row.get(0)?)))
}

/// Looks at the batches after `after` (from the ledger's end without it), and finds at most `limit`
/// charges, which is 1 or more.
fn step(
    tables: Reading<'_>,
    filter: &LedgerFilter,
    order: LedgerOrder,
    after: Option<LedgerPlace>,
    limit: usize,
) -> SqlResult<LedgerStep> {
    let newest = newest(tables)?.0;
    let start = after.map(|place| place.batch.0);
    let StepBatches { batches, next } = wanted_batches::look(tables, filter, order, start, newest)?;
    let (mut found, mut looked) = (Vec::new(), 0_usize);
    for batch in batches {
        let Some(billing) = tables.billing(batch)?.map(Arc::new) else { continue };
        looked = looked.saturating_add(billing.items.len());
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
        if looked >= MOST_CHARGES {
            let next = Some(order.behind(batch.0));
            return Ok(LedgerStep { found, next, newest: BatchId(newest) });
        }
    }
    Ok(LedgerStep { found, next, newest: BatchId(newest) })
}
