//! The EVM adapter: one account on one EVM chain, through its nodes.
//!
//! It reads, simulates, drafts, offers and looks. It never takes a nonce by itself, never keeps a
//! transaction, and never decides what becomes of a charge.

mod aggregate;
mod before;
pub mod conclude;
mod confirm;
mod delivery;
mod draft;
mod errors;
mod fees;
mod gas;
mod head;
mod identify;
mod in_flight;
mod inspect;
mod known;
mod l1_fee;
mod look;
mod milestones;
mod node;
mod observe;
mod outcomes;
mod preflight;
mod reader;
mod reads;
mod redraft;
mod seal;
mod simulate;
mod vitals;
mod wire;

use super::account::verify_chain_ids;
use super::head::KeptHead;
use super::{
    AccountHistory, Chain, ChainBase, ChainError, Delivery, Draft, Estimate, Finding, HeadExtent,
    HeadView, MostSent, NonceHistory, NotConnected, Payer, Preflight, Requests, SigningAccount,
    TokenUnits, TxOnRecord, Vitals,
};
use ::node::{self as nodes, Dial, Fleet, FleetRules, JsonRpc, NodeId, RealChain};
use alloy::primitives::{Address, B256};
use async_trait::async_trait;
use billing::{Admitted, Attempt, AttemptKind, Charge, PlaceTakers, Sighting, Slot};
use config::EvmConfig;
use contract::Looked;
pub use errors::{known_messages, passing};
pub(super) use fees::dearest;
use gas::ONE_CHARGE;
use head::EvmHead;
use in_flight::InFlight;
use journal::{Durable, Past};
use known::EvmNodeFacts;
use l1_fee::DataFee;
use look::{LandedIn, Searched};
use milestones::Milestones;
use parking_lot::RwLock;
pub(super) use seal::{EvmPreimage, signed_cost};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The nodes of an EVM chain, and its configuration.
#[derive(Clone, Debug)]
pub struct EvmParts {
    /// The nodes.
    pub fleet: Arc<Fleet<JsonRpc>>,
    /// The configuration of the chain.
    pub config: Arc<EvmConfig>,
}

/// The fleet of an EVM chain's nodes. Nothing is asked yet.
pub fn fleet(dial: &dyn Dial, config: &EvmConfig) -> Result<Fleet<JsonRpc>, nodes::UnusableUrl> {
    let chain = RealChain::Eip155(config.eip155_id);
    let seed = dial.seed();
    let (timeout, a_day) = (config.rpc_timeout, config.max_requests_per_day);
    let rules = FleetRules { chain, timeout, passing, a_day, seed };
    Fleet::dial(dial, &config.rpc, &config.send_only, rules)
}

/// Returns the record that a node has of a transaction; none where the node does not answer.
pub(super) async fn on_record(rpc: node::EvmAsker<'_>, hash: B256) -> Option<Option<TxOnRecord>> {
    let Some(found) = node::receipt(rpc, hash).await.ok()? else { return Some(None) };
    let (block, of) = (found.block_number(), found.block_hash);
    (found.transaction_hash == hash).then_some(Some(TxOnRecord { block, of, logs: found.logs }))
}

/// One account on one EVM chain.
#[derive(Debug)]
pub struct EvmChain {
    base: ChainBase,
    account: Arc<SigningAccount>,
    parts: EvmParts,
    /// The facts known of each node.
    learnt: RwLock<BTreeMap<NodeId, EvmNodeFacts>>,
    head: KeptHead<EvmHead>,
    in_flight: Arc<InFlight>,
    milestones: Milestones,
    landed: parking_lot::Mutex<LandedIn>,
    /// The usage of the last billing that was drafted, or else the usage assumed of the first.
    last_estimate: parking_lot::Mutex<Estimate>,
    data_fee: DataFee,
    searched: parking_lot::Mutex<Searched>,
}

impl EvmChain {
    /// Connects. A node that does not answer is asked again at the next beat; one on another chain
    /// is not used, and when all of them are, that is an error.
    pub async fn connect(account: SigningAccount, parts: EvmParts) -> Result<Self, NotConnected> {
        let configured = RealChain::Eip155(parts.config.eip155_id);
        verify_chain_ids(&account.facts, &parts.fleet, configured).await?;
        let account = Arc::new(account);
        let payer = Payer::of(&account.facts);
        let head = KeptHead::unseen();
        let base = ChainBase {
            account: Arc::clone(&account),
            nodes: Arc::<Fleet<JsonRpc>>::clone(&parts.fleet),
            requests_per_look: Requests::EVM_LOOK,
            heads: head.views(),
            disputes: Arc::default(),
        };
        Ok(Self {
            base,
            account,
            parts,
            learnt: RwLock::default(),
            head,
            in_flight: Arc::new(InFlight::of_account(payer)),
            milestones: Milestones::default(),
            landed: parking_lot::Mutex::default(),
            last_estimate: parking_lot::Mutex::new(ONE_CHARGE),
            data_fee: DataFee::default(),
            searched: parking_lot::Mutex::default(),
        })
    }
}

#[async_trait]
impl Chain for EvmChain {
    fn base(&self) -> &ChainBase {
        &self.base
    }

    fn history(&self) -> AccountHistory<'_> {
        AccountHistory::Nonces(self)
    }

    fn max_in_flight(&self) -> u64 {
        let held = self.known().map_or(u64::MAX, |known| known.held_at_once);
        held.min(self.account.facts.max_in_flight)
    }

    fn head_unready(&self) -> Option<ChainError> {
        self.could_bill(&*self.head.last()?).err()
    }

    fn vitals(&self) -> Option<Vitals> {
        self.vitals_now()
    }

    async fn poll_head(&self, extent: HeadExtent) -> Result<HeadView, ChainError> {
        let head = match extent {
            HeadExtent::Whole => self.observe().await?,
            HeadExtent::News => self.follow().await?,
        };
        Ok(head.pulse)
    }

    async fn ask_permission(&self) -> Result<(), ChainError> {
        self.may_bill_anybody().await
    }

    async fn lookup(&self, entries: &[Admitted]) -> Result<Vec<Option<Looked>>, ChainError> {
        self.looked_up(entries).await
    }

    async fn token_units(&self, token: Address) -> Result<Option<TokenUnits>, ChainError> {
        self.units_of(token).await
    }

    async fn preflight(&self, charges: Vec<Charge>) -> Result<Preflight, ChainError> {
        let checked = self.check(charges).await;
        if checked.is_err() {
            self.account.note_permission(&checked);
        }
        checked
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

    async fn deliver(&self, attempt: &Durable<Attempt>) -> Delivery {
        let signed = &attempt.get().signed;
        self.in_flight.offered(signed.hash, &signed.raw);
        self.offer(signed).await
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        self.sightings(slots).await
    }

    fn restore_state(&self, past: Past, open: &[Slot<Durable<Attempt>>]) {
        self.account.remember(past.profiles);
        for slot in open {
            self.in_flight.of(slot);
        }
    }

    async fn inspect(&self) -> Vec<Finding> {
        self.findings().await
    }
}

#[async_trait]
impl NonceHistory for EvmChain {
    async fn undenied_sent(&self) -> Result<MostSent, ChainError> {
        self.undenied_nonce().await
    }

    async fn most_sent(&self) -> Result<MostSent, ChainError> {
        self.highest_nonce().await
    }

    async fn sent_before(&self, at_ms: i64) -> Result<u64, ChainError> {
        self.nonce_before(at_ms).await
    }

    async fn foreign_transactions(&self, from: u64, to: u64) -> Result<PlaceTakers, ChainError> {
        self.learn(from, to).await
    }
}
