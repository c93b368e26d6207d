//! How often a fleet may ask again.

use std::sync::atomic::{AtomicU32, Ordering};

/// Holds retries to a tenth of all questions, so that a fleet in trouble is not asked twice as much.
#[derive(Debug)]
pub(super) struct Retries(AtomicU32);

/// What one retry costs, and what one question earns is one.
const RETRY_COST: u32 = 10;

/// How much may be saved up: thirty retries.
const MOST_SAVED: u32 = 300;

impl Default for Retries {
    fn default() -> Self {
        Self(AtomicU32::new(MOST_SAVED))
    }
}

impl Retries {
    /// A question was asked.
    pub(super) fn earn(&self) {
        let more = |saved: u32| (saved < MOST_SAVED).then(|| saved.saturating_add(1));
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok();
    }

    /// Whether one more retry is within the budget; takes it if so.
    pub(super) fn take(&self) -> bool {
        let less = |saved: u32| saved.checked_sub(RETRY_COST);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }
}
