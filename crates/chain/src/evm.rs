//! The EVM adapter: one account on one EVM chain, through its nodes.
//!
//! It reads, simulates, drafts, offers and looks. It never takes a nonce by itself, never keeps a
//! transaction, and never decides what becomes of a charge.

mod access;
mod aggregate;
mod delivery;
mod draft;
mod drafting;
mod evidence;
mod fates;
mod fees;
mod finality;
mod gas;
mod head;
mod head_watch;
mod history;
mod in_flight;
mod inspect;
mod known_nodes;
mod l1_fee;
mod milestones;
mod node_look;
mod nonces;
mod on_record;
mod outcomes;
mod proven_nonce;
mod reader;
mod reads;
mod runs;
mod simulate;
mod simulation;
mod spending;
mod testimony;
mod tracker;
mod wire;

pub(super) use on_record::{block_of, on_record};

use super::account::verify_chain_ids;
use super::block_on_record::{BlockOnRecord, NotShown};
use super::confirm::can_be_looked_up;
use super::disputes::Disputes;
use super::{
    AccountHistory, Chain, ChainBase, ChainError, Delivery, Draft, Estimate, Finding, HeadExtent,
    HeadView, NotConnected, Preflight, ProofMode, Requests, SigningAccount, TokenUnits, Vitals,
};
use ::node::{self as nodes, Dial, Fleet, FleetRules, JsonRpc, NodeView, RealChain};
use access::Access;
use alloy::primitives::{Address, B256};
use async_trait::async_trait;
use billing::{Admitted, Attempt, AttemptKind, BlockRef, Charge, Sighting, Slot};
use config::EvmConfig;
use contract::Looked;
use delivery::Broadcaster;
use drafting::Drafting;
use evm_blocks::FinalChain;
use evm_proofs::block_id::BlockId;
use evm_testimony::errors::passing;
use fates::Fates;
use head_watch::HeadWatch;
use history::History;
use host::clock::Clock;
use inspect::Inspection;
use journal::{Durable, Past};
use nonces::Nonces;
use proven_nonce::ProvenNonces;
use reads::Reads;
use simulation::Simulation;
use spending::Spending;
use std::sync::Arc;
use tracker::Tracker;

/// The way to an EVM chain, which all its accounts share.
#[derive(Clone, Debug)]
pub struct EvmParts {
    fleet: Arc<Fleet<JsonRpc>>,
    final_chain: Arc<FinalChain>,
    config: Arc<EvmConfig>,
}

impl EvmParts {
    /// The way by what is configured. Nothing is asked yet.
    pub fn dial(
        dial: &dyn Dial,
        config: Arc<EvmConfig>,
        clock: Clock,
    ) -> Result<Self, nodes::UnusableUrl> {
        let fleet = Arc::new(fleet(dial, &config)?);
        let rules = rules(dial, &config);
        let final_chain = FinalChain::dial(dial, &config, clock, Arc::clone(&fleet), rules)?;
        let final_chain = Arc::new(final_chain);
        Ok(Self { fleet, final_chain, config })
    }
}

/// The fleet of an EVM chain's nodes. Nothing is asked yet.
pub fn fleet(dial: &dyn Dial, config: &EvmConfig) -> Result<Fleet<JsonRpc>, nodes::UnusableUrl> {
    Fleet::dial(dial, &config.rpc, &config.send_only, rules(dial, config))
}

fn rules(dial: &dyn Dial, config: &EvmConfig) -> FleetRules {
    let chain = RealChain::Eip155(config.eip155_id);
    let seed = dial.seed();
    let (timeout, a_day) = (config.rpc_timeout, config.max_requests_per_day);
    FleetRules { chain, timeout, passing, a_day, seed }
}

/// One account on one EVM chain, put together from parts that each own their state.
#[derive(Debug)]
pub struct EvmChain {
    base: ChainBase,
    access: Access,
    /// The watch over the head.
    head: Arc<HeadWatch>,
    /// The reads of many things at once.
    reads: Arc<Reads>,
    /// The billing call, run without being sent.
    simulation: Arc<Simulation>,
    /// The money that open transactions may cost.
    spending: Arc<Spending>,
    drafting: Drafting,
    broadcaster: Broadcaster,
    /// The look for undecided batches.
    tracker: Tracker,
    /// The history of the account.
    history: History,
}

impl EvmChain {
    /// Connects. A node that does not answer is asked again at the next look; one on another chain
    /// is not used, and when all of them are, that is an error.
    pub async fn connect(account: SigningAccount, parts: EvmParts) -> Result<Self, NotConnected> {
        let configured = RealChain::Eip155(parts.config.eip155_id);
        let witnesses = parts.final_chain.witness_views();
        verify_chain_ids(&account.facts, &parts.fleet, configured, &witnesses).await?;
        Ok(Self::of(Arc::new(account), parts))
    }

    /// Puts the parts together. Nothing is asked yet.
    fn of(account: Arc<SigningAccount>, parts: EvmParts) -> Self {
        let EvmParts { fleet, final_chain, config } = parts;
        let access = Access { account: Arc::clone(&account), fleet, config, final_chain };
        let nonces = Arc::new(ProvenNonces::of(access.clone()));
        let head = Arc::new(HeadWatch::of(access.clone(), Arc::clone(&nonces)));
        let disputes = Arc::new(Disputes::default());
        let base = ChainBase {
            account,
            nodes: Arc::<Fleet<JsonRpc>>::clone(&access.fleet),
            requests_per_look: Requests::EVM_LOOK,
            heads: head.views(),
            disputes: Arc::clone(&disputes),
        };
        let spending = Arc::new(Spending::of(access.clone()));
        let reads = Arc::new(Reads { access: access.clone(), head: Arc::clone(&head) });
        let simulation = Arc::new(Simulation {
            access: access.clone(),
            head: Arc::clone(&head),
            spending: Arc::clone(&spending),
            reads: Arc::clone(&reads),
        });
        let drafting = Drafting {
            access: access.clone(),
            head: Arc::clone(&head),
            spending: Arc::clone(&spending),
            simulation: Arc::clone(&simulation),
        };
        let fates = Arc::new(Fates::of(access.clone(), disputes, nonces));
        let history = History {
            head: Arc::clone(&head),
            nonces: Nonces { access: access.clone() },
            fates: Arc::clone(&fates),
        };
        let tracker = Tracker {
            access: access.clone(),
            head: Arc::clone(&head),
            fates,
            spending: Arc::clone(&spending),
        };
        let broadcaster = Broadcaster { fleet: Arc::clone(&access.fleet) };
        Self {
            base,
            access,
            head,
            reads,
            simulation,
            spending,
            drafting,
            broadcaster,
            tracker,
            history,
        }
    }

    /// An error if no request could be billed, by the last look at the head.
    fn could_bill(&self) -> Result<(), ChainError> {
        let Some(head) = self.head.last() else { return Ok(()) };
        self.head.was_timely(&head)?;
        can_be_looked_up(&self.access.fleet, &self.access.account.profile)?;
        self.head.deployed()?;
        self.spending.could_bill(&head)
    }
}

#[async_trait]
impl Chain for EvmChain {
    fn base(&self) -> &ChainBase {
        &self.base
    }

    fn history(&self) -> AccountHistory<'_> {
        AccountHistory::Nonces(&self.history)
    }

    async fn block_of(&self, transaction: B256) -> Result<BlockOnRecord, NotShown> {
        block_of(&self.access.fleet, transaction).await
    }

    fn max_in_flight(&self) -> u64 {
        let held = self.head.known().map_or(u64::MAX, |known| known.held_at_once);
        held.min(self.access.account.facts.max_in_flight)
    }

    fn head_unready(&self) -> Option<ChainError> {
        self.could_bill().err()
    }

    fn vitals(&self) -> Option<Vitals> {
        self.spending.vitals(&*self.head.last()?)
    }

    fn proof_mode(&self) -> Option<ProofMode> {
        Some(self.tracker.fates.proof_mode())
    }

    fn witnesses(&self) -> Vec<NodeView> {
        self.access.final_chain.witness_views()
    }

    async fn poll_head(&self, extent: HeadExtent) -> Result<HeadView, ChainError> {
        let head = match extent {
            HeadExtent::Whole => self.head.observe().await?,
            HeadExtent::News => self.head.follow().await?,
        };
        Ok(head.view)
    }

    async fn ask_permission(&self) -> Result<(), ChainError> {
        self.simulation.ask_permission().await
    }

    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError> {
        self.reads.lookup(entries).await
    }

    async fn token_units(&self, token: Address) -> Result<Option<TokenUnits>, ChainError> {
        self.reads.units_of(token).await
    }

    async fn preflight(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let checked = self.simulation.check(charges).await;
        if checked.is_err() {
            self.access.account.note_permission(&checked);
        }
        checked
    }

    async fn draft(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<Box<dyn Draft>, ChainError> {
        Ok(Box::new(self.drafting.bill(good, estimate).await?))
    }

    async fn redraft(
        &self,
        slot: &Slot<Durable<Attempt>>,
        kind: AttemptKind,
    ) -> Result<Box<dyn Draft>, ChainError> {
        Ok(Box::new(self.drafting.again(slot, kind).await?))
    }

    async fn deliver(&self, attempt: &Durable<Attempt>) -> Delivery {
        let signed = &attempt.get().signed;
        self.spending.note_offer(signed);
        self.broadcaster.offer(signed).await
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        self.tracker.sightings(slots).await
    }

    fn restore_state(&self, past: Past, open: &[Slot<Durable<Attempt>>]) {
        self.access.account.remember(past.profiles);
        if let Some(BlockRef { number, hash: Some(hash), .. }) = past.decided
            && self.access.config.rewritten_until.is_none_or(|until| until < number)
        {
            self.access.final_chain.trust(BlockId { number, hash });
        }
        for slot in open {
            self.spending.place(slot);
        }
    }

    async fn inspect(&self) -> Vec<Finding> {
        Inspection { chain: self }.findings().await
    }
}
