//! The debts of a wallet: a token knows one allowance of a wallet for the contract, and every subscription of the
//! wallet is charged from it.

use crate::store::plans::Plan;
use crate::store::subscriptions::Subscription;
use alloy::primitives::U256;

/// More periods than this are not counted.
pub(crate) const MANY: u64 = 1000;

/// Everything that one allowance pays for.
#[derive(Clone, Debug)]
pub(crate) struct Dues {
    /// The price (base units) and the interval (s) of the subscription that it is about.
    own: (U256, u64),
    /// The wallet's other subscriptions that live on the same chain, with their plans.
    pub(crate) others: Vec<(Subscription, Plan)>,
}

impl Dues {
    pub(crate) fn new(own: &Plan, others: Vec<(Subscription, Plan)>) -> Self {
        Self { own: terms(own), others }
    }

    /// Returns the sum that all of them charge while the subscription lasts so many periods (base units): each as
    /// often as its own periods begin in that time.
    pub(crate) fn of_periods(&self, periods: u64) -> U256 {
        let (price, interval_s) = self.own;
        let time_s = periods.saturating_mul(interval_s);
        let others = self.others.iter().map(|(_, plan)| {
            let (price, interval_s) = terms(plan);
            price.saturating_mul(U256::from(time_s.div_ceil(interval_s)))
        });
        others.fold(price.saturating_mul(U256::from(periods)), U256::saturating_add)
    }

    /// For how many periods `allowed` (base units) suffices; [`MANY`] at most.
    pub(crate) fn covered(&self, allowed: U256) -> u64 {
        (1..=MANY).take_while(|periods| self.of_periods(*periods) <= allowed).last().unwrap_or(0)
    }
}

fn terms(plan: &Plan) -> (U256, u64) {
    (plan.amount.parse().unwrap_or(U256::MAX), plan.interval_s.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(amount: u64, interval_s: u64) -> Plan {
        Plan {
            id: 1,
            chain: 1,
            version: 1,
            name: String::new(),
            amount: amount.to_string(),
            interval_s,
            periods: 0,
            delay_s: 0,
            proposer: String::new(),
            propose_tx: String::new(),
            approver: None,
            approve_tx: None,
            created_ms: 0,
        }
    }

    fn subscription() -> Subscription {
        Subscription {
            id: 1,
            out_trade_no: String::new(),
            external_user: String::new(),
            user_hash: String::new(),
            plan: 1,
            chain: 1,
            version: 1,
            notify_url: None,
            created_ms: 0,
        }
    }

    #[test]
    fn one_allowance_is_divided_among_all_that_are_charged_from_it() {
        let alone = Dues::new(&plan(10, 30), vec![]);
        assert_eq!((alone.of_periods(12), alone.covered(U256::from(45))), (U256::from(120), 4));
        let two = Dues::new(&plan(10, 30), vec![(subscription(), plan(10, 30))]);
        assert_eq!((two.of_periods(12), two.covered(U256::from(45))), (U256::from(240), 2));
        assert_eq!(two.covered(U256::from(19)), 0);
        let rare = Dues::new(&plan(10, 30), vec![(subscription(), plan(100, 365))]);
        assert_eq!((rare.of_periods(1), rare.of_periods(13)), (U256::from(110), U256::from(330)));
        let weekly = Dues::new(&plan(10, 30), vec![(subscription(), plan(1, 7))]);
        assert_eq!(weekly.of_periods(1), U256::from(15));
        assert_eq!(weekly.covered(U256::MAX), MANY);
    }
}
