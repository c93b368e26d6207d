#![doc = include_str!("../README.md")]

pub(crate) mod bill;
mod chain_accounts;
mod charge_spans;
mod counts;
mod end_log;
mod held_up;
mod lane;
mod lane_error;
mod lane_name;
mod lane_set;
mod look_times;
mod not_ready;
mod open_batches;
mod opening;
mod past_check;
mod ready_batch;
mod reconcile;
mod repeat;
mod reservation;
mod role;
mod room;
mod runway;
mod sign;
mod signing_lanes;
mod signing_queue;
mod verdict;
mod watcher;

pub use chain_accounts::ChainAccounts;
pub use charge_spans::SPAN_TARGET;
pub use counts::{LaneCounts, SignedAgain};
pub use held_up::HeldUp;
pub use lane::{Lane, LaneSettings};
pub use lane_error::LaneError;
pub use lane_set::LaneSet;
pub use not_ready::NotReady;
pub use open_batches::OpenBatches;
pub use role::Role;
pub use runway::Runway;
pub use signing_lanes::SigningLanes;
pub use verdict::{Answer, DryRun, NamedTransaction, NoVerdict, Progress, Sent};

pub use billing::Gate;
pub use watcher::Watcher;

use alloy::primitives::B256;
use billing::{CallerKey, Order, PlatformChainId};
use journal::{
    Billing, Journal, JournalError, NotWritten, OtherPause, Pause, PersonsWord, Resolved, Spent,
    Switch, Unresolved,
};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::warn;

/// Why an instruction of a person was not carried out.
#[derive(Debug)]
pub enum NotDone<E> {
    /// It does not fit the journal, for this reason.
    Refused(E),
    /// It could not be judged.
    NoVerdict(NoVerdict),
}

impl<E> From<NoVerdict> for NotDone<E> {
    fn from(why: NoVerdict) -> Self {
        Self::NoVerdict(why)
    }
}

impl<E> From<JournalError> for NotDone<E> {
    fn from(error: JournalError) -> Self {
        Self::NoVerdict(error.into())
    }
}

impl<E> From<NotWritten<E>> for NotDone<E> {
    fn from(not: NotWritten<E>) -> Self {
        match not {
            NotWritten::Refused(why) => Self::Refused(why),
            NotWritten::Journal(error) => error.into(),
        }
    }
}

/// All lanes of this process.
#[derive(Debug)]
pub struct Engine {
    lanes: LaneSet,
    /// The journal that they share.
    pub journal: Journal,
    /// The tasks in which requests run, so that neither a caller who hangs up nor a shutdown cuts one short.
    pub tasks: TaskTracker,
}

impl Engine {
    /// With these lanes, which share a journal.
    pub fn new(lanes: LaneSet, journal: Journal) -> Self {
        Self { lanes, journal, tasks: TaskTracker::new() }
    }

    /// Returns the lanes.
    pub fn lanes(&self) -> &LaneSet {
        &self.lanes
    }

    /// Bills `order` on `chain`. To be called in a task of [`Self::tasks`], which nobody cuts short.
    pub async fn bill(
        &self,
        chain: PlatformChainId,
        order: Order,
        deadline: Instant,
    ) -> Result<Answer, NoVerdict> {
        if self.tasks.is_closed() {
            return Err(NoVerdict::ShuttingDown);
        }
        let signers = self.lanes.of_chains.get(&chain).ok_or(NoVerdict::UnknownChain(chain))?;
        bill::bill(signers.of(&order), order, deadline).await
    }

    /// Pauses chains, or ends pauses, for a caller. Survives a restart. Requests that are on their way
    /// are stopped as well; what is committed already goes on.
    pub async fn set_paused(
        &self,
        switch: Switch,
        by: &str,
        why: Option<String>,
    ) -> Result<(), NotDone<OtherPause>> {
        let (chains, done): (Vec<PlatformChainId>, _) = match &switch {
            Switch::Pause(chains) => (chains.clone(), "paused: nothing new is signed"),
            Switch::Resume(pauses) => (pauses.keys().copied().collect(), "resumed"),
        };
        let lanes = self.lanes();
        if let Some(unknown) = chains.iter().find(|chain| !lanes.of_chains.contains_key(chain)) {
            return Err(NoVerdict::UnknownChain(*unknown).into());
        }
        let since_ms = self.journal.now_ms();
        let now = Pause { by: by.to_owned(), since_ms, why: why.clone() };
        self.journal.pauses().set(switch, now).await?;
        let chains = chains.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        warn!(chains, by, why, "{done}");
        Ok(())
    }

    /// Takes the word of a person where the chain has none.
    pub async fn resolve(&self, finding: PersonsWord) -> Result<Resolved, NotDone<Unresolved>> {
        self.journal.ready()?;
        let (subscription, by) = (finding.subscribe.0, finding.by.clone());
        let word = finding.resolution.word();
        let resolved = self.journal.resolve(finding).await?;
        warn!(batch = resolved.billing.batch.0, subscription, by, "resolved as {word}");
        Ok(resolved)
    }

    /// The sums of today of all accounts of a chain.
    pub async fn spent(&self, chain: PlatformChainId) -> Result<Vec<Spent>, JournalError> {
        self.journal.spent(chain, self.journal.now_ms()).await
    }

    /// The batch that any of its hashes names.
    pub async fn billing_by_hash(&self, hash: B256) -> Result<Option<Billing>, JournalError> {
        self.journal.billing_by_hash(hash).await
    }

    /// The batches that answers to a request id have named, newest first: the asking caller's own, if it has any.
    pub async fn billings_by_request(
        &self,
        id: String,
        caller: Option<CallerKey>,
    ) -> Result<Vec<Billing>, JournalError> {
        self.journal.billings_by_request(id, caller).await
    }
}
