//! The accounts of a chain beside each other. No two requests build for one subscription at the same time,
//! whichever account bills; and those that take new work wait until it is known of all that have signed here
//! that they have charged nobody whom the journal does not know of.

use super::lane::Lane;
use super::reservation::Reservations;
use super::tracked::Undecided;
use alloy::primitives::Address;
use billing::{Closed, Gate};
use parking_lot::RwLock;
use std::sync::Arc;

/// The known state of one account, shared by all lanes.
#[derive(Debug)]
pub(super) struct AccountKnown {
    signer: Address,
    pub(super) gate: RwLock<Gate>,
    /// Until when the journal knows what the account did, Unix ms; none when it knows everything.
    pub(super) doubt: RwLock<Option<i64>>,
    undecided: Undecided,
}

impl AccountKnown {
    pub(super) fn new(signer: Address, doubt: Option<i64>, undecided: Undecided) -> Self {
        Self { signer, gate: RwLock::new(Gate::Opening), doubt: RwLock::new(doubt), undecided }
    }
}

/// The state that the lanes of one chain share.
#[derive(Clone, Debug, Default)]
pub struct ChainAccounts {
    accounts: Arc<RwLock<Vec<Arc<AccountKnown>>>>,
    pub(super) reservations: Reservations,
}

/// Another account of the chain, for one that has something to learn.
#[derive(Clone, Copy, Debug)]
struct OtherAccount {
    takes_new_work: bool,
    undecided: usize,
}

/// Returns the number of batches that end first: the account's `own`, and those of other accounts that it waits
/// for.
fn ending_first(
    own: usize,
    in_doubt: bool,
    others: impl IntoIterator<Item = OtherAccount>,
) -> usize {
    let waited_for = others.into_iter().filter(|other| in_doubt || !other.takes_new_work);
    waited_for.fold(own, |sum, other| sum.saturating_add(other.undecided))
}

impl Lane {
    /// One of these lanes.
    #[must_use]
    pub fn among(mut self, siblings: &ChainAccounts) -> Self {
        siblings.accounts.write().push(Arc::clone(&self.known));
        self.siblings = siblings.clone();
        self
    }

    /// One whose account had nothing left to do when the process began.
    #[must_use]
    pub fn with_nothing_left(mut self) -> Self {
        self.only_compared = true;
        self
    }

    /// Returns true if there is nothing to tell of the lane: its account has nothing left to do, and has done
    /// nothing that the journal does not know.
    pub fn rests(&self) -> bool {
        self.only_compared
            && self.undecided() == 0
            && matches!(self.gate(), Gate::Closed(Closed::OnlyFollows { .. }))
    }

    /// Returns true if no other account signs, or has signed, on this chain. The acts of other accounts must be
    /// known before this one signs, so only an account that is alone may be looked at seldom.
    pub(super) fn is_alone(&self) -> bool {
        self.siblings.accounts.read().len() <= 1
    }

    /// Another account of the chain that may have charged customers whom the journal does not know of.
    /// Before this lane opens, each has to be known not to have. An open lane closes as soon as another account
    /// has sent what the journal does not know: whoever has that key may charge the customers of this one.
    pub(super) fn unlearnt_other(&self) -> Option<Address> {
        let is_open = self.gate() == Gate::Open;
        let unlearnt = |other: &&Arc<AccountKnown>| {
            let gate = other.gate.read();
            let unknown = if is_open { gate.tells_of_unknown() } else { !gate.knows_all() };
            other.doubt.read().is_some() || unknown
        };
        let accounts = self.siblings.accounts.read();
        let mut others = accounts.iter().filter(|other| !Arc::ptr_eq(other, &self.known));
        others.find(unlearnt).map(|other| other.signer)
    }

    /// Returns the number of batches that end before the lane learns what the account did without the journal. An
    /// open batch, of whichever account, may hold a claim that its end sets free, and that a forgotten transaction
    /// of this account has used since. Waiting for an account that takes new work would never end; such an account
    /// takes none if the journal is an old copy.
    pub(super) fn to_end_first(&self) -> usize {
        let in_doubt = self.doubt().is_some();
        let accounts = self.siblings.accounts.read();
        let others = accounts.iter().filter(|other| !Arc::ptr_eq(other, &self.known));
        let others = others.map(|other| OtherAccount {
            takes_new_work: *other.gate.read() == Gate::Open,
            undecided: other.undecided.lock().len(),
        });
        ending_first(self.undecided(), in_doubt, others)
    }

    /// Returns true if the lane waits for nothing but another account.
    pub fn waits_for_another(&self) -> bool {
        matches!(self.gate(), Gate::Closed(Closed::OtherAccountUnreconciled { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_learnt_before_the_open_batches_of_other_accounts_have_ended() {
        let serving = OtherAccount { takes_new_work: true, undecided: 3 };
        let waiting = OtherAccount { takes_new_work: false, undecided: 2 };
        assert_eq!(ending_first(1, true, [serving, waiting]), 6, "the journal is an old copy");
        assert_eq!(
            ending_first(1, false, [serving, waiting]),
            3,
            "there would be no end of waiting"
        );
        assert_eq!(ending_first(0, true, [waiting]), 2);
        assert_eq!(ending_first(0, true, []), 0);
    }
}
