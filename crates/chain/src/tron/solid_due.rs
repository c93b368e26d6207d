//! From when on it may teach something of open batches what is irrevocable. Nothing ends a batch before as many
//! witnesses as that takes stand on its block, or before its time is over.

use super::TronChain;
use super::case::Case;
use super::conclude::{Shown, TronTestimony};
use ::node::NodeId;
use tron_node::TronBlock;

/// When to ask.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SolidDue {
    /// The number of the newest block; 0 where that is not known.
    number: u64,
    /// Or its time, Unix ms.
    time_ms: u64,
}

impl SolidDue {
    /// Never, before a batch says otherwise.
    pub(super) const NEVER: Self = Self { number: u64::MAX, time_ms: u64::MAX };

    pub(super) fn is_reached_by(self, newest: &TronBlock) -> bool {
        newest.number >= self.number || newest.time_ms >= self.time_ms
    }

    /// The earlier of this and when something may be told of this batch: a block that holds it stands when there are
    /// `on_top` more.
    pub(super) fn or_of(self, case: &Case, told: &[(NodeId, TronTestimony)], on_top: u64) -> Self {
        let lowest = told.iter().filter_map(|(_, told)| match told.shown {
            Shown::In(block) => Some(block),
            Shown::No | Shown::Untold => None,
        });
        let number = lowest.min().map_or(u64::MAX, |block| block.saturating_add(on_top));
        Self { number: self.number.min(number), time_ms: self.time_ms.min(case.tx.expiration_ms) }
    }
}

impl TronChain {
    /// Notes from when on the irrevocable blocks may tell something of these batches.
    pub(super) fn note_solid_due(
        &self,
        cases: &[Option<Case>],
        said: &[Vec<(NodeId, TronTestimony)>],
    ) {
        let on_top = self.finality.needed_on_top();
        let each = cases.iter().zip(said).filter_map(|(case, said)| Some((case.as_ref()?, said)));
        let due = each.fold(SolidDue::NEVER, |due, (case, said)| due.or_of(case, said, on_top));
        *self.solid_due.lock() = due;
    }
}
