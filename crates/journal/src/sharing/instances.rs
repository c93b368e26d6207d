//! The processes that have one journal on a server: the one that serves, and those that stand by.

use crate::model::{BootId, Instance};
use crate::sql::{Database, OptionalExtension as _, SqlResult};
use crate::{Journal, JournalError};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// Which of them there are.
#[derive(Debug, Default)]
pub(crate) struct InstanceTable(RwLock<Vec<Instance>>);

impl InstanceTable {
    pub(crate) fn all(&self) -> Vec<Instance> {
        self.0.read().clone()
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn replace(&self, now: Vec<Instance>) {
        *self.0.write() = now;
    }
}

/// The knowledge that a serving process has of the others.
#[derive(Debug)]
pub(crate) struct Instances {
    /// Its own start.
    pub(crate) boot: BootId,
    /// The start of whoever had the journal before.
    pub(crate) before: Option<BootId>,
    /// The present reading of that process's clock, Unix ms.
    pub(crate) clock_before_ms: Option<i64>,
    pub(crate) roll: Arc<InstanceTable>,
    /// The place up to which the webhook was told.
    pub(crate) told: Mutex<Option<String>>,
    /// Why it could bill on no chain, if that is so.
    pub(crate) unfit: Mutex<Option<String>>,
}

/// The newest start that is written down.
pub(crate) fn newest_boot(conn: &dyn Database) -> SqlResult<Option<BootId>> {
    let newest = "SELECT id FROM boot ORDER BY seq DESC LIMIT 1";
    let newest = conn.prepare_cached(newest)?.query_row([], |row| row.get(0));
    Ok(newest.optional()?.map(BootId::new))
}

impl Journal {
    /// Returns the instances that share the journal, the one that serves first. Empty if the journal is a file.
    pub fn instances(&self) -> Vec<Instance> {
        self.company.as_ref().map(|company| company.roll.all()).unwrap_or_default()
    }

    /// Makes sure that no other process has begun on the journal until now. Earlier findings from the journal and
    /// from the chain are then as true as if there were no other process at all.
    pub async fn is_still_ours(&self) -> Result<(), JournalError> {
        let Some(company) = &self.company else { return Ok(()) };
        let newest = self.read(newest_boot).await?;
        if newest == Some(company.boot) { Ok(()) } else { Err(JournalError::TakenOver) }
    }

    /// The name of this start, and that of the one before it; none where the journal is a file.
    pub fn starts(&self) -> (Option<String>, Option<String>) {
        let Some(company) = &self.company else { return (None, None) };
        (Some(company.boot.to_string()), company.before.map(|before| before.to_string()))
    }

    /// The earliest moment, Unix ms, at which whatever was signed for this process can have been signed: now, and
    /// not before the process that had the journal last may have answered it by a clock that is ahead.
    pub fn opens_ms(&self) -> i64 {
        let before = self.company.as_ref().and_then(|company| company.clock_before_ms);
        before.unwrap_or(i64::MIN).max(self.now_ms())
    }

    /// Leaves word for the others whether this process could bill, or why not.
    pub fn note_fitness(&self, unfit: Option<String>) {
        if let Some(company) = &self.company {
            *company.unfit.lock() = unfit;
        }
    }

    /// Leaves word for the others how far the webhook was told.
    pub fn note_told(&self, cursor: &str) {
        if let Some(company) = &self.company {
            *company.told.lock() = Some(cursor.to_owned());
        }
    }
}
