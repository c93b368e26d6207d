//! The account's gas money and the prices at the last look, for metrics and warnings.

use super::EvmChain;
use super::fees::{cancel_bid, cost, first_bid};
use crate::head::HeadLook as _;
use crate::{Headroom, Vitals};
use alloy::primitives::U256;

impl EvmChain {
    /// None before the first look.
    pub(super) fn vitals_now(&self) -> Option<Vitals> {
        let head = self.head.last()?;
        let fees = &self.parts.config.fees;
        // If the chain asks more than is allowed, the batch costs the allowed amount: it waits for that price.
        let bid = first_bid(&head.market, fees, self.raises())
            .or_else(|_| cancel_bid(&head.market, fees))
            .ok()?;
        let (budget, gas) = (self.budget_at(bid, &head)?, cost(self.ordinary_gas(&head), bid));
        let asked = head.market.base_fee.filter(|_| !fees.legacy).or(head.market.gas_price);
        let of_price =
            asked.map(|asked| Headroom::of("fees.max_fee_per_gas", asked, fees.max_fee_per_gas.0));
        let of_all = Headroom::of("fees.max_tx_cost", gas, fees.max_tx_cost.0);
        Some(Vitals {
            age: head.seen().elapsed(),
            balance: budget.holds,
            in_flight: budget.in_flight,
            ordinary: self.ordinary_cost(&head, bid),
            saved: U256::ZERO,
            resources: None,
            headrooms: of_price.into_iter().chain([of_all]).collect(),
        })
    }
}
