//! Irrevocable blocks with all that is in them, each as many providers as have to agree prove it, and each read once,
//! however many transactions are looked for in it.

use super::block_reader::BlockReader;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tron_primitives::block::ProvenBlock;

/// Number of blocks that are kept.
const KEPT: usize = 512;

/// Number of blocks that are asked for at once, since a caller that needs one will need the next ones too.
const AT_ONCE: usize = 6;

/// The irrevocable blocks that were read.
#[derive(Debug)]
pub struct SolidBlocks {
    reader: Arc<BlockReader>,
    read: Mutex<BTreeMap<u64, Arc<ProvenBlock>>>,
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
    ) -> Option<Arc<ProvenBlock>> {
        if let Some(block) = self.kept(number) {
            return Some(block);
        }
        let missing: Vec<u64> = {
            let read = self.read.lock();
            let wanted = (number..=solid).take(AT_ONCE).filter(|at| !read.contains_key(at));
            wanted.take(*budget).collect()
        };
        *budget = budget.saturating_sub(missing.len());
        let asked: Vec<_> = missing.into_iter().map(|at| self.reader.agreed(at)).collect();
        let blocks: Vec<Option<ProvenBlock>> =
            stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut read = self.read.lock();
        for block in blocks.into_iter().flatten() {
            read.insert(block.header().number(), Arc::new(block));
        }
        let found = read.get(&number).map(Arc::clone);
        while read.len() > KEPT {
            forget_farthest(&mut read, number);
        }
        found
    }

    /// Returns the block with this number, if it was read.
    pub fn kept(&self, number: u64) -> Option<Arc<ProvenBlock>> {
        self.read.lock().get(&number).map(Arc::clone)
    }

    /// Forgets all blocks: some of them do not fit together.
    pub fn forget(&self) {
        self.read.lock().clear();
    }
}

/// Forgets the first or the last block, whichever is farther from where is being read.
fn forget_farthest(read: &mut BTreeMap<u64, Arc<ProvenBlock>>, here: u64) {
    let below = read.first_key_value().map(|(first, _)| here.abs_diff(*first));
    let above = read.last_key_value().map(|(last, _)| here.abs_diff(*last));
    drop(if below >= above { read.pop_first() } else { read.pop_last() });
}
