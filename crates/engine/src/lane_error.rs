//! Errors that keep a lane from following its chain, or from signing anything on it.

use super::lane::Lane;
use chain::ChainError;
use journal::JournalError;
use std::sync::Arc;
use tracing::{info, warn};

/// A present error of a lane.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LaneError {
    /// The chain has not been seen yet.
    #[error("its node has not answered yet")]
    Unseen,
    /// The chain gives no answer, or nothing can be signed on it.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(Arc<JournalError>),
}

impl From<JournalError> for LaneError {
    fn from(error: JournalError) -> Self {
        Self::Journal(Arc::new(error))
    }
}

impl Lane {
    /// Returns the error that keeps the chain from being followed, or anything from being signed, at present.
    pub fn error(&self) -> Option<LaneError> {
        let signs = self.follows.is_none();
        let unready = || Some(self.chain.unready().filter(|_| signs)?.into());
        self.error.read().clone().or_else(unready)
    }

    /// Returns true if the last look found nothing that keeps the chain from being followed.
    pub(super) fn follows_the_chain(&self) -> bool {
        self.error.read().is_none()
    }

    /// Remembers what keeps the chain from being followed; says so once, and once when it is over.
    pub(super) fn set_error(&self, now: Option<LaneError>) {
        let (chain, account) = (&self.chain.facts().name, self.account());
        let mut before = self.error.write();
        match (&*before, &now) {
            (_, Some(why)) if *before != now => {
                warn!(chain, account, "cannot follow the chain: {why}");
            }
            (Some(_), None) => info!(chain, account, "following the chain again"),
            _ => {}
        }
        *before = now;
    }
}
