//! The accounts of a chain beside each other. No two requests build for one subscription at the same time, whichever
//! account bills. A lane opens only after every account that ever signed on its chain has been reconciled with the
//! journal.

use super::lane_name::LaneName;
use super::look_times::LookTime;
use super::reservation::Reservations;
use alloy::primitives::Address;
use billing::{Closed, Gate, Protection};
use parking_lot::RwLock;
use std::sync::Arc;
use std::time::Duration;
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
    /// When the last look began that told what the account did; none before the first.
    seen: RwLock<Option<LookTime>>,
}

/// The age at which nothing is signed any more by what a look has told of an account.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnowledgeAge {
    /// That age.
    pub(super) too_old: Duration,
    /// Now, Unix ms.
    pub(super) now_ms: i64,
}

/// The account of a lane: its gate and its doubt, beside the other accounts of its chain.
#[derive(Debug)]
pub(super) struct Account {
    /// The names of the lane.
    pub(super) name: LaneName,
    state: Arc<AccountState>,
    others: ChainAccounts,
}

impl AccountState {
    /// Returns true if the account may have charged, without the journal, what an open batch of another account
    /// charges. A batch with a nonce is safe from all that an old copy of its own journal has forgotten: whatever
    /// ended the batch in that time has used the nonce. So only known acts count, and none are known before the
    /// first look.
    fn may_have_charged(&self, protection: Protection, age: KnowledgeAge) -> bool {
        let gate = self.gate.read();
        if self.is_unseen(age) {
            return true;
        }
        match protection {
            Protection::Nonce => *gate == Gate::Opening || gate.tells_of_unknown(),
            Protection::Free | Protection::Doubtful => {
                self.doubt.read().is_some() || !gate.knows_all()
            }
        }
    }

    /// Returns true if looks have failed for so long that nobody knows what the account, or a stranger with its key,
    /// has done since.
    fn is_unseen(&self, KnowledgeAge { too_old, now_ms }: KnowledgeAge) -> bool {
        self.seen.read().is_some_and(|seen| seen.is_past(too_old, now_ms))
    }
}

impl Account {
    /// An account that joins the others of its chain, before the chain was seen.
    pub(super) fn join(others: &ChainAccounts, signer: Address, name: LaneName) -> Self {
        let state = Arc::new(AccountState {
            signer,
            gate: RwLock::new(Gate::Opening),
            doubt: RwLock::new(None),
            seen: RwLock::new(None),
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

    /// A look at the account that began then has told what the account did.
    pub(super) fn was_seen(&self, began: LookTime) {
        *self.state.seen.write() = Some(began);
    }

    /// Returns true if looks at the account have failed for so long that nobody knows what was done with its key since.
    pub(super) fn is_unseen(&self, age: KnowledgeAge) -> bool {
        self.state.is_unseen(age)
    }

    /// Another account of the chain that may have charged customers whom the journal does not know of.
    /// Before this lane opens, each has to be known not to have. An open lane closes as soon as another account
    /// has sent what the journal does not know: whoever has that key may charge the customers of this one.
    pub(super) fn unreconciled_other(&self) -> Option<Address> {
        let is_open = self.gate() == Gate::Open;
        let unreconciled = |other: &AccountState| {
            let gate = other.gate.read();
            let unknown = if is_open { gate.tells_of_unknown() } else { !gate.knows_all() };
            other.doubt.read().is_some() || unknown
        };
        self.find_other(unreconciled)
    }

    /// Another account of the chain, looks at which have failed for too long.
    pub(super) fn unseen_other(&self, age: KnowledgeAge) -> Option<Address> {
        self.find_other(|other| other.is_unseen(age))
    }

    fn find_other(&self, such: impl Fn(&AccountState) -> bool) -> Option<Address> {
        let accounts = self.others.accounts.read();
        let mut others = accounts.iter().filter(|other| !Arc::ptr_eq(other, &self.state));
        others.find(|other| such(other)).map(|other| other.signer)
    }

    /// Returns true if another account of the chain may have charged, without the journal, what an open batch of
    /// this one charges, which this protects.
    pub(super) fn another_may_have_charged(
        &self,
        protection: Protection,
        age: KnowledgeAge,
    ) -> bool {
        self.find_other(|other| other.may_have_charged(protection, age)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute is too old, and the clock is a minute after its zero.
    const A_MINUTE: KnowledgeAge = KnowledgeAge { too_old: Duration::from_mins(1), now_ms: 60_000 };

    fn account(gate: Gate, doubt: Option<i64>) -> AccountState {
        let (gate, doubt) = (RwLock::new(gate), RwLock::new(doubt));
        AccountState { signer: Address::ZERO, gate, doubt, seen: RwLock::new(None) }
    }

    #[test]
    fn an_account_may_have_charged_before_its_first_look_and_while_acts_of_it_are_unknown() {
        let charged =
            |gate, doubt, protection| account(gate, doubt).may_have_charged(protection, A_MINUTE);
        let ahead = Gate::Closed(Closed::Ahead { signer: Address::ZERO, sent: 2, known: 1 });
        for protection in [Protection::Nonce, Protection::Free] {
            assert!(charged(Gate::Opening, None, protection));
            assert!(charged(ahead.clone(), None, protection));
            assert!(!charged(Gate::Open, None, protection));
        }
        let copy = Gate::Closed(Closed::OpenBatchesFirst);
        assert!(charged(copy.clone(), Some(7), Protection::Free));
        assert!(!charged(copy, Some(7), Protection::Nonce), "or two accounts wait for each other");
    }

    #[test]
    fn no_account_signs_for_longer_than_a_while_by_what_was_told_of_another() {
        let accounts = ChainAccounts::default();
        let [one, other] = [1, 2].map(|at| {
            let name = LaneName { chain: "any".to_owned(), account: at.to_string() };
            Account::join(&accounts, Address::with_last_byte(at), name)
        });
        let later = |now_ms| KnowledgeAge { now_ms, ..A_MINUTE };
        for account in [&one, &other] {
            account.set_gate(Gate::Open);
            account.was_seen(LookTime::now(0));
        }
        assert_eq!(one.unseen_other(later(59_999)), None);
        assert!(!one.another_may_have_charged(Protection::Nonce, later(59_999)));
        one.was_seen(LookTime::now(30_000));
        assert_eq!(one.unseen_other(later(60_000)), Some(Address::with_last_byte(2)));
        assert!(one.another_may_have_charged(Protection::Nonce, later(60_000)));
        assert_eq!(other.unseen_other(later(60_000)), None, "looks at the first go on");
        assert!(other.is_unseen(later(60_000)), "and it does not sign itself either");
    }
}
