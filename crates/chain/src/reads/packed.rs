//! One look at the chain in one call: the questions as `Reader.yul` beside this file takes them, and its answers.
//! The caller decides how the reader runs: at the address of the signing account, or as creation code.

use super::{Answers, FundsReads, LookupReads};
use alloy::primitives::{Address, Bytes, U256};
use billing::Funds;
use std::sync::LazyLock;

/// The reader's code, with which all of its input begins where it is run as creation code.
pub(crate) static READER: LazyLock<Bytes> =
    LazyLock::new(|| hex::decode(include_str!("Reader.hex").trim()).unwrap_or_default().into());

/// Marker of an answer that was not given.
const FAILED: u8 = 255;

/// The billing call, run before anything is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BillingRun<'a> {
    /// Gas that the call may use; not 0.
    pub(crate) gas: u64,
    /// The call.
    pub(crate) data: &'a [u8],
}

/// The result of the billing call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BillingRan {
    /// True if the call passed.
    pub(crate) passed: bool,
    /// The gas that it used itself, without what a transaction costs by being one.
    pub(crate) used: u64,
    /// The data that the call returned, or reverted with.
    pub(crate) data: Bytes,
}

/// The answers of one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// None where no billing call was asked for.
    pub(crate) billing: Option<BillingRan>,
    /// Answer of each lookup. None for a lookup that failed.
    pub(crate) lookups: Answers,
    /// Balance and allowance of each wallet. None if the token does not answer as a token does.
    pub(crate) funds: Vec<Option<Funds>>,
}

/// The questions of one look, as the reader takes them.
pub(crate) fn pack(
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

/// Decodes the reader's output for the questions that [`pack`] took; none if the output cannot be theirs.
pub(crate) fn unpack(
    output: &[u8],
    billing: Option<BillingRun<'_>>,
    lookups: &LookupReads,
    funds: &FundsReads,
) -> Option<Told> {
    let mut unread = Unread(output);
    let mut told = || {
        let billing = if billing.is_some() { Some(unread.billing()?) } else { None };
        let lookups = lookups.calls.iter().map(|_| unread.lookup()).collect::<Result<_, _>>()?;
        let funds = funds.wallets.iter().map(|_| unread.funds()).collect::<Result<_, _>>()?;
        if unread.0.is_empty() { Ok(Told { billing, lookups, funds }) } else { Err(Unreadable) }
    };
    told().ok()
}

/// The output is not of these questions.
struct Unreadable;

/// The rest of the output. Every method takes one answer off its front.
struct Unread<'a>(&'a [u8]);

impl<'a> Unread<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Unreadable)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], Unreadable> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Unreadable)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn byte(&mut self) -> Result<u8, Unreadable> {
        self.number::<1>().map(|[byte]| byte)
    }

    fn billing(&mut self) -> Result<BillingRan, Unreadable> {
        let passed = self.byte()? == 1;
        let used = u64::from_be_bytes(self.number()?);
        let length = u32::from_be_bytes(self.number()?);
        let data = self.take(usize::try_from(length).map_err(|_| Unreadable)?)?;
        Ok(BillingRan { passed, used, data: Bytes::copy_from_slice(data) })
    }

    /// A word; none for one that was not told.
    fn word(&mut self) -> Result<Option<U256>, Unreadable> {
        match self.byte()? {
            FAILED => Ok(None),
            length => {
                U256::try_from_be_slice(self.take(length.into())?).map(Some).ok_or(Unreadable)
            }
        }
    }

    fn lookup(&mut self) -> Result<Option<Bytes>, Unreadable> {
        let words = match self.byte()? {
            FAILED => return Ok(None),
            words => usize::from(words),
        };
        let mut answer = Vec::with_capacity(words.saturating_mul(32));
        for _ in 0..words {
            answer.extend(self.word()?.ok_or(Unreadable)?.to_be_bytes::<32>());
        }
        Ok(Some(answer.into()))
    }

    fn funds(&mut self) -> Result<Option<Funds>, Unreadable> {
        let (balance, allowance) = (self.word()?, self.word()?);
        let funds = || Some(Funds { balance: balance?, allowance: allowance? });
        Ok(funds())
    }
}

#[cfg(test)]
mod tests;
