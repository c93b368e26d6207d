//! The processes that have one journal on a server: the one that serves, and those that stand by.

use crate::JournalError;
use crate::model::{BootId, Instance};
use crate::queue::WorkQueue;
use crate::tables::starts::newest_boot;
use host::clock::Clock;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;

/// Which of them there are.
#[derive(Debug, Default)]
pub struct InstanceTable(RwLock<Vec<Instance>>);

impl InstanceTable {
    pub(crate) fn all(&self) -> Vec<Instance> {
        self.0.read().clone()
    }

    /// These are there now.
    pub fn replace(&self, now: Vec<Instance>) {
        *self.0.write() = now;
    }
}

/// The knowledge that a serving process has of the others, and what it leaves for them to read.
#[derive(Debug)]
pub struct ServingInstance {
    /// Its own start.
    boot: BootId,
    /// The start of whoever had the journal before.
    before: Option<BootId>,
    /// The present reading of that process's clock, Unix ms.
    clock_before_ms: Option<i64>,
    roll: InstanceTable,
    /// The place that the webhook has reached.
    webhook: Mutex<Option<String>>,
    /// Why it could bill on no chain, if that is so.
    unfit: Mutex<Option<String>>,
}

impl ServingInstance {
    /// The process that begins as `boot` behind the process that began as `before`, whose clock shows
    /// `clock_before_ms` (Unix ms) now, unless that process has left in good order.
    pub fn new(boot: BootId, before: Option<BootId>, clock_before_ms: Option<i64>) -> Self {
        let (roll, webhook, unfit) = Default::default();
        Self { boot, before, clock_before_ms, roll, webhook, unfit }
    }

    /// The processes that are there.
    pub fn roll(&self) -> &InstanceTable {
        &self.roll
    }

    /// The place that the webhook has reached, for the others.
    pub fn webhook(&self) -> Option<String> {
        self.webhook.lock().clone()
    }

    /// Why this process could bill on no chain. None: it could.
    pub fn unfit(&self) -> Option<String> {
        self.unfit.lock().clone()
    }
}

/// The processes that share a journal. There is none but this one if the journal is a file. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Instances {
    /// None: the journal is a file.
    this: Option<Arc<ServingInstance>>,
    queue: WorkQueue,
    clock: Clock,
}

impl Instances {
    pub(crate) fn new(this: Option<Arc<ServingInstance>>, queue: WorkQueue, clock: Clock) -> Self {
        Self { this, queue, clock }
    }

    /// Returns all of them, the one that serves first. Empty if the journal is a file.
    pub fn all(&self) -> Vec<Instance> {
        self.this.as_ref().map(|this| this.roll.all()).unwrap_or_default()
    }

    /// Makes sure that no other process has begun on the journal until now. Earlier findings from the journal and
    /// from the chain are then as true as if there were no other process at all.
    pub async fn none_has_begun(&self) -> Result<(), JournalError> {
        let Some(this) = &self.this else { return Ok(()) };
        let newest = self.queue.read(newest_boot).await?;
        if newest == Some(this.boot) { Ok(()) } else { Err(JournalError::TakenOver) }
    }

    /// The name of this start, and that of the one before it; none where the journal is a file.
    pub fn starts(&self) -> (Option<String>, Option<String>) {
        let Some(this) = &self.this else { return (None, None) };
        (Some(this.boot.to_string()), this.before.map(|before| before.to_string()))
    }

    /// The earliest moment, Unix ms, at which whatever was signed for this process can have been signed: now, and
    /// not before the process that had the journal last may have answered it by a clock that is ahead.
    pub fn opens_ms(&self) -> i64 {
        let before = self.this.as_ref().and_then(|this| this.clock_before_ms);
        before.unwrap_or(i64::MIN).max(self.clock.unix_ms())
    }

    /// Leaves word for the others whether this process could bill, or why not.
    pub fn note_fitness(&self, unfit: Option<String>) {
        if let Some(this) = &self.this {
            *this.unfit.lock() = unfit;
        }
    }

    /// Leaves the place that the webhook has reached to the others.
    pub fn note_webhook(&self, cursor: &str) {
        if let Some(this) = &self.this {
            *this.webhook.lock() = Some(cursor.to_owned());
        }
    }
}
