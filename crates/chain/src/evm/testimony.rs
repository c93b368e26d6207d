//! The testimony of every node about the places of one look: receipts and blocks, and the takers of places that were
//! found in final blocks.

use super::access::Access;
use super::evidence::Evidence;
use super::head::EvmHead;
use super::node_look::EvmLook;
use ::node::NodeId;
use alloy::primitives::{B256, U256};
use config::Finality;
use evm_node::Archive;
use evm_node::{self as node, EvmAsker};
use evm_proofs::block_id::BlockId;
use evm_testimony::conclude::{Block, EvmTestimony, Identified, Receipt};
use futures_util::future::join_all;
use futures_util::{StreamExt as _, stream};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::ops::Range;
use std::time::Duration;
use tokio::time::Instant;

/// The most questions of one look that are asked of one node at once.
const AT_ONCE: usize = 8;

/// The time for which the result of a search, found or not, is taken for granted.
const SEARCH_AGAIN: Duration = Duration::from_mins(1);

/// The findings of earlier searches, by node and place. A final finding does not change.
type Searched = BTreeMap<(NodeId, u64), (Instant, Identified)>;

/// Asks nodes for testimonies.
#[derive(Debug)]
pub(super) struct TestimonyReader {
    access: Access,
    searched: Mutex<Searched>,
    /// The evidence for what nodes say of final blocks.
    pub(super) evidence: Evidence,
}

impl TestimonyReader {
    /// Nothing was searched yet.
    pub(super) fn of(access: Access) -> Self {
        Self { evidence: Evidence::of(access.clone()), access, searched: Mutex::default() }
    }

    /// Asks every node for the receipts of `wanted`, and then for the blocks that these name. Of blocks that are final,
    /// only what their own bytes bear out is left, as far as these can be judged.
    pub(super) async fn gather(
        &self,
        all: &mut [(NodeId, EvmTestimony)],
        wanted: impl Fn(&EvmTestimony) -> BTreeSet<B256>,
    ) {
        let asked = all.iter_mut().map(|(id, testimony)| {
            let hashes = wanted(testimony);
            async move {
                let rpc = self.access.fleet.only(*id);
                for (hash, receipt, cost) in receipts(rpc, hashes).await {
                    testimony.receipts.insert(hash, receipt);
                    testimony.costs.extend(cost.map(|cost| (hash, cost)));
                }
                let named: BTreeSet<u64> =
                    testimony.receipts.values().map(|receipt| receipt.block).collect();
                let known = &testimony.canonical;
                let missing = named.into_iter().filter(|number| !known.contains_key(number));
                let blocks = blocks(rpc, missing.collect()).await;
                testimony.canonical.extend(blocks);
            }
        });
        join_all(asked).await;
        self.evidence.judge(all).await;
        self.take_back_unborne(all).await;
    }

    /// Takes back what nodes say of final blocks that witnesses do not bear out, and of all of them while the nodes
    /// deny a block that was final before.
    async fn take_back_unborne(&self, all: &mut [(NodeId, EvmTestimony)]) {
        let statements = all.iter().flat_map(|(_, testimony)| testimony.statements());
        let blocks: BTreeSet<BlockId> = statements.map(|said| said.block).collect();
        if blocks.is_empty() {
            return;
        }
        let chain = &self.access.final_chain;
        let stands = chain.before_a_decision().await.is_ok();
        let mut borne_out = BTreeSet::new();
        for block in blocks.into_iter().filter(|_| stands) {
            if chain.bears_out(block).await {
                borne_out.insert(block);
            }
        }
        for (_, testimony) in all {
            for said in testimony.statements() {
                if !borne_out.contains(&said.block) {
                    testimony.take_back(said.subject);
                }
            }
        }
    }

    /// Has every node search its final blocks for the takers of these places.
    pub(super) async fn search(
        &self,
        all: &mut [(NodeId, EvmTestimony)],
        ranges: impl Iterator<Item = Range<u64>> + Clone,
    ) {
        let asked = all.iter_mut().map(|(id, testimony)| {
            let ranges = ranges.clone();
            async move {
                for range in ranges {
                    let found = self.searched(*id, testimony.final_block, range).await;
                    testimony.identified.extend(found);
                }
            }
        });
        join_all(asked).await;
        self.gather(all, |testimony| {
            let identified = testimony.identified.values().filter_map(|who| match who {
                Identified::Transaction { hash, .. } => Some(*hash),
                Identified::Nobody(_) => None,
            });
            identified.filter(|hash| !testimony.receipts.contains_key(hash)).collect()
        })
        .await;
    }

    async fn searched(
        &self,
        id: NodeId,
        final_block: u64,
        range: Range<u64>,
    ) -> BTreeMap<u64, Identified> {
        let remembered: BTreeMap<u64, Identified> = {
            let mut memory = self.searched.lock();
            memory.retain(|_, (at, _)| at.elapsed() < SEARCH_AGAIN);
            let found = range.clone().map_while(|place| {
                memory.get(&(id, place)).map(|(_, identified)| (place, identified.clone()))
            });
            found.collect()
        };
        if remembered.contains_key(&range.end.saturating_sub(1)) {
            return remembered;
        }
        let (rpc, account) = (self.access.fleet.only(id), self.access.signer());
        let found = Archive { rpc, account, final_block }.identify(range).await;
        let now = Instant::now();
        let fresh = found.iter().map(|(place, who)| ((id, *place), (now, who.clone())));
        self.searched.lock().extend(fresh);
        found
    }
}

/// Returns the testimony that each node gave in the last look at the head. No block is final for a node that others do
/// not bear out, where they have to. The number of settled places is what as
/// many nodes as have to agree bore out already.
pub(super) fn testimonies(head: &EvmHead, access: &Access) -> Vec<(NodeId, EvmTestimony)> {
    let final_block = |look: &EvmLook| match access.config.finality {
        Finality::FinalizedTag => look.finalized.map_or(0, |header| header.number()),
        Finality::Depth(depth) => look.latest.number().saturating_sub(depth.saturating_sub(1)),
    };
    let most = if access.final_chain.has_others() { head.final_block } else { u64::MAX };
    let testimony = |look: &EvmLook| EvmTestimony {
        head: look.latest.number(),
        taken: Some(look.nonce),
        final_block: final_block(look).min(most),
        settled: Some(head.nonces.finalized),
        ..EvmTestimony::default()
    };
    head.nodes.iter().map(|(id, look)| (*id, testimony(look))).collect()
}

/// Asks a node for the receipt of each transaction, and for its cost. Transactions of which the node says nothing
/// are left out.
async fn receipts(
    rpc: EvmAsker<'_>,
    hashes: BTreeSet<B256>,
) -> Vec<(B256, Receipt, Option<(u64, U256)>)> {
    let asked = hashes.into_iter().map(async |hash| {
        let found = node::receipt(rpc, hash).await.ok()??;
        let cost = found.cost();
        let receipt = Receipt {
            block: found.block_number(),
            block_hash: found.block_hash,
            succeeded: found.succeeded(),
            logs: found.logs,
        };
        (found.transaction_hash == hash).then_some((hash, receipt, cost))
    });
    stream::iter(asked).buffered(AT_ONCE).filter_map(ready).collect().await
}

/// The blocks that a node holds at these numbers.
async fn blocks(rpc: EvmAsker<'_>, numbers: BTreeSet<u64>) -> Vec<(u64, Block)> {
    let asked = numbers.into_iter().map(async |number| {
        let header = node::header(rpc, &node::quantity(number)).await.ok()??;
        let block = Block { number: header.number(), hash: header.hash, time: header.time() };
        (block.number == number).then_some((number, block))
    });
    stream::iter(asked).buffered(AT_ONCE).filter_map(ready).collect().await
}
