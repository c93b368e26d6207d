//! The parts of a block: a header, an id that the family computes, and transactions with their receipts.

use super::Family;
use alloy::consensus::EMPTY_ROOT_HASH;
use alloy::primitives::Bloom;
use revm::primitives::{Address, B256};
use std::sync::Arc;

/// The data that a block states before anything in it is run.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// Height; genesis is 0.
    pub number: u64,
    /// Block time, ms since the epoch. The EVM sees whole seconds.
    pub time_ms: u64,
    /// The time (ms) of the block before.
    pub parent_ms: u64,
    /// The id of the block before.
    pub parent: B256,
    /// The producer of the block.
    pub producer: Address,
    /// Base fee (wei) on EVM, energy price (sun) on TRON.
    pub price: u64,
    /// Gas limit on EVM; unused on TRON.
    pub gas_limit: u64,
    /// Number of forks before the block: makes the blocks of a new branch differ from those they replace.
    pub fork: u64,
    /// The sums over the body. On TRON those of an empty one.
    pub commitments: Commitments,
}

/// The sums over a block's body that its header commits to on EVM. By default those of an empty body.
#[derive(Clone, Copy, Debug)]
pub struct Commitments {
    /// The root over the transactions.
    pub transactions: B256,
    /// The root over the receipts.
    pub receipts: B256,
    /// The bloom of all logs.
    pub bloom: Bloom,
    /// The gas that the transactions used.
    pub gas_used: u64,
}

impl Default for Commitments {
    fn default() -> Self {
        let none = EMPTY_ROOT_HASH;
        Self { transactions: none, receipts: none, bloom: Bloom::ZERO, gas_used: 0 }
    }
}

/// A transaction with what became of it.
#[derive(Clone, Debug)]
pub struct Included<F: Family> {
    /// The transaction.
    pub tx: F::Tx,
    /// The receipt of the transaction.
    pub receipt: F::Receipt,
}

/// A block of the chain.
#[derive(Clone, Debug)]
pub struct Block<F: Family> {
    /// Its header.
    pub header: Header,
    /// Its id.
    pub id: B256,
    /// Its transactions, in order.
    pub body: Vec<Included<F>>,
}

/// The place of a transaction on the chain.
#[derive(Clone, Debug)]
pub struct Place<F: Family> {
    /// The block.
    pub block: Arc<Block<F>>,
    /// Its index in the block.
    pub index: usize,
}

impl<F: Family> Place<F> {
    /// The transaction and its receipt.
    pub fn included(&self) -> &Included<F> {
        &self.block.body[self.index]
    }
}
