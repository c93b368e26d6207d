//! Batches and their transactions: what exists in each state.
//!
//! There is no state called failed: nothing leaves *open* except through the chain.

use super::{ChargeKey, SubscribeId};
use alloy::primitives::{Address, B256, U256};
use std::sync::Arc;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The journal's number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BatchId(pub i64);

/// The terms of a charge besides its key and amount, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChargeTerms {
    /// The version of the plan.
    pub plan_version: Option<U256>,
    /// The wallet that holds the tokens.
    pub wallet: Option<Address>,
    /// Which token.
    pub token: Option<Address>,
}

impl ChargeTerms {
    /// Returns true if no term that both know differs.
    pub fn agree_with(&self, other: &Self) -> bool {
        fn agree<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
            a.zip(b).is_none_or(|(a, b)| a == b)
        }
        agree(self.plan_version, other.plan_version)
            && agree(self.wallet, other.wallet)
            && agree(self.token, other.token)
    }
}

/// One charge as its claim keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item {
    /// The subscription.
    pub subscribe: SubscribeId,
    /// The key under which nobody may be charged twice.
    pub key: ChargeKey,
    /// Token base units.
    pub amount: U256,
    /// The rest of what was agreed.
    pub terms: ChargeTerms,
}

/// A signed transaction. Public the moment it is durable, whatever any node says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The transaction hash, computed here and never taken from a node.
    pub hash: B256,
    /// The bytes that go on the wire.
    pub raw: Vec<u8>,
    /// The most that the transaction may cost: gas on EVM, sun on TRON.
    pub gas_required: u64,
}

/// The effect of an attempt when it lands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum AttemptKind {
    /// Charges the batch.
    Bill,
    /// Uses up the batch's place in the lane and charges nobody.
    Cancel,
}

impl AttemptKind {
    /// The word for it in the journal.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The kind that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}

/// One signed transaction of a batch. No attempt is ever forgotten: the older bytes can win.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The batch that it is for.
    pub batch: BatchId,
    /// 0 for the first, counting up.
    pub seq: u32,
    /// The attempt's effect when it lands.
    pub kind: AttemptKind,
    /// The signed transaction.
    pub signed: Signed,
}

/// The attempts of one batch, oldest first; there is always one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempts<A = Attempt> {
    first: A,
    later: Vec<A>,
}

impl<A> Attempts<A> {
    /// The attempts of a batch that has just been signed.
    pub fn new(first: A) -> Self {
        Self { first, later: Vec::new() }
    }

    /// All of them, oldest first; none when there is none.
    pub fn from_oldest(attempts: impl IntoIterator<Item = A>) -> Option<Self> {
        let mut attempts = attempts.into_iter();
        let first = attempts.next()?;
        Some(Self { first, later: attempts.collect() })
    }

    /// The one that was signed first.
    pub fn first(&self) -> &A {
        &self.first
    }

    /// The one that was signed last.
    pub fn newest(&self) -> &A {
        self.later.last().unwrap_or(&self.first)
    }

    /// Returns the number of attempts.
    pub fn count(&self) -> usize {
        self.later.len().saturating_add(1)
    }

    /// These, and then `newest`.
    #[must_use]
    pub fn followed_by(&self, newest: A) -> Self
    where
        A: Clone,
    {
        let mut all = self.clone();
        all.later.push(newest);
        all
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &A> {
        std::iter::once(&self.first).chain(&self.later)
    }
}

impl<A: AsRef<Attempt>> Attempts<A> {
    /// The billing that was signed last, which bids most; the first attempt where none bills.
    pub fn newest_billing(&self) -> &A {
        let bills = |attempt: &&A| (*attempt).as_ref().kind == AttemptKind::Bill;
        self.iter().rev().find(bills).unwrap_or(&self.first)
    }
}

/// The place of an undecided batch in its lane, with every attempt made for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot<A = Attempt> {
    /// The batch.
    pub batch: BatchId,
    /// The nonce on EVM; a running number on TRON.
    pub position: u64,
    /// The contract that its bytes call, whatever is configured now.
    pub contract: Address,
    /// The profile that it was signed by, as text: how that contract is called and what its events say,
    /// whatever is configured now.
    pub profile: Arc<str>,
    /// When it was accepted, Unix ms.
    pub accepted_ms: i64,
    /// The charges of the batch, in the order of the contract call.
    pub items: Vec<Item>,
    /// Every attempt made for it.
    pub attempts: Attempts<A>,
}

/// The state of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum BatchState {
    /// The chain has not decided.
    Open,
    /// A billing attempt succeeded in a final block. Single items may still have failed inside.
    Charged,
    /// A billing attempt reverted in a final block: nobody was charged.
    Reverted,
    /// A cancel landed in a final block: nobody was charged.
    Cancelled,
    /// Another transaction of the account took its place in a final block: no attempt can land.
    Usurped,
    /// No attempt landed while it could, and none can any more: nobody was charged.
    Expired,
}

impl BatchState {
    /// The word for it in answers and in the journal.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The state that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}
