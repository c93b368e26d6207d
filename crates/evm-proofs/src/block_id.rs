//! The name of a block.

use alloy::primitives::B256;

/// A block, by its number and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// Its height.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
}
