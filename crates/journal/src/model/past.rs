//! The past of a lane.

use alloy::primitives::{Address, B256, U256};
use billing::{BlockRef, CallEnding};
use std::sync::Arc;

/// The ends of the newest batches of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Billing transactions that failed in final blocks, oldest first.
    pub failed: Vec<FailedBilling>,
    /// When it was last noticed that one went through, Unix ms of this machine.
    pub charged_ms: Option<i64>,
    /// When the newest batch was accepted, Unix ms of this machine; none where there is none.
    pub accepted_ms: Option<i64>,
    /// The newest final block by which a batch of the lane was decided, of those whose hash is known.
    pub decided: Option<BlockRef>,
    /// Every profile that batches on the lane's chain were signed by, as text, with its contract.
    pub profiles: Vec<(Address, Arc<str>)>,
}

/// A billing transaction that failed in a final block: it charged nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedBilling {
    /// Its hash.
    pub hash: B256,
    /// Its signed bytes.
    pub raw: Vec<u8>,
    /// Number of charges in the transaction.
    pub charges: usize,
    /// The way the transaction failed, as far as nodes have reported it.
    pub ending: Option<CallEnding>,
    /// The cost, wei or sun, as far as nodes have reported it.
    pub fee: Option<U256>,
    /// When that was noticed, Unix ms of this machine.
    pub settled_ms: i64,
}
