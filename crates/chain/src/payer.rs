//! The account whose coins pay for transactions, as sentences name it.

use super::Facts;
use alloy::primitives::{Address, U256};
use billing::{Family, coin_symbol, coins, spell_address};
use std::fmt;

/// The signing account of a chain. Shown as its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payer {
    family: Family,
    network: u64,
    account: Address,
}

impl Payer {
    /// The account of a chain.
    pub fn of(facts: &Facts) -> Self {
        Self { family: facts.family, network: facts.network, account: facts.signer }
    }

    /// An account that nobody has.
    #[cfg(test)]
    pub(crate) fn nobody(family: Family) -> Self {
        Self { family, network: 0, account: Address::ZERO }
    }

    /// Returns the name of the chain's coin.
    pub fn coin(&self) -> &'static str {
        coin_symbol(self.family, self.network)
    }

    /// An amount of its chain's coin.
    pub fn coins(&self, amount: U256) -> String {
        coins(amount, self.family, self.network)
    }
}

impl fmt::Display for Payer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&spell_address(self.family, self.account))
    }
}
