//! The audit: every table held against the history, and the history against itself. It only reads.
//!
//! One walk through the history, oldest row first: each batch is compared with what the rows say of it
//! when they come by, and what the small tables hold is put together again on the way.

mod batches;
mod small_tables;
mod sums;

use crate::commit::day_sums;
use crate::history::HistoryRow;
use crate::model::HistoryHead;
use crate::sql::{Database, SqlResult};
use crate::tables::profiles::ProfileAudit;
use crate::tables::renames::Renames;
use batches::BatchAudit;
use serde_json::Value;
use small_tables::SmallTables;
use std::borrow::Cow;
use sums::Sums;

/// After how many rows whoever watches an audit is told.
const WATCHED: u64 = 10_000;

/// Told from time to time how many rows of the history are looked at, and of how many.
pub type AuditWatch<'a> = &'a mut (dyn FnMut(u64, u64) + Send);

/// The findings of an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Batches whose claims, bytes and end were compared with the history.
    pub batches: u64,
    /// The last row of the history.
    pub head: HistoryHead,
    /// The faults found; empty if there are none.
    pub faults: Vec<String>,
}

/// Verifies everything, in one walk through the history.
pub fn watched(
    conn: &dyn Database,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> SqlResult<Audit> {
    let newest = "SELECT coalesce(max(seq), 0) FROM history";
    let all: u64 = conn.query_row(newest, [], |row| row.get(0))?;
    let mut walk = Walk {
        conn,
        kept,
        renames: Renames::read(conn)?,
        told: BatchAudit::default(),
        tables: SmallTables::default(),
        sums: Sums::default(),
        profiles: ProfileAudit::default(),
        faults: Vec::new(),
        before: Vec::new(),
        last: 0,
    };
    let mut after = Some(i64::MIN);
    while let Some(seq) = after {
        after = walk.page(seq, &mut |row| {
            if row.is_multiple_of(WATCHED) || row == all {
                watch(row, all);
            }
        })?;
    }
    let head = HistoryHead { row: walk.last, digest: hex::encode(&walk.before) };
    walk.finish(head)
}

/// The progress of the walk.
struct Walk<'a> {
    conn: &'a dyn Database,
    kept: &'a [HistoryHead],
    renames: Renames,
    told: BatchAudit,
    tables: SmallTables,
    sums: Sums,
    profiles: ProfileAudit,
    faults: Vec<String>,
    /// The digest of the row before.
    before: Vec<u8>,
    /// Its number.
    last: u64,
}

impl Walk<'_> {
    /// Passes some rows behind `after`, since a server hands over all that it is asked for at once. Tells what
    /// comes next; none at the end, or behind a row that is missing.
    fn page(&mut self, after: i64, watch: &mut dyn FnMut(u64)) -> SqlResult<Option<i64>> {
        let page = "SELECT seq, at_ms, event, body, digest FROM history
                    WHERE seq > ?1 ORDER BY seq LIMIT 1000";
        let mut select = self.conn.prepare_cached(page)?;
        let mut rows = select.query([after])?;
        let mut next = None;
        while let Some(row) = rows.next_row()? {
            let (event, body): (String, String) = (row.get(2)?, row.get(3)?);
            let read =
                HistoryRow { seq: row.get(0)?, at_ms: row.get(1)?, event: &event, body: &body };
            let digest: Vec<u8> = row.get(4)?;
            let last = self.last.saturating_add(1);
            self.last = last;
            if i64::try_from(last) != Ok(read.seq) {
                self.faults.push(format!("history row {last} is missing"));
                return Ok(None);
            }
            if read.digest(&self.before).as_slice() != digest {
                let fault = format!("history row {last} does not follow from the one before it");
                self.faults.push(fault);
            }
            self.pass(&read, &digest)?;
            watch(last);
            (self.before, next) = (digest, Some(read.seq));
        }
        Ok(next)
    }

    fn pass(&mut self, row: &HistoryRow<'_>, digest: &[u8]) -> SqlResult<()> {
        for kept in self.kept.iter().filter(|kept| i64::try_from(kept.row) == Ok(row.seq)) {
            if !hex::encode(digest).starts_with(&kept.digest) {
                self.faults.push(format!("history row {} is not the one that was kept", kept.row));
            }
        }
        let body: Value = serde_json::from_str(row.body).unwrap_or_default();
        let by_now = if self.renames.is_empty() {
            Cow::Borrowed(&body)
        } else {
            Cow::Owned(self.renames.in_terms_of_now(row.seq, row.body))
        };
        self.faults.extend(self.told.compare(self.conn, row, &by_now)?);
        self.faults.extend(self.profiles.follow(self.conn, row, &body)?);
        self.faults.extend(self.tables.follow(row, &body));
        self.faults.extend(self.sums.follow(self.conn, row, &body));
        Ok(())
    }

    fn finish(mut self, head: HistoryHead) -> SqlResult<Audit> {
        for kept in self.kept.iter().filter(|kept| kept.row > head.row) {
            self.faults.push(format!(
                "history row {} was kept, but the history ends with row {}",
                kept.row, head.row
            ));
        }
        self.faults.extend(self.told.count(self.conn)?);
        self.faults.extend(self.tables.differences(self.conn)?);
        self.faults.extend(self.sums.unfinished(self.conn));
        self.faults.extend(self.profiles.untold(self.conn)?);
        match day_sums::faults(self.conn) {
            Ok(faults) => self.faults.extend(faults),
            Err(error) => self.faults.push(format!("the sums of a day cannot be read: {error}")),
        }
        self.faults.extend(orphans(self.conn)?);
        Ok(Audit { batches: self.told.batches(), head, faults: self.faults })
    }
}

/// Rows that refer to nothing.
fn orphans(conn: &dyn Database) -> SqlResult<Vec<String>> {
    let told = |(table, parent)| format!("rows of {table} refer to rows of {parent} that are gone");
    Ok(conn.orphans()?.into_iter().map(told).collect())
}
