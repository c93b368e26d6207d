//! Signed transactions that wait for their commit.

use crate::model::{Origin, Sealed};
use billing::{AskedBy, AttemptKind, BatchId, InBlocks, NamedRequest};
use policy::Count;
use std::sync::Arc;

/// A batch that is signed for its lane's expected position, and lacks that position and its claims.
#[derive(Debug)]
pub struct Proposal {
    /// The origin of the batch.
    pub origin: Origin,
    /// The profile that it is signed by, as text.
    pub profile: Arc<str>,
    /// The request, where its caller gave it a name.
    pub request: Option<NamedRequest>,
    /// The batches that the answer names besides the new one: they hold the rest of the request.
    pub earlier: Vec<BatchId>,
    /// The caller; none if nobody has to sign requests.
    pub caller: Option<AskedBy>,
    /// The lane's batches that are in a block.
    pub in_blocks: InBlocks,
    /// The number of batches beside those that may wait for a block: see
    /// [`LaneLoad::full`](billing::LaneLoad::full).
    pub window: u64,
    /// The amounts that the batch adds to the sums of the day.
    pub counts: Vec<Count>,
    /// The timestamp of the chain's newest final block, Unix seconds: guards end by it.
    pub chain_time: u64,
    /// Now, Unix ms.
    pub at_ms: i64,
    /// The batch's charges, in the order of the contract call, and the transaction that charges them.
    pub sealed: Sealed,
}

/// Another attempt for a batch, signed for the batch's own position and charges.
#[derive(Debug)]
pub struct Addition {
    /// The batch.
    pub batch: BatchId,
    /// The number that it gets. A batch that has come further meanwhile gets none.
    pub seq: u32,
    /// The attempt's effect when it lands.
    pub kind: AttemptKind,
    /// The most that the attempt may cost, for the sum of the day.
    pub fee: Count,
    /// Now, Unix ms.
    pub at_ms: i64,
    /// The transaction.
    pub sealed: Sealed,
}
