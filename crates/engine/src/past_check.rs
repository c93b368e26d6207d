//! The state of the check that the journal knows everything that the account did, for chains on which nothing counts
//! an account's transactions. `billing::doubt` judges, `reconcile` carries its rulings out.

use billing::PastChecks;
use parking_lot::Mutex;

/// The check of an account's past, as far as this process has come with it.
#[derive(Debug, Default)]
pub(super) struct PastCheck {
    state: Mutex<PastCheckState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PastCheckState {
    known_at_start_ms: Option<i64>,
    checks: PastChecks,
}

impl PastCheck {
    /// Remembers until when the journal knew what the account did when this process began, Unix ms; none if it did
    /// not know the lane.
    pub(super) fn begin(&self, known_at_start_ms: Option<i64>) {
        self.state.lock().known_at_start_ms = known_at_start_ms;
    }

    /// Until when the journal knew what the account did when this process began, Unix ms.
    pub(super) fn known_at_start_ms(&self) -> Option<i64> {
        self.state.lock().known_at_start_ms
    }

    /// Returns the checks that are ended.
    pub(super) fn checks(&self) -> PastChecks {
        self.state.lock().checks
    }

    /// Keeps the checks that are ended.
    pub(super) fn keep(&self, checks: PastChecks) {
        self.state.lock().checks = checks;
    }

    /// Nobody else signs with the key any more.
    pub(super) fn forget_rival(&self) {
        self.state.lock().checks.rival_until_ms = None;
    }
}
