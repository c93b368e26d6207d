//! The verdict on a request: an answer on every subscription, or none.

use super::lane_error::LaneError;
use alloy::primitives::B256;
use billing::{
    BlockRef, Closed, Digits, Family, Full, PlatformChainId, Refused, Satisfied, Signed,
};
use chain::{ChainError, Facts, SealError, SealFault};
use journal::{AcceptError, JournalError, Origin};
use policy::Refusal;
use std::time::Duration;

/// The answer to a caller.
#[derive(Debug)]
pub enum Answer {
    /// Code 1: the transaction is durable and was offered to the chain.
    Sent(Sent),
    /// Code 2: nothing was signed, nothing was sent. These subscriptions are not charged.
    Refused(Vec<Refused>, Vec<Satisfied>),
    /// A dry run: nothing was signed, nothing was sent.
    DryRun(DryRun),
}

/// A durable transaction.
#[derive(Debug)]
pub struct Sent {
    /// The family of its chain.
    pub family: Family,
    /// The chain, the account that signed it, and the contract that it bills through.
    pub origin: Origin,
    /// The transaction.
    pub transaction: NamedTransaction,
    /// Which request signed it, and how far it is.
    pub progress: Progress,
    /// Every subscription of the request that it charges, as the caller wrote it.
    pub subscriptions: Vec<Digits>,
    /// In partial mode, those that are not charged.
    pub failed: Vec<Refused>,
    /// Those that other, earlier transactions charge.
    pub earlier: Vec<Satisfied>,
}

/// A transaction, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedTransaction {
    /// It was signed here.
    Signed(Signed),
    /// It was learnt from the chain by its hash.
    Learnt(B256),
}

impl NamedTransaction {
    /// Its hash.
    pub fn hash(&self) -> B256 {
        match self {
            Self::Signed(signed) => signed.hash,
            Self::Learnt(hash) => *hash,
        }
    }

    /// Its bytes and what it may cost, where they are known.
    pub fn signed(&self) -> Option<&Signed> {
        match self {
            Self::Signed(signed) => Some(signed),
            Self::Learnt(_) => None,
        }
    }
}

/// The progress of an answer's transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// This request signed it.
    New,
    /// An earlier request signed it; the chain has not decided.
    Open,
    /// An earlier request signed it, and it charged in this block.
    Charged(BlockRef),
}

/// The outcome that a request would have had.
#[derive(Debug)]
pub struct DryRun {
    /// The chain, the contract and the account that would have signed.
    pub facts: Facts,
    /// The subscriptions that would have been charged, as the caller wrote them.
    pub would_charge: Vec<Digits>,
    /// The subscriptions that would not have been charged.
    pub refused: Vec<Refused>,
    /// The subscriptions that earlier transactions charge.
    pub earlier: Vec<Satisfied>,
    /// The gas limit (EVM) or sun ceiling (TRON); none when nothing would have been signed.
    pub gas_required: Option<u64>,
}

/// Why there is no verdict on any subscription. Every variant means: nothing was signed or sent.
#[derive(Debug, thiserror::Error)]
pub enum NoVerdict {
    /// No such chain.
    #[error("no chain {0} is configured")]
    UnknownChain(PlatformChainId),
    /// The contract takes one subscription at a time.
    #[error(
        "the contract of this chain charges one subscription per request: post them one by one"
    )]
    OnePerRequest,
    /// The caller's name for the request stands for another one.
    #[error(transparent)]
    RequestTaken(AcceptError),
    /// The lane takes no new work.
    #[error("this chain takes no new work: {0}")]
    LaneClosed(Closed),
    /// The lane has not seen its chain yet, for this reason.
    #[error("this chain takes no new work: {0}")]
    LaneOpening(LaneError),
    /// The lane changed while the batch was built.
    #[error("this chain takes no new work: {0}")]
    NotAccepted(AcceptError),
    /// So much was under way until the deadline that no more may be.
    #[error("the account {account} takes no more at present: {full}; post it again in {} s", .again.as_secs())]
    LaneFull {
        /// The account that it fell to, as its chain spells it.
        account: String,
        /// The limit that leaves no room.
        full: Full,
        /// The time until the chain is looked at again; whole seconds, 1 or more.
        again: Duration,
    },
    /// The deadline passed first.
    #[error("the request could not be finished in time: post it again")]
    Deadline,
    /// The chain gave no verdict.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The policy refuses it.
    #[error("{why}")]
    Policy {
        /// The rule.
        why: Refusal,
        /// Every subscription of the request; none of a dry run, which asks to charge nobody.
        refused: Vec<Refused>,
    },
    /// The transaction could not be signed.
    #[error("the transaction could not be signed: {0}")]
    Seal(SealFault),
    /// The process is ending.
    #[error("the Signer is shutting down: post it again")]
    ShuttingDown,
}

impl From<Refusal> for NoVerdict {
    fn from(why: Refusal) -> Self {
        Self::Policy { why, refused: Vec::new() }
    }
}

impl From<AcceptError> for NoVerdict {
    fn from(error: AcceptError) -> Self {
        match error {
            AcceptError::Policy(refusal) => refusal.into(),
            AcceptError::Journal(error) => error.into(),
            AcceptError::RequestTaken => Self::RequestTaken(error),
            AcceptError::Claimed
            | AcceptError::LaneFull
            | AcceptError::NoLane
            | AcceptError::Moved
            | AcceptError::OtherBatch
            | AcceptError::Behind => Self::NotAccepted(error),
        }
    }
}

impl From<SealError> for NoVerdict {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Refused(refusal) => refusal.into(),
            SealError::Failed(why) => Self::Seal(why),
        }
    }
}

/// Why building a batch stopped short of one.
pub(super) enum Stop {
    Answer(Answer),
    NoVerdict(NoVerdict),
    /// The values looked up have changed meanwhile.
    Again,
}

impl<E: Into<NoVerdict>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::NoVerdict(error.into())
    }
}
