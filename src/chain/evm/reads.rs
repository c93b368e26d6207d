//! What wallets hold and allow, and what the contract's lookup says: everything in one call.

use super::EvmChain;
use super::aggregate::{Aggregator, Read, aggregate};
use super::node::View;
use crate::billing::{Charge, Entry, Funds};
use crate::chain::ChainError;
use crate::chain::profile::Looked;
use alloy::primitives::{Address, Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolCall;
use std::collections::HashMap;

sol! {
    function balanceOf(address wallet) returns (uint256 balance);
    function allowance(address wallet, address spender) returns (uint256 allowed);
}

/// One ABI word, bytes.
const WORD: usize = 32;

/// How long the answer of a lookup is expected to be at most, bytes: five words are usual.
const LOOKUP_ANSWER: usize = 640;

impl EvmChain {
    /// Asks the profile's lookup for every entry. None where the contract knows none, where its
    /// lookup reverts, and where the entry cannot be asked about.
    pub(super) async fn look_up_at(
        &self,
        view: &View<'_>,
        entries: &[Entry],
    ) -> Result<Vec<Option<Looked>>, ChainError> {
        let profile = &self.parts.profile;
        let target = self.parts.facts.contract;
        let calls: Vec<Option<Vec<u8>>> =
            entries.iter().map(|entry| profile.lookup_call(entry).ok()).collect();
        let reads: Vec<Read> = calls
            .iter()
            .flatten()
            .map(|data| Read { target, data: data.clone(), answer: LOOKUP_ANSWER })
            .collect();
        let answers = aggregate(view, self.aggregator(view), &reads).await?;
        let mut answers = answers.into_iter();
        let looked = calls.iter().map(|call| {
            let answer = call.as_ref().and_then(|_| answers.next().flatten());
            answer.and_then(|answer| profile.read_lookup(&answer))
        });
        Ok(looked.collect())
    }

    /// What every charge's wallet holds and allows the contract, each (wallet, token) read once.
    /// None where the token does not answer as a token does, such as an address without code.
    pub(super) async fn funds(
        &self,
        view: &View<'_>,
        charges: &[Charge],
    ) -> Result<Vec<Option<Funds>>, ChainError> {
        let spender = self.parts.facts.contract;
        let mut places: HashMap<(Address, Address), usize> = HashMap::new();
        let mut reads = Vec::new();
        for charge in charges {
            let place = places.len();
            places.entry((charge.wallet, charge.token)).or_insert_with(|| {
                reads.extend(funds_reads(charge.wallet, charge.token, spender));
                place
            });
        }
        let answers = aggregate(view, self.aggregator(view), &reads).await?;
        let funds: Vec<Option<Funds>> = answers.chunks(2).map(read_funds).collect();
        let of = |charge: &Charge| {
            let place = places.get(&(charge.wallet, charge.token))?;
            funds.get(*place).copied().flatten()
        };
        Ok(charges.iter().map(of).collect())
    }

    fn aggregator(&self, view: &View<'_>) -> Aggregator {
        if view.known.multicall {
            Aggregator::Deployed(self.parts.config.multicall)
        } else {
            Aggregator::Deployless
        }
    }
}

fn funds_reads(wallet: Address, token: Address, spender: Address) -> [Read; 2] {
    let read = |data| Read { target: token, data, answer: WORD };
    [
        read(balanceOfCall { wallet }.abi_encode()),
        read(allowanceCall { wallet, spender }.abi_encode()),
    ]
}

fn read_funds(answers: &[Option<Bytes>]) -> Option<Funds> {
    let [balance, allowance] = answers else { return None };
    Some(Funds { balance: word(balance.as_ref()?)?, allowance: word(allowance.as_ref()?)? })
}

fn word(answer: &Bytes) -> Option<U256> {
    answer.get(..WORD).map(U256::from_be_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_says_less_than_a_word_cannot_be_read() {
        let full = || Some(Bytes::from(U256::from(7).to_be_bytes_vec()));
        let seven = U256::from(7);
        let funds = Funds { balance: seven, allowance: seven };
        assert_eq!(read_funds(&[full(), full()]), Some(funds));
        assert_eq!(read_funds(&[full(), None]), None, "it reverted, or holds no code");
        assert_eq!(read_funds(&[Some(Bytes::from(vec![1; 31])), full()]), None);
        assert_eq!(read_funds(&[full()]), None);
    }
}
