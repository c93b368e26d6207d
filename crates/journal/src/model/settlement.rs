//! The end of a batch.

use billing::{BatchId, Verdict};

/// The end of a batch, to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Which batch.
    pub batch: BatchId,
    /// The outcome.
    pub verdict: Verdict,
    /// The time that charges without a period stay claimed after the block that decided, chain time, s.
    pub guard_s: u64,
}

impl Settlement {
    /// Until when charges without a period stay claimed, chain time, s.
    pub(crate) fn guard_until(&self) -> u64 {
        self.verdict.block().time.saturating_add(self.guard_s)
    }
}
