//! Blocks that are proven final, from the newest one down: whatever a node tells, a header counts by its hash alone.

use crate::headers::header;
use ::node::{Fleet, JsonRpc};
use alloy::primitives::B256;
use evm_proofs::block_id::BlockId;
use std::collections::BTreeMap;

/// The most headers that are asked for at once on the way down: eight epochs of Ethereum.
const HEADERS: u64 = 256;

/// The most blocks that are kept one by one: on Ethereum those of five weeks. Beyond, one of each [`HEADERS`] is kept.
const KEPT: usize = 1 << 18;

/// Why a block is not below one that is proven final.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotBelow {
    /// No block so high is proven final.
    #[error("block {number} is not proven final yet: blocks up to {newest} are")]
    Early { number: u64, newest: u64 },
    /// Another block of that height is proven final.
    #[error("block {number} is proven final as {is}, and nodes tell {told}")]
    Another { number: u64, is: B256, told: B256 },
    /// The headers down to the block are still asked for.
    #[error("the headers from the proven block {newest} down to {number} are not known yet")]
    Apart { number: u64, newest: u64 },
}

/// Blocks that are proven final, by height. There may be gaps: each block that was the newest begins a way down of its
/// own, and the one that begins nearest above a block is gone on with, however far the newest has come since.
#[derive(Debug, Default)]
pub(crate) struct ProvenBlocks {
    known: BTreeMap<u64, Known>,
}

/// A block that is proven final.
#[derive(Clone, Copy, Debug)]
struct Known {
    hash: B256,
    /// True if its header was read: then the block below is known by it.
    read: bool,
}

/// Why a way down is not at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotThere {
    /// It went further, and is gone on with the next time.
    Later,
    /// No node told its next header.
    Untold,
}

impl ProvenBlocks {
    /// Checks that the block is `newest`, which is proven final, or below one that was the newest.
    ///
    /// # Errors
    /// The reason why not, or not yet.
    pub(crate) async fn judge(
        &mut self,
        fleet: &Fleet<JsonRpc>,
        newest: BlockId,
        block: BlockId,
    ) -> Result<(), NotBelow> {
        let (number, told) = (block.number, block.hash);
        if newest.number < number {
            return Err(NotBelow::Early { number, newest: newest.number });
        }
        self.begin_at(newest);
        let apart = NotBelow::Apart { number, newest: newest.number };
        let nearest = self.known.range(number..).next().map(|(height, _)| *height);
        let from = nearest.unwrap_or(newest.number);
        match self.descend(fleet, from, number).await {
            Ok(hash) if hash == told => return Ok(()),
            Err(NotThere::Later) => return Err(apart),
            // Those above may be of another chain, which was proven before: the newest one decides.
            Ok(_) | Err(NotThere::Untold) => {}
        }
        match self.descend(fleet, newest.number, number).await {
            Ok(hash) if hash == told => Ok(()),
            Ok(is) => Err(NotBelow::Another { number, is, told }),
            Err(NotThere::Later | NotThere::Untold) => Err(apart),
        }
    }

    /// Begins a way down at the newest block. A block that was known at its height, and is another, is of another chain
    /// that was proven as well: then nothing that was known before counts.
    fn begin_at(&mut self, newest: BlockId) {
        let known = self.known.get(&newest.number);
        if known.is_some_and(|known| known.hash != newest.hash) {
            self.known.clear();
        }
        if self.known.len() >= KEPT {
            self.thin_out();
        }
        let begun = Known { hash: newest.hash, read: false };
        self.known.entry(newest.number).or_insert(begun);
    }

    /// Forgets blocks, but so few of a row that each way down is soon at its end again.
    fn thin_out(&mut self) {
        let lowest = self.known.first_key_value().map(|(number, _)| *number);
        self.known.retain(|number, known| {
            known.read = false;
            number.is_multiple_of(HEADERS) || Some(*number) == lowest
        });
    }

    /// Goes down from a known block to the one at this height, by as many headers as are asked for at once. Returns the
    /// hash of that block.
    async fn descend(
        &mut self,
        fleet: &Fleet<JsonRpc>,
        from: u64,
        number: u64,
    ) -> Result<B256, NotThere> {
        let (mut at, mut asked) = (from, 0_u64);
        loop {
            let known = self.known.get(&at).copied().ok_or(NotThere::Untold)?;
            let below = at.saturating_sub(1);
            if at <= number {
                return Ok(known.hash);
            }
            if !known.read {
                if asked >= HEADERS {
                    return Err(NotThere::Later);
                }
                asked = asked.saturating_add(1);
                let block = BlockId { number: at, hash: known.hash };
                let untold = if asked > 1 { NotThere::Later } else { NotThere::Untold };
                let header = header(fleet, block).await.ok_or(untold)?;
                let parent = header.fields().parent_hash;
                self.known.insert(at, Known { read: true, ..known });
                self.put(BlockId { number: below, hash: parent });
            }
            at = below;
        }
    }

    /// Puts a block below one that is known. If another one was known two chains are proven: nothing below counts.
    fn put(&mut self, block: BlockId) {
        let known = self.known.get(&block.number);
        if known.is_some_and(|known| known.hash != block.hash) {
            self.known = self.known.split_off(&block.number);
            self.known.remove(&block.number);
        }
        let put = Known { hash: block.hash, read: false };
        self.known.entry(block.number).or_insert(put);
    }
}

#[cfg(test)]
mod tests;
