//! The final state, as the nodes tell it together: the block, its time, and the account's nonce at it.

use super::access::Access;
use super::head::EvmHead;
use super::milestones::MilestoneCounts;
use super::node_look::{EvmLook, no_block};
use super::nonces::Nonces;
use super::proven_nonce::ProvenNonces;
use crate::{ChainError, HeadExtent};
use ::node::{NodeId, NonceSeen, reached_by, refuted};
use config::Finality;
use evm_node as node;
use futures_util::future::join_all;
use std::sync::Arc;
use tracing::warn;

/// The account's nonce that is final.
pub(super) struct FinalNonce {
    pub(super) nonce: u64,
    /// The final block at which the nonce is known; none if no nonce was.
    pub(super) known_at: Option<u64>,
}

/// Finds what is final.
#[derive(Debug)]
pub(super) struct FinalState {
    access: Access,
    nonces: Nonces,
    proven: Arc<ProvenNonces>,
    milestones: MilestoneCounts,
}

impl FinalState {
    /// Nothing was asked yet.
    pub(super) fn of(access: Access, proven: Arc<ProvenNonces>) -> Self {
        let nonces = Nonces { access: access.clone() };
        Self { nonces, proven, milestones: MilestoneCounts::of(access.clone()), access }
    }

    /// The highest nonce that anybody tells of, unless two others that have seen as many blocks
    /// contradict: a lane closes when somebody else uses the account, and one node may see that first.
    pub(super) fn mined(&self, looks: &[(NodeId, EvmLook)]) -> u64 {
        let told: Vec<NonceSeen> = looks
            .iter()
            .map(|(node, look)| NonceSeen {
                node: *node,
                head: look.latest.number(),
                nonce: look.nonce,
            })
            .collect();
        let refuted = refuted(&told);
        for id in &refuted {
            self.access.fleet.dissented(*id, "about the account's nonce");
        }
        let believed = told.iter().filter(|told| !refuted.contains(&told.node));
        believed.map(|told| told.nonce).max().unwrap_or_default()
    }

    /// Returns the highest block that as many nodes call final as have to agree. A block that was final once stays
    /// so; where too few answer, no new block is final. No claim hangs on this block alone: the taker of a place
    /// counts in blocks that each node which shows it calls final itself, and guards end by times that enough bear
    /// out.
    pub(super) fn final_block(
        &self,
        looks: &[(NodeId, EvmLook)],
        before: Option<&EvmHead>,
    ) -> Result<u64, ChainError> {
        let needed = self.access.fleet.needed();
        let reached = match self.access.config.finality {
            Finality::FinalizedTag => {
                let number = |(_, look): &(NodeId, EvmLook)| Some(look.finalized?.number());
                let told: Option<Vec<u64>> = looks.iter().map(number).collect();
                reached_by(told.ok_or_else(|| no_block("finalized"))?, needed)
            }
            Finality::Depth(depth) => {
                let heads = looks.iter().map(|(_, look)| look.latest.number());
                // A depth of 1 is the head itself.
                reached_by(heads, needed).map(|head| head.saturating_sub(depth.saturating_sub(1)))
            }
        };
        let known = before.map_or(0, |head| head.final_block);
        Ok(if needed > 1 { reached.unwrap_or(0).max(known) } else { reached.unwrap_or(known) })
    }

    /// The latest time that as many nodes bear out as have to agree that a final block has, Unix
    /// seconds. Never goes back; where too few answer it stands still.
    pub(super) async fn final_time(
        &self,
        looks: &[(NodeId, EvmLook)],
        final_block: u64,
        before: Option<&EvmHead>,
        extent: HeadExtent,
    ) -> u64 {
        let known = before.map_or(0, |head| head.view.final_time);
        let told: Vec<u64> = match self.access.config.finality {
            Finality::FinalizedTag => {
                looks.iter().filter_map(|(_, look)| Some(look.finalized?.time())).collect()
            }
            Finality::Depth(1) => looks.iter().map(|(_, look)| look.latest.time()).collect(),
            // No end of a batch hangs on it.
            Finality::Depth(_) if extent == HeadExtent::News => return known,
            Finality::Depth(_) => {
                let block = node::quantity(final_block);
                let asked = looks.iter().map(|(id, _)| {
                    let (rpc, block) = (self.access.fleet.only(*id), block.as_str());
                    async move { node::header(rpc, block).await.ok().flatten() }
                });
                let told = join_all(asked).await.into_iter().flatten();
                told.filter(|header| header.number() == final_block)
                    .map(|header| header.time())
                    .collect()
            }
        };
        reached_by(told, self.access.fleet.needed()).unwrap_or_default().max(known)
    }

    /// Returns the nonce at the final block: the one that a node proves, or else the one that as many nodes bear out as
    /// have to agree, asked by number: a node that lags behind then errs instead of answering from the past. A node that
    /// has dropped the state of that block tells what it counted at an earlier final one ([`MilestoneCounts`]). A nonce
    /// that was final once stays so; where too few answer, no new nonce is final.
    /// Nothing is asked where `mined`, the highest that enough nodes tell of the newest block, is what was final
    /// before: the nonce cannot be less at a block between the two, nor more.
    ///
    /// [`MilestoneCounts`]: super::milestones::MilestoneCounts
    pub(super) async fn finalized_nonce(
        &self,
        final_block: u64,
        looks: &[(NodeId, EvmLook)],
        mined: Option<u64>,
        before: Option<&EvmHead>,
    ) -> Result<FinalNonce, ChainError> {
        let known = before.map_or(0, |head| head.nonces.finalized);
        let known_at = before.and_then(|head| head.finalized_at);
        if known_at == Some(final_block) {
            return Ok(FinalNonce { nonce: known, known_at });
        }
        if known_at.is_some() && mined == Some(known) {
            return Ok(FinalNonce { nonce: known, known_at: Some(final_block) });
        }
        if let Some(nonce) = self.proven.at(final_block, looks).await {
            return Ok(FinalNonce { nonce: nonce.max(known), known_at: Some(final_block) });
        }
        let (mut nonces, mut forgetful, mut failure) = (Vec::new(), Vec::new(), None);
        for (id, answer) in self.nonces.at(&node::quantity(final_block)).await {
            match answer {
                Ok(nonce) => nonces.push(nonce),
                Err(error) => {
                    forgetful.push(id);
                    let words = matches!(error, ChainError::Node { .. });
                    failure = if words { Some(error) } else { failure.or(Some(error)) };
                }
            }
        }
        let needed = self.access.fleet.needed();
        if let Some(nonce) = reached_by(nonces.iter().copied(), needed) {
            return Ok(FinalNonce { nonce: nonce.max(known), known_at: Some(final_block) });
        }
        match failure {
            Some(ChainError::Node { answer, .. }) => {
                if before.is_none_or(|head| head.final_block != final_block) {
                    warn!(block = final_block, %answer, "the node has no state of the final block");
                }
                nonces.extend(self.milestones.told_at(&forgetful, final_block).await);
                let nonce = reached_by(nonces, needed).unwrap_or_default();
                Ok(FinalNonce { nonce: nonce.max(known), known_at })
            }
            Some(error) if needed == 1 => Err(error),
            Some(_) | None => Ok(FinalNonce { nonce: known, known_at }),
        }
    }
}
