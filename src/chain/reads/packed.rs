//! One look at the chain in one call: the questions as `Reader.yul` beside this file takes them, and
//! its answers. Whoever runs it decides how: at the address of the signing account, or as creation code.

use super::{Answers, FundsReads, LookupReads};
use crate::billing::Funds;
use alloy::primitives::{Address, Bytes, U256};
use std::sync::LazyLock;

/// The reader's code, with which all of its input begins where it is run as creation code.
pub(in crate::chain) static READER: LazyLock<Bytes> =
    LazyLock::new(|| hex::decode(include_str!("Reader.hex").trim()).unwrap_or_default().into());

/// What stands for an answer that was not given.
const FAILED: u8 = 255;

/// The billing call, run before anything is read.
#[derive(Clone, Copy, Debug)]
pub(in crate::chain) struct BillingRun<'a> {
    /// How much gas it may use; not 0.
    pub(in crate::chain) gas: u64,
    /// The call.
    pub(in crate::chain) data: &'a [u8],
}

/// What became of the billing call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::chain) struct BillingRan {
    /// Whether it passed.
    pub(in crate::chain) passed: bool,
    /// The gas that it used itself, without what a transaction costs by being one.
    pub(in crate::chain) used: u64,
    /// What it returned, or reverted with.
    pub(in crate::chain) data: Bytes,
}

/// What one look tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::chain) struct Told {
    /// None where no billing call was asked for.
    pub(in crate::chain) billing: Option<BillingRan>,
    /// What each lookup returned. None for one that failed.
    pub(in crate::chain) lookups: Answers,
    /// What each wallet holds and allows. None where the token does not answer as a token does.
    pub(in crate::chain) funds: Vec<Option<Funds>>,
}

/// The questions of one look, as the reader takes them.
pub(in crate::chain) fn pack(
    contract: Address,
    billing: Option<BillingRun<'_>>,
    lookups: &LookupReads,
    funds: &FundsReads,
) -> Vec<u8> {
    let billing = billing.unwrap_or(BillingRun { gas: 0, data: &[] });
    let asked = lookups.calls.iter().map(Vec::len).sum::<usize>();
    let room = [billing.data.len(), asked, funds.wallets.len().saturating_mul(20), 128];
    let mut input = Vec::with_capacity(room.iter().sum());
    input.push(0);
    input.extend(billing.gas.to_be_bytes());
    input.extend(contract);
    input.extend(count(billing.data.len()));
    input.extend(billing.data);
    let questions = funds.wallets.len().saturating_mul(2).saturating_add(lookups.calls.len());
    input.extend(count(questions));
    input.extend(count(lookups.calls.len()));
    for call in &lookups.calls {
        input.extend(count(call.len()));
        input.extend(call);
    }
    for wallets in funds.wallets.chunk_by(|(one, _), (other, _)| one == other) {
        let Some((token, _)) = wallets.first() else { continue };
        input.extend(token);
        input.extend(count(wallets.len()));
        input.extend(wallets.iter().flat_map(|(_, wallet)| wallet));
    }
    input
}

/// A length as the reader takes it. Nothing here comes near its bound.
fn count(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

/// What the reader returned for these questions; none where that cannot be.
pub(in crate::chain) fn unpack(
    output: &[u8],
    billing: bool,
    lookups: &LookupReads,
    funds: &FundsReads,
) -> Option<Told> {
    let mut unread = Unread(output);
    let billing = if billing { Some(unread.billing()?) } else { None };
    let lookups = lookups.calls.iter().map(|_| unread.lookup()).collect::<Option<_>>()?;
    let funds = funds.wallets.iter().map(|_| unread.funds()).collect::<Option<_>>()?;
    unread.0.is_empty().then_some(Told { billing, lookups, funds })
}

/// What is left of the output. Every method takes one answer off its front, and is none where it
/// does not hold one.
struct Unread<'a>(&'a [u8]);

impl<'a> Unread<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.number::<1>().map(|[byte]| byte)
    }

    fn billing(&mut self) -> Option<BillingRan> {
        let passed = self.byte()? == 1;
        let used = u64::from_be_bytes(self.number()?);
        let length = usize::try_from(u32::from_be_bytes(self.number()?)).ok()?;
        Some(BillingRan { passed, used, data: Bytes::copy_from_slice(self.take(length)?) })
    }

    /// A word; the inner none stands for one that was not told.
    fn word(&mut self) -> Option<Option<U256>> {
        match self.byte()? {
            FAILED => Some(None),
            length => self.take(length.into()).and_then(U256::try_from_be_slice).map(Some),
        }
    }

    fn lookup(&mut self) -> Option<Option<Bytes>> {
        let words = match self.byte()? {
            FAILED => return Some(None),
            words => usize::from(words),
        };
        let mut answer = Vec::with_capacity(words.saturating_mul(32));
        for _ in 0..words {
            answer.extend(self.word()??.to_be_bytes::<32>());
        }
        Some(Some(answer.into()))
    }

    fn funds(&mut self) -> Option<Option<Funds>> {
        let (balance, allowance) = (self.word()?, self.word()?);
        let funds = || Some(Funds { balance: balance?, allowance: allowance? });
        Some(funds())
    }
}

#[cfg(test)]
mod tests;
