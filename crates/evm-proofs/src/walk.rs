//! The way from a block down to one that is trusted: header by header, each named by the hash in the one above it.

use crate::header::ProvenHeader;
use alloy::primitives::B256;

/// A block, by its number and its hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// Its height.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
}

/// A walk from a later block down to a trusted one, between two headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    trusted: BlockId,
    /// The block whose header is asked for next.
    wanted: BlockId,
}

/// The state of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The header of [`Walk::wanted`] comes next.
    Goes(Walk),
    /// The later block stands on the trusted one.
    Joined,
    /// The later block does not stand on the trusted one: one of the two is of another chain.
    Apart,
    /// The header is not the one that was asked for, and says nothing.
    NotWanted,
}

impl Walk {
    /// Begins at `later`, on the way down to `trusted`.
    pub fn begin(later: BlockId, trusted: BlockId) -> Step {
        Self { trusted, wanted: later }.next()
    }

    /// The block whose header comes next.
    pub fn wanted(&self) -> BlockId {
        self.wanted
    }

    /// Goes one block down by the header of the block that was wanted.
    pub fn step(&self, header: &ProvenHeader) -> Step {
        let fields = header.fields();
        if header.hash() != self.wanted.hash {
            return Step::NotWanted;
        }
        // The number is in the hash: another one than was told is another block than was meant.
        match fields.number.checked_sub(1).filter(|_| fields.number == self.wanted.number) {
            Some(number) => {
                let wanted = BlockId { number, hash: fields.parent_hash };
                Self { trusted: self.trusted, wanted }.next()
            }
            None => Step::Apart,
        }
    }

    fn next(self) -> Step {
        if self.wanted == self.trusted {
            return Step::Joined;
        }
        if self.wanted.number <= self.trusted.number { Step::Apart } else { Step::Goes(self) }
    }
}
