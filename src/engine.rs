//! Carries a request from its entries to a committed, offered transaction, and the transaction to
//! its end. The decisions are in `billing`, the last word is the chain's.

pub(crate) mod bill;
mod hindrance;
mod lane;
mod last_use;
mod others;
mod ready;
mod recall;
mod repeat;
mod reservation;
mod runway;
mod sign;
mod signing_line;
mod standing;
mod tally;
mod trouble;
mod verdict;
mod watcher;

pub use hindrance::Hindrance;
pub use lane::Lane;
pub use standing::Obstacle;
pub use tally::{SignedAgain, Tally};
pub use trouble::Trouble;
pub use verdict::{Answer, HowFar, NamedTransaction, NoVerdict, Rehearsed, Sent};

pub use crate::billing::Gate;
pub use watcher::Watcher;

use crate::billing::{Order, PlatformChainId};
use crate::journal::{
    Billing, Journal, JournalError, LaneId, OtherPause, Pause, PersonsWord, Resolved, Spent,
    Switch, Unresolved,
};
use alloy::primitives::B256;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tracing::warn;

/// All lanes of this process.
#[derive(Debug)]
pub struct Engine {
    /// The lane of each configured chain by the platform's id: the one that may take new work.
    pub lanes: HashMap<PlatformChainId, Arc<Lane>>,
    /// Lanes of other accounts of these chains, which only end what they have begun.
    pub followers: Vec<Arc<Lane>>,
    /// The journal that they share.
    pub journal: Journal,
    /// Where requests run, so that neither a caller who hangs up nor a shutdown cuts one short.
    pub tasks: TaskTracker,
}

impl Engine {
    /// Bills `order` on `chain`. Runs to its end even when the caller does not wait for it.
    pub async fn bill(
        &self,
        chain: PlatformChainId,
        order: Order,
        deadline: Instant,
    ) -> Result<Answer, NoVerdict> {
        let lane = self.lanes.get(&chain).map(Arc::clone).ok_or(NoVerdict::UnknownChain(chain))?;
        if self.tasks.is_closed() {
            return Err(NoVerdict::ShuttingDown);
        }
        let request = self.tasks.spawn(async move { bill::bill(&lane, order, deadline).await });
        request.await.map_err(|_| NoVerdict::ShuttingDown)?
    }

    /// Pauses chains, or ends pauses, for a caller. Survives a restart. Requests that are on their way
    /// are stopped as well; what is committed already goes on.
    pub async fn set_paused(
        &self,
        switch: Switch,
        by: &str,
    ) -> Result<Result<(), OtherPause>, NoVerdict> {
        let (chains, done): (Vec<PlatformChainId>, _) = match &switch {
            Switch::Pause(chains) => (chains.clone(), "paused: nothing new is signed"),
            Switch::Resume(pauses) => (pauses.keys().copied().collect(), "resumed"),
        };
        if let Some(unknown) = chains.iter().find(|chain| !self.lanes.contains_key(chain)) {
            return Err(NoVerdict::UnknownChain(*unknown));
        }
        let now = Pause { by: by.to_owned(), since_ms: self.journal.now_ms() };
        let told = self.journal.set_paused(switch, now).await?;
        if told.is_ok() {
            let chains = chains.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            warn!(chains, by, "{done}");
        }
        Ok(told)
    }

    /// Takes the word of a person where the chain has none.
    pub async fn resolve(
        &self,
        finding: PersonsWord,
    ) -> Result<Result<Resolved, Unresolved>, NoVerdict> {
        self.journal.ready()?;
        let (subscription, by) = (finding.subscribe.0, finding.by.clone());
        let word = finding.resolution.word();
        let told = self.journal.resolve(finding).await?;
        if let Ok(resolved) = &told {
            warn!(batch = resolved.billing.batch.0, subscription, by, "resolved as {word}");
        }
        Ok(told)
    }

    /// Every lane.
    pub fn all_lanes(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.lanes.values().chain(&self.followers)
    }

    /// The lanes that only end what they have begun on a chain.
    pub fn followers_of(&self, chain: PlatformChainId) -> impl Iterator<Item = &Arc<Lane>> {
        self.followers.iter().filter(move |lane| lane.id().chain == chain)
    }

    /// The lane of one account on one chain.
    pub fn lane(&self, id: LaneId) -> Option<&Arc<Lane>> {
        self.all_lanes().find(|lane| lane.id() == id)
    }

    /// The sums of today of the account that signs on `lane`'s chain.
    pub async fn spent(&self, lane: &Lane) -> Result<Vec<Spent>, JournalError> {
        self.journal.spent(lane.id(), self.journal.now_ms()).await
    }

    /// The batch that any of its hashes names.
    pub async fn billing_by_hash(&self, hash: B256) -> Result<Option<Billing>, JournalError> {
        self.journal.billing_by_hash(hash).await
    }

    /// The batches that were accepted under a request id, newest first.
    pub async fn billings_by_request(&self, id: String) -> Result<Vec<Billing>, JournalError> {
        self.journal.billings_by_request(id).await
    }
}
