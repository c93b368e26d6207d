//! The reads for a batch before it is signed, on either family of chains: the wallets' balances and allowances, and
//! the contract's lookup; and the merging of many reads into one call of Multicall3.
//!
//! Knows no node.

mod packed;

pub(super) use packed::{BillingRan, BillingRun, READER, Told, pack, unpack};

use super::multicall::{Returned, read_answers};
use alloy::primitives::{Address, Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolCall;
use billing::{Admitted, Charge, Funds};
use contract::{Looked, Profile};

sol! {
    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Answer3 {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calls) returns (Answer3[] answers);
    function balanceOf(address wallet) returns (uint256 balance);
    function allowance(address wallet, address spender) returns (uint256 allowed);
}

/// One ABI word, bytes.
const WORD: usize = 32;

/// Longest expected answer of a lookup, bytes: five words are usual.
const LOOKUP_ANSWER: usize = 640;

/// One read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Read {
    pub(super) target: Address,
    pub(super) data: Vec<u8>,
    /// Longest expected answer, bytes.
    pub(super) answer: usize,
}

/// The answers of reads, in order. None for a read that failed, or whose target holds no code and so said nothing.
pub(super) type Answers = Vec<Option<Bytes>>;

/// The reads as `aggregate3` takes them.
pub(super) fn calls(reads: &[Read]) -> Vec<Call3> {
    let call = |read: &Read| Call3 {
        target: read.target,
        allowFailure: true,
        callData: read.data.clone().into(),
    };
    reads.iter().map(call).collect()
}

/// The calldata of `aggregate3` for these reads.
pub(super) fn aggregated(reads: &[Read]) -> Vec<u8> {
    aggregate3Call { calls: calls(reads) }.abi_encode()
}

/// Decodes the answers of `aggregate3` to so many reads; the error is the number of answers that it gave.
pub(super) fn answers(returned: &[u8], reads: usize) -> Result<Answers, usize> {
    let said = |(success, data): Returned| (success && !data.is_empty()).then_some(data);
    Ok(read_answers(returned, reads)?.into_iter().map(said).collect())
}

/// The questions about subscriptions. An entry that cannot be asked about has none.
#[derive(Debug)]
pub(super) struct LookupReads {
    contract: Address,
    asked: Vec<bool>,
    calls: Vec<Vec<u8>>,
}

impl LookupReads {
    pub(super) fn of(profile: &Profile, contract: Address, entries: &[Admitted]) -> Self {
        let calls: Vec<Option<Vec<u8>>> =
            entries.iter().map(|entry| profile.lookup_call(entry).ok()).collect();
        let asked = calls.iter().map(Option::is_some).collect();
        Self { contract, asked, calls: calls.into_iter().flatten().collect() }
    }

    /// No questions.
    pub(super) const fn none(contract: Address) -> Self {
        Self { contract, asked: Vec::new(), calls: Vec::new() }
    }

    /// The number of them.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// The first half of the questions, and the others; none of fewer than two.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let (first, second) = self.calls.split_at(self.calls.len() >> 1);
        let half = |calls: &[Vec<u8>]| Self { calls: calls.to_vec(), ..Self::none(self.contract) };
        (!first.is_empty()).then(|| [half(first), half(second)])
    }

    /// One by one.
    pub(super) fn reads(&self) -> Vec<Read> {
        let read = |data: &Vec<u8>| Read {
            target: self.contract,
            data: data.clone(),
            answer: LOOKUP_ANSWER,
        };
        self.calls.iter().map(read).collect()
    }

    /// Returns the lookup of each entry. None if the contract knows no such entry, if its lookup reverted, or if
    /// the entry could not be asked about.
    pub(super) fn looked(&self, profile: &Profile, answers: Answers) -> Vec<Option<Looked>> {
        let mut answers = answers.into_iter();
        let looked = self.asked.iter().map(|asked| {
            let answer = asked.then(|| answers.next().flatten()).flatten();
            answer.and_then(|answer| profile.read_lookup(&answer))
        });
        looked.collect()
    }
}

/// The questions about funds: what every charge's wallet holds and allows, each wallet asked once for
/// each token, in two reads.
#[derive(Debug)]
pub(super) struct FundsReads {
    spender: Address,
    /// Token and wallet, in order.
    wallets: Vec<(Address, Address)>,
}

impl FundsReads {
    pub(super) fn of(charges: &[Charge], spender: Address) -> Self {
        let mut wallets: Vec<_> =
            charges.iter().map(|charge| (charge.token, charge.wallet)).collect();
        wallets.sort_unstable();
        wallets.dedup();
        Self { spender, wallets }
    }

    /// The questions about the first half of the wallets, and those about the others; none about fewer
    /// than two.
    pub(super) fn halves(&self) -> Option<[Self; 2]> {
        let (first, second) = self.wallets.split_at(self.wallets.len() >> 1);
        let half = |wallets: &[(Address, Address)]| Self {
            spender: self.spender,
            wallets: wallets.to_vec(),
        };
        (!first.is_empty()).then(|| [half(first), half(second)])
    }

    /// Returns the number of reads, two for each wallet.
    pub(super) fn count(&self) -> usize {
        self.wallets.len().saturating_mul(2)
    }

    /// One by one, two for each wallet.
    pub(super) fn reads(&self) -> Vec<Read> {
        let reads =
            |&(token, wallet): &(Address, Address)| funds_reads(wallet, token, self.spender);
        self.wallets.iter().flat_map(reads).collect()
    }

    /// The funds of each charge's wallet, of the answers to [`Self::reads`].
    pub(super) fn read(&self, charges: &[Charge], answers: &Answers) -> Vec<Option<Funds>> {
        let told: Vec<Option<Funds>> = answers.chunks(2).map(read_funds).collect();
        self.funds(charges, &told)
    }

    /// The funds of each charge's wallet, of those of every wallet. None where the token does not
    /// answer as a token does, such as an address without code.
    pub(super) fn funds(&self, charges: &[Charge], told: &[Option<Funds>]) -> Vec<Option<Funds>> {
        let of = |charge: &Charge| {
            let place = self.wallets.binary_search(&(charge.token, charge.wallet)).ok()?;
            told.get(place).copied().flatten()
        };
        charges.iter().map(of).collect()
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
