//! A batch as the journal tells it: everything that is known of it.

use crate::model::{Durable, LineOutcome, Network, Origin, OutcomeWord, Resolution};
use alloy::primitives::{Address, B256};
use billing::{
    AskedBy, Attempt, AttemptKind, Attempts, BatchId, BatchState, BlockRef, ChargeTerms, FailCode,
    Item, ItemOutcome, TakenAsTold, TxRecord,
};

/// One subscription of a batch, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The charge.
    pub item: Item,
    /// True if the claim is held.
    pub live: bool,
    /// The outcome of the charge; none while open.
    pub outcome: Option<LineOutcome>,
    /// True if another batch held the same charge when this charge was learnt from the chain.
    pub elsewhere: bool,
    /// A person's finding on the charge, if the chain does not tell.
    pub resolved: Option<Resolution>,
}

impl Line {
    /// Returns the state of the charge in one word: as the chain tells, or else as its batch, which is in `state`,
    /// stands.
    pub fn state(&self, state: BatchState) -> &'static str {
        match &self.outcome {
            Some(LineOutcome::Told(ItemOutcome::Charged | ItemOutcome::ChargedAsTold(_))) => {
                OutcomeWord::Charged.word()
            }
            Some(LineOutcome::Told(ItemOutcome::Unproven)) => OutcomeWord::Unproven.word(),
            Some(LineOutcome::Told(ItemOutcome::Failed { .. })) => OutcomeWord::Failed.word(),
            Some(LineOutcome::Released) | None => state.word(),
        }
    }

    /// Returns the terms of the charge besides its key and amount: as claimed, or else as told by its event.
    pub fn terms(&self) -> ChargeTerms {
        let (claimed, told) = (self.item.terms, self.told());
        ChargeTerms {
            wallet: claimed.wallet.or(told.wallet),
            token: claimed.token.or(told.token),
            ..claimed
        }
    }

    /// Returns what was taken, where that differs from the claim.
    pub fn taken_otherwise(&self) -> TakenAsTold {
        self.told().beside(&self.item.terms)
    }

    /// Returns true if the wallet was to pay, or is the one that paid.
    pub fn is_of(&self, wallet: Address) -> bool {
        [self.item.terms.wallet, self.told().wallet].contains(&Some(wallet))
    }

    /// Returns the terms told by the event of the charge, as far as they differ from the claim.
    fn told(&self) -> TakenAsTold {
        match &self.outcome {
            Some(LineOutcome::Told(ItemOutcome::ChargedAsTold(taken))) => *taken,
            Some(LineOutcome::Told(_) | LineOutcome::Released) | None => TakenAsTold::default(),
        }
    }

    /// Why the charge failed inside a transaction that succeeded, where it did.
    pub fn failure(&self) -> Option<(FailCode, Option<&str>)> {
        match &self.outcome {
            Some(LineOutcome::Told(ItemOutcome::Failed { code, detail })) => {
                Some((*code, detail.as_deref()))
            }
            Some(LineOutcome::Told(_) | LineOutcome::Released) | None => None,
        }
    }
}

/// One transaction of a batch, as the journal knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It was signed here.
    Signed(Durable<Attempt>),
    /// It was learnt from the chain by this hash. Its bytes are not known here.
    Learnt(B256),
}

impl Recorded {
    /// Its hash.
    pub fn hash(&self) -> B256 {
        match self {
            Self::Signed(attempt) => attempt.get().signed.hash,
            Self::Learnt(hash) => *hash,
        }
    }

    /// Returns the kind of the attempt: its effect when it lands. A learnt attempt has billed.
    pub fn kind(&self) -> AttemptKind {
        match self {
            Self::Signed(attempt) => attempt.get().kind,
            Self::Learnt(_) => AttemptKind::Bill,
        }
    }
}

/// A batch with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Billing {
    /// The journal's number of it.
    pub batch: BatchId,
    /// The lane and the billing contract.
    pub origin: Origin,
    /// The network that the ID of its chain stands for.
    pub network: Network,
    /// Its place in the lane.
    pub position: u64,
    /// The caller's name for the request.
    pub request_id: Option<String>,
    /// The caller; none if nobody had to sign, and for a batch learnt from the chain.
    pub caller: Option<AskedBy>,
    /// The batch's state.
    pub state: BatchState,
    /// When it was accepted, Unix ms.
    pub accepted_ms: i64,
    /// When its end was written down, Unix ms.
    pub settled_ms: Option<i64>,
    /// The transaction that decided.
    pub winner: Option<B256>,
    /// The block that decided.
    pub block: Option<BlockRef>,
    /// The cost of the deciding transaction, if it is one of the batch's own and nodes reported it.
    pub record: Option<TxRecord>,
    /// Every attempt.
    pub attempts: Attempts<Recorded>,
    /// When each of them was written down, in the same order, Unix ms.
    pub signed_ms: Vec<i64>,
    /// Every subscription, in the order of the contract call.
    pub items: Vec<Line>,
}

impl Billing {
    /// The attempt that an answer names: the winner when final, the newest that can charge while open.
    pub fn current(&self) -> &Recorded {
        let won = |attempt: &&Recorded| Some(attempt.hash()) == self.winner;
        let bills = |attempt: &&Recorded| attempt.kind() == AttemptKind::Bill;
        let decided = self.attempts.iter().find(won);
        decided
            .or_else(|| self.attempts.iter().rfind(bills))
            .unwrap_or_else(|| self.attempts.newest())
    }
}
