//! The cost of failures of all accounts of a chain: they share one limit, however many sign.

use alloy::primitives::Address;
use parking_lot::Mutex;
use policy::utc_day;
use std::collections::BTreeMap;

/// The newest day (UTC) with a failure, and what failures cost in it, sun, by account.
#[derive(Debug, Default)]
pub(super) struct Burnings(Mutex<BTreeMap<Address, (i64, u64)>>);

impl Burnings {
    /// Takes down what an account has come to.
    pub(super) fn note(&self, account: Address, burnt: (i64, u64)) {
        self.0.lock().insert(account, burnt);
    }

    /// Returns the cost of all accounts' failures on the day of `now_ms`, sun.
    pub(super) fn today(&self, now_ms: i64) -> u64 {
        let today = utc_day(now_ms);
        let all = self.0.lock();
        let of_today = all.values().filter(|(day, _)| *day == today);
        of_today.fold(0, |sum, (_, sun)| sum.saturating_add(*sun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_accounts_burn_on_one_day_counts_together() {
        const NOON: i64 = 43_200_000;
        let burnings = Burnings::default();
        let [first, second] = [1, 2].map(Address::repeat_byte);
        assert_eq!(burnings.today(NOON), 0);
        burnings.note(first, (0, 3));
        burnings.note(second, (0, 4));
        assert_eq!(burnings.today(NOON), 7);
        burnings.note(first, (0, 5));
        assert_eq!(burnings.today(NOON), 9, "an account has one sum");
        burnings.note(second, (1, 6));
        assert_eq!((burnings.today(NOON), burnings.today(NOON + 86_400_000)), (5, 6));
    }
}
