//! The progress of a proof that newer blocks are final.

use evm_proofs::block_id::BlockId;

/// A block that is proven final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProvenFinal {
    /// Its height and hash.
    pub(crate) block: BlockId,
    /// Its time, Unix seconds.
    pub(crate) time: u64,
}

/// The result of going on to prove a newer block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A newer block is proven final.
    Proven(ProvenFinal),
    /// The last question was asked just now.
    NotDue,
}
