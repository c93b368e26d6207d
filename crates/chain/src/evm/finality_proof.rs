//! The proof of final blocks by those who make the chain, where one is configured: by Ethereum's sync committees or by the
//! validators of BNB Smart Chain.

use super::beacon_proof::BeaconProof;
use super::seal_proof::SealProof;
use super::witnesses::{Need, NewestFinal};
use ::node::{Fleet, JsonRpc, NodeView};
use evm_proofs::block_id::BlockId;

/// The proof of final blocks.
#[derive(Debug)]
pub(super) enum FinalityProof {
    /// Sync committees sign final blocks.
    Committees(Box<BeaconProof>),
    /// Validators seal on top of final blocks.
    Seals(Box<SealProof>),
}

impl FinalityProof {
    /// Returns true if the block, by which something is to be decided, is proven final.
    pub(super) async fn bears_out(&self, fleet: &Fleet<JsonRpc>, block: BlockId) -> bool {
        match self {
            Self::Committees(beacon) => beacon.bear_out(fleet, block).await.is_ok(),
            Self::Seals(seals) => seals.bear_out(block).await.is_ok(),
        }
    }

    /// The same of a block by which nothing is decided.
    pub(super) async fn has_proven(&self, fleet: &Fleet<JsonRpc>, block: BlockId) -> bool {
        match self {
            Self::Committees(beacon) => beacon.ask_for(fleet, block).await.is_ok(),
            Self::Seals(seals) => seals.ask_for(block).await.is_ok(),
        }
    }

    /// Proves a newer block, while nodes call `told` final, if that is due.
    pub(super) async fn ask_for_newest(&self, told: u64, need: Need) {
        match self {
            Self::Committees(beacon) => beacon.ask_for_newest(told).await,
            Self::Seals(seals) => seals.ask_for_newest(told, need).await,
        }
    }

    /// Returns the newest block that is proven final; block 0 before one is.
    pub(super) fn newest(&self) -> NewestFinal {
        match self {
            Self::Committees(beacon) => beacon.newest(),
            Self::Seals(seals) => seals.newest(),
        }
    }

    /// Returns the proof as people see it: beside the witnesses.
    pub(super) fn view(&self) -> NodeView {
        match self {
            Self::Committees(beacon) => beacon.view(),
            Self::Seals(seals) => seals.view(),
        }
    }

    /// Returns why the last block that was to decide something is not proven; none if it is.
    pub(super) fn objection(&self) -> Option<String> {
        match self {
            Self::Committees(beacon) => beacon.objection(),
            Self::Seals(seals) => seals.objection(),
        }
    }
}
