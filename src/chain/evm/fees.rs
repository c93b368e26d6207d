//! What to pay for a transaction: pure arithmetic over what the chain asks and what the
//! configuration allows. Nothing here is ever above a ceiling.

use crate::chain::ChainError;
use crate::config::FeeConfig;
use alloy::primitives::U256;

/// The tip when every block of the history was empty and so tells nothing, wei per gas. With empty
/// blocks any tip gets in; geth's miner once asked 1 gwei by default.
const QUIET_TIP: u128 = 1_000_000_000;

/// What the chain asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Market {
    /// The newest block's base fee, wei per gas; none where the chain has none.
    pub(super) base_fee: Option<u128>,
    /// What others tip, wei per gas; none where nobody did.
    pub(super) tip: Option<u128>,
    /// What the lowest fifth of them tips, wei per gas; none where nobody did.
    pub(super) low_tip: Option<u128>,
    /// What the node calls the gas price, wei per gas; asked only for type 0.
    pub(super) gas_price: Option<u128>,
}

impl Market {
    /// Whether it asks more than was bid: the base fee is not covered, or what is left of the bid for
    /// whoever makes the block is less than nearly everybody leaves.
    pub(super) fn is_above(&self, bid: Bid) -> bool {
        let Some(base) = self.base_fee else {
            return self.gas_price.is_some_and(|asked| bid.at_most() < asked);
        };
        let Some(left) = bid.at_most().checked_sub(base) else { return true };
        self.low_tip.is_some_and(|low| left.min(bid.tip()) < low)
    }
}

/// A price that is offered, wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bid {
    /// EIP-1559.
    Dynamic {
        /// The most that a unit may cost, tip included.
        max_fee: u128,
        /// The tip.
        tip: u128,
    },
    /// Type 0: all of it is paid.
    Legacy {
        /// The price.
        price: u128,
    },
}

impl Bid {
    /// The most that a unit of gas can cost, wei.
    pub(super) fn at_most(self) -> u128 {
        match self {
            Self::Dynamic { max_fee, .. } => max_fee,
            Self::Legacy { price } => price,
        }
    }

    /// What is left to whoever makes the block at most, wei per gas.
    pub(super) fn tip(self) -> u128 {
        match self {
            Self::Dynamic { tip, .. } => tip,
            Self::Legacy { price } => price,
        }
    }
}

/// What a transaction with this limit may cost at most, wei.
pub(super) fn cost(gas_limit: u64, bid: Bid) -> U256 {
    U256::from(gas_limit).saturating_mul(U256::from(bid.at_most()))
}

/// The bid that takes the place of `earlier` ones: the fresh one, but higher than every earlier one by
/// as much as nodes want, in the fee and in the tip. An earlier one that was not seen to land may be
/// what a node holds, so the highest of all counts. A ceiling in the way is an error.
pub(super) fn outbid(
    fresh: Bid,
    earlier: impl IntoIterator<Item = Bid>,
    ceilings: &FeeConfig,
) -> Result<Bid, ChainError> {
    let (fee, tip) = earlier
        .into_iter()
        .map(|bid| (bid.at_most(), bid.tip()))
        .fold((0, 0), |(fee, tip), (other_fee, other_tip)| {
            (fee.max(other_fee), tip.max(other_tip))
        });
    let (fee, tip) = (raised(fee).max(fresh.at_most()), raised(tip).max(fresh.tip()));
    within("replacement", "max_fee_per_gas", fee, ceilings.max_fee_per_gas.0)?;
    match fresh {
        Bid::Dynamic { .. } => {
            let most = ceilings.max_priority_fee_per_gas.0;
            within("tip of a replacement", "max_priority_fee_per_gas", tip, most)?;
            Ok(Bid::Dynamic { max_fee: fee, tip })
        }
        Bid::Legacy { .. } => Ok(Bid::Legacy { price: fee.max(tip) }),
    }
}

/// An eighth more, rounded up, and one. Nodes want a tenth more and not less than one more.
/// geth: core/txpool/legacypool/list.go, `Add`, with a `PriceBump` of 10.
fn raised(bid: u128) -> u128 {
    bid.saturating_add(bid.div_ceil(8)).saturating_add(1)
}

/// The median over blocks of what they tipped, wei per gas. `blocks` are (share of gas used, tip); empty
/// blocks tell nothing. Of an even number the dearer middle one counts.
pub(super) fn median_tip(blocks: impl IntoIterator<Item = (f64, u128)>) -> Option<u128> {
    let mut tips: Vec<u128> =
        blocks.into_iter().filter(|(used, _)| *used > 0.0).map(|(_, tip)| tip).collect();
    tips.sort_unstable();
    tips.get(tips.len() >> 1).copied()
}

/// The first bid. Twice the base fee covers six full blocks (EIP-1559: at most +12.5 % each).
pub(super) fn first_bid(market: &Market, ceilings: &FeeConfig) -> Result<Bid, ChainError> {
    let ceiling = ceilings.max_fee_per_gas.0;
    match (market.base_fee, market.gas_price) {
        (Some(base), _) if !ceilings.legacy => {
            within("base fee of the chain", "max_fee_per_gas", base, ceiling)?;
            let wanted = market.tip.unwrap_or(QUIET_TIP).clamp(1, u128::MAX);
            let tip = wanted.min(ceilings.max_priority_fee_per_gas.0);
            let max_fee = base.saturating_mul(2).saturating_add(tip).min(ceiling);
            Ok(Bid::Dynamic { max_fee, tip: tip.min(max_fee) })
        }
        (base, Some(asked)) => {
            within("gas price of the chain", "max_fee_per_gas", asked, ceiling)?;
            // All of a legacy price is paid, so where the base fee moves it gets an eighth more:
            // one full block's worth.
            let room = base.map_or(0, |_| asked >> 3);
            Ok(Bid::Legacy { price: asked.saturating_add(room).min(ceiling) })
        }
        (_, None) => Err(ChainError::Unavailable("the node names no gas price".to_owned())),
    }
}

/// Holds the whole cost of a transaction to the configuration, wei.
pub(super) fn allowed(cost: U256, ceilings: &FeeConfig) -> Result<(), ChainError> {
    let most = ceilings.max_tx_cost.0;
    if cost <= U256::from(most) {
        return Ok(());
    }
    Err(ChainError::FeeTooHigh(format!(
        "the transaction may cost {cost} wei, above the ceiling fees.max_tx_cost = {most} wei: \
         post fewer at once, wait, or raise it"
    )))
}

/// Holds the cost of a transaction, and what those that wait for a block may still cost, to what the
/// account holds; all wei.
pub(super) fn affordable(cost: U256, waiting: U256, balance: U256) -> Result<(), ChainError> {
    let need = cost.saturating_add(waiting);
    if need <= balance {
        return Ok(());
    }
    let (have, need) = (balance.to_string(), need.to_string());
    Err(ChainError::GasFunds { have, need, unit: "wei" })
}

fn within(what: &str, key: &str, asked: u128, ceiling: u128) -> Result<(), ChainError> {
    if asked <= ceiling {
        return Ok(());
    }
    Err(ChainError::FeeTooHigh(format!(
        "the {what} is {asked} wei per gas, above the ceiling fees.{key} = {ceiling} wei: wait, or \
         raise it"
    )))
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
