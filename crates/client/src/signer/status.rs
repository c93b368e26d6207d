//! The Signer's later status of a billing.

use crate::amount::BaseUnits;
use crate::full::Full;
use crate::id::{ChainId, PlanId, SubscriptionId};
use crate::time::UnixSeconds;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A billing: one place in an account's order of transactions, and what it bills.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillingStatus {
    /// The newest transaction.
    pub tx_hash: String,
    /// All transactions that were signed for it.
    #[serde(default)]
    pub tx_hashes: Vec<String>,
    /// The outcome of the billing, or that it is open.
    pub state: Outcome,
    /// The obstacle that keeps an open billing from landing, as far as is known.
    pub held_up: Option<String>,
    /// Its chain.
    pub chain_id: Option<ChainId>,
    /// The request that made it.
    pub request_id: Option<String>,
    /// When it was committed.
    pub accepted_at: Option<UnixSeconds>,
    /// When its end was final.
    pub settled_at: Option<UnixSeconds>,
    /// The block that has it.
    pub block: Option<u64>,
    /// The subscriptions billed.
    pub subscriptions: Vec<Full<SubscriptionStatus>>,
}

/// One subscription of a billing.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionStatus {
    /// Which one.
    pub subscribe_id: SubscriptionId,
    /// Its plan.
    pub plan_id: Option<PlanId>,
    /// The key of the on-chain record; opaque.
    pub user_hash: Option<String>,
    /// The period billed, where the contract counts them.
    pub period: Option<String>,
    /// The amount charged, in base units.
    pub amount: Option<BaseUnits>,
    /// Its outcome is known.
    pub state: Outcome,
    /// Why the contract did not charge it, as a stable token.
    pub fail_code: Option<String>,
    /// The same in words.
    pub fail_reason: Option<String>,
}

/// The outcome of a billing, or of one subscription in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Outcome {
    /// Not decided yet.
    Open,
    /// Charged, in a final block.
    Charged,
    /// The transaction succeeded, but the contract did not charge this subscription: free again.
    Failed,
    /// The transaction succeeded and no event speaks of this subscription: not billed again until a
    /// person has looked.
    Unproven,
    /// The transaction reverted: free again.
    Reverted,
    /// Cancelled on purpose: free again.
    Cancelled,
    /// Another transaction took its place: free again.
    Usurped,
    /// TRON: too late for every transaction of it: free again.
    Expired,
    /// A word that this version does not know: nothing may be concluded from it.
    Other(String),
}

impl Outcome {
    /// As the Signer spells it.
    pub fn word(&self) -> &str {
        match self {
            Self::Open => "open",
            Self::Charged => "charged",
            Self::Failed => "failed",
            Self::Unproven => "unproven",
            Self::Reverted => "reverted",
            Self::Cancelled => "cancelled",
            Self::Usurped => "usurped",
            Self::Expired => "expired",
            Self::Other(word) => word,
        }
    }

    /// Returns true if the subscription may be posted again for the same period: it was not charged, and can no
    /// longer be.
    pub fn is_free_again(&self) -> bool {
        match self {
            Self::Failed | Self::Reverted | Self::Cancelled | Self::Usurped | Self::Expired => true,
            Self::Open | Self::Charged | Self::Unproven | Self::Other(_) => false,
        }
    }
}

impl From<String> for Outcome {
    fn from(word: String) -> Self {
        match word.as_str() {
            "open" => Self::Open,
            "charged" => Self::Charged,
            "failed" => Self::Failed,
            "unproven" => Self::Unproven,
            "reverted" => Self::Reverted,
            "cancelled" => Self::Cancelled,
            "usurped" => Self::Usurped,
            "expired" => Self::Expired,
            _ => Self::Other(word),
        }
    }
}

impl From<Outcome> for String {
    fn from(outcome: Outcome) -> Self {
        outcome.word().to_owned()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
