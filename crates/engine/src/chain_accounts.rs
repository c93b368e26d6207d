//! The accounts of a chain beside each other. No two requests build for one subscription at the same time, whichever
//! account bills. A lane opens only after every account that ever signed on its chain has been reconciled with the
//! journal.

use super::lane_name::LaneName;
use super::open_batches::OpenBatches;
use super::reservation::Reservations;
use alloy::primitives::Address;
use billing::{Closed, Gate};
use parking_lot::RwLock;
use std::sync::Arc;
use tracing::{info, warn};

/// The state that the lanes of one chain share.
#[derive(Clone, Debug, Default)]
pub struct ChainAccounts {
    accounts: Arc<RwLock<Vec<Arc<AccountState>>>>,
    /// The subscriptions for which a batch is being built, by whichever account.
    pub(super) reservations: Reservations,
}

/// The state of one account, as the other lanes of its chain see it.
#[derive(Debug)]
struct AccountState {
    signer: Address,
    gate: RwLock<Gate>,
    /// Until when the journal knows what the account did, Unix ms; none when it knows everything.
    doubt: RwLock<Option<i64>>,
    batches: OpenBatches,
}

/// The account of a lane: its gate and its doubt, beside the other accounts of its chain.
#[derive(Debug)]
pub(super) struct Account {
    /// The names of the lane.
    pub(super) name: LaneName,
    state: Arc<AccountState>,
    others: ChainAccounts,
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
    doubt: Option<i64>,
    others: impl IntoIterator<Item = OtherAccount>,
) -> usize {
    let waited_for = others.into_iter().filter(|other| doubt.is_some() || !other.takes_new_work);
    waited_for.fold(own, |sum, other| sum.saturating_add(other.undecided))
}

impl Account {
    /// An account that joins the others of its chain, before the chain was seen.
    pub(super) fn join(
        others: &ChainAccounts,
        signer: Address,
        name: LaneName,
        batches: &OpenBatches,
    ) -> Self {
        let state = Arc::new(AccountState {
            signer,
            gate: RwLock::new(Gate::Opening),
            doubt: RwLock::new(None),
            batches: batches.clone(),
        });
        others.accounts.write().push(Arc::clone(&state));
        Self { name, state, others: others.clone() }
    }

    /// Returns the gate.
    pub(super) fn gate(&self) -> Gate {
        self.state.gate.read().clone()
    }

    /// Brings the gate to `gate`; says so where that is news.
    pub(super) fn set_gate(&self, gate: Gate) {
        let mut now = self.state.gate.write();
        if gate.is_news_after(&now) {
            let LaneName { chain, account } = &self.name;
            match &gate {
                Gate::Open => info!(chain, account, "the lane is open"),
                // All accounts of a chain are looked at together, and one has to be first.
                Gate::Closed(why @ Closed::OtherAccountUnreconciled { .. })
                    if *now == Gate::Opening =>
                {
                    info!(chain, account, "the lane waits: {why}");
                }
                Gate::Closed(why) => warn!(chain, account, "the lane is closed: {why}"),
                Gate::Opening => {}
            }
        }
        *now = gate;
    }

    /// Closes the gate for this reason; a gate that is closed keeps its own.
    pub(super) fn close_meanwhile(&self, why: Closed) {
        if !matches!(self.gate(), Gate::Closed(_)) {
            self.set_gate(Gate::Closed(why));
        }
    }

    /// Until when the journal knows what the account did, Unix ms; none when it knows everything.
    pub(super) fn doubt(&self) -> Option<i64> {
        *self.state.doubt.read()
    }

    /// Puts the account in doubt, or ends its doubt.
    pub(super) fn set_doubt(&self, known_ms: Option<i64>) {
        *self.state.doubt.write() = known_ms;
    }

    /// Returns the subscriptions for which a batch is being built on the chain.
    pub(super) fn reservations(&self) -> &Reservations {
        &self.others.reservations
    }

    /// Returns true if no other account signs, or has signed, on this chain. The acts of other accounts must be
    /// known before this one signs, so only an account that is alone may be looked at seldom.
    pub(super) fn is_alone(&self) -> bool {
        self.others.accounts.read().len() <= 1
    }

    /// Another account of the chain that may have charged customers whom the journal does not know of.
    /// Before this lane opens, each has to be known not to have. An open lane closes as soon as another account
    /// has sent what the journal does not know: whoever has that key may charge the customers of this one.
    pub(super) fn unreconciled_other(&self) -> Option<Address> {
        let is_open = self.gate() == Gate::Open;
        let unreconciled = |other: &&Arc<AccountState>| {
            let gate = other.gate.read();
            let unknown = if is_open { gate.tells_of_unknown() } else { !gate.knows_all() };
            other.doubt.read().is_some() || unknown
        };
        let accounts = self.others.accounts.read();
        let mut others = accounts.iter().filter(|other| !Arc::ptr_eq(other, &self.state));
        others.find(unreconciled).map(|other| other.signer)
    }

    /// Returns the number of batches that end before the lane learns what the account did without the journal. An
    /// open batch, of whichever account, may hold a claim that its end sets free, and that a forgotten transaction
    /// of this account has used since. Waiting for an account that takes new work would never end; such an account
    /// takes none if the journal is an old copy.
    pub(super) fn to_end_first(&self) -> usize {
        let accounts = self.others.accounts.read();
        let others = accounts.iter().filter(|other| !Arc::ptr_eq(other, &self.state));
        let others = others.map(|other| OtherAccount {
            takes_new_work: *other.gate.read() == Gate::Open,
            undecided: other.batches.count(),
        });
        ending_first(self.state.batches.count(), self.doubt(), others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_learnt_before_the_open_batches_of_other_accounts_have_ended() {
        let serving = OtherAccount { takes_new_work: true, undecided: 3 };
        let waiting = OtherAccount { takes_new_work: false, undecided: 2 };
        assert_eq!(ending_first(1, Some(7), [serving, waiting]), 6, "the journal is an old copy");
        assert_eq!(
            ending_first(1, None, [serving, waiting]),
            3,
            "there would be no end of waiting"
        );
        assert_eq!(ending_first(0, Some(7), [waiting]), 2);
        assert_eq!(ending_first(0, Some(7), []), 0);
    }
}
