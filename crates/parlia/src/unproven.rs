//! The two reasons for which headers prove nothing, and which nobody may confuse: a header contradicts itself, so the
//! node that gave it lies, or it cannot be judged here, and nothing follows.

use alloy::primitives::Address;
use evm_proofs::block_id::BlockId;
use evm_proofs::unproven as evm;

/// The reason why a header proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The header is false: no honest node of this chain gives it.
    #[error(transparent)]
    False(#[from] Contradiction),
    /// The header may be true: it cannot be judged here.
    #[error(transparent)]
    Unjudged(#[from] Obstacle),
}

/// The part of a header that contradicts the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// The answer does not prove its own header.
    #[error(transparent)]
    Header(#[from] evm::Contradiction),
    /// The seal is not that of this account, which the header names as its beneficiary.
    #[error("its seal is not that of {0}, its beneficiary")]
    Seal(Address),
}

/// The circumstance that lets nothing follow from a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The answer has a form that is not known here.
    #[error(transparent)]
    Header(#[from] evm::Obstacle),
    /// The header has no room for a seal: it is of no chain that Parlia seals.
    #[error("it has no seal")]
    NoSeal,
    /// The seal is written in another way than validators write it: its `s` is in the upper half of the curve's order,
    /// or its last byte is neither 0 nor 1.
    #[error("its seal is written in an unusual way")]
    SealForm,
    /// The header has a field that its seal does not cover, or the fields of a fork that is not known here.
    #[error("it has a field that its seal does not cover")]
    UncoveredField,
    /// The extra data hold no list of validators in the form since Bohr.
    #[error("it holds no list of validators")]
    NoList,
    /// The header is that of this block, and another was to be proven.
    #[error("it is of block {} with hash {}, which is not the one in question", .0.number, .0.hash)]
    OtherBlock(BlockId),
    /// The header of this block does not stand on the one before it: an honest node may have changed its branch.
    #[error("block {} with hash {} does not stand on the block before it", .0.number, .0.hash)]
    Apart(BlockId),
    /// Too few validators sealed on top within as many headers as are read.
    #[error("too few validators sealed it within {} headers", crate::run::LONGEST_RUN)]
    TooLong,
    /// The block was proven by another list than the one that is followed now.
    #[error("it was proven by another list of validators")]
    OtherList,
}
