//! Carries a request from its entries to a committed, offered transaction, and the transaction to
//! its end. Decides nothing itself: the decisions are in `billing`, the last word is the chain's.

pub(crate) mod bill;
mod lane;
mod reservation;
mod watcher;

pub use bill::{Answer, NoVerdict, Rehearsed, Sent};
pub use lane::{Gate, Lane};
pub use watcher::Watcher;

use crate::billing::{Order, PlatformChainId};
use crate::journal::{Billing, Journal, JournalError};
use alloy::primitives::B256;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

/// All lanes of this process.
#[derive(Debug)]
pub struct Engine {
    /// The lanes by the platform's chain id.
    pub lanes: HashMap<PlatformChainId, Arc<Lane>>,
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

    /// The batch that any of its hashes names.
    pub async fn billing_by_hash(&self, hash: B256) -> Result<Option<Billing>, JournalError> {
        self.journal.billing_by_hash(hash).await
    }

    /// The batches that were accepted under a request id, newest first.
    pub async fn billings_by_request(&self, id: String) -> Result<Vec<Billing>, JournalError> {
        self.journal.billings_by_request(id).await
    }
}
