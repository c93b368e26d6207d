//! The part of a chain that is alike in both families.

use super::disputes::Disputes;
use super::inspect::trust;
use super::{Chain, ChainError, Facts, HeadView, LastingDispute, SigningAccount};
use ::node::{NodeGroup, NodeTraffic, NodeView, Trust};
use alloy::primitives::Selector;
use billing::{Attempt, Slot};
use contract::Profile;
use journal::{Binding, Durable, Network};
use policy::Policy;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The state of a chain that does not depend on its family: the account, the nodes as a group, the newest head, and
/// the disputes between nodes.
#[derive(Debug)]
pub struct ChainBase {
    pub(super) account: Arc<SigningAccount>,
    pub(super) nodes: Arc<dyn NodeGroup>,
    /// Number of requests to each node in a look.
    pub(super) requests_per_look: u64,
    pub(super) heads: watch::Receiver<Option<HeadView>>,
    pub(super) disputes: Arc<Disputes>,
}

impl dyn Chain + '_ {
    /// Returns the facts that never change.
    pub fn facts(&self) -> &Facts {
        &self.base().account.facts
    }

    /// Returns the profile by which the billing contract is called.
    pub fn profile(&self) -> &Profile {
        &self.base().account.profile
    }

    /// Returns the binding by which the journal has to know the chain.
    pub fn binding(&self) -> Binding {
        let Facts { id, family, network, contract, .. } = *self.facts();
        let (network, naming) = (Network { family, id: network }, self.profile().period_naming());
        Binding { chain: id, network, contract, naming }
    }

    /// Returns the function that charges, by the profile that a batch was signed by.
    pub fn function(&self, slot: &Slot<Durable<Attempt>>) -> Selector {
        let profile = self.base().account.profiles.of_slot(slot);
        profile.as_ref().unwrap_or(&self.base().account.profile).selector()
    }

    /// Returns the policy on what may be signed.
    pub fn policy(&self) -> &Policy {
        &self.base().account.policy
    }

    /// Returns true if the account's key is here. Without the key, nothing can be drafted.
    pub fn signs(&self) -> bool {
        self.base().account.signs()
    }

    /// Returns the place of the key in a word: `here`, in a process `apart`, or in a `store`.
    pub fn key_held(&self) -> Option<&'static str> {
        self.base().account.key_held()
    }

    /// Returns the last look at the head, and every one after it; none before the first.
    pub fn heads(&self) -> watch::Receiver<Option<HeadView>> {
        self.base().heads.clone()
    }

    /// Returns the error that every request gets now, as far as the last look and the last signature tell. None if
    /// nothing is known to stand in the way.
    pub fn unready(&self) -> Option<ChainError> {
        let account = &self.base().account;
        let unready = account.key_trouble().or_else(|| self.head_unready());
        unready.or_else(|| account.not_permitted())
    }

    /// Has a key store that did not sign, or was not asked for long, sign a test.
    pub async fn check_key(&self) {
        self.base().account.look_after_key().await;
    }

    /// Asks the contract whether it lets the account bill, where it can be asked to bill nobody, and remembers the
    /// answer.
    pub async fn check_permission(&self) {
        let asked = self.ask_permission().await;
        self.base().account.note_permission(&asked);
    }

    /// Returns the shortest wait before the next look, so that the requests that providers allow in a day last.
    pub fn wait_before_look(&self) -> Duration {
        self.base().nodes.spread(self.base().requests_per_look)
    }

    /// Returns the traffic to the chain's nodes, for metrics.
    pub fn traffic(&self) -> Vec<NodeTraffic> {
        self.base().nodes.traffic()
    }

    /// Returns the chain's nodes, for people.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.base().nodes.views()
    }

    /// Returns the disputes between the chain's nodes that have lasted too long.
    pub fn disputes(&self) -> Vec<LastingDispute> {
        self.base().disputes.lasting()
    }

    /// Returns the number of providers on whose word claims are released.
    pub fn trust(&self) -> Trust {
        trust(&*self.base().nodes, &self.witnesses())
    }
}
