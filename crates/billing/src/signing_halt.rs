//! Why nothing new is signed on a chain, although the journal knows of everything that was.

use super::{Denomination, Family, spell_address};
use alloy::primitives::{Address, U256};
use std::fmt;

/// Why nothing new should be signed on a chain, whatever the journal knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningHalt {
    /// The key of the account cannot sign for it alone any more.
    NotAlone {
        /// The account.
        signer: Address,
        /// The weight of the key's signature by the owner permission.
        weight: u64,
        /// The weight that signatures have to reach together.
        threshold: u64,
    },
    /// Blocks stopped so many transactions in a row because they took too long. Each burnt its fee limit
    /// and charged nobody.
    OutOfTime {
        /// The number of them.
        times: usize,
    },
    /// Transactions that failed have cost what they may in a day.
    Burnt {
        /// The cost of these transactions today, sun.
        sun: u64,
        /// The most that these transactions may cost, sun.
        most: u64,
    },
}

impl fmt::Display for SigningHalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAlone { signer, weight, threshold } => write!(
                f,
                "the key of the account {} weighs {weight} of the {threshold} that its owner \
                 permission asks for: no node takes what it signs alone. Give the key enough weight, or \
                 bill from another account",
                spell_address(Family::Tvm, *signer)
            ),
            Self::OutOfTime { times } => write!(
                f,
                "blocks stopped {times} billing transactions in a row because they took too long, and \
                 kept their fees: the lane opens by itself when a smaller call is seen to pass. \
                 Lower policy.max_batch"
            ),
            Self::Burnt { sun, most } => write!(
                f,
                "billing transactions that failed have cost {} today (UTC), and fees.max_burnt_per_day is {}: find \
                 out why they fail, then raise the limit or wait until tomorrow",
                trx(*sun),
                trx(*most)
            ),
        }
    }
}

fn trx(sun: u64) -> String {
    Denomination::Coin { family: Family::Tvm, network: 0 }.tell(U256::from(sun))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_of_tron_is_spelled_so_and_what_was_burnt_is_told_in_trx() {
        let alone = SigningHalt::NotAlone { signer: Address::ZERO, weight: 1, threshold: 2 };
        let said = alone.to_string();
        assert!(
            said.contains("the account T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb weighs 1 of"),
            "{said}"
        );
        let burnt = SigningHalt::Burnt { sun: 250_500_000, most: 200_000_000 };
        let said = burnt.to_string();
        assert!(said.contains("cost 250.5 TRX today (UTC)"), "{said}");
        assert!(said.contains("fees.max_burnt_per_day is 200 TRX"), "{said}");
    }
}
