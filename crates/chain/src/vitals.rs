//! What the last look at a chain told besides its head: for metrics and for warnings, never for a
//! decision. Nothing is asked for it.

use alloy::primitives::U256;
use std::time::Duration;

/// What is known of the signing account and of what the chain asks, as of the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vitals {
    /// How long ago the look was.
    pub age: Duration,
    /// What the account holds, wei or sun.
    pub balance: U256,
    /// What its open transactions may still take of that.
    pub in_flight: U256,
    /// What an ordinary batch may cost, wei or sun: one like the last that was drafted, or like one
    /// charge before there was one, at today's prices, or at the configured ceilings while the chain
    /// asks more. On TRON with nothing staked.
    pub ordinary: U256,
    /// What staked energy saves, sun (TRON).
    pub saved: U256,
    /// Energy and bandwidth that the account can use without paying (TRON).
    pub resources: Option<FreeResources>,
    /// How near prices and fees are to the configured ceilings.
    pub headrooms: Vec<Headroom>,
}

/// What an account on TRON can use without paying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeResources {
    /// Energy.
    pub energy: u64,
    /// Bandwidth, staked and free, bytes.
    pub bandwidth: u64,
}

/// How near something is to a limit of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Its key, below that of the chain.
    pub limit: String,
    /// How much of it is taken.
    pub taken: U256,
    /// How much may be.
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
    /// How many more ordinary batches the account can pay for, beside all that is open; none where
    /// nobody knows what one costs.
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
