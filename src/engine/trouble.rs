//! What keeps a lane from following its chain, or anything from being signed on it.

use crate::chain::ChainError;
use crate::journal::JournalError;
use std::sync::Arc;

/// What is the matter with a lane at present.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Trouble {
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

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::Journal(Arc::new(error))
    }
}
