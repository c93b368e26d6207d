//! Irrevocable blocks with the ids of their transactions, each as many providers as have to agree tell
//! it, and each read once, however many transactions are looked for in it.

use super::api::{Api, Block, Endpoints, Side};
use crate::node::{Fleet, NodeId};
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::debug;

/// How many blocks are kept.
const KEPT: usize = 512;

/// How many blocks are asked for at once, since whoever needs one will need the next ones too.
const AT_ONCE: usize = 6;

/// Blocks that were read.
#[derive(Debug, Default)]
pub(super) struct SolidBlocks(Mutex<BTreeMap<u64, Arc<Block>>>);

impl SolidBlocks {
    /// The block with this number, read together with some that follow it, none above `solid`. Each
    /// that is asked for costs one of `budget`. None where too few tell it alike now: a
    /// node that lags does not have it yet.
    pub(super) async fn get(
        &self,
        fleet: &Fleet<Endpoints>,
        number: u64,
        solid: u64,
        budget: &mut usize,
    ) -> Option<Arc<Block>> {
        if let Some(block) = self.0.lock().get(&number) {
            return Some(Arc::clone(block));
        }
        let missing: Vec<u64> = {
            let read = self.0.lock();
            let wanted = (number..=solid).take(AT_ONCE).filter(|at| !read.contains_key(at));
            wanted.take(*budget).collect()
        };
        *budget = budget.saturating_sub(missing.len());
        let asked: Vec<_> = missing.into_iter().map(|at| read(fleet, at)).collect();
        let blocks: Vec<Option<Block>> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut read = self.0.lock();
        for block in blocks.into_iter().flatten() {
            read.insert(block.number, Arc::new(block));
        }
        let found = read.get(&number).map(Arc::clone);
        while read.len() > KEPT {
            forget_farthest(&mut read, number);
        }
        found
    }

    /// Forgets everything: some of it does not fit together.
    pub(super) fn forget(&self) {
        self.0.lock().clear();
    }
}

/// Forgets the first or the last block, whichever is farther from where is being read.
fn forget_farthest(read: &mut BTreeMap<u64, Arc<Block>>, here: u64) {
    let below = read.first_key_value().map(|(first, _)| here.abs_diff(*first));
    let above = read.last_key_value().map(|(last, _)| here.abs_diff(*last));
    drop(if below >= above { read.pop_first() } else { read.pop_last() });
}

async fn read(fleet: &Fleet<Endpoints>, number: u64) -> Option<Block> {
    let told = |id: NodeId| async move {
        let block = Api::of(fleet, id).block(Side::Solidity, Some(number), true).await;
        block.inspect_err(|error| debug!(block = number, %error, "no answer")).ok().flatten()
    };
    let agreed = fleet.agreed("about an irrevocable block", told).await;
    agreed.inspect_err(|error| debug!(block = number, %error, "not told alike")).ok()
}
