//! Irrevocable blocks and the ends of the transactions in them, each as many providers as have to agree prove it, and each read once,
//! however many transactions are looked for in it.

use super::block::TronBlock;
use super::block_reader::BlockReader;
use alloy::primitives::B256;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tron_primitives::block::{ProvenBlock, ProvenTransaction};
use tron_primitives::result::Ending;

/// Number of blocks that are kept.
const KEPT: usize = 512;

/// Number of blocks that are asked for at once, since a caller that needs one will need the next ones too.
const AT_ONCE: usize = 6;

/// A block that was proven, and how its transactions ended. Their data is not kept: that of a full block is megabytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SolidBlock {
    /// The block, with the ids of its transactions.
    pub block: TronBlock,
    /// In the order of the transactions.
    endings: Vec<Ending>,
}

impl SolidBlock {
    /// Returns the ending of a transaction; none if the block does not hold the transaction.
    pub fn ending(&self, id: B256) -> Option<Ending> {
        let mut endings = self.block.transactions.iter().zip(&self.endings);
        endings.find(|(held, _)| **held == id).map(|(_, ending)| *ending)
    }
}

impl From<&ProvenBlock> for SolidBlock {
    fn from(proven: &ProvenBlock) -> Self {
        let endings = proven.transactions().iter().map(ProvenTransaction::ending).collect();
        Self { block: proven.into(), endings }
    }
}

/// The irrevocable blocks that were read.
#[derive(Debug)]
pub struct SolidBlocks {
    reader: Arc<BlockReader>,
    read: Mutex<BTreeMap<u64, Arc<SolidBlock>>>,
}

impl SolidBlocks {
    /// No block was read yet.
    pub fn unread(reader: Arc<BlockReader>) -> Self {
        Self { reader, read: Mutex::default() }
    }

    /// Returns the block with this number, read together with some that follow it, none above `solid`. Each block that
    /// is asked for costs one of `budget`. None if too few providers tell the block alike now: a node that lags does
    /// not have it yet.
    pub async fn get(
        &self,
        number: u64,
        solid: u64,
        budget: &mut usize,
    ) -> Option<Arc<SolidBlock>> {
        if let Some(block) = self.kept(number) {
            return Some(block);
        }
        let missing: Vec<u64> = {
            let read = self.read.lock();
            let wanted = (number..=solid).take(AT_ONCE).filter(|at| !read.contains_key(at));
            wanted.take(*budget).collect()
        };
        *budget = budget.saturating_sub(missing.len());
        let asked = async |at| Some(SolidBlock::from(&self.reader.agreed(at).await?));
        let asked: Vec<_> = missing.into_iter().map(asked).collect();
        let blocks: Vec<Option<SolidBlock>> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut read = self.read.lock();
        for solid in blocks.into_iter().flatten() {
            read.insert(solid.block.number, Arc::new(solid));
        }
        let found = read.get(&number).map(Arc::clone);
        while read.len() > KEPT {
            forget_farthest(&mut read, number);
        }
        found
    }

    /// Returns the block with this number, if it was read.
    pub fn kept(&self, number: u64) -> Option<Arc<SolidBlock>> {
        self.read.lock().get(&number).map(Arc::clone)
    }

    /// Forgets all blocks: some of them do not fit together.
    pub fn forget(&self) {
        self.read.lock().clear();
    }
}

/// Forgets the first or the last block, whichever is farther from where is being read.
fn forget_farthest(read: &mut BTreeMap<u64, Arc<SolidBlock>>, here: u64) {
    let below = read.first_key_value().map(|(first, _)| here.abs_diff(*first));
    let above = read.last_key_value().map(|(last, _)| here.abs_diff(*last));
    drop(if below >= above { read.pop_first() } else { read.pop_last() });
}
