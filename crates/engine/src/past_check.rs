//! The state of the check that the journal knows everything that the account did, for chains on which nothing counts
//! an account's transactions. `billing::doubt` judges, `reconcile` carries its rulings out.

use billing::PastChecks;
use journal::LeftJournal;
use parking_lot::Mutex;

/// The check of an account's past, as far as this process has come with it.
#[derive(Debug, Default)]
pub(super) struct PastCheck {
    state: Mutex<PastCheckState>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PastCheckState {
    left: LeftJournal,
    checks: PastChecks,
    /// True if the end of the checks is written down.
    noted: bool,
}

impl PastCheck {
    /// Remembers the journal as it was left by the last process that had reconciled the account.
    pub(super) fn begin(&self, left: LeftJournal) {
        self.state.lock().left = left;
    }

    /// Returns the journal as it was left, its time in Unix ms by the time of blocks.
    pub(super) fn left(&self) -> LeftJournal {
        self.state.lock().left
    }

    /// Returns the checks that are ended.
    pub(super) fn checks(&self) -> PastChecks {
        self.state.lock().checks
    }

    /// Keeps the checks that are ended.
    pub(super) fn keep(&self, checks: PastChecks) {
        self.state.lock().checks = checks;
    }

    /// Returns true if everything is checked, and that is not written down.
    pub(super) fn is_to_be_noted(&self) -> bool {
        let PastCheckState { left, checks, noted } = *self.state.lock();
        let ended = checks.knew_all() && checks.in_flight_is_over(left.left_ms);
        ended && !noted && left.left_ms.is_some()
    }

    /// It is written down that everything is checked.
    pub(super) fn note(&self) {
        self.state.lock().noted = true;
    }

    /// Nobody else signs with the key any more.
    pub(super) fn forget_rival(&self) {
        self.state.lock().checks.rival_until_ms = None;
    }
}
