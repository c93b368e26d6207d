//! The two reasons for which an answer proves nothing, and which nobody may confuse: it contradicts itself, so the
//! node that gave it lies, or it cannot be judged here, and nothing follows.

use alloy::primitives::B256;

/// The reason why an answer proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The answer is false: no honest node of this network gives it.
    #[error(transparent)]
    False(#[from] Contradiction),
    /// The answer may be true: it cannot be judged here.
    #[error(transparent)]
    Unjudged(#[from] Obstacle),
}

/// The part of an answer that contradicts the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Contradiction {
    /// The signature is not younger than the header that it signs, or that header is older than the one that it
    /// finalizes.
    #[error("its slots are in no order in which they can have been")]
    SlotOrder,
    /// The current sync committee is not the one of the header's state.
    #[error("its current sync committee is not the one that its header commits to")]
    CurrentCommittee,
    /// The next sync committee is not the one of the signed header's state.
    #[error("its next sync committee is not the one that its signed header commits to")]
    NextCommittee,
    /// The finalized header is not the one of the signed header's state.
    #[error("its finalized header is not the one that its signed header commits to")]
    Finality,
    /// The execution header is not the one of the block that carries it.
    #[error("its execution header is not the one that its block commits to")]
    Execution,
}

/// The circumstance that lets nothing follow from an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The answer is in the form of a fork that is not known here, by the first 40 characters of its name.
    #[error("it is in the form of the fork {0}, which is not known here")]
    UnknownFork(String),
    /// A header of this slot is of a fork before Capella, whose light client data names no execution header.
    #[error("slot {0} is before Capella")]
    BeforeCapella(u64),
    /// A field without which the execution header cannot be hashed is missing.
    #[error("its execution header lacks the field {0}")]
    MissingField(&'static str),
    /// The header has this root, and another was pinned.
    #[error("it is of the block with root {0}, which is not the trusted one")]
    OtherBlock(B256),
    /// The key at this place of a committee is no point of the curve's group, or is its zero.
    #[error("the key at place {0} of a sync committee is no valid public key")]
    Key(usize),
    /// The update finalizes nothing, or a block of an earlier period than that of the committee that signs.
    #[error("its next sync committee is not final")]
    NotFinal,
    /// The committee of this period would have to be known.
    #[error("the sync committee of period {0} is not known here")]
    UnknownCommittee(u64),
    /// Fewer than two thirds of the committee signed: this many.
    #[error("only {0} of 512 members of the sync committee signed it")]
    Participation(u32),
    /// The signature is not that of the members that it names, over this header, under this network and the newest
    /// fork that is known here. An honest node gives such an answer after a fork that is not known here.
    #[error("its signature does not verify")]
    Signature,
    /// A block at this later slot was proven final before.
    #[error("a block at the later slot {0} is final already")]
    Outdated(u64),
    /// Another block was proven final at the same slot: at least a third of a committee signed both of two chains.
    #[error("another block was proven final at slot {0}")]
    RivalBlock(u64),
}
