//! Which of several accounts bills a request: one answer for the same subscriptions, in whatever order they
//! and the accounts are named, after any restart and in any version.
//!
//! This spreads work. Nothing that keeps a charge from being made twice leans on it: claims belong to the chain
//! and the contract, whichever account signs.

use super::{Entry, PlanId, UserHash};
use alloy::primitives::Address;
use sha2::{Digest as _, Sha256};

/// The one of `accounts` that bills these subscriptions; none where there are none of either.
///
/// A request is one transaction, so all of it falls to the account of its lowest subscription: a request that
/// has lost or gained a few entries meets, most of the time, the account that it met before. Each account has a
/// score of its own for that subscription, and the highest wins: a new account takes a part of the
/// subscriptions from each of the others, and one that is gone leaves its own to them; no other moves.
pub fn account_of(
    accounts: impl IntoIterator<Item = Address>,
    subscriptions: impl IntoIterator<Item = (PlanId, UserHash)>,
) -> Option<Address> {
    let lowest = subscriptions.into_iter().map(|(plan, user)| number_of(plan, user)).min()?;
    accounts.into_iter().max_by_key(|account| score(*account, lowest))
}

impl Entry {
    /// Returns the plan and the user, which name the entry's subscription on the chain.
    pub fn subscription(&self) -> (PlanId, UserHash) {
        (self.plan, self.user)
    }
}

/// A number for a subscription that looks as if it were drawn.
fn number_of(plan: PlanId, user: UserHash) -> [u8; 32] {
    Sha256::new().chain_update(plan.0.to_be_bytes()).chain_update(user.0).finalize().into()
}

fn score(account: Address, subscription: [u8; 32]) -> [u8; 32] {
    Sha256::new().chain_update(account).chain_update(subscription).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::{B256, U256};
    use proptest::prelude::*;

    const ACCOUNTS: [Address; 3] =
        [Address::repeat_byte(0xa1), Address::repeat_byte(0xb2), Address::repeat_byte(0xc3)];
    const FOURTH: Address = Address::repeat_byte(0xd4);

    fn subscription(plan: i64, user: B256) -> (PlanId, UserHash) {
        (PlanId(plan), UserHash(user))
    }

    /// The place of the account that bills these users of plan 7.
    fn place(accounts: &[Address], users: &[u8]) -> usize {
        let named = users.iter().map(|user| subscription(7, B256::repeat_byte(*user)));
        let account = account_of(accounts.iter().copied(), named).unwrap();
        accounts.iter().position(|one| *one == account).unwrap()
    }

    /// Computed apart from this program, by sha256 over the account and the sha256 of plan and user. They never
    /// change: a version that assigns otherwise would send what is asked again to another account.
    #[test]
    fn who_bills_whom_is_written_in_stone() {
        let of_plan = |plan, accounts: usize| -> Vec<usize> {
            let accounts = &ACCOUNTS[..accounts];
            let one = |user| {
                let named = [subscription(plan, B256::repeat_byte(user))];
                let account = account_of(accounts.iter().copied(), named).unwrap();
                accounts.iter().position(|one| *one == account).unwrap()
            };
            (1..=12).map(one).collect()
        };
        assert_eq!(of_plan(7, 3), [0, 0, 2, 0, 1, 1, 1, 0, 0, 0, 2, 0]);
        assert_eq!(of_plan(8, 3), [2, 1, 0, 2, 2, 2, 0, 2, 0, 2, 2, 1]);
        assert_eq!(of_plan(7, 2), [0, 0, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0], "the third is gone");
        assert_eq!(of_plan(7, 1), [0; 12]);
        assert_eq!(account_of(ACCOUNTS, []), None);
        assert_eq!(account_of([], [subscription(7, B256::ZERO)]), None);
    }

    #[test]
    fn a_request_falls_to_the_account_of_its_lowest_subscription() {
        // By their numbers the first of these comes first, then the fourth, the fifth, the second, the third.
        assert_eq!([1, 2, 3, 4, 5].map(|user| place(&ACCOUNTS, &[user])), [0, 0, 2, 0, 1]);
        assert_eq!(place(&ACCOUNTS, &[3, 2, 1]), 0);
        assert_eq!(place(&ACCOUNTS, &[3, 5]), 1);
        assert_eq!(place(&ACCOUNTS, &[5, 3]), 1);
        assert_eq!(place(&ACCOUNTS, &[5, 3, 4]), 0);
    }

    #[test]
    fn a_new_account_takes_its_part_from_all_and_nothing_else_moves() {
        const MANY: usize = 3_000;
        let bills = |accounts: &[Address], user: usize| {
            let user = subscription(7, B256::from(U256::from(user)));
            account_of(accounts.iter().copied(), [user]).unwrap()
        };
        let four = [ACCOUNTS.as_slice(), &[FOURTH]].concat();
        let pairs = (0..MANY).map(|user| (bills(&ACCOUNTS, user), bills(&four, user)));
        let moved: Vec<_> = pairs.filter(|(before, after)| before != after).collect();
        assert!(moved.iter().all(|(_, after)| *after == FOURTH));
        assert_eq!(moved.len(), 763, "about a quarter of all");
        let from = |account| moved.iter().filter(|(before, _)| *before == account).count();
        assert!(ACCOUNTS.iter().all(|account| from(*account) > 200), "{:?}", ACCOUNTS.map(from));
    }

    proptest! {
        #[test]
        fn no_order_makes_a_difference(
            accounts in prop::collection::btree_set(any::<[u8; 20]>(), 1..6),
            users in prop::collection::btree_set(any::<[u8; 32]>(), 1..6),
            turn in 0..6_usize,
        ) {
            let mut accounts: Vec<_> = accounts.into_iter().map(Address::from).collect();
            let mut named: Vec<_> =
                users.into_iter().map(|user| subscription(1, B256::from(user))).collect();
            let one = account_of(accounts.clone(), named.clone());
            let (by, turned) = (turn.min(accounts.len()), turn.min(named.len()));
            accounts.rotate_left(by);
            named.rotate_left(turned);
            prop_assert_eq!(account_of(accounts, named), one);
        }
    }
}
