//! The TRON adapter: one account on one TRON chain, through its nodes.
//!
//! It reads, simulates, drafts, offers and looks. It keeps no transaction, and never decides what
//! becomes of a charge. TRON has no nonces: what keeps one charge from landing twice is that equal
//! bytes land once, and that new bytes are signed only when the old ones are proven dead.

mod access;
mod account_scan;
mod batch_reads;
mod burnings;
mod case;
mod delivery;
mod draft;
mod drafting;
mod fates;
mod foreign_calls;
mod head;
mod head_watch;
mod horizon;
mod inspect;
mod newest_read;
mod node_facts;
mod node_look;
mod on_record;
mod reading;
mod resources;
mod revocable;
mod simulation;
mod solid_due;
mod spending;
mod spends;
mod testimony;
mod throttle;
mod tracker;
mod tracks;
mod tx_record;

pub(super) use on_record::{block_of, on_record};

use super::account::verify_chain_ids;
use super::block_on_record::{BlockOnRecord, NotShown};
use super::confirm::can_be_looked_up;
use super::disputes::Disputes;
use super::head::HeadLook as _;
use super::{
    AccountHistory, Chain, ChainBase, ChainError, Delivery, Draft, Estimate, Finding, HeadExtent,
    HeadView, NotConnected, Preflight, Requests, SigningAccount, TokenUnits, Vitals,
};
use ::node::{Fleet, RealChain};
use access::Access;
use account_scan::AccountScan;
use alloy::primitives::{Address, B256};
use async_trait::async_trait;
use batch_reads::BatchReads;
use billing::{Admitted, Attempt, AttemptKind, Charge, Sighting, SigningHalt, Slot};
use burnings::Burnings;
use config::TvmConfig;
use contract::Looked;
use delivery::Broadcaster;
use drafting::Drafting;
use fates::Fates;
use head_watch::HeadWatch;
use inspect::Inspection;
use journal::{Durable, Past};
use simulation::Simulation;
use spending::Spending;
use std::sync::Arc;
use throttle::Throttle;
use tracker::Tracker;
use tron_node::{BlockReader, Endpoints, Finality, SolidBlocks};

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

/// One account on one TRON chain, put together from parts that each own their state.
#[derive(Debug)]
pub struct TronChain {
    base: ChainBase,
    access: Access,
    /// The watch over the head.
    head: Arc<HeadWatch>,
    /// The reads of many things at once.
    reads: Arc<BatchReads>,
    /// The billing call, run without being sent.
    simulation: Arc<Simulation>,
    /// The money that open transactions may cost.
    spending: Arc<Spending>,
    /// The throttle on signing.
    throttle: Arc<Throttle>,
    drafting: Drafting,
    broadcaster: Broadcaster,
    /// The look for undecided batches.
    tracker: Tracker,
    /// The proof of blocks by their witnesses.
    finality: Arc<Finality>,
    /// The reading of blocks for what the account did.
    scan: AccountScan,
}

impl TronChain {
    /// Connects. A node that does not answer is asked again at the next look; one on another chain
    /// is not used, and when all of them are, that is an error.
    pub async fn connect(account: SigningAccount, parts: TronParts) -> Result<Self, NotConnected> {
        let configured = RealChain::Genesis(parts.config.chain_id);
        verify_chain_ids(&account.facts, &parts.fleet, configured, &[]).await?;
        Ok(Self::of(Arc::new(account), parts))
    }

    /// Puts the parts together. Nothing is asked yet.
    fn of(account: Arc<SigningAccount>, parts: TronParts) -> Self {
        let TronParts { fleet, config, burnings } = parts;
        let access = Access { account: Arc::clone(&account), fleet, config };
        let reader = Arc::new(BlockReader::new(Arc::clone(&access.fleet)));
        let head = Arc::new(HeadWatch::of(access.clone(), Arc::clone(&reader)));
        let (name, witnesses) = (access.chain().to_owned(), access.config.witnesses.clone());
        let finality = Arc::new(Finality::of(name, Arc::clone(&reader), witnesses));
        let disputes = Arc::new(Disputes::default());
        let base = ChainBase {
            account,
            nodes: Arc::<Fleet<Endpoints>>::clone(&access.fleet),
            requests_per_look: Requests::TRON_LOOK,
            heads: head.views(),
            disputes: Arc::clone(&disputes),
        };
        let throttle = Arc::new(Throttle::of(access.clone(), burnings));
        let spending = Arc::new(Spending::of(access.clone()));
        let reads = Arc::new(BatchReads::of(access.clone(), Arc::clone(&head)));
        let simulation = Arc::new(Simulation {
            access: access.clone(),
            head: Arc::clone(&head),
            throttle: Arc::clone(&throttle),
            reads: Arc::clone(&reads),
        });
        let drafting = Drafting {
            access: access.clone(),
            head: Arc::clone(&head),
            spending: Arc::clone(&spending),
            throttle: Arc::clone(&throttle),
            simulation: Arc::clone(&simulation),
        };
        let solid = SolidBlocks::unread(Arc::clone(&reader));
        let fates = Fates::of(access.clone(), Arc::clone(&finality), solid, disputes);
        let tracker = Tracker {
            access: access.clone(),
            head: Arc::clone(&head),
            fates,
            spending: Arc::clone(&spending),
            throttle: Arc::clone(&throttle),
        };
        let broadcaster = Broadcaster::of(Arc::clone(&access.fleet));
        let scan =
            AccountScan::of(access.clone(), Arc::clone(&head), reader, Arc::clone(&finality));
        Self {
            base,
            access,
            head,
            reads,
            simulation,
            spending,
            throttle,
            drafting,
            broadcaster,
            tracker,
            finality,
            scan,
        }
    }

    /// An error if no request could be billed, by the last look at the head.
    fn could_bill(&self) -> Result<(), ChainError> {
        let Some(head) = self.head.last() else { return Ok(()) };
        head.timely(head.when_seen(self.access.account.clock, self.head.young()))?;
        can_be_looked_up(&self.access.fleet, &self.access.account.profile)?;
        self.head.deployed()?;
        self.spending.could_pay_for_energy(&head)?;
        Ok(self.spending.budget(&head)?.pays()?)
    }
}

#[async_trait]
impl Chain for TronChain {
    fn base(&self) -> &ChainBase {
        &self.base
    }

    fn history(&self) -> AccountHistory<'_> {
        AccountHistory::Blocks(&self.scan)
    }

    async fn block_of(&self, transaction: B256) -> Result<BlockOnRecord, NotShown> {
        block_of(&self.access.fleet, transaction).await
    }

    fn head_unready(&self) -> Option<ChainError> {
        self.could_bill().err()
    }

    fn halt(&self) -> Option<SigningHalt> {
        self.throttle.halt(self.head.last().and_then(|head| head.not_alone))
    }

    fn vitals(&self) -> Option<Vitals> {
        self.spending.vitals(&*self.head.last()?, self.throttle.burnt_today())
    }

    async fn poll_head(&self, extent: HeadExtent) -> Result<HeadView, ChainError> {
        let head = match extent {
            HeadExtent::Whole => self.head.observe().await?,
            HeadExtent::News => self.head.follow().await?,
        };
        self.throttle.probe_when_due(&head).await;
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
        self.broadcaster.offer(&attempt.get().signed).await
    }

    async fn look(&self, slots: &[&Slot<Durable<Attempt>>]) -> Vec<Sighting> {
        self.tracker.sightings(slots).await
    }

    fn restore_state(&self, past: Past, open: &[Slot<Durable<Attempt>>]) {
        self.access.account.remember(past.profiles.clone());
        self.throttle.restore(past);
        for slot in open {
            self.spending.note(slot, None);
        }
    }

    async fn inspect(&self) -> Vec<Finding> {
        Inspection { chain: self }.findings().await
    }
}

#[cfg(test)]
mod tests;
