//! The amounts that batches added to the sums of days and gave back, compared with the history. Only batches that
//! were open at the same time are held in memory.

use crate::commit::day_sums::{self, decimal};
use crate::history::HistoryRow;
use crate::model::{Added, BatchEvent, Corrected, DayAmount, DayCount};
use crate::sql::Database;
use alloy::primitives::U256;
use billing::BatchId;
use policy::utc_day;
use serde_json::Value;
use std::collections::BTreeMap;

/// The amounts that one batch counted, by day and unit.
type CountedOf = BTreeMap<(i64, String), Sum>;

#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    items: String,
    added: U256,
    given_back: U256,
}

/// The amounts counted by batches that have not ended yet.
#[derive(Debug, Default)]
pub(super) struct Sums {
    open: BTreeMap<BatchId, CountedOf>,
}

impl Sums {
    /// Takes in one row. A batch that ends is compared.
    pub(super) fn follow(
        &mut self,
        conn: &dyn Database,
        row: &HistoryRow<'_>,
        body: &Value,
    ) -> Option<String> {
        let batch = body.get("batch").and_then(Value::as_i64).map(BatchId)?;
        match row.kind()?.of_batch()? {
            BatchEvent::Accepted | BatchEvent::Adopted | BatchEvent::SignedAgain => {
                let counted = self.open.entry(batch).or_default();
                for Added { unit, items, amount } in list(body, "counted") {
                    let sum = counted.entry((utc_day(row.at_ms), unit)).or_default();
                    sum.items = items;
                    sum.added = sum.added.saturating_add(decimal(&amount));
                }
                None
            }
            BatchEvent::Settled => {
                let mut counted = self.open.remove(&batch).unwrap_or_default();
                let Corrected { given_back, counted: taken } = corrected(body);
                for DayAmount { day, unit, amount } in given_back {
                    counted.entry((day, unit)).or_default().given_back = decimal(&amount);
                }
                for DayAmount { day, unit, amount } in taken {
                    let sum = counted.entry((day, unit)).or_default();
                    sum.added = sum.added.saturating_add(decimal(&amount));
                }
                compare(conn, batch, &counted)
            }
            BatchEvent::Resolved => None,
        }
    }

    /// Compares those batches that have not ended.
    pub(super) fn unfinished(&self, conn: &dyn Database) -> Vec<String> {
        let all = self.open.iter().map(|(batch, counted)| compare(conn, *batch, counted));
        all.flatten().collect()
    }
}

fn compare(conn: &dyn Database, batch: BatchId, told: &CountedOf) -> Option<String> {
    let found = day_sums::counted(conn, batch).unwrap_or_default();
    let count = found.len();
    let each = found.into_iter().map(|DayCount { day, unit, items, amount, given_back }| {
        let (added, given_back) = (decimal(&amount), decimal(&given_back));
        ((day, unit), Sum { items, added, given_back })
    });
    let found: CountedOf = each.collect();
    let differs = found.len() != count || found != *told;
    differs.then(|| format!("batch {} counted otherwise than the history says", batch.0))
}

fn list(body: &Value, key: &str) -> Vec<Added> {
    let told = body.get(key).cloned().unwrap_or_default();
    serde_json::from_value(told).unwrap_or_default()
}

fn corrected(body: &Value) -> Corrected {
    let told = body.get("corrected").cloned().unwrap_or_default();
    serde_json::from_value(told).unwrap_or_default()
}
