//! The EVM adapter: one account on one EVM chain, through its nodes.
//!
//! It reads, simulates, drafts, offers and looks. It never takes a nonce by itself, never keeps a
//! transaction, and never decides what becomes of a charge.

mod aggregate;
pub mod conclude;
mod confirm;
mod delivery;
mod disputes;
mod draft;
mod errors;
mod fees;
mod gas;
mod head;
mod identify;
mod in_flight;
mod inspect;
mod l1_fee;
mod look;
mod milestones;
mod node;
mod observe;
mod preflight;
mod reads;
mod redraft;
mod seal;
#[cfg(test)]
pub(crate) mod seam;
mod simulate;
mod wire;

use super::{
    Chain, ChainError, Delivery, Draft, Estimate, Facts, MostSent, Preflight, Pulse, Unready,
};
use crate::billing::{Admitted, Attempt, AttemptKind, Charge, Foreign, Sighting, Slot};
use crate::chain::inspect::tell_trust;
use crate::chain::signing::SigningContext;
use crate::clock::Clock;
use crate::config::EvmConfig;
use crate::contract::{Looked, Profile};
use crate::journal::Durable;
use crate::keys::Key;
use crate::node::{Fleet, JsonRpc, NodeId, NodeView, RealChain, Trust};
use crate::policy::Policy;
use alloy::primitives::Address;
use async_trait::async_trait;
use disputes::Disputes;
pub use errors::{known_messages, passing};
use head::{Head, Known};
use in_flight::InFlight;
use l1_fee::DataFee;
use look::{LandedIn, Searched};
use milestones::Milestones;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::{Mutex, watch};
use tracing::warn;

/// What an adapter is made of.
#[derive(Debug)]
pub struct EvmParts {
    /// What never changes.
    pub facts: Facts,
    /// How the contract is called.
    pub profile: Profile,
    /// Signs. Its address is the signer of `facts`.
    pub key: Arc<Key>,
    /// What may be signed.
    pub policy: Policy,
    /// The nodes.
    pub fleet: Arc<Fleet<JsonRpc>>,
    /// How the chain is treated.
    pub config: EvmConfig,
    /// This machine's time. Only compared with the head's, as a check of both.
    pub clock: Clock,
}

/// Why there is no adapter. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConnected {
    /// The node is on another chain.
    #[error("the node is on chain {answered}, but this chain is {configured}")]
    WrongChain {
        /// What the configuration says.
        configured: RealChain,
        /// What the node says.
        answered: RealChain,
    },
    /// The key signs for another account than the one that the facts name.
    #[error("the key signs for {key}, not for {signer}")]
    WrongKey {
        /// Whose key it is.
        key: Address,
        /// Whose it should be.
        signer: Address,
    },
}

/// One account on one EVM chain.
#[derive(Debug)]
pub struct EvmChain {
    parts: EvmParts,
    signing: Arc<SigningContext>,
    /// What is known of each node.
    learnt: RwLock<BTreeMap<NodeId, Known>>,
    head: RwLock<Option<Arc<Head>>>,
    in_flight: Arc<InFlight>,
    milestones: Milestones,
    disputes: Disputes,
    landed: parking_lot::Mutex<LandedIn>,
    /// The gas limit of the last billing that was drafted; 0 before the first.
    last_gas: AtomicU64,
    data_fee: DataFee,
    searched: parking_lot::Mutex<Searched>,
    /// Held during a look at the head.
    beating: Mutex<()>,
    pulse: watch::Sender<Option<Pulse>>,
}

impl EvmChain {
    /// Connects. A node that does not answer is asked again at the next beat; one on another chain
    /// is not used, and when all of them are, that is an error.
    pub async fn connect(parts: EvmParts) -> Result<Self, NotConnected> {
        let (key, signer) = (parts.key.address(), parts.facts.signer);
        if key != signer {
            return Err(NotConnected::WrongKey { key, signer });
        }
        let nodes = &parts.fleet;
        for (id, verified) in nodes.verify_all().await {
            let Err(error) = verified else { continue };
            let node = nodes.label(id);
            warn!(chain.id = %parts.facts.id, node, %error, "the node cannot be used yet");
        }
        if let Some(answered) = nodes.all_on_wrong_chain() {
            let configured = RealChain::Eip155(parts.config.eip155_id);
            return Err(NotConnected::WrongChain { configured, answered });
        }
        tell_trust(&parts.facts, nodes);
        let (learnt, head) = (RwLock::default(), RwLock::new(None));
        let pulse = watch::Sender::new(None);
        let data_fee = DataFee::default();
        let searched = parking_lot::Mutex::default();
        let signing = Arc::new(SigningContext {
            key: Arc::clone(&parts.key),
            policy: parts.policy.clone(),
            profile: parts.profile.clone(),
        });
        let beating = Mutex::new(());
        Ok(Self {
            parts,
            signing,
            learnt,
            head,
            in_flight: Arc::default(),
            milestones: Milestones::default(),
            disputes: Disputes::default(),
            landed: parking_lot::Mutex::default(),
            last_gas: AtomicU64::new(0),
            data_fee,
            searched,
            beating,
            pulse,
        })
    }
}

#[async_trait]
impl Chain for EvmChain {
    fn facts(&self) -> &Facts {
        &self.parts.facts
    }

    fn profile(&self) -> &Profile {
        &self.parts.profile
    }

    fn policy(&self) -> &Policy {
        &self.parts.policy
    }

    fn max_in_flight(&self) -> u64 {
        let held = self.known().map_or(u64::MAX, |known| known.held_at_once);
        held.min(self.parts.facts.max_in_flight)
    }

    fn pulse(&self) -> watch::Receiver<Option<Pulse>> {
        self.pulse.subscribe()
    }

    fn unready(&self) -> Option<Unready> {
        self.unready_now()
    }

    fn nodes(&self) -> Vec<NodeView> {
        self.parts.fleet.views()
    }

    fn trust(&self) -> Trust {
        self.parts.fleet.trust()
    }

    async fn beat(&self) -> Result<Pulse, ChainError> {
        Ok(self.observe().await?.pulse)
    }

    async fn first_position(&self) -> Result<u64, ChainError> {
        self.borne_out_nonce().await
    }

    async fn most_sent(&self) -> Result<MostSent, ChainError> {
        self.highest_nonce().await
    }

    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError> {
        self.looked_up(entries).await
    }

    async fn preflight(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        self.check(charges).await
    }

    async fn draft(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<Box<dyn Draft>, ChainError> {
        Ok(Box::new(self.compose(good, estimate).await?))
    }

    async fn redraft(
        &self,
        slot: &Slot<Durable<Attempt>>,
        kind: AttemptKind,
    ) -> Result<Box<dyn Draft>, ChainError> {
        Ok(Box::new(self.recompose(slot, kind).await?))
    }

    async fn strangers(&self, from: u64, to: u64) -> Result<Vec<Foreign>, ChainError> {
        self.learn(from, to).await
    }

    async fn deliver(&self, attempt: &Durable<Attempt>) -> Delivery {
        let signed = &attempt.get().signed;
        self.in_flight.offered(signed.hash, &signed.raw);
        self.offer(signed).await
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        self.sightings(slots).await
    }
}
