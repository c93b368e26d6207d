//! The accounts of a chain beside each other: the one that takes new work waits until it is known of all
//! that have signed here that they have charged nobody whom the journal does not know of.

use super::lane::Lane;
use crate::billing::{Closed, Gate};
use alloy::primitives::Address;
use std::sync::Arc;

impl Lane {
    /// One whose account had nothing left to do when the process began.
    #[must_use]
    pub fn with_nothing_left(mut self) -> Self {
        self.only_compared = true;
        self
    }

    /// One that opens only when it is known of these accounts as well that they have charged nobody whom
    /// the journal does not know of.
    #[must_use]
    pub fn beside(mut self, others: Vec<Arc<Self>>) -> Self {
        self.others = others;
        self
    }

    /// Whether there is nothing to tell of it: its account has nothing left to do, and has done nothing
    /// that the journal does not know.
    pub fn rests(&self) -> bool {
        self.only_compared
            && self.undecided() == 0
            && matches!(self.gate(), Gate::Closed(Closed::OnlyFollows { .. }))
    }

    /// Another account of the chain that may have charged customers whom the journal does not know of.
    /// Before this lane opens, each has to be known not to have. What it sends later was signed by
    /// somebody who has its key: that is learnt, and closes nothing here unless the journal turns out to
    /// be an old copy.
    pub(super) fn unlearnt_other(&self) -> Option<Address> {
        let is_open = self.gate() == Gate::Open;
        let unlearnt = |other: &&Arc<Self>| {
            let known = matches!(other.gate(), Gate::Closed(Closed::OnlyFollows { .. }));
            other.doubt().is_some() || !(known || is_open)
        };
        self.others.iter().find(unlearnt).map(|other| other.id().signer)
    }
}
