//! The time from when on the irrevocable block may tell something of open batches. Nothing ends a batch before as many
//! witnesses as that takes have built on its block, or before its time is over.

use tron_node::TronBlock;

/// The moment from which the irrevocable block is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SolidDue {
    /// The number of the newest block; 0 if no batch has said otherwise yet.
    number: u64,
    /// Or its time, Unix ms.
    time_ms: u64,
}

impl SolidDue {
    /// Never, before a batch says otherwise.
    pub(super) const NEVER: Self = Self { number: u64::MAX, time_ms: u64::MAX };

    /// Returns true if the newest block has reached the moment.
    pub(super) fn is_reached_by(self, newest: &TronBlock) -> bool {
        newest.number >= self.number || newest.time_ms >= self.time_ms
    }

    /// Returns the earlier of this moment and of the one when something may be told of a batch: with the block `number`
    /// that confirms its block, or at the end of its time, Unix ms.
    pub(super) fn or(self, number: u64, time_ms: u64) -> Self {
        Self { number: self.number.min(number), time_ms: self.time_ms.min(time_ms) }
    }
}
