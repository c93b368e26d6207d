//! What the adapter decides by pure functions, for the simulator, which asks the nodes in its stead.

use super::delivery::delivery as judge;
use super::errors::{Meaning, fixtures, meaning};
use super::fees::{self, Market};
use crate::billing::Objection;
use crate::chain::fleet::Said;
use crate::chain::{ChainError, Delivery};
use crate::config::FeeConfig;
use alloy::primitives::{B256, U256};

/// A bid, wei per gas: the most that is paid, and the tip within it.
pub(crate) type Offer = (u128, u128);

/// The first bid.
pub(crate) fn first_bid(base_fee: u128, ceilings: &FeeConfig) -> Result<Offer, ChainError> {
    let market = Market { base_fee: Some(base_fee), tip: Some(2), gas_price: None };
    match fees::first_bid(&market, ceilings)? {
        fees::Bid::Dynamic { max_fee, tip } => Ok((max_fee, tip)),
        fees::Bid::Legacy { price } => Ok((price, price)),
    }
}

/// Whether the account can pay for it.
pub(crate) fn affordable(
    gas: u64,
    (max_fee, tip): Offer,
    ceilings: &FeeConfig,
    balance: U256,
) -> Result<(), ChainError> {
    fees::affordable(gas, fees::Bid::Dynamic { max_fee, tip }, ceilings, balance)
}

/// The bid that takes the place of earlier ones.
pub(crate) fn outbid(
    fresh: Offer,
    earlier: &[Offer],
    ceilings: &FeeConfig,
) -> Result<Offer, ChainError> {
    let highest = earlier.iter().map(|(max_fee, _)| *max_fee).max().unwrap_or(0);
    let max_fee = fresh.0.max(highest.saturating_add(highest.div_ceil(8)).saturating_add(1));
    if max_fee > ceilings.max_fee_per_gas.0 {
        return Err(ChainError::FeeTooHigh("the ceiling".to_owned()));
    }
    Ok((max_fee, fresh.1))
}

/// What all answers to a broadcast mean together.
pub(crate) fn delivery(said: &[Said], ours: B256, needed: usize) -> Delivery {
    judge(said, ours, needed)
}

/// Whether an answer says that the node has the transaction.
pub(crate) fn has(said: &Said, ours: B256) -> bool {
    match said {
        Ok(hash) => *hash == ours,
        Err(error) => meaning(&error.fault) == Meaning::Held,
    }
}

/// What an answer objects to.
pub(crate) fn objection(said: &Said) -> Option<Objection> {
    match meaning(&said.as_ref().err()?.fault) {
        Meaning::Objects(objection) => Some(objection),
        Meaning::Held | Meaning::Swamped | Meaning::Ambiguous | Meaning::Unheard => None,
    }
}

/// The messages of nodes that mean this, or all that there are.
pub(crate) fn messages(of: Option<Objection>) -> Vec<&'static str> {
    let means = |meaning| of.is_none_or(|objection| meaning == Meaning::Objects(objection));
    fixtures().filter(|(meaning, _)| means(*meaning)).map(|(_, message)| message).collect()
}
