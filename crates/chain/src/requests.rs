//! The number of requests that a provider gets, which its plan has to allow. Counted by the scenario `rpc_bill`.

use super::Facts;
use billing::Family;
use std::fmt;
use std::time::Duration;

/// A day, seconds.
const DAY_S: u64 = 86_400;

/// Number of times a day that a node is asked anew which chain it is on and what it can do.
const RECHECKS: u64 = 24 * 6;

/// The requests to each provider of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// Number of requests in a look at the chain.
    look: u64,
    /// Number of requests to ask a node anew what it can do.
    recheck: u64,
    /// Number of compute units that a look costs, as one large provider counts them; none where they are not
    /// counted.
    units: Option<u64>,
    /// The same of asking anew.
    recheck_units: u64,
    accounts: u64,
    every: Duration,
    idle_every: Duration,
}

/// Number of requests in a billing, the whole look before it included, beside the looks that follow until the
/// billing is final.
const A_BILLING: u64 = 15;

/// Highest number of requests in each look that follows a billing.
const A_LATER_LOOK: u64 = 3;

impl Requests {
    /// Number of requests to each node of an EVM chain in a look.
    pub const EVM_LOOK: u64 = 5;
    /// The same on TRON.
    pub const TRON_LOOK: u64 = 4;

    /// Returns the requests about so many accounts of a chain.
    pub fn of(facts: &Facts, accounts: usize) -> Self {
        let (look, recheck, units, recheck_units) = match facts.family {
            Family::Evm => (Self::EVM_LOOK, 7, Some(90), 150),
            Family::Tvm => (Self::TRON_LOOK, 7, None, 0),
        };
        Self {
            look,
            recheck,
            units,
            recheck_units,
            accounts: u64::try_from(accounts).unwrap_or(u64::MAX).max(1),
            every: facts.poll_interval,
            // Of accounts that share a chain each has to know what the others did.
            idle_every: if accounts > 1 { facts.poll_interval } else { facts.idle_poll_interval },
        }
    }

    /// Returns the number of requests in a day of looks at the chain, each look of `of_look` requests, where looks
    /// are `every` apart.
    fn day(&self, of_look: u64, of_recheck: u64, every: Duration) -> u64 {
        let day_ms = u128::from(DAY_S).saturating_mul(1000);
        let looks = day_ms.checked_div(every.as_millis()).and_then(|looks| looks.try_into().ok());
        let looks: u64 = looks.unwrap_or(u64::MAX);
        let all = looks.saturating_mul(of_look).saturating_add(RECHECKS.saturating_mul(of_recheck));
        all.saturating_mul(self.accounts)
    }

    /// Returns the number of requests in a day while nothing is open.
    pub fn idle_day(&self) -> u64 {
        self.day(self.look, self.recheck, self.idle_every)
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let look = self.look.saturating_mul(self.accounts);
        let later = A_LATER_LOOK.saturating_mul(self.accounts);
        write!(
            f,
            "to each provider: about {} a day while nothing is open, {A_BILLING} for a billing, and up to \
             {later} every {} ms until it is final ({look} while requests follow one another)",
            self.idle_day(),
            self.every.as_millis()
        )?;
        if let Some(units) = self.units {
            let idle = self.day(units, self.recheck_units, self.idle_every);
            write!(f, "; about {idle} compute units on a day with nothing open")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::Address;
    use billing::PlatformChainId;

    #[test]
    fn by_default_a_day_with_nothing_open_is_below_ten_thousand() {
        for (family, a_day) in [(Family::Evm, 8_208), (Family::Tvm, 6_768)] {
            let facts = Facts {
                id: PlatformChainId(139),
                name: "any".to_owned(),
                family,
                network: 1,
                contract: Address::ZERO,
                signer: Address::ZERO,
                max_in_flight: 1,
                poll_interval: Duration::from_secs(3),
                idle_poll_interval: Duration::from_mins(1),
            };
            assert_eq!(Requests::of(&facts, 1).idle_day(), a_day);
            let of_two = Requests::of(&facts, 2).idle_day();
            assert!(of_two > 20 * a_day, "both are looked at as often as ever: {of_two}");
        }
    }
}
