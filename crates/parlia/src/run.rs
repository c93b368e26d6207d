//! Runs of headers: a block, and those that stand on it, until enough validators have sealed one of them.
//!
//! A validator seals a header, and with it the hash of its parent, so it bears out every block below. BNB's own advice
//! is to wait until 2/3 · N + 1 different validators have sealed, 15 of 21; this counts the same. The block's own seal
//! counts too. The same validator counts once, however many blocks it seals in its turns, and sealers that are not on
//! the list count nothing: they are validators of a later list, or nobody.

use crate::seal::SealedHeader;
use crate::unproven::{Obstacle, Unproven};
use crate::validators::ValidatorList;
use alloy::primitives::{Address, B256};
use evm_proofs::block_id::BlockId;
use std::collections::BTreeMap;

/// The most headers of a run: three epochs of 1,000 blocks, so that a list of which some validators had no seat for an
/// epoch or two still proves, and two rounds of 21 validators with the longest turns.
pub const LONGEST_RUN: u64 = 3_000;

/// A block that was proven final by a list of validators. Only a [`Run`] makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalBlock {
    header: SealedHeader,
    by: ValidatorList,
}

impl FinalBlock {
    /// Its number and hash.
    pub fn id(&self) -> BlockId {
        self.header.id()
    }

    /// Its header.
    pub fn header(&self) -> &SealedHeader {
        &self.header
    }

    /// The list of validators that proved it.
    pub fn by(&self) -> &ValidatorList {
        &self.by
    }
}

/// The state of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Enough validators sealed the block, or blocks on top of it.
    Final(Box<FinalBlock>),
    /// Too few did so far: later headers may change that.
    Short {
        /// The validators of the list that did.
        sealers: usize,
        /// The number of them that is needed.
        needed: usize,
    },
}

/// A run from one block upward, between two headers.
#[derive(Clone, Debug)]
pub struct Run {
    validators: ValidatorList,
    block: BlockId,
    /// The header of the block, once it was read.
    first: Option<SealedHeader>,
    /// The hashes of the headers that were read, from the block's own on.
    hashes: Vec<B256>,
    /// The validators of the list that sealed one of them, and how many headers come before the first of each.
    sealers: BTreeMap<Address, usize>,
}

impl Run {
    /// Begins at a block that this list is to prove. Its own header is read first.
    pub fn begin(block: BlockId, validators: ValidatorList) -> Self {
        let (first, hashes, sealers) = (None, Vec::new(), BTreeMap::new());
        Self { validators, block, first, hashes, sealers }
    }

    /// The number of the header to read next.
    pub fn wanted(&self) -> u64 {
        self.block.number.saturating_add(self.headers())
    }

    /// Reads the next header. A header that is refused changes nothing.
    ///
    /// # Errors
    /// [`Obstacle::OtherBlock`] for the first, [`Obstacle::Apart`] for each later one, and [`Obstacle::TooLong`].
    pub fn read(&mut self, header: &SealedHeader) -> Result<Standing, Unproven> {
        let id = header.id();
        match self.hashes.last().copied() {
            None if id != self.block => return Err(Obstacle::OtherBlock(id).into()),
            Some(hash) if !header.follows(BlockId { number: self.newest(), hash }) => {
                return Err(Obstacle::Apart(id).into());
            }
            Some(_) if self.headers() >= LONGEST_RUN => return Err(Obstacle::TooLong.into()),
            Some(_) => {}
            None => self.first = Some(header.clone()),
        }
        if self.validators.has(&header.sealer()) {
            self.sealers.entry(header.sealer()).or_insert(self.hashes.len());
        }
        self.hashes.push(id.hash);
        Ok(self.standing())
    }

    /// Forgets this many of the newest headers, but never that of the block itself, so that they are read anew: a node
    /// may have left the branch that it told.
    pub fn step_back(&mut self, headers: usize) {
        let kept = self.hashes.len().saturating_sub(headers).max(1);
        self.hashes.truncate(kept);
        self.sealers.retain(|_, before| *before < kept);
    }

    /// The state of the run.
    pub fn standing(&self) -> Standing {
        let (sealers, needed) = (self.sealers.len(), self.validators.needed());
        match &self.first {
            Some(header) if sealers >= needed => {
                let (header, by) = (header.clone(), self.validators.clone());
                Standing::Final(Box::new(FinalBlock { header, by }))
            }
            Some(_) | None => Standing::Short { sealers, needed },
        }
    }

    /// The number of headers that were read.
    fn headers(&self) -> u64 {
        u64::try_from(self.hashes.len()).unwrap_or(u64::MAX)
    }

    /// The number of the newest of them.
    fn newest(&self) -> u64 {
        self.wanted().saturating_sub(1)
    }
}
