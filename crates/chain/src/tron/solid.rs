//! Irrevocable blocks with all that is in them, each as many providers as have to agree prove it, and
//! each read once, however many transactions are looked for in it.

use super::api::{Endpoints, Side, TronBlock};
use super::proofs::proven;
use super::signers::Signers;
use ::node::{Fleet, NodeId};
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::debug;
use tron_primitives::block::{ProvenBlock, ProvenHeader, ProvenTransaction};

/// Number of blocks that are kept.
const KEPT: usize = 512;

/// Number of blocks that are asked for at once, since a caller that needs one will need the next ones too.
const AT_ONCE: usize = 6;

/// Blocks that were read.
#[derive(Debug)]
pub(super) struct SolidBlocks {
    read: Mutex<BTreeMap<u64, Arc<ProvenBlock>>>,
    signers: Arc<Signers>,
}

impl SolidBlocks {
    /// None was read; who signed them may be known.
    pub(super) fn unread(signers: Arc<Signers>) -> Self {
        Self { read: Mutex::default(), signers }
    }

    /// The block with this number, read together with some that follow it, none above `solid`. Each
    /// that is asked for costs one of `budget`. None where too few tell it alike now: a
    /// node that lags does not have it yet.
    pub(super) async fn get(
        &self,
        fleet: &Fleet<Endpoints>,
        number: u64,
        solid: u64,
        budget: &mut usize,
    ) -> Option<Arc<ProvenBlock>> {
        if let Some(block) = self.read.lock().get(&number) {
            return Some(Arc::clone(block));
        }
        let missing: Vec<u64> = {
            let read = self.read.lock();
            let wanted = (number..=solid).take(AT_ONCE).filter(|at| !read.contains_key(at));
            wanted.take(*budget).collect()
        };
        *budget = budget.saturating_sub(missing.len());
        let asked: Vec<_> = missing.into_iter().map(|at| self.agreed(fleet, at)).collect();
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

    /// The block with this number, if it was read.
    pub(super) fn kept(&self, number: u64) -> Option<Arc<ProvenBlock>> {
        self.read.lock().get(&number).map(Arc::clone)
    }

    async fn agreed(&self, fleet: &Fleet<Endpoints>, number: u64) -> Option<ProvenBlock> {
        let told = |id: NodeId| proven((fleet, &self.signers), id, (Side::Solidity, number));
        let agreed = fleet.agreed("about an irrevocable block", told).await;
        agreed.inspect_err(|error| debug!(block = number, %error, "not told alike")).ok()
    }

    /// Forgets everything: some of it does not fit together.
    pub(super) fn forget(&self) {
        self.read.lock().clear();
    }
}

/// Forgets the first or the last block, whichever is farther from where is being read.
fn forget_farthest(read: &mut BTreeMap<u64, Arc<ProvenBlock>>, here: u64) {
    let below = read.first_key_value().map(|(first, _)| here.abs_diff(*first));
    let above = read.last_key_value().map(|(last, _)| here.abs_diff(*last));
    drop(if below >= above { read.pop_first() } else { read.pop_last() });
}

impl From<&ProvenHeader> for TronBlock {
    fn from(header: &ProvenHeader) -> Self {
        Self {
            id: header.id(),
            number: header.number(),
            parent: header.parent(),
            time_ms: header.time_ms(),
            transactions: Vec::new(),
        }
    }
}

impl From<&ProvenBlock> for TronBlock {
    fn from(block: &ProvenBlock) -> Self {
        let transactions = block.transactions().iter().map(ProvenTransaction::id).collect();
        Self { transactions, ..block.header().into() }
    }
}
