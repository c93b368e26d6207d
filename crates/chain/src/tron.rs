//! The TRON adapter: one account on one TRON chain, through its nodes.
//!
//! It reads, simulates, drafts, offers and looks. It keeps no transaction, and never decides what
//! becomes of a charge. TRON has no nonces: what keeps one charge from landing twice is that equal
//! bytes land once, and that new bytes are signed only when the old ones are proven dead.

mod burnings;
mod calls;
mod case;
mod conclude;
mod confirm;
mod delivery;
mod draft;
mod head;
mod inspect;
mod look;
mod observe;
mod pace;
mod preflight;
mod reading;
mod reads;
mod recall;
mod redraft;
mod resources;
mod solid_due;
mod spends;
mod throttle;
mod tracks;
mod transaction;
mod tx_record;
mod vitals;
mod young;

use super::account::meet;
use super::disputes::Disputes;
use super::head::KeptHead;
use super::promises::Promises;
use super::{
    AccountHistory, BlockHistory, BlockScan, Chain, ChainBase, ChainError, Delivery, Draft,
    Estimate, Finding, HeadExtent, HeadView, NotConnected, Payer, Preflight, Requests,
    RevocableCalls, ScanRange, SigningAccount, TokenUnits, TxOnRecord, Vitals,
};
use ::node::{Fleet, NodeId, RealChain};
use alloy::primitives::{Address, B256, U256};
use async_trait::async_trait;
use billing::{Admitted, Attempt, AttemptKind, Charge, Sighting, SigningHalt, Slot};
use burnings::Burnings;
use config::TvmConfig;
use contract::Looked;
use draft::LastDraft;
use head::TronHead;
use journal::{Durable, Past};
use observe::TronNodeFacts;
use parking_lot::RwLock;
use reading::Reading;
use solid_due::SolidDue;
use spends::SpendOf;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use tokio::sync::Mutex;
use tracks::Tracks;
pub(super) use transaction::{KnownCalls, TronPreimage};
use tron_node::{Api, BlockReader, Endpoints, Finality, Side, SolidBlocks};
use tron_primitives::address;

/// The access to a TRON chain, and its configuration.
#[derive(Clone, Debug)]
pub struct TronParts {
    /// The nodes.
    pub fleet: Arc<Fleet<Endpoints>>,
    /// The configuration of the chain.
    pub config: Arc<TvmConfig>,
    /// The cost of its accounts' failures.
    burnings: Arc<Burnings>,
}

impl TronParts {
    /// A chain that is reached through `fleet`. Clones are the same chain, for other accounts of it.
    pub fn new(fleet: Arc<Fleet<Endpoints>>, config: Arc<TvmConfig>) -> Self {
        Self { fleet, config, burnings: Arc::default() }
    }
}

/// Reads a node's record of a transaction in an irrevocable block; none if the node does not answer.
pub(super) async fn on_record(
    fleet: &Fleet<Endpoints>,
    node: NodeId,
    id: B256,
) -> Option<Option<TxOnRecord>> {
    let Some(found) = Api::of(fleet, node).info(Side::Solidity, id).await.ok()? else {
        return Some(None);
    };
    let of = B256::from(U256::from(found.block_time_ms));
    Some(Some(TxOnRecord { block: found.block, of, logs: found.logs }))
}

/// One account on one TRON chain.
#[derive(Debug)]
pub struct TronChain {
    base: ChainBase,
    account: Arc<SigningAccount>,
    parts: TronParts,
    /// The facts known of each node.
    learnt: RwLock<BTreeMap<NodeId, TronNodeFacts>>,
    head: KeptHead<TronHead>,
    tracks: Tracks,
    promises: Arc<Promises<SpendOf>>,
    last_draft: parking_lot::Mutex<LastDraft>,
    /// Which nodes have taken what was offered.
    taken: Arc<delivery::Taken>,
    reader: Arc<BlockReader>,
    solid: SolidBlocks,
    /// The proof of blocks by their witnesses.
    finality: Finality,
    /// The throttle on signing.
    throttle: throttle::Throttle,
    /// When a node last refused to run creation code; none where none did.
    undeployed: parking_lot::Mutex<Option<tokio::time::Instant>>,
    /// Held while blocks are read for what was forgotten.
    reading: Mutex<Option<Reading>>,
    /// Held while they are read for what landed beside open batches.
    comparing: Mutex<Option<Reading>>,
    /// Held while they are read for what was on its way when this process began.
    arriving: Mutex<Option<Reading>>,
    /// Held while the newest blocks and pools are.
    newest_blocks: Mutex<young::NewestBlocks>,
    /// When nothing can land any more that was signed before this process began, Unix ms of blocks.
    dead_after: OnceLock<u64>,
    /// From when on the nodes are asked what is irrevocable, while open batches are followed.
    solid_due: parking_lot::Mutex<SolidDue>,
}

impl TronChain {
    /// Connects. A node that does not answer is asked again at the next beat; one on another chain
    /// is not used, and when all of them are, that is an error.
    pub async fn connect(account: SigningAccount, parts: TronParts) -> Result<Self, NotConnected> {
        let configured = RealChain::Genesis(parts.config.chain_id);
        meet(&account.facts, &parts.fleet, configured).await?;
        let account = Arc::new(account);
        let payer = Payer::of(&account.facts);
        let reader = Arc::new(BlockReader::new(Arc::clone(&parts.fleet)));
        let head = KeptHead::unseen();
        let base = ChainBase {
            account: Arc::clone(&account),
            nodes: Arc::<Fleet<Endpoints>>::clone(&parts.fleet),
            requests_per_look: Requests::TRON_LOOK,
            heads: head.views(),
            disputes: Disputes::default(),
        };
        let witnesses = parts.config.witnesses.clone();
        let finality = Finality::of(account.facts.name.clone(), Arc::clone(&reader), witnesses);
        Ok(Self {
            base,
            account,
            parts,
            learnt: RwLock::default(),
            head,
            tracks: Tracks::default(),
            promises: Arc::new(Promises::of_account(payer)),
            last_draft: parking_lot::Mutex::default(),
            taken: Arc::default(),
            solid: SolidBlocks::unread(Arc::clone(&reader)),
            reader,
            finality,
            undeployed: parking_lot::Mutex::default(),
            throttle: throttle::Throttle::default(),
            reading: Mutex::default(),
            comparing: Mutex::default(),
            arriving: Mutex::default(),
            newest_blocks: Mutex::default(),
            dead_after: OnceLock::new(),
            solid_due: parking_lot::Mutex::default(),
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
    fn base(&self) -> &ChainBase {
        &self.base
    }

    fn history(&self) -> AccountHistory<'_> {
        AccountHistory::Blocks(self)
    }

    fn head_unready(&self) -> Option<ChainError> {
        self.could_bill(&*self.head.last()?).err()
    }

    fn halt(&self) -> Option<SigningHalt> {
        self.throttled()
    }

    fn vitals(&self) -> Option<Vitals> {
        self.vitals_now()
    }

    async fn poll_head(&self, extent: HeadExtent) -> Result<HeadView, ChainError> {
        let head = match extent {
            HeadExtent::Whole => self.observe().await?,
            HeadExtent::News => self.follow().await?,
        };
        self.probe_when_due(&head).await;
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
        self.offer(&attempt.get().signed).await
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        self.sightings(slots).await
    }

    fn restore_state(&self, past: Past, open: &[Slot<Durable<Attempt>>]) {
        self.account.remember(past.profiles.clone());
        self.take_up(past);
        for slot in open {
            self.note_spend(slot, None);
        }
    }

    async fn inspect(&self) -> Vec<Finding> {
        self.findings().await
    }
}

#[async_trait]
impl BlockHistory for TronChain {
    async fn last_used(&self) -> Result<Option<u64>, ChainError> {
        self.last_use().await
    }

    async fn scan_blocks(&self, range: ScanRange) -> Result<BlockScan, ChainError> {
        match range {
            ScanRange::Uses { since_ms, used_ms } => self.read_between(since_ms, used_ms).await,
            ScanRange::Arrivals => self.read_arrivals().await,
            ScanRange::Forgotten(from) => self.read_on(from).await,
        }
    }

    async fn end_scan(&self) {
        self.forget_what_was_read().await;
    }

    async fn revocable_calls(
        &self,
        ours: Option<&BTreeSet<B256>>,
    ) -> Result<RevocableCalls, ChainError> {
        self.young_calls(ours).await
    }
}

#[cfg(test)]
mod tests;
