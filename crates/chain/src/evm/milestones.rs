//! The number of the account's transactions that are final, as nodes tell it that have forgotten the state of the
//! final block. Ordinary nodes keep 128 states, and on the OP Stack a block is final only after many hundreds.
//!
//! The number that such a node counted at a block while that was new holds for good once the block is final and
//! still the one that the node holds at that number. Headers are never forgotten.

use super::access::Access;
use ::node::NodeId;
use alloy::primitives::B256;
use evm_node as node;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::collections::BTreeMap;

/// The most milestones that are kept of a node: as many as lie between the final block and the head, and half as
/// many again.
const SPREAD: u64 = 32;

/// A block of a node while it was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Milestone {
    hash: B256,
    /// The number of the account's transactions that the node counted at that block.
    nonce: u64,
}

/// The milestones of every node, by the block's number.
#[derive(Debug, Default)]
struct Milestones(Mutex<BTreeMap<NodeId, BTreeMap<u64, Milestone>>>);

impl Milestones {
    /// Returns true if another milestone is due at `head`, while blocks up to `final_block` are final.
    fn is_due(&self, id: NodeId, head: u64, final_block: u64) -> bool {
        let apart = head.saturating_sub(final_block).div_euclid(SPREAD).max(1);
        let all = self.0.lock();
        let newest = all.get(&id).and_then(|of| of.last_key_value()).map(|(number, _)| *number);
        newest.is_none_or(|newest| newest.saturating_add(apart) <= head || newest > head)
    }

    fn note(&self, id: NodeId, number: u64, milestone: Milestone) {
        let mut all = self.0.lock();
        let of = all.entry(id).or_default();
        // The chain was shorter once: what lay above is no block of it any more.
        of.split_off(&number);
        of.insert(number, milestone);
    }

    /// The newest milestone that is final; forgets those before it.
    fn newest_final(&self, id: NodeId, final_block: u64) -> Option<(u64, Milestone)> {
        let mut all = self.0.lock();
        let of = all.get_mut(&id)?;
        let (number, milestone) =
            of.range(..=final_block).next_back().map(|(number, mark)| (*number, *mark))?;
        *of = of.split_off(&number);
        Some((number, milestone))
    }

    /// Forgets a block that turned out to be none of the chain.
    fn forget(&self, id: NodeId, number: u64) {
        if let Some(of) = self.0.lock().get_mut(&id) {
            of.remove(&number);
        }
    }
}

/// Counts the account's transactions at milestones.
#[derive(Debug)]
pub(super) struct MilestoneCounts {
    access: Access,
    milestones: Milestones,
}

impl MilestoneCounts {
    /// No node has counted yet.
    pub(super) fn of(access: Access) -> Self {
        Self { access, milestones: Milestones::default() }
    }

    /// Returns what these nodes counted at the newest final block whose state they had while it was new. Has them
    /// count at their newest block as well, for later.
    pub(super) async fn told_at(&self, nodes: &[NodeId], final_block: u64) -> Vec<u64> {
        let told = nodes.iter().map(async |id| {
            let (told, ()) =
                tokio::join!(self.count_at(*id, final_block), self.set(*id, final_block));
            told
        });
        join_all(told).await.into_iter().flatten().collect()
    }

    async fn count_at(&self, id: NodeId, final_block: u64) -> Option<u64> {
        let (number, milestone) = self.milestones.newest_final(id, final_block)?;
        let rpc = self.access.fleet.only(id);
        let header = node::header(rpc, &node::quantity(number)).await.ok()??;
        if header.number() == number && header.hash == milestone.hash {
            return Some(milestone.nonce);
        }
        self.milestones.forget(id, number);
        None
    }

    async fn set(&self, id: NodeId, final_block: u64) {
        let rpc = self.access.fleet.only(id);
        let Ok(Some(header)) = node::header(rpc, "latest").await else { return };
        let number = header.number();
        if !self.milestones.is_due(id, number, final_block) {
            return;
        }
        let me = self.access.signer();
        let Ok(nonce) = node::nonce_at(rpc, me, number).await else { return };
        // The same block before and after: the nonce is counted at this one.
        if let Ok(Some(after)) = node::header(rpc, &node::quantity(number)).await
            && after.hash == header.hash
        {
            self.milestones.note(id, number, Milestone { hash: header.hash, nonce });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milestones_are_spread_over_what_is_not_final_and_the_newest_final_one_counts() {
        let (milestones, id) = (Milestones::default(), NodeId(0));
        let mark = |nonce| Milestone { hash: B256::with_last_byte(1), nonce };
        let (mut nonce, mut kept) = (0, 0);
        for head in 1_000..2_000_u64 {
            if milestones.is_due(id, head, head.saturating_sub(640)) {
                milestones.note(id, head, mark(nonce));
                kept = kept.max(milestones.0.lock()[&id].len());
                nonce += 1;
            }
            milestones.newest_final(id, head.saturating_sub(640));
        }
        assert_eq!(nonce, 50, "one for every twenty blocks");
        assert!(kept <= 34, "{kept}");
        let (number, newest) = milestones.newest_final(id, 1_415).unwrap();
        assert_eq!((number, newest.nonce), (1_400, 20));
        assert_eq!(milestones.newest_final(id, 1_399), None, "what lay before is forgotten");
    }

    #[test]
    fn a_chain_that_became_shorter_takes_its_milestones_along() {
        let (milestones, id) = (Milestones::default(), NodeId(0));
        let mark = |nonce| Milestone { hash: B256::ZERO, nonce };
        milestones.note(id, 10, mark(1));
        milestones.note(id, 12, mark(2));
        assert!(milestones.is_due(id, 11, 9));
        milestones.note(id, 11, mark(1));
        assert_eq!(milestones.newest_final(id, 20).unwrap().0, 11);
        milestones.forget(id, 11);
        assert_eq!(milestones.newest_final(id, 20), None);
    }
}
