//! Errors that keep a lane from following its chain, or from signing anything on it.

use super::lane_name::LaneName;
use chain::ChainError;
use journal::JournalError;
use parking_lot::RwLock;
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

/// The error of a lane's last look, if that failed.
#[derive(Debug, Default)]
pub(super) struct LastError(RwLock<Option<LaneError>>);

impl LastError {
    /// Returns the error; none if the last look found the chain.
    pub(super) fn get(&self) -> Option<LaneError> {
        self.0.read().clone()
    }

    /// Remembers the error of a look; says so once, and once when it is over.
    pub(super) fn set(&self, now: Option<LaneError>, name: &LaneName) {
        let LaneName { chain, account } = name;
        let mut before = self.0.write();
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
