//! The chain's record of an included transaction: `TransactionInfo`.

use super::tvm::Ending;
use revm::primitives::{Address, Bytes, Log};

/// The fate of a transaction.
#[derive(Clone, Debug, Default)]
pub struct Info {
    /// All that it cost (sun).
    pub fee: u64,
    /// Bandwidth taken from the quota (bytes).
    pub net_usage: u64,
    /// Bandwidth paid (sun).
    pub net_fee: u64,
    /// Staked energy used by the caller.
    pub energy_usage: u64,
    /// Energy paid (sun).
    pub energy_fee: u64,
    /// Staked energy used by the deployer.
    pub origin_energy_usage: u64,
    /// All energy used.
    pub energy_total: u64,
    /// The part of it that is dynamic penalty.
    pub penalty: u64,
    /// The end of the call; None if nothing was called.
    pub ending: Option<Ending>,
    /// Bytes that the call returned.
    pub output: Bytes,
    /// The contract called or deployed.
    pub contract: Option<Address>,
    /// True if the transaction deployed the contract.
    pub deployed: bool,
    /// Logs.
    pub logs: Vec<Log>,
    /// The node's words for a failure.
    pub message: String,
}

impl Info {
    /// `contractRet` of the transaction.
    pub fn ret(&self) -> &'static str {
        self.ending.map_or("SUCCESS", Ending::name)
    }

    /// The number of that word in the protocol.
    pub fn ret_number(&self) -> i32 {
        self.ending.map_or(1, number)
    }

    /// True if the transaction did what it was meant to.
    pub fn succeeded(&self) -> bool {
        matches!(self.ending, None | Some(Ending::Success))
    }
}

/// The number in the protocol of the word for how a call ended.
const fn number(ending: Ending) -> i32 {
    match ending {
        Ending::Success => 1,
        Ending::Revert => 2,
        Ending::BadJumpDestination => 3,
        Ending::OutOfMemory => 4,
        Ending::StackTooSmall => 6,
        Ending::StackTooLarge => 7,
        Ending::IllegalOperation => 8,
        Ending::OutOfEnergy => 10,
        Ending::OutOfTime => 11,
        Ending::Unknown => 13,
        Ending::TransferFailed => 14,
    }
}
