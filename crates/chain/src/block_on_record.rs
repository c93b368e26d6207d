//! The block of a transaction that was decided long ago, with everything that shows the transaction in it.

use ::node::NoAgreement;
use evm_proofs::block::ProvenBlock;
use tron_primitives::answer::BlockAnswer;

/// The block of a transaction on record.
#[derive(Clone, Debug)]
pub enum BlockOnRecord {
    /// On EVM: recomputed from its own bytes.
    Evm(Box<ProvenBlock>),
    /// On TRON.
    Tvm(Box<SolidBlock>),
}

/// A block of TRON as a node tells it.
#[derive(Clone, Debug)]
pub struct SolidBlock {
    /// The block with all that is in it.
    pub block: BlockAnswer,
    /// The headers of the blocks that stand on it, oldest first, up to as many producers as make a block irrevocable.
    pub above: Vec<BlockAnswer>,
}

/// Why a transaction cannot be shown in its block.
#[derive(Debug, thiserror::Error)]
pub enum NotShown {
    /// Its nodes do not agree on its record, or too few of them tell.
    #[error(transparent)]
    Disagreed(#[from] NoAgreement),
    /// They say that there is no such transaction.
    #[error("its nodes have no record of the transaction")]
    NoRecord,
    /// No node tells the block in a form that proves it.
    #[error("no node shows its block in a form that proves it: {0}")]
    NoBlock(String),
}
