//! The irrevocable block of one height, as the providers that have reached that height tell it.

use super::api::Api;
use super::block::TronBlock;
use super::endpoints::{Endpoints, Side};
use futures_util::future::join_all;
use node::{Fleet, NodeId, shared};

/// The providers' answers about one irrevocable block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SolidHead {
    /// As many as have to agree tell this block.
    Alike(TronBlock),
    /// They tell different blocks.
    Differently,
    /// Too few tell any block.
    TooFew,
}

/// Finds the irrevocable block with this number. `newest` holds the newest irrevocable block of each node that has
/// answered; those that have reached the number tell the block.
pub async fn solid_head(
    fleet: &Fleet<Endpoints>,
    number: u64,
    newest: &[(NodeId, &TronBlock)],
) -> SolidHead {
    let reached = newest.iter().filter(|(_, solid)| solid.number >= number);
    let told = reached.map(async |(id, solid)| {
        if solid.number == number {
            return Some((*id, (*solid).clone()));
        }
        let asked = Api::of(fleet, *id).block(Side::Solidity, Some(number)).await;
        asked.ok().flatten().map(|block| (*id, block))
    });
    let told: Vec<(NodeId, TronBlock)> = join_all(told).await.into_iter().flatten().collect();
    let blocks: Vec<TronBlock> = told.iter().map(|(_, block)| block.clone()).collect();
    let agreed = shared(&blocks, fleet.needed()).cloned();
    for (id, block) in &told {
        match &agreed {
            Some(agreed) if agreed == block => {}
            Some(_) => fleet.caught_lying(*id, "about which block is irrevocable"),
            None => fleet.dissented(*id, "about which block is irrevocable"),
        }
    }
    match agreed {
        Some(block) => SolidHead::Alike(block),
        None if blocks.iter().any(|block| Some(block) != blocks.first()) => SolidHead::Differently,
        None => SolidHead::TooFew,
    }
}
