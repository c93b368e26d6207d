//! The accounts that sign.

use alloy::primitives::Address;
use billing::PlatformChainId;
use serde_json::{Value, json};

/// One signing account on one chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaneId {
    /// The chain.
    pub chain: PlatformChainId,
    /// The account that signs.
    pub signer: Address,
}

/// The origin of a batch: a lane, and the contract that it bills through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The lane.
    pub lane: LaneId,
    /// The billing contract.
    pub contract: Address,
}

impl Origin {
    /// Returns the place in the world of the batch at `position`, as the history records it.
    pub(crate) fn place(&self, position: u64) -> Value {
        json!({"chain": self.lane.chain.0, "contract": self.contract, "signer": self.lane.signer,
               "position": position})
    }
}
