//! The chain as the engine meets it. What the EVM adapter decides by pure functions is decided by the
//! same functions here: `conclude` of testimonies, bids, ceilings. What it only collects is collected
//! from the world: `beat` mirrors `EvmChain::observe`, `look` its `sightings`, `deliver` its `offer`.
//!
//! Every question to a node is a place where the process can be killed, overtaken or kept waiting.

use super::chain::GAS;
use super::faults::Fault;
use super::mutants::Mutant;
use super::nodes::{NODES, World, short};
use super::testimony::{CONTRACT, Look, Place};
use super::words::{SimDraft, Words};
use crate::billing::NonceView;
use crate::billing::{
    Admitted, Attempt, AttemptKind, Charge, Checked, FailCode, Family, Foreign, Funds, Opinion,
    PlatformChainId, Sighting, Slot, Standing,
};
use crate::chain::evm::conclude::{Fate, Reader as _, Testimony, conclude};
use crate::chain::evm::seam;
use crate::chain::{
    Chain, ChainError, Delivery, Draft, Estimate, Facts, MostSent, Preflight, Pulse,
};
use crate::config::{BillingConfig, FeeConfig, L1Fee, PolicyConfig, Wei};
use crate::contract::{Looked, Profile};
use crate::journal::Durable;
use crate::node::{NodeId, NodeView, NonceSeen, Trust, median, reached_by, refuted};
use crate::policy::Policy;
use alloy::primitives::{Address, B256, U256};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;

/// The lane.
pub(super) const CHAIN: PlatformChainId = PlatformChainId(139);
pub(super) const SIGNER: Address = Address::repeat_byte(0x51);

pub(super) const CEILINGS: FeeConfig = FeeConfig {
    max_fee_per_gas: Wei(4000),
    max_priority_fee_per_gas: Wei(4000),
    max_tx_cost: Wei(u128::MAX),
    legacy: false,
    l1_fee: L1Fee::None,
};

/// Limits nothing: what it lets pass is compared with bytes, and there are none here.
static POLICY: LazyLock<Policy> = LazyLock::new(|| Policy {
    chain: CHAIN,
    family: Family::Evm,
    bound_to: None,
    contract: CONTRACT,
    selector: PROFILE.selector(),
    signer: SIGNER,
    paused: false,
    limits: PolicyConfig::default(),
});

static PROFILE: LazyLock<Profile> = LazyLock::new(|| {
    let config = BillingConfig {
        call: "charge((uint64 subscribeId, uint64 planId, bytes32 userHash, uint32 period, \
               uint128 amount)[] items, uint64 simulatedRequest)"
            .to_owned(),
        lookup: None,
        charged: None,
        skipped: None,
        constants: BTreeMap::new(),
        reasons: BTreeMap::new(),
        period: None,
        deadline: Duration::from_mins(10),
        guard: Duration::from_hours(1),
    };
    Profile::parse(&config, Family::Evm).unwrap()
});

/// The world, shared by everything that runs in one seed.
pub(super) type Shared = Arc<Mutex<World>>;

/// What this process has seen of the head.
#[derive(Clone, Debug)]
struct Head {
    places: NonceView,
    final_block: u64,
    base_fee: u128,
    balance: U256,
}

/// The account on the simulated chain, as one process knows it.
#[derive(Debug)]
pub(super) struct SimChain {
    pub(super) world: Shared,
    facts: Facts,
    head: Mutex<Option<Head>>,
    pulse: watch::Sender<Option<Pulse>>,
    /// What was said to each transaction when it was last offered: mutants trust it.
    pub(super) heard: Mutex<BTreeMap<B256, Vec<seam::Said>>>,
}

impl SimChain {
    pub(super) fn new(world: Shared) -> Self {
        let facts = Facts {
            id: CHAIN,
            name: "simulated".to_owned(),
            family: Family::Evm,
            network: 31337,
            contract: CONTRACT,
            signer: SIGNER,
            max_in_flight: 4,
        };
        let (head, heard) = (Mutex::new(None), Mutex::default());
        Self { world, facts, head, pulse: watch::Sender::new(None), heard }
    }

    /// How many nodes have to agree.
    fn needed(&self) -> usize {
        if self.world.lock().breaks(Mutant::OneNodeQuorum) { 1 } else { 2 }
    }

    /// A round trip.
    async fn trip(&self) {
        let slow = {
            let mut world = self.world.lock();
            if world.fault(Fault::SlowNode) { 2 + world.dice.below(30) } else { 1 }
        };
        let mut left = slow;
        std::future::poll_fn(|context| {
            if left == 0 {
                return Poll::Ready(());
            }
            left -= 1;
            // Whoever polls in turns needs no waker; a set of futures does.
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    /// The nonce that each node calls pending. All of them have to tell.
    async fn pending_nonces(&self) -> Result<Vec<u64>, ChainError> {
        let mut told = Vec::with_capacity(NODES);
        for at in 0..NODES {
            self.trip().await;
            let pending = self.world.lock().pending(at);
            told.push(pending.ok_or_else(|| unavailable("a node did not answer"))?);
        }
        Ok(told)
    }

    fn seen(&self) -> Result<Head, ChainError> {
        self.head.lock().clone().ok_or_else(|| unavailable("not reached yet"))
    }

    async fn testimonies(&self, places: &[Place]) -> Vec<Testimony> {
        let mut said = Vec::with_capacity(NODES);
        for at in 0..NODES {
            self.trip().await;
            said.extend(self.world.lock().testify(at, places));
        }
        said
    }

    /// How the newest attempt stands against what the chain asks; as `EvmChain` judges it.
    fn standing(&self, slot: &Slot<Durable<Attempt>>) -> Standing {
        let Some(head) = self.head.lock().clone() else { return Standing::Fair };
        let world = self.world.lock();
        let tx = &world.txs[&slot.attempts.newest().get().signed.hash];
        let cost = U256::from(u128::from(GAS) * tx.max_fee);
        if seam::is_low((tx.max_fee, tx.tip), head.base_fee) {
            Standing::Underpriced
        } else if cost > head.balance {
            Standing::Starved
        } else {
            Standing::Fair
        }
    }

    /// The tag of the request that a charge belongs to: an argument of the call beside the usual ones.
    fn request_of(charges: &[Charge]) -> u64 {
        let tag = charges.first().and_then(|charge| charge.entry.whole(TAG));
        tag.map_or(0, |tag| tag.to())
    }
}

/// The entry field that carries the number of the request.
pub(super) const TAG: &str = "simulatedRequest";

#[async_trait]
impl Chain for SimChain {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn profile(&self) -> &Profile {
        &PROFILE
    }

    fn signs(&self) -> bool {
        true
    }

    fn policy(&self) -> &Policy {
        &POLICY
    }

    fn nodes(&self) -> Vec<NodeView> {
        vec![]
    }

    fn trust(&self) -> Trust {
        Trust::Two
    }

    fn pulse(&self) -> watch::Receiver<Option<Pulse>> {
        self.pulse.subscribe()
    }

    async fn beat(&self) -> Result<Pulse, ChainError> {
        let needed = self.needed();
        let mut looks: Vec<(NodeId, Look)> = Vec::with_capacity(NODES);
        for at in 0..NODES {
            self.trip().await;
            looks.extend(self.world.lock().look(at).map(|look| (NodeId(at), look)));
        }
        let known =
            self.head.lock().as_ref().map_or((0, 0), |h| (h.final_block, h.places.finalized));
        let each = || looks.iter().map(|(_, look)| look);
        let number = reached_by(each().map(|look| look.head), looks.len().min(2));
        let number = number.ok_or_else(|| unavailable("no node can be used"))?;
        let finalized = reached_by(each().map(|look| look.finalized), needed).unwrap_or(0);
        let final_block = finalized.max(known.0);
        let mut nonces = Vec::with_capacity(NODES);
        for at in 0..NODES {
            self.trip().await;
            nonces.extend(self.world.lock().nonce_at(at, final_block));
        }
        let mut settled = reached_by(nonces, needed).unwrap_or(0).max(known.1);
        let taken = taken(&looks).max(settled);
        if self.world.lock().breaks(Mutant::LearnTooEarly) {
            settled = taken;
        }
        let time = median(each().filter(|look| look.head == number).map(|look| look.time));
        let places = NonceView { mined: taken, finalized: settled };
        let head_time = time.unwrap_or_default();
        let pulse = Pulse { head: number, head_time, final_time: head_time, nonces: Some(places) };
        let base_fee = median(each().map(|look| look.base_fee)).unwrap_or_default();
        let balance = median(each().map(|look| look.balance)).unwrap_or_default();
        *self.head.lock() = Some(Head { places, final_block, base_fee, balance });
        self.pulse.send_replace(Some(pulse));
        Ok(pulse)
    }

    async fn first_position(&self) -> Result<u64, ChainError> {
        let told = self.pending_nonces().await?;
        reached_by(told, self.needed()).ok_or_else(|| unavailable("too few nodes"))
    }

    async fn most_sent(&self) -> Result<MostSent, ChainError> {
        let count = self.pending_nonces().await?.into_iter().max().unwrap_or_default();
        Ok(MostSent { count, told_by: vec![] })
    }

    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError> {
        Ok(entries.iter().map(|_| None).collect())
    }

    async fn preflight(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        self.trip().await;
        let mut world = self.world.lock();
        if world.fault(Fault::NodeSilent) {
            return Err(unavailable("no answer"));
        }
        let estimate = Estimate { used: GAS, charges: charges.len() };
        let mut checked = Vec::with_capacity(charges.len());
        for charge in charges {
            let funds = Some(Funds { balance: U256::MAX, allowance: U256::MAX });
            let lacks = world.fault(Fault::CustomerLacks);
            let refuses = Opinion::Refuses { code: FailCode::PlanInactive, detail: None };
            let opinion = if lacks { refuses } else { Opinion::Passes };
            checked.push(Checked { charge, funds, opinion });
        }
        Ok(Preflight { checked, estimate })
    }

    async fn draft(
        &self,
        good: &[Charge],
        _estimate: &Estimate,
    ) -> Result<Box<dyn Draft>, ChainError> {
        let head = self.seen()?;
        let bid = seam::first_bid(head.base_fee, &CEILINGS)?;
        seam::affordable(GAS, bid, &[], head.balance)?;
        let items = good.iter().map(Charge::item).collect();
        let request = Self::request_of(good);
        let kind = AttemptKind::Bill;
        Ok(Box::new(SimDraft { world: Arc::clone(&self.world), kind, bid, items, request }))
    }

    async fn redraft(
        &self,
        slot: &Slot<Durable<Attempt>>,
        kind: AttemptKind,
    ) -> Result<Box<dyn Draft>, ChainError> {
        let head = self.seen()?;
        let (first, earlier) = {
            let world = self.world.lock();
            let txs = slot.attempts.iter().map(|attempt| &world.txs[&attempt.get().signed.hash]);
            let earlier: Vec<_> = txs.map(|tx| (tx.max_fee, tx.tip)).collect();
            (world.txs[&slot.attempts.first().get().signed.hash].clone(), earlier)
        };
        let bid = seam::outbid(seam::first_bid(head.base_fee, &CEILINGS)?, &earlier, &CEILINGS)?;
        let bills = kind == AttemptKind::Bill;
        let items = if bills { first.items } else { vec![] };
        let request = first.request;
        Ok(Box::new(SimDraft { world: Arc::clone(&self.world), kind, bid, items, request }))
    }

    async fn deliver(&self, attempt: &Durable<Attempt>) -> Delivery {
        let hash = attempt.get().signed.hash;
        let mut heard = Vec::with_capacity(NODES);
        for at in 0..NODES {
            self.trip().await;
            let mut world = self.world.lock();
            heard.push(world.send(at, hash));
            let sent = world.sent.len() as u64;
            world.note("sent", short(hash), sent);
        }
        let delivery = seam::delivery(&heard, hash, self.needed());
        self.heard.lock().insert(hash, heard);
        delivery
    }

    async fn strangers(&self, from: u64, to: u64) -> Result<Vec<Foreign>, ChainError> {
        let places: Vec<Place> = (from..to).map(|position| (position, vec![])).collect();
        let mut said = self.testimonies(&places).await;
        if self.world.lock().breaks(Mutant::LearnTooEarly) {
            said = self.world.lock().testify_early(&places);
        }
        let mut strangers = vec![];
        for (position, _) in places {
            let Fate::Foreign(taker) = conclude(position, &[], &said, self.needed()).fate else {
                return Err(unavailable("the nodes do not agree who took a place"));
            };
            let effect = Words { world: &self.world, slot: None }.effect(&taker);
            strangers.push(Foreign::new(position, taker.landed(), effect));
        }
        Ok(strangers)
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        let forgets = self.world.lock().breaks(Mutant::ForgetOldAttempts);
        let place = |slot: &&Slot<Durable<Attempt>>| {
            let mut hashes = hashes(slot);
            if forgets {
                hashes.drain(..hashes.len() - 1);
            }
            (slot.position, hashes)
        };
        let places: Vec<Place> = slots.iter().map(place).collect();
        let said = self.testimonies(&places).await;
        let needed = self.needed();
        let mut sightings = Vec::with_capacity(slots.len());
        for (slot, (position, attempts)) in slots.iter().zip(&places) {
            let fate = conclude(*position, attempts, &said, needed).fate;
            let wrong = self.misjudged(slot, &said, &fate);
            let reader = Words { world: &self.world, slot: Some(slot) };
            let sighting = fate.sighting(*position, self.standing(slot), &reader);
            self.world.lock().see(slot, &sighting);
            sightings.push(wrong.unwrap_or(sighting));
        }
        sightings
    }
}

pub(super) fn hashes(slot: &Slot<Durable<Attempt>>) -> Vec<B256> {
    slot.attempts.iter().map(|attempt| attempt.get().signed.hash).collect()
}

fn unavailable(why: &str) -> ChainError {
    ChainError::Unavailable(why.to_owned())
}

/// The highest nonce that a node tells of and that two others do not refute; as `EvmChain::taken`.
fn taken(looks: &[(NodeId, Look)]) -> u64 {
    let seen = |(node, look): &(NodeId, Look)| NonceSeen {
        node: *node,
        head: look.head,
        nonce: look.nonce,
    };
    let told: Vec<NonceSeen> = looks.iter().map(seen).collect();
    let refuted = refuted(&told);
    let believed = told.iter().filter(|told| !refuted.contains(&told.node));
    believed.map(|told| told.nonce).max().unwrap_or_default()
}
