//! The findings of the last look at a chain besides its head: for metrics and for warnings, never for a decision.
//! No extra request is made for them.

use alloy::primitives::U256;
use std::time::Duration;

/// The state of the signing account and the prices of the chain, as of the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// Time since the look.
    pub age: Duration,
    /// Balance of the account, wei or sun.
    pub balance: U256,
    /// Part of the balance that the account's open transactions may still take.
    pub in_flight: U256,
    /// Cost of an ordinary batch, wei or sun: one like the last that was drafted, or like one charge before any was
    /// drafted, at today's prices, or at the configured ceilings while the chain asks more. On TRON, the cost with
    /// nothing staked.
    pub ordinary: U256,
    /// Amount that staked energy saves, sun (TRON).
    pub saved: U256,
    /// Energy and bandwidth that the account can use without paying (TRON).
    pub resources: Option<FreeResources>,
    /// Headroom of prices and fees below the configured ceilings.
    pub headrooms: Vec<Headroom>,
}

/// The resources that an account on TRON can use without paying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeResources {
    /// Energy.
    pub energy: u64,
    /// Bandwidth, staked and free, bytes.
    pub bandwidth: u64,
}

/// The headroom below a limit of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Its key, below that of the chain.
    pub limit: String,
    /// Amount of the limit that is taken.
    pub taken: U256,
    /// The most that the limit allows.
    pub most: U256,
}

impl Headroom {
    /// So much of a limit is taken.
    pub fn of(
        limit: impl Into<String>,
        taken: impl TryInto<U256>,
        most: impl TryInto<U256>,
    ) -> Self {
        let most = most.try_into().unwrap_or(U256::MAX);
        Self { limit: limit.into(), taken: taken.try_into().unwrap_or(U256::MAX), most }
    }
}

impl Vitals {
    /// Returns how many more ordinary batches the account can pay for, besides all that is open; none if the cost
    /// of a batch is unknown.
    pub fn billings_left(&self) -> Option<u64> {
        let has = self.balance.saturating_sub(self.in_flight).saturating_add(self.saved);
        let left = has.checked_div(self.ordinary)?;
        Some(u64::try_from(left).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_counted_in_ordinary_batches_beside_all_that_is_open() {
        let vitals = |balance: u64, in_flight: u64, saved: u64, ordinary: u64| Vitals {
            age: Duration::ZERO,
            balance: U256::from(balance),
            in_flight: U256::from(in_flight),
            ordinary: U256::from(ordinary),
            saved: U256::from(saved),
            resources: None,
            headrooms: Vec::new(),
        };
        assert_eq!(vitals(100, 10, 0, 30).billings_left(), Some(3));
        assert_eq!(vitals(100, 200, 0, 30).billings_left(), Some(0));
        assert_eq!(vitals(0, 0, 90, 30).billings_left(), Some(3), "staked energy pays as well");
        assert_eq!(vitals(100, 0, 0, 0).billings_left(), None);
    }
}
