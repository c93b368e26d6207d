//! The account's coins, energy and bandwidth, and the prices, at the last look, for metrics and warnings.

use super::TronChain;
use super::resources::to_pay;
use crate::head::HeadLook as _;
use crate::{FreeResources, Headroom, Vitals};
use ::node::reached_by;
use alloy::primitives::U256;
use tron_node::Resources;

/// Of an account that has nothing staked.
const NOTHING: Resources = Resources { free_bandwidth: 0, staked_bandwidth: 0, energy: 0 };

impl TronChain {
    /// None before the first look.
    pub(super) fn vitals_now(&self) -> Option<Vitals> {
        let head = self.head.last()?;
        let (purse, ordinary) = (self.purse(&head).ok()?, self.ordinary(&head));
        let borne_out = |of: fn(&Resources) -> u64| {
            let told = || head.means.iter().map(|means| of(&means.resources));
            reached_by(told(), self.parts.fleet.needed()).or(told().min()).unwrap_or_default()
        };
        let energy = borne_out(|free| free.energy);
        let bandwidth = borne_out(|free| free.free_bandwidth.saturating_add(free.staked_bandwidth));
        let fees = &self.parts.config.fees;
        let burnt = self.burnt_today();
        Some(Vitals {
            age: head.seen().elapsed(),
            balance: purse.holds,
            in_flight: purse.in_flight,
            ordinary: U256::from(to_pay([ordinary], &head.prices, &NOTHING)),
            saved: U256::from(energy).saturating_mul(U256::from(head.prices.energy)),
            resources: Some(FreeResources { energy, bandwidth }),
            headrooms: vec![
                Headroom::of("fees.max_fee_limit", ordinary.fee_limit, fees.max_fee_limit.0),
                Headroom::of("fees.max_burnt_per_day", burnt, fees.max_burnt_per_day.0),
            ],
        })
    }
}
