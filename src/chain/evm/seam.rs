//! What the adapter decides by pure functions, for the simulator, which asks the nodes in its stead.

pub(crate) use super::delivery::Said;
use super::delivery::delivery as judge;
use super::errors::{Meaning, fixtures, meaning};
use super::fees::{self, Bid, Market, affordable as affords};
use crate::billing::Objection;
use crate::chain::{ChainError, Delivery};
use crate::config::FeeConfig;
use alloy::primitives::{B256, U256};

/// A bid, wei per gas: the most that is paid, and the tip within it.
pub(crate) type Offer = (u128, u128);

/// The first bid.
pub(crate) fn first_bid(base_fee: u128, ceilings: &FeeConfig) -> Result<Offer, ChainError> {
    fees::first_bid(&market(base_fee), ceilings, 0).map(offer)
}

/// The bid that takes the place of earlier ones.
pub(crate) fn outbid(
    fresh: Offer,
    earlier: &[Offer],
    ceilings: &FeeConfig,
) -> Result<Offer, ChainError> {
    let ceilings = fees::Ceilings::of(ceilings);
    fees::outbid(bid(fresh), earlier.iter().map(|one| bid(*one)), ceilings).map(offer)
}

/// Whether the account can pay for it, and for those that wait.
pub(crate) fn affordable(
    gas: u64,
    one: Offer,
    waiting: &[Offer],
    balance: U256,
) -> Result<(), ChainError> {
    let cost = |one: &Offer| fees::cost(gas, bid(*one));
    affords(cost(&one), waiting.iter().map(cost).fold(U256::ZERO, U256::saturating_add), balance)
}

/// Whether the chain asks more than was bid.
pub(crate) fn is_low(one: Offer, base_fee: u128) -> bool {
    market(base_fee).is_above(bid(one))
}

fn market(base_fee: u128) -> Market {
    Market { base_fee: Some(base_fee), tip: Some(2), low_tip: Some(1), gas_price: None }
}

fn bid((max_fee, tip): Offer) -> Bid {
    Bid::Dynamic { max_fee, tip }
}

fn offer(bid: Bid) -> Offer {
    (bid.at_most(), bid.tip())
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
