//! Gas prices: suggestions and history, from the blocks themselves.

use super::at;
use super::jsonrpc::Error;
use crate::chain::{Block, Chain};
use crate::evm::Evm;
use alloy::eips::BlockNumberOrTag;
use alloy::rpc::types::FeeHistory;

/// Tip that is suggested when no transaction has paid one lately (wei per gas).
const QUIET_TIP: u128 = 1_000_000_000;

/// Number of blocks a suggestion looks back.
const LOOK_BACK: u64 = 20;

/// The longest history that is given, blocks; geth's limit.
const LONGEST: u64 = 1024;

/// A tip that gets a transaction in (wei per gas): the median of what was paid lately.
pub fn tip(chain: &Chain<Evm>) -> u128 {
    let head = chain.head().header.number;
    let blocks = (head.saturating_sub(LOOK_BACK)..=head).filter_map(|number| chain.block(number));
    let mut tips: Vec<u128> =
        blocks.flat_map(|block| tips(block).into_iter().map(|(tip, _)| tip)).collect();
    tips.sort_unstable();
    tips.get(tips.len() / 2).copied().unwrap_or(QUIET_TIP).max(1)
}

/// Returns the price that a type 0 transaction should offer (wei per gas).
pub fn price(chain: &Chain<Evm>) -> u128 {
    u128::from(chain.next_header().price) + tip(chain)
}

/// Fees of the `count` blocks up to `newest`; tips at the percentiles, weighted by gas.
pub fn history(
    chain: &Chain<Evm>,
    count: u64,
    newest: BlockNumberOrTag,
    percentiles: Option<&[f64]>,
) -> Result<FeeHistory, Error> {
    let percentiles = percentiles.map(checked).transpose()?;
    let head = chain.head().header.number;
    let newest = at::height(chain, newest).unwrap_or(head);
    if newest > head {
        let words = format!("request beyond head block: requested {newest}, head {head}");
        return Err(Error::node(words));
    }
    let count = count.min(LONGEST).min(newest + 1);
    if count == 0 {
        return Ok(FeeHistory::default());
    }
    let oldest = newest + 1 - count;
    let blocks: Vec<_> = (oldest..=newest).filter_map(|number| chain.block(number)).collect();
    let next = match chain.block(newest + 1) {
        Some(block) => block.header.price,
        None => chain.next_header().price,
    };
    let base_fees = blocks.iter().map(|block| block.header.price).chain([next]);
    let reward = percentiles
        .map(|wanted| blocks.iter().map(|block| at_percentiles(block, &wanted)).collect());
    Ok(FeeHistory {
        base_fee_per_gas: base_fees.map(u128::from).collect(),
        gas_used_ratio: blocks.iter().map(|block| ratio(block)).collect(),
        base_fee_per_blob_gas: vec![1; blocks.len() + 1],
        blob_gas_used_ratio: vec![0.0; blocks.len()],
        oldest_block: oldest,
        reward,
    })
}

fn checked(percentiles: &[f64]) -> Result<Vec<f64>, Error> {
    let ordered = percentiles.is_sorted() && percentiles.iter().all(|p| (0.0..=100.0).contains(p));
    ordered.then(|| percentiles.to_vec()).ok_or_else(|| Error::node("invalid reward percentile"))
}

fn gas_used(block: &Block<Evm>) -> u64 {
    block.body.last().map_or(0, |last| last.receipt.cumulative_gas_used)
}

/// The tip and the gas of every transaction, cheapest tip first.
fn tips(block: &Block<Evm>) -> Vec<(u128, u64)> {
    let base = u128::from(block.header.price);
    let receipts = block.body.iter().map(|included| &included.receipt);
    let mut tips: Vec<_> =
        receipts.map(|receipt| (receipt.gas_price - base, receipt.gas_used)).collect();
    tips.sort_unstable();
    tips
}

#[expect(clippy::float_arithmetic, reason = "the protocol counts percentiles in floats")]
fn at_percentiles(block: &Block<Evm>, percentiles: &[f64]) -> Vec<u128> {
    let (tips, all) = (tips(block), float(gas_used(block)));
    let reached = |percentile: &f64| {
        let mut sum = 0;
        let found = tips.iter().find(|(_, gas)| {
            sum += gas;
            float(sum) >= all * percentile / 100.0
        });
        found.or(tips.last()).map_or(0, |(tip, _)| *tip)
    };
    percentiles.iter().map(reached).collect()
}

#[expect(clippy::float_arithmetic, reason = "the protocol asks for a ratio")]
fn ratio(block: &Block<Evm>) -> f64 {
    float(gas_used(block)) / float(block.header.gas_limit.max(1))
}

/// Exact for the gas of any block.
fn float(gas: u64) -> f64 {
    f64::from(u32::try_from(gas).unwrap_or(u32::MAX))
}
