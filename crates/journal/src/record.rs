//! A batch as the journal tells it: everything that is known of it.

use super::columns::LineOutcome;
use super::{Durable, Network, Origin, Resolution};
use alloy::primitives::{Address, B256};
use billing::{
    AskedBy, Attempt, AttemptKind, Attempts, BatchId, BatchState, BlockRef, ChargeTerms, FailCode,
    Item, ItemOutcome, TakenAsTold, TxRecord,
};
use spans::SpanPlace;

/// One subscription of a batch, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The charge.
    pub item: Item,
    /// Whether the claim is held.
    pub live: bool,
    /// What became of it; none while open.
    pub outcome: Option<LineOutcome>,
    /// Whether another batch held the same charge when this one was learnt from the chain.
    pub elsewhere: bool,
    /// What a person found out, where the chain does not tell.
    pub resolved: Option<Resolution>,
}

impl Line {
    /// Where the charge stands, in one word: what the chain told of it, or else where its batch, which is
    /// in `state`, stands.
    pub fn state(&self, state: BatchState) -> &'static str {
        match &self.outcome {
            Some(LineOutcome::Told(ItemOutcome::Charged | ItemOutcome::ChargedAsTold(_))) => {
                "charged"
            }
            Some(LineOutcome::Told(ItemOutcome::Unproven)) => "unproven",
            Some(LineOutcome::Told(ItemOutcome::Failed { .. })) => "failed",
            Some(LineOutcome::Released) | None => state.word(),
        }
    }

    /// What the charge is besides its key and amount: as it was claimed, or else as its event tells.
    pub fn terms(&self) -> ChargeTerms {
        let (claimed, told) = (self.item.terms, self.told());
        ChargeTerms {
            wallet: claimed.wallet.or(told.wallet),
            token: claimed.token.or(told.token),
            ..claimed
        }
    }

    /// What was taken, where that is not what was claimed.
    pub fn taken_otherwise(&self) -> TakenAsTold {
        self.told().beside(&self.item.terms)
    }

    /// Whether this is the wallet that was to pay, or the one that paid.
    pub(super) fn is_of(&self, wallet: Address) -> bool {
        [self.item.terms.wallet, self.told().wallet].contains(&Some(wallet))
    }

    /// What the event of the charge tells, where the claim does not say the same.
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

    /// What it does when it lands. What is learnt has billed.
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
    /// What its chain's id stands for.
    pub network: Network,
    /// Its place in the lane.
    pub position: u64,
    /// The caller's name for the request.
    pub request_id: Option<String>,
    /// Who asked; none where nobody had to sign, and for what was learnt.
    pub caller: Option<AskedBy>,
    /// The span of the request, where somebody followed traces.
    pub trace: Option<SpanPlace>,
    /// Where it stands.
    pub state: BatchState,
    /// When it was accepted, Unix ms.
    pub accepted_ms: i64,
    /// When its end was written down, Unix ms.
    pub settled_ms: Option<i64>,
    /// The transaction that decided.
    pub winner: Option<B256>,
    /// The block that decided.
    pub block: Option<BlockRef>,
    /// What the transaction that decided cost, where it is one of the batch's own and nodes told it.
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
