//! Claims: the right to a charge, as the journal tells who holds it.

use super::{BatchId, ChargeKey, ChargeTerms, Digits, Period, PlanId, SubscribeId, UserHash};
use alloy::primitives::{B256, U256};
use std::fmt;

/// The means to tell one charge of a subscription from the next, under one contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeriodNaming {
    /// The entry field that numbers the period: each is charged once, for ever.
    Field(String),
    /// Nothing does: a charge is guarded for a time after it is final.
    Guard,
}

impl fmt::Display for PeriodNaming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, "the entry field `{name}`"),
            Self::Guard => f.write_str("a guard time alone"),
        }
    }
}

/// The subject by which claims are looked up. Without a period only open batches count, in any period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The subscription.
    pub subscribe: SubscribeId,
    /// The plan.
    pub plan: PlanId,
    /// The user's record on chain.
    pub user: UserHash,
    /// The period, where it is known.
    pub period: Option<Period>,
}

/// The state of a live claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimState {
    /// The chain has not decided its batch.
    Open,
    /// It is charged, in a final block.
    Charged,
    /// Its batch has ended, and nobody can tell whether this one was charged.
    Unproven,
}

impl ClaimState {
    /// The word for it in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Charged => "charged",
            Self::Unproven => "unproven",
        }
    }
}

/// The holder of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedBy {
    /// The batch.
    pub batch: BatchId,
    /// The state of the claim.
    pub state: ClaimState,
    /// The newest transaction that can charge while open, the one that has when final.
    pub hash: B256,
}

/// A live claim, found for a [`Subject`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The subscription that is claimed.
    pub subscribe: SubscribeId,
    /// The key of the claimed charge.
    pub key: ChargeKey,
    /// Token base units.
    pub amount: U256,
    /// The other known terms of the charge.
    pub terms: ChargeTerms,
    /// By whom.
    pub by: ClaimedBy,
}

/// A subscription that a live batch holds: it is charged, or will be unless the chain frees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Satisfied {
    /// The subscription.
    pub subscribe: SubscribeId,
    /// Its number as the caller wrote it.
    pub spelling: Digits,
    /// The batch.
    pub by: ClaimedBy,
}
