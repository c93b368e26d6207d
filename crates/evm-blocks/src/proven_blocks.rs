//! Blocks that are proven final, from the newest one down: whatever a node tells, a header counts by its hash alone.

use crate::headers::header;
use ::node::{Fleet, JsonRpc};
use alloy::primitives::B256;
use evm_proofs::block_id::BlockId;
use std::collections::BTreeMap;

/// The most headers that are asked for at once on the way down: eight epochs of Ethereum.
const HEADERS: u64 = 256;

/// The most headers below the newest final block that are kept: on Ethereum five weeks, after which a billing that was
/// open all the time is beyond reach.
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

/// Blocks that are proven final, one below the other without a gap, by height.
#[derive(Debug, Default)]
pub(crate) struct ProvenBlocks {
    hashes: BTreeMap<u64, B256>,
    /// The hash of the block below the lowest.
    below: B256,
}

impl ProvenBlocks {
    /// Checks that the block is `newest`, which is proven final, or below that.
    ///
    /// # Errors
    /// The reason why not, or not yet.
    pub(crate) async fn judge(
        &mut self,
        fleet: &Fleet<JsonRpc>,
        newest: BlockId,
        block: BlockId,
    ) -> Result<(), NotBelow> {
        if newest.number < block.number {
            return Err(NotBelow::Early { number: block.number, newest: newest.number });
        }
        self.reach(fleet, newest, block.number).await;
        match self.hashes.get(&block.number).copied() {
            Some(hash) if hash == block.hash => Ok(()),
            Some(is) => Err(NotBelow::Another { number: block.number, is, told: block.hash }),
            None => Err(NotBelow::Apart { number: block.number, newest: newest.number }),
        }
    }

    /// Asks for headers from the newest final block down to `wanted`, as many as are asked for at once.
    async fn reach(&mut self, fleet: &Fleet<JsonRpc>, newest: BlockId, wanted: u64) {
        let top = self.hashes.last_key_value().map(|(number, hash)| (*number, *hash));
        match top {
            Some((number, hash)) if number >= newest.number && hash == newest.hash => {}
            Some((number, hash)) if newest.number.saturating_sub(number) <= HEADERS => {
                if !self.join(fleet, newest, BlockId { number, hash }).await {
                    return;
                }
            }
            Some(_) | None => *self = Self::default(),
        }
        if self.hashes.is_empty() {
            let Some(below) = parent(fleet, newest).await else { return };
            self.hashes.insert(newest.number, newest.hash);
            self.below = below;
        }
        self.descend(fleet, wanted).await;
    }

    /// Puts the blocks above the highest known one on it. Returns false if that is not possible now.
    async fn join(&mut self, fleet: &Fleet<JsonRpc>, newest: BlockId, top: BlockId) -> bool {
        let mut above = BTreeMap::new();
        let mut at = newest;
        while at.number > top.number {
            let Some(below) = parent(fleet, at).await else { return false };
            above.insert(at.number, at.hash);
            at = BlockId { number: at.number.saturating_sub(1), hash: below };
        }
        if at.hash != top.hash {
            // Two chains are proven: nothing that was known before counts.
            *self = Self::default();
            return false;
        }
        self.hashes.extend(above);
        true
    }

    async fn descend(&mut self, fleet: &Fleet<JsonRpc>, wanted: u64) {
        for _ in 0..HEADERS {
            let Some((lowest, _)) = self.hashes.first_key_value() else { return };
            let Some(number) = lowest.checked_sub(1).filter(|number| *number >= wanted) else {
                break;
            };
            let block = BlockId { number, hash: self.below };
            let Some(below) = parent(fleet, block).await else { return };
            self.hashes.insert(number, block.hash);
            self.below = below;
        }
        if self.hashes.len() > KEPT {
            *self = Self::default();
        }
    }
}

/// Returns the hash of the block below.
async fn parent(fleet: &Fleet<JsonRpc>, block: BlockId) -> Option<B256> {
    Some(header(fleet, block).await?.fields().parent_hash)
}
