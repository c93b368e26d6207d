//! The TRON adapter: one account on one TRON chain, through its nodes.
//!
//! It reads, simulates, drafts, offers and looks. It keeps no transaction, and never decides what
//! becomes of a charge. TRON has no nonces: what keeps one charge from landing twice is that equal
//! bytes land once, and that new bytes are signed only when the old ones are proven dead.

mod api;
mod conclude;
mod confirm;
mod constant;
mod death;
mod delivery;
mod draft;
mod head;
mod inspect;
mod look;
mod observe;
mod pace;
mod preflight;
mod proofs;
mod reads;
mod recall;
mod redraft;
mod resources;
mod solid;
mod throttle;
mod transaction;
mod vouched;

pub use api::{ApiUnusable, Endpoints, Question, Side};

use super::{
    Chain, ChainError, Delivery, Draft, Estimate, Facts, MostSent, Preflight, Pulse, Recall,
};
use crate::billing::{Admitted, Attempt, AttemptKind, Charge, Closed, Foreign, Sighting, Slot};
use crate::chain::inspect::tell_trust;
use crate::chain::signing::SigningContext;
use crate::clock::Clock;
use crate::config::TvmConfig;
use crate::contract::{Looked, Profile};
use crate::journal::{Durable, Past};
use crate::keys::Key;
use crate::node::{Dial, Fleet, FleetRules, Member, NodeId, NodeView, RealChain, Trust};
use crate::policy::Policy;
use alloy::primitives::Address;
use api::Api;
use async_trait::async_trait;
use head::Head;
use observe::Known;
use parking_lot::RwLock;
use solid::SolidBlocks;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Mutex, watch};
use tracing::warn;
use tron_primitives::address;
use vouched::Vouched;

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
    /// The nodes.
    pub fleet: Arc<Fleet<Endpoints>>,
    /// How the chain is treated.
    pub config: TvmConfig,
    /// This machine's time, Unix ms. Only compared with the head's, as a check of both.
    pub clock: Clock,
}

/// Why there is no adapter. Nothing was signed or sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConnected {
    /// The nodes are on another chain.
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

/// A node of the configuration that there are no clients for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nodes[{place}].{unusable}")]
pub struct Unusable {
    /// Its place in the list.
    pub place: usize,
    /// Which of its URLs, and why.
    pub unusable: ApiUnusable,
}

/// The fleet of a TRON chain's nodes. Nothing is asked yet.
pub fn fleet(dial: &dyn Dial, config: &TvmConfig) -> Result<Fleet<Endpoints>, Unusable> {
    let member = |(place, node)| {
        let client = Endpoints::dial(dial, node, config.rpc_timeout)
            .map_err(|unusable| Unusable { place, unusable })?;
        Ok(Member::at(&node.full, false, client))
    };
    let members: Result<Vec<_>, _> = config.nodes.iter().enumerate().map(member).collect();
    let rules = FleetRules {
        chain: RealChain::Genesis(config.chain_id),
        timeout: config.rpc_timeout,
        // A node that is busy shuts the door instead.
        passing: |_| false,
    };
    Ok(Fleet::of(members?, rules))
}

/// One account on one TRON chain.
#[derive(Debug)]
pub struct TronChain {
    parts: TronParts,
    signing: Arc<SigningContext>,
    /// What is known of each node.
    learnt: RwLock<BTreeMap<NodeId, Known>>,
    head: RwLock<Option<Arc<Head>>>,
    /// Held during a look at the head.
    beating: Mutex<()>,
    pulse: watch::Sender<Option<Pulse>>,
    tracks: look::Tracks,
    solid: SolidBlocks,
    /// How fast is signed.
    throttle: throttle::Throttle,
    /// What is known of the witnesses.
    vouched: parking_lot::Mutex<Vouched>,
    /// Held while blocks are read for what was forgotten.
    reading: Mutex<Option<recall::Reading>>,
}

impl TronChain {
    /// Connects. A node that does not answer is asked again at the next beat; one on another chain
    /// is not used, and when all of them are, that is an error.
    pub async fn connect(parts: TronParts) -> Result<Self, NotConnected> {
        let (key, signer) = (parts.key.address(), parts.facts.signer);
        if key != signer {
            return Err(NotConnected::WrongKey { key, signer });
        }
        let fleet = &parts.fleet;
        for (id, verified) in fleet.verify_all().await {
            let Err(error) = verified else { continue };
            let node = fleet.label(id);
            warn!(chain.id = %parts.facts.id, node, %error, "the node cannot be used yet");
        }
        if let Some(answered) = fleet.all_on_wrong_chain() {
            let configured = RealChain::Genesis(parts.config.chain_id);
            return Err(NotConnected::WrongChain { configured, answered });
        }
        tell_trust(&parts.facts, fleet);
        let signing = Arc::new(SigningContext {
            key: Arc::clone(&parts.key),
            policy: parts.policy.clone(),
            profile: parts.profile.clone(),
        });
        let vouched = Vouched::beginning_with(parts.config.witnesses.clone());
        Ok(Self {
            parts,
            signing,
            learnt: RwLock::default(),
            head: RwLock::default(),
            beating: Mutex::default(),
            pulse: watch::Sender::new(None),
            tracks: look::Tracks::default(),
            solid: SolidBlocks::default(),
            throttle: throttle::Throttle::default(),
            vouched: parking_lot::Mutex::new(vouched),
            reading: Mutex::default(),
        })
    }

    /// Asks the best node.
    fn api(&self) -> Api<'_> {
        Api::best(&self.parts.fleet)
    }

    /// Asks this node.
    fn api_of(&self, id: NodeId) -> Api<'_> {
        Api::of(&self.parts.fleet, id)
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
        self.parts.fleet.views()
    }

    fn trust(&self) -> Trust {
        self.parts.fleet.trust()
    }

    async fn beat(&self) -> Result<Pulse, ChainError> {
        self.beaten().await
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

    /// No place of a lane is ever taken by a transaction that is not ours.
    async fn strangers(&self, _from: u64, _to: u64) -> Result<Vec<Foreign>, ChainError> {
        Ok(Vec::new())
    }

    async fn recall(&self, since_ms: i64) -> Result<Recall, ChainError> {
        self.read_on(since_ms).await
    }

    fn recollect(&self, past: Past) {
        self.take_up(past);
    }

    fn brake(&self) -> Option<Closed> {
        self.throttled()
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
