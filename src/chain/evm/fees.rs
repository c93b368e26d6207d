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
    /// What the node calls the gas price, wei per gas; asked only for type 0.
    pub(super) gas_price: Option<u128>,
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
}

/// The median of what blocks tipped, wei per gas. `blocks` are (share of gas used, tip); empty
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
            within("base fee", base, ceiling)?;
            let wanted = market.tip.unwrap_or(QUIET_TIP).clamp(1, u128::MAX);
            let tip = wanted.min(ceilings.max_priority_fee_per_gas.0);
            let max_fee = base.saturating_mul(2).saturating_add(tip).min(ceiling);
            Ok(Bid::Dynamic { max_fee, tip: tip.min(max_fee) })
        }
        (base, Some(asked)) => {
            within("gas price", asked, ceiling)?;
            // All of a legacy price is paid, so where the base fee moves it gets an eighth more:
            // one full block's worth.
            let room = base.map_or(0, |_| asked >> 3);
            Ok(Bid::Legacy { price: asked.saturating_add(room).min(ceiling) })
        }
        (_, None) => Err(ChainError::Unavailable("the node names no gas price".to_owned())),
    }
}

/// Holds the whole cost of a transaction to the configuration and to the account, wei.
pub(super) fn affordable(
    gas_limit: u64,
    bid: Bid,
    ceilings: &FeeConfig,
    balance: U256,
) -> Result<(), ChainError> {
    let cost = U256::from(gas_limit).saturating_mul(U256::from(bid.at_most()));
    let most = ceilings.max_tx_cost.0;
    if cost > U256::from(most) {
        return Err(ChainError::FeeTooHigh(format!(
            "the transaction may cost {cost} wei, above the ceiling fees.max_tx_cost = {most} wei: \
             post fewer at once, wait, or raise it"
        )));
    }
    if cost > balance {
        let (have, need) = (balance.to_string(), cost.to_string());
        return Err(ChainError::GasFunds { have, need, unit: "wei" });
    }
    Ok(())
}

fn within(what: &str, asked: u128, ceiling: u128) -> Result<(), ChainError> {
    if asked <= ceiling {
        return Ok(());
    }
    Err(ChainError::FeeTooHigh(format!(
        "the chain's {what} is {asked} wei per gas, above the ceiling fees.max_fee_per_gas = \
         {ceiling} wei: wait, or raise it"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Wei;
    use proptest::prelude::*;

    const CEILINGS: FeeConfig = FeeConfig {
        max_fee_per_gas: Wei(100),
        max_priority_fee_per_gas: Wei(10),
        max_tx_cost: Wei(1_000_000),
        legacy: false,
    };

    fn bid(base: u128, tip: u128) -> Result<Bid, ChainError> {
        let market = Market { base_fee: Some(base), tip: Some(tip), gas_price: None };
        first_bid(&market, &CEILINGS)
    }

    #[test]
    fn a_bid_covers_twice_the_base_fee_and_stays_under_the_ceilings() {
        assert_eq!(bid(20, 3), Ok(Bid::Dynamic { max_fee: 43, tip: 3 }));
        assert_eq!(bid(20, 99), Ok(Bid::Dynamic { max_fee: 50, tip: 10 }));
        assert_eq!(bid(60, 3), Ok(Bid::Dynamic { max_fee: 100, tip: 3 }));
        assert_eq!(bid(0, 0), Ok(Bid::Dynamic { max_fee: 1, tip: 1 }), "never a tip of nothing");
        let refused = bid(101, 1).unwrap_err().to_string();
        assert!(refused.contains("fees.max_fee_per_gas"), "{refused}");
    }

    #[test]
    fn a_chain_without_a_base_fee_is_paid_what_it_asks() {
        let market = Market { base_fee: None, tip: None, gas_price: Some(50) };
        assert_eq!(first_bid(&market, &CEILINGS), Ok(Bid::Legacy { price: 50 }));
        let moving = Market { base_fee: Some(48), ..market };
        let legacy = FeeConfig { legacy: true, ..CEILINGS };
        assert_eq!(first_bid(&moving, &legacy), Ok(Bid::Legacy { price: 56 }));
        let dear = Market { gas_price: Some(101), ..market };
        assert!(matches!(first_bid(&dear, &CEILINGS), Err(ChainError::FeeTooHigh(_))));
    }

    #[test]
    fn the_tip_is_what_others_paid_in_blocks_that_held_something() {
        assert_eq!(median_tip([(0.5, 7), (0.0, 0), (0.1, 3), (0.9, 9), (0.0, 1)]), Some(7));
        assert_eq!(median_tip([(0.5, 7), (0.5, 3)]), Some(7));
        assert_eq!(median_tip([(0.0, 7)]), None);
        assert_eq!(median_tip([]), None);
    }

    #[test]
    fn a_transaction_that_cannot_be_paid_for_is_not_made() {
        let bid = Bid::Dynamic { max_fee: 10, tip: 1 };
        let check = |gas, balance: u64| affordable(gas, bid, &CEILINGS, U256::from(balance));
        assert_eq!(check(1000, 10_000), Ok(()));
        assert!(matches!(check(1000, 9_999), Err(ChainError::GasFunds { .. })));
        assert!(matches!(check(100_001, u64::MAX), Err(ChainError::FeeTooHigh(_))));
    }

    proptest! {
        #[test]
        fn no_bid_is_above_a_ceiling(base: u128, tip: u128, price: u128, legacy: bool) {
            let market = Market { base_fee: Some(base), tip: Some(tip), gas_price: Some(price) };
            if let Ok(bid) = first_bid(&market, &FeeConfig { legacy, ..CEILINGS }) {
                prop_assert!(bid.at_most() <= CEILINGS.max_fee_per_gas.0);
                if let Bid::Dynamic { max_fee, tip } = bid {
                    prop_assert!(tip <= max_fee && tip <= CEILINGS.max_priority_fee_per_gas.0);
                }
            }
        }
    }
}
