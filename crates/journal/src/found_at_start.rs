//! The state in which the start of a process found the journal.

use crate::model::{LaneId, LeftJournal};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The amount by which this machine's clock may have been ahead of the chains' when rows were written: at least
/// this much, and this much when nothing is said.
const CLOCKS: Duration = Duration::from_mins(2);

/// The most that counts of that: further than this no clock of a chain that moves money is off while it signs.
const MOST_CLOCKS: Duration = Duration::from_mins(10);

/// The findings of a start.
#[derive(Clone, Debug)]
pub struct Findings {
    /// True if the mark beside the journal contradicts it, or is missing: a restored copy may have forgotten claims.
    pub old_copy: bool,
    /// True if the process before this one closed the journal. If not, that process was killed, or the journal is a
    /// copy that was made while it ran.
    pub was_closed: bool,
    /// When the process before this one wrote its newest row, or began if it wrote none, Unix ms of its machine. None:
    /// there was no such process.
    pub left_ms: Option<i64>,
    /// The record that this start is written down.
    pub begun: Arc<Begun>,
}

/// The findings, and what a time that was found can stand for.
#[derive(Clone, Debug)]
pub struct FoundAtStart {
    findings: Findings,
    clocks: Duration,
}

impl FoundAtStart {
    pub(crate) fn new(findings: Findings) -> Self {
        Self { findings, clocks: CLOCKS }
    }

    /// The same, where rows may be dated by a clock that was so far ahead of the chains': two minutes at least, ten at
    /// most.
    pub(crate) fn dated_within(self, clocks: Duration) -> Self {
        Self { clocks: clocks.clamp(CLOCKS, MOST_CLOCKS), ..self }
    }

    /// The record that this start is written down.
    pub(crate) fn begun(&self) -> &Begun {
        &self.findings.begun
    }

    /// Returns true if the mark beside the journal contradicts it, or is missing: a restored copy may have forgotten
    /// claims.
    pub fn is_old_copy(&self) -> bool {
        self.findings.old_copy
    }

    /// Returns true if the process before this one closed the journal. If not, that process was killed, or the journal
    /// is a copy that was made while it ran.
    pub fn was_closed(&self) -> bool {
        self.findings.was_closed
    }

    /// When the process before this one wrote its newest row, or began where it wrote none, Unix ms of its machine: a
    /// copy that was put in place knows nothing of what came after it. None where there was no such process.
    pub fn left_at_ms(&self) -> Option<i64> {
        self.findings.left_ms
    }

    /// The earliest time of blocks that a time of this machine can stand for, Unix ms.
    pub fn by_blocks(&self, at_ms: i64) -> i64 {
        at_ms.saturating_sub(i64::try_from(self.clocks.as_millis()).unwrap_or(i64::MAX))
    }
}

/// The record of a start: written down or not, and the lanes to be written with it.
#[derive(Debug, Default)]
pub struct Begun {
    written: AtomicBool,
    /// True if the process before this one closed the journal.
    found_closed: AtomicBool,
    /// True if every lane is taken up.
    all_taken_up: AtomicBool,
    /// Lanes that were taken up before that could be written, and the journal as it was found for them.
    taken_up: Mutex<Vec<(LaneId, LeftJournal)>>,
}

impl Begun {
    /// A start that is on disk already.
    pub fn written() -> Arc<Self> {
        let begun = Arc::<Self>::default();
        begun.set_written();
        begun
    }

    /// Returns true if the next process may find the journal closed once this one ends. A process that ends before it
    /// has taken up the lanes leaves the journal as unclosed as it was found: nobody has looked yet for what a copy has
    /// forgotten.
    pub(crate) fn may_close(&self) -> bool {
        self.found_closed.load(Ordering::Acquire) || self.is_all_taken_up()
    }

    /// The process before this one closed the journal.
    pub(crate) fn set_found_closed(&self) {
        self.found_closed.store(true, Ordering::Release);
    }

    /// Returns true if every lane is taken up.
    pub(crate) fn is_all_taken_up(&self) -> bool {
        self.all_taken_up.load(Ordering::Acquire)
    }

    /// Every lane is taken up.
    pub(crate) fn set_all_taken_up(&self) {
        self.all_taken_up.store(true, Ordering::Release);
    }

    /// Returns true if the start is on disk.
    pub(crate) fn is_written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    /// The start is on disk now.
    pub(crate) fn set_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// Has it written down that a lane was taken up, as soon as something can be written.
    pub(crate) fn take_up(&self, lane: LaneId, left: LeftJournal) {
        self.taken_up.lock().push((lane, left));
    }

    /// The lanes that are written down with the start.
    pub(crate) fn taken_up(&self) -> Vec<(LaneId, LeftJournal)> {
        self.taken_up.lock().clone()
    }
}
