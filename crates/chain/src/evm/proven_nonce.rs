//! The account's nonce at a final block, proven below the state root of that block's header. One node that keeps the
//! state is enough, and none can tell another nonce.

use super::access::Access;
use super::node_look::EvmLook;
use ::node::{NodeId, decode, shared};
use alloy::primitives::{Address, B256};
use evm_node as node;
use evm_proofs::answer::AccountAnswer;
use evm_proofs::block_id::BlockId;
use evm_proofs::unproven::Unproven;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// The time after which a proof is asked for again where no node gave one: most keep the newest 128 states alone, and
/// some have no such call.
const AGAIN: Duration = Duration::from_mins(10);

/// Proves nonces.
#[derive(Debug)]
pub(super) struct ProvenNonces {
    access: Access,
    memory: Mutex<Memory>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    /// When no node gave a proof.
    failed: Option<Instant>,
    /// The highest nonce that was proven. None: the chain may have accounts of another form, and nobody is a liar.
    highest: Option<u64>,
}

impl ProvenNonces {
    /// Nothing was asked yet.
    pub(super) fn of(access: Access) -> Self {
        Self { access, memory: Mutex::default() }
    }

    /// Returns the nonce at the final block of this height; none where nodes do not agree on the block, where those who
    /// have to bear it out do not, or where no node proves it.
    pub(super) async fn at(&self, number: u64, looks: &[(NodeId, EvmLook)]) -> Option<u64> {
        // Nothing is final before the first block.
        let failed = self.memory.lock().failed;
        if number == 0 || failed.is_some_and(|failed| failed.elapsed() < AGAIN) {
            return None;
        }
        let block = self.agreed(number, looks).await?;
        if !self.access.final_chain.knows(block).await {
            return None;
        }
        let proven = self.proven_at(block).await;
        let mut memory = self.memory.lock();
        match proven {
            Some(nonce) => memory.highest = memory.highest.max(Some(nonce)),
            None => memory.failed = Some(Instant::now()),
        }
        proven
    }

    /// Returns true if a final block is proven to have used the nonce.
    pub(super) fn used(&self, nonce: u64) -> bool {
        self.memory.lock().highest.is_some_and(|highest| highest > nonce)
    }

    /// Returns the nonce that the first node proves in the state of the block.
    async fn proven_at(&self, block: BlockId) -> Option<u64> {
        let fleet = &self.access.fleet;
        let header = evm_blocks::header(fleet, block).await?;
        let (me, state) = (self.access.signer(), header.fields().state_root);
        for id in fleet.fit() {
            match self.told_by(id, me, block.number).await.map(|told| told.prove(me, state)) {
                Some(Ok(account)) => return Some(account.nonce),
                Some(Err(Unproven::False(lie))) if self.memory.lock().highest.is_some() => {
                    fleet.caught_lying(id, &lie.to_string());
                }
                // The node holds another block of that height, or a state that is no such trie.
                Some(Err(_)) | None => {}
            }
        }
        None
    }

    /// Returns the block of this height on which as many nodes agree as have to.
    async fn agreed(&self, number: u64, looks: &[(NodeId, EvmLook)]) -> Option<BlockId> {
        let (fleet, height) = (&self.access.fleet, node::quantity(number));
        let held = looks.iter().map(async |(id, look)| {
            let seen = [look.finalized, Some(look.latest)].into_iter().flatten();
            if let Some(header) = seen.into_iter().find(|header| header.number() == number) {
                return Some(header.hash);
            }
            let header = node::header(fleet.only(*id), &height).await.ok()??;
            (header.number() == number).then_some(header.hash)
        });
        let held: Vec<B256> = join_all(held).await.into_iter().flatten().collect();
        let hash = shared(&held, fleet.needed()).copied()?;
        Some(BlockId { number, hash })
    }

    async fn told_by(&self, id: NodeId, who: Address, block: u64) -> Option<AccountAnswer> {
        let told = node::account_told(self.access.fleet.only(id), who, block).await.ok()?;
        decode(told.get().as_bytes()).ok()
    }
}
