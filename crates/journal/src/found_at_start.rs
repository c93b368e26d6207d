//! The state in which the start of a process found the journal.

use crate::LaneId;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The findings of a start.
#[derive(Clone, Debug)]
pub struct FoundAtStart {
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

/// The record of a start: written down or not, and the lanes to be written with it.
#[derive(Debug, Default)]
pub struct Begun {
    written: AtomicBool,
    /// Lanes that were taken up from an old copy before that could be written.
    doubted: Mutex<Vec<LaneId>>,
}

impl Begun {
    /// A start that is on disk already.
    pub fn written() -> Arc<Self> {
        Arc::new(Self { written: AtomicBool::new(true), doubted: Mutex::default() })
    }

    /// Returns true if the start is on disk.
    pub(crate) fn is_written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }

    /// The start is on disk now.
    pub(crate) fn set_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    /// Has a lane put in doubt as soon as something can be written.
    pub(crate) fn doubt(&self, lane: LaneId) {
        self.doubted.lock().push(lane);
    }

    /// The lanes to put in doubt with the start.
    pub(crate) fn doubted(&self) -> Vec<LaneId> {
        self.doubted.lock().clone()
    }
}
