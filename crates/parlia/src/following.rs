//! The list of validators, followed from a trusted one to the newest.

use crate::run::{FinalBlock, Run};
use crate::seal::SealedHeader;
use crate::unproven::{Obstacle, Unproven};
use crate::validators::ValidatorList;
use alloy::primitives::B256;
use evm_proofs::block_id::BlockId;

/// The use of an epoch header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its list is the newest one now.
    Stepped,
    /// Its list is no newer than the one that is known. It was not read.
    KnownBefore,
}

/// A chain's newest list of validators that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Following {
    validators: ValidatorList,
    /// The number of the epoch header that told it.
    since: u64,
}

impl Following {
    /// Begins with the list of an epoch header whose hash is trusted. The caller pins the hash, and sees to its age.
    ///
    /// # Errors
    /// [`Obstacle::OtherBlock`], [`Obstacle::NoList`].
    pub fn pinned(trusted: B256, header: &SealedHeader) -> Result<Self, Unproven> {
        let id = header.id();
        if id.hash != trusted {
            return Err(Obstacle::OtherBlock(id).into());
        }
        Ok(Self { validators: header.validators()?, since: id.number })
    }

    /// Begins with a list that is trusted, and that an epoch header of this number told.
    pub fn trusting(validators: ValidatorList, since: u64) -> Self {
        Self { validators, since }
    }

    /// The newest list that is known.
    pub fn validators(&self) -> &ValidatorList {
        &self.validators
    }

    /// The number of the epoch header that told it.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// Begins to prove a block by the newest list.
    pub fn prove(&self, block: BlockId) -> Run {
        Run::begin(block, self.validators.clone())
    }

    /// Takes the list of an epoch header that the newest list proved final. Epochs in between may be left out.
    ///
    /// # Errors
    /// [`Obstacle::OtherList`], [`Obstacle::NoList`].
    pub fn step(&mut self, block: &FinalBlock) -> Result<Step, Unproven> {
        if *block.by() != self.validators {
            return Err(Obstacle::OtherList.into());
        }
        let number = block.id().number;
        if number <= self.since {
            return Ok(Step::KnownBefore);
        }
        self.validators = block.header().validators()?;
        self.since = number;
        Ok(Step::Stepped)
    }
}
