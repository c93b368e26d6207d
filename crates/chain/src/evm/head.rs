//! The look at the head: where the chain stands, what gas costs, and what the account holds, as its
//! nodes tell it together.

use super::fees::Market;
use super::in_flight::Holding;
use super::node_look::{EvmLook, no_block};
use crate::head::HeadLook;
use crate::{ChainError, HeadView};
use ::node::{NodeId, median, reached_by};
use alloy::primitives::U256;
use billing::NonceView;
use tokio::time::Instant;

/// One look at the head.
#[derive(Clone, Debug)]
pub(super) struct EvmHead {
    pub(super) view: HeadView,
    pub(super) nonces: NonceView,
    /// The newest block that counts as final.
    pub(super) final_block: u64,
    pub(super) market: Market,
    /// The most gas that a block may use.
    pub(super) block_gas: u64,
    /// The look of each fit node.
    pub(super) nodes: Vec<(NodeId, EvmLook)>,
    /// The final block at which the nonce is known.
    pub(super) finalized_at: Option<u64>,
    pub(super) seen: Instant,
}

impl HeadLook for EvmHead {
    fn view(&self) -> HeadView {
        self.view
    }

    fn seen(&self) -> Instant {
        self.seen
    }
}

impl EvmHead {
    /// Returns the holdings of the signing account, as each fit node tells them.
    pub(super) fn holdings(&self) -> Vec<Holding> {
        self.nodes.iter().map(|(_, look)| look.holding).collect()
    }

    /// Returns the balance of the signing account, wei: the one that `needed` nodes say, or else the least that any
    /// says.
    pub(super) fn balance(&self, needed: usize) -> U256 {
        let told = || self.nodes.iter().map(|(_, look)| look.holding.balance);
        reached_by(told(), needed).or(told().min()).unwrap_or_default()
    }

    /// Returns true if the nodes know how many transactions of the account the newest final block has seen. A node
    /// that has forgotten that state cannot tell.
    pub(super) fn knows_final_nonce(&self) -> bool {
        self.finalized_at == Some(self.final_block)
    }
}

/// Returns the head that the looks tell together, but for nonces and finality. The head is the highest that two
/// nodes have reached, where there are two; prices are medians, so that no single node sets them.
pub(super) fn together(
    looks: Vec<(NodeId, EvmLook)>,
    seen: Instant,
) -> Result<EvmHead, ChainError> {
    let each = || looks.iter().map(|(_, look)| look);
    let numbers = each().map(|look| look.latest.number());
    let number = reached_by(numbers, looks.len().min(2)).ok_or_else(|| no_block("latest"))?;
    // As the number: the time that two have reached, so that none alone moves it on.
    let times = each().map(|look| look.latest.time());
    let head_time = reached_by(times, looks.len().min(2)).unwrap_or_default();
    Ok(EvmHead {
        view: HeadView { head: number, head_time, final_time: 0, nonces: None },
        nonces: NonceView { mined: 0, finalized: 0 },
        final_block: 0,
        market: Market {
            base_fee: median(each().filter_map(|look| look.latest.base_fee())),
            tip: median(each().filter_map(|look| look.tips).map(|tips| tips.usual)),
            low_tip: median(each().filter_map(|look| look.tips).map(|tips| tips.low)),
            gas_price: median(each().filter_map(|look| look.gas_price)),
        },
        block_gas: median(each().map(|look| look.latest.gas_limit())).unwrap_or_default(),
        nodes: looks,
        finalized_at: None,
        seen,
    })
}
