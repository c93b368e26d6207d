//! The TRON adapter: one account on one TRON chain, through one node.
//!
//! It reads, simulates, drafts, offers and looks. It keeps no transaction, and never decides what
//! becomes of a charge. TRON has no nonces: what keeps one charge from landing twice is that equal
//! bytes land once, and that new bytes are signed only when the old ones are proven dead.

mod api;
mod constant;
mod death;
mod delivery;
mod draft;
mod head;
mod inspect;
mod look;
mod preflight;
mod reads;
mod recall;
mod redraft;
mod resources;
mod solid;
mod transaction;

pub use api::{API_KEY_HEADER, Api, ApiParts, ApiUnusable};

use super::{
    Chain, ChainError, Delivery, Draft, Estimate, Facts, MostSent, Preflight, Pulse, Recall,
};
use crate::billing::{Admitted, Attempt, AttemptKind, Charge, Foreign, Sighting, Slot};
use crate::chain::desk::Desk;
use crate::clock::Clock;
use crate::contract::{Looked, Profile};
use crate::journal::Durable;
use crate::keys::Key;
use crate::node::fleet::{NodeView, State};
use crate::node::rpc::Rpc;
use crate::policy::Policy;
use alloy::primitives::Address;
use api::Side;
use async_trait::async_trait;
use head::{Head, Identity, Known};
use parking_lot::RwLock;
use solid::SolidBlocks;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore, watch};
use tracing::warn;
use tron_primitives::address;

/// How a chain is treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TronSettings {
    /// The number that contracts know the chain by, the last four bytes of the id of block 0
    /// (0x2b6653dc on the main network). None: whatever the node is on first.
    pub chain_id: Option<u32>,
    /// How long after the head's time a transaction can land. At most a day counts.
    pub ttl: Duration,
    /// How long after the head's time the contract lets a billing through.
    pub deadline: Duration,
    /// The highest fee limit that is signed, sun.
    pub fee_limit_ceiling: u64,
    /// What is added to simulated energy for a step of the contract's energy factor, percent.
    pub energy_factor_percent: u32,
    /// What is added on top for a state that differs from the simulated one, percent.
    pub energy_drift_percent: u32,
    /// What is added on top of both, energy.
    pub energy_reserve: u64,
    /// How far the newest block may be from this machine's clock before nothing is signed.
    pub clock_tolerance: Duration,
    /// How often the head is looked at.
    pub poll_interval: Duration,
    /// The Multicall3 contract; none where there is none.
    pub multicall: Option<Address>,
    /// How many customers are read in one call of it. At least 1.
    pub chunk: usize,
}

/// What an adapter is made of.
#[derive(Debug)]
pub struct TronParts {
    /// What never changes.
    pub facts: Facts,
    /// How the contract is called.
    pub profile: Profile,
    /// Signs. Its address is the signer of `facts`.
    pub key: Arc<Key>,
    /// What may be signed.
    pub policy: Policy,
    /// The node's HTTP API.
    pub api: Api,
    /// The node's JSON-RPC, for reads; none where it is switched off.
    pub rpc: Option<Rpc>,
    /// How the chain is treated.
    pub settings: TronSettings,
    /// This machine's time, Unix ms. Only compared with the head's, as a check of both.
    pub clock: Clock,
}

/// Why there is no adapter. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConnected {
    /// The node is on another chain.
    #[error("the node is on chain {answered:#x}, but this chain is {configured:#x}")]
    WrongChain {
        /// What the configuration says.
        configured: u32,
        /// What the node says.
        answered: u32,
    },
    /// The two URLs lead to different chains.
    #[error("the full and the solidity node are on different chains")]
    TwoChains,
    /// The key signs for another account than the one that the facts name.
    #[error("the key signs for {key}, not for {signer}")]
    WrongKey {
        /// Whose key it is.
        key: Address,
        /// Whose it should be.
        signer: Address,
    },
}

/// One account on one TRON chain.
#[derive(Debug)]
pub struct TronChain {
    parts: TronParts,
    desk: Arc<Desk>,
    known: RwLock<Option<Known>>,
    head: RwLock<Option<Arc<Head>>>,
    /// Held during a look at the head.
    beating: Mutex<()>,
    pulse: watch::Sender<Option<Pulse>>,
    /// Held during a constant call.
    turns: Semaphore,
    tracks: look::Tracks,
    solid: SolidBlocks,
    /// Held while blocks are read for what was forgotten.
    reading: Mutex<Option<recall::Reading>>,
}

impl TronChain {
    /// Connects. A node that does not answer is asked again at the next beat; one on another chain
    /// is an error.
    pub async fn connect(parts: TronParts) -> Result<Self, NotConnected> {
        let (key, signer) = (parts.key.address(), parts.facts.signer);
        if key != signer {
            return Err(NotConnected::WrongKey { key, signer });
        }
        match (head::identity(&parts.api).await, parts.settings.chain_id) {
            (Ok(Identity::Split), _) => return Err(NotConnected::TwoChains),
            (Ok(Identity::One(genesis)), Some(configured)) => {
                let answered = head::chain_id(genesis);
                if answered != configured {
                    return Err(NotConnected::WrongChain { configured, answered });
                }
            }
            (Ok(Identity::One(_)), None) => {}
            (Err(error), _) => {
                warn!(chain.id = %parts.facts.id, %error, "the node does not answer yet");
            }
        }
        let (known, head) = (RwLock::new(None), RwLock::new(None));
        let pulse = watch::Sender::new(None);
        let (beating, turns) = (Mutex::new(()), Semaphore::new(constant::AT_ONCE));
        let (tracks, solid) = (look::Tracks::default(), SolidBlocks::default());
        let desk = Arc::new(Desk {
            key: Arc::clone(&parts.key),
            policy: parts.policy.clone(),
            profile: parts.profile.clone(),
        });
        let reading = Mutex::new(None);
        Ok(Self { parts, desk, known, head, beating, pulse, turns, tracks, solid, reading })
    }
}

#[async_trait]
impl Chain for TronChain {
    fn facts(&self) -> &Facts {
        &self.parts.facts
    }

    fn profile(&self) -> &Profile {
        &self.parts.profile
    }

    fn policy(&self) -> &Policy {
        &self.parts.policy
    }

    fn pulse(&self) -> watch::Receiver<Option<Pulse>> {
        self.pulse.subscribe()
    }

    fn nodes(&self) -> Vec<NodeView> {
        let (known, head) = (self.known.read().is_some(), self.head.read().clone());
        let state = if known { State::Alive } else { State::Unverified };
        let view = |side: Side, door, head| NodeView {
            label: format!("{} ({door})", self.parts.api.host(side)),
            state,
            head,
            send_only: false,
        };
        let numbers = head.map(|head| (head.newest.number, head.solid.number));
        vec![
            view(Side::Full, "full", numbers.map(|(newest, _)| newest)),
            view(Side::Solidity, "solidity", numbers.map(|(_, solid)| solid)),
        ]
    }

    async fn beat(&self) -> Result<Pulse, ChainError> {
        Ok(self.observe().await?.pulse)
    }

    /// Positions are ours alone: no chain knows them.
    async fn first_position(&self) -> Result<u64, ChainError> {
        Ok(0)
    }

    /// Nor does any pool count them.
    async fn most_sent(&self) -> Result<MostSent, ChainError> {
        Ok(MostSent::default())
    }

    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError> {
        self.look_up(entries).await
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

    /// No place of a lane is ever taken by a transaction that is not ours.
    async fn strangers(&self, _from: u64, _to: u64) -> Result<Vec<Foreign>, ChainError> {
        Ok(Vec::new())
    }

    async fn recall(&self, since_ms: i64) -> Result<Recall, ChainError> {
        self.read_on(since_ms).await
    }

    async fn deliver(&self, attempt: &Durable<Attempt>) -> Delivery {
        self.offer(&attempt.get().signed).await
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        self.sightings(slots).await
    }
}

#[cfg(test)]
mod tests;
