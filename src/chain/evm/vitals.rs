//! What the last look tells of the account's gas money and of prices, for metrics and warnings.

use super::EvmChain;
use super::fees::{cancel_bid, cost, first_bid};
use super::in_flight::PlaceCost;
use crate::chain::head::HeadLook as _;
use crate::chain::{Headroom, Vitals};
use alloy::primitives::U256;

impl EvmChain {
    /// None before the first look.
    pub(super) fn vitals_now(&self) -> Option<Vitals> {
        let head = self.head.last()?;
        let (fees, needed) = (&self.parts.config.fees, self.parts.fleet.needed());
        // Where the chain asks more than is allowed, a batch costs what is allowed: it waits for that.
        let bid = first_bid(&head.market, fees, self.raises())
            .or_else(|_| cancel_bid(&head.market, fees))
            .ok()?;
        let ordinary = cost(self.ordinary_gas(&head), bid);
        let draft = PlaceCost::of_draft(bid, ordinary);
        let purse = self.in_flight.purse(draft, &head.holdings(), needed)?;
        let asked = head.market.base_fee.filter(|_| !fees.legacy).or(head.market.gas_price);
        Some(Vitals {
            age: head.seen().elapsed(),
            balance: purse.holds,
            in_flight: purse.in_flight,
            ordinary,
            saved: U256::ZERO,
            resources: None,
            headrooms: vec![
                Headroom::of(
                    "fees.max_fee_per_gas",
                    asked.unwrap_or_default(),
                    fees.max_fee_per_gas.0,
                ),
                Headroom::of("fees.max_tx_cost", ordinary, fees.max_tx_cost.0),
            ],
        })
    }
}
