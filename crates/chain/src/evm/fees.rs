//! The price to pay for a transaction: pure arithmetic over what the chain asks and what the configuration allows.
//! Only a cancel may go above a ceiling, by one step.

use crate::{ChainError, Payer, TooDear, Unanswered};
use alloy::primitives::U256;
use billing::AttemptKind;
use config::FeeConfig;
use signing::{dearest, raised};

/// The tip when every block of the history was empty and so tells nothing, wei per gas. With empty
/// blocks any tip gets in; geth's miner once asked 1 gwei by default.
const QUIET_TIP: u128 = 1_000_000_000;

/// The prices that the chain asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Market {
    /// The newest block's base fee, wei per gas; none where the chain has none.
    pub(super) base_fee: Option<u128>,
    /// The tip of others, wei per gas; none where nobody tipped.
    pub(super) tip: Option<u128>,
    /// The tip of the lowest fifth of them, wei per gas; none where nobody tipped.
    pub(super) low_tip: Option<u128>,
    /// The gas price that the node names, wei per gas; asked only for type 0.
    pub(super) gas_price: Option<u128>,
}

impl Market {
    /// Returns true if the chain asks more than was bid: the base fee is not covered, or the bid leaves less to the
    /// maker of the block than nearly everybody leaves.
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

    /// Returns the most that is left to the maker of the block, wei per gas.
    pub(super) fn tip(self) -> u128 {
        match self {
            Self::Dynamic { tip, .. } => tip,
            Self::Legacy { price } => price,
        }
    }
}

/// Returns the most that a transaction with this limit may cost, wei.
pub(super) fn cost(gas_limit: u64, bid: Bid) -> U256 {
    U256::from(gas_limit).saturating_mul(U256::from(bid.at_most()))
}

/// The most that may be bid, wei per gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ceilings {
    fee: u128,
    tip: u128,
}

impl Ceilings {
    /// Returns the ceilings that the configuration allows.
    pub(super) fn of(config: &FeeConfig) -> Self {
        Self { fee: config.max_fee_per_gas.0, tip: config.max_priority_fee_per_gas.0 }
    }

    /// Returns the ceilings of a cancel: one step more than the configuration allows, and one step more than any of
    /// the `bills` that it is to replace. A transaction that no node takes would otherwise hold up everything
    /// behind it as soon as its own bid is at a ceiling.
    pub(super) fn of_cancel(config: &FeeConfig, bills: impl IntoIterator<Item = Bid>) -> Self {
        let Self { fee, tip } = Self::of(config);
        let (highest_fee, highest_tip) = highest(bills);
        Self { fee: raised(fee.max(highest_fee)), tip: raised(tip.max(highest_tip)) }
    }

    /// The same less the room that so many raises need.
    fn leaving(self, raises: usize) -> Self {
        let room = |ceiling| (0..raises).fold(ceiling, |left, _| before_raise(left));
        Self { fee: room(self.fee), tip: room(self.tip) }
    }

    /// The highest bid.
    fn most(self, legacy: bool) -> Bid {
        let Self { fee, tip } = self;
        if legacy { Bid::Legacy { price: fee } } else { Bid::Dynamic { max_fee: fee, tip } }
    }
}

/// The highest fee and the highest tip of all these bids.
fn highest(bids: impl IntoIterator<Item = Bid>) -> (u128, u128) {
    let both = bids.into_iter().map(|bid| (bid.at_most(), bid.tip()));
    both.fold((0, 0), |(fee, tip), (other_fee, other_tip)| (fee.max(other_fee), tip.max(other_tip)))
}

/// The bid that takes the place of `earlier` ones: the fresh one, but higher than every earlier one by
/// as much as nodes want, in the fee and in the tip. An earlier one that was not seen to land may be
/// what a node holds, so the highest of all counts. A ceiling in the way is an error.
pub(super) fn outbid(
    fresh: Bid,
    earlier: impl IntoIterator<Item = Bid>,
    ceilings: Ceilings,
) -> Result<Bid, ChainError> {
    let (fee, tip) = highest(earlier);
    let (fee, tip) = (raised(fee).max(fresh.at_most()), raised(tip).max(fresh.tip()));
    within("replacement", "max_fee_per_gas", fee, ceilings.fee)?;
    match fresh {
        Bid::Dynamic { .. } => {
            let most = ceilings.tip;
            within("tip of a replacement", "max_priority_fee_per_gas", tip, most)?;
            Ok(Bid::Dynamic { max_fee: fee, tip })
        }
        Bid::Legacy { .. } => Ok(Bid::Legacy { price: fee.max(tip) }),
    }
}

/// Returns the bid of a cancel before it outbids: the price that the chain asks, or the most that is allowed where
/// the chain asks more. The cancel then waits until the chain asks less.
pub(super) fn cancel_bid(market: &Market, config: &FeeConfig) -> Result<Bid, ChainError> {
    match first_bid(market, config, 0) {
        Err(ChainError::FeeTooHigh(_)) => {
            Ok(Ceilings::of(config).most(config.legacy || market.base_fee.is_none()))
        }
        bid => bid,
    }
}

/// A bid that is at most `ceiling` after it was raised once.
fn before_raise(ceiling: u128) -> u128 {
    // raised(b) is less than 9/8 b + 2.
    ceiling.saturating_sub(2).saturating_mul(8).div_euclid(9)
}

/// The first bid. Twice the base fee covers six full blocks (EIP-1559: at most +12.5 % each). It keeps
/// below the ceilings by the room that `raises` replacements need, an eighth each: by as many as the
/// configuration allows a billing (`max_attempts`). A chain that asks more than that is bid what it asks
/// now, up to the ceilings.
pub(super) fn first_bid(
    market: &Market,
    config: &FeeConfig,
    raises: usize,
) -> Result<Bid, ChainError> {
    let ceilings = Ceilings::of(config);
    let roomy = ceilings.leaving(raises);
    match (market.base_fee, market.gas_price) {
        (Some(base), _) if !config.legacy => {
            within("base fee of the chain", "max_fee_per_gas", base, ceilings.fee)?;
            let wanted = market.tip.unwrap_or(QUIET_TIP).clamp(1, u128::MAX);
            let least = market.low_tip.unwrap_or(1).max(1);
            let tip = wanted.min(roomy.tip.max(least)).min(ceilings.tip);
            let (wanted, least) = (base.saturating_mul(2), base.saturating_add(base >> 3));
            let wanted = wanted.saturating_add(tip).min(roomy.fee.max(least.saturating_add(tip)));
            let max_fee = wanted.min(ceilings.fee);
            Ok(Bid::Dynamic { max_fee, tip: tip.min(max_fee) })
        }
        (base, Some(asked)) => {
            within("gas price of the chain", "max_fee_per_gas", asked, ceilings.fee)?;
            // All of a legacy price is paid, so where the base fee moves it gets an eighth more:
            // one full block's worth.
            let room = base.map_or(0, |_| asked >> 3);
            Ok(Bid::Legacy { price: asked.saturating_add(room).min(roomy.fee.max(asked)) })
        }
        (_, None) => Err(Unanswered::NoGasPrice.into()),
    }
}

/// Holds the whole cost of a transaction to the configuration, wei.
pub(super) fn allowed(cost: U256, kind: AttemptKind, config: &FeeConfig) -> Result<(), ChainError> {
    let most = U256::from(dearest(kind, config));
    if cost <= most {
        return Ok(());
    }
    Err(TooDear::Transaction { cost, most }.into())
}

/// Holds the cost of a transaction, and what those that wait for a block may still cost, to what the
/// account holds; all wei.
pub(super) fn affordable(
    cost: U256,
    waiting: U256,
    balance: U256,
    payer: Payer,
) -> Result<(), ChainError> {
    let need = cost.saturating_add(waiting);
    if need <= balance {
        return Ok(());
    }
    Err(ChainError::GasFunds { have: balance, need, payer })
}

fn within(
    what: &'static str,
    key: &'static str,
    asked: u128,
    ceiling: u128,
) -> Result<(), TooDear> {
    if asked <= ceiling {
        return Ok(());
    }
    let [asked, ceiling] = [asked, ceiling].map(U256::from);
    Err(TooDear::PerGas { what, key, asked, ceiling })
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
