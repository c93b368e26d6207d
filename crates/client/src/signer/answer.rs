//! The Signer's answers to a list.

use crate::amount::BaseUnits;
use crate::full::Full;
use crate::id::{ChainId, PlanId, SubscriptionId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A verdict on every subscription of a list.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Code 1: the transaction is durable and was offered to the chain. At finality it is known whether the chain
    /// charged each subscription.
    Sent(Full<Sent>),
    /// Code 2: these cannot be charged; nothing was signed or sent. The others of the list that are
    /// named have earlier transactions.
    Refused(Vec<Full<Failure>>, Vec<Earlier>),
    /// The answer to a dry run.
    Rehearsed(Full<Rehearsal>),
}

/// A transaction that bills.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The account that signed.
    pub address: Option<String>,
    /// The chain it is on.
    pub chain_id: Option<ChainId>,
    /// The gas limit; on TRON the fee limit in sun.
    pub gas_required: Option<String>,
    /// The bytes that were broadcast.
    pub signed_transaction_data: Option<String>,
    /// The subscriptions billed.
    pub subscription_ids: Vec<SubscriptionId>,
    /// Its id.
    pub tx_hash: String,
    /// True if earlier requests signed all of it, and this one nothing.
    #[serde(default)]
    pub repeated: bool,
    /// In partial mode: what it does not bill, and why.
    #[serde(default)]
    pub failed: Vec<Full<Failure>>,
    /// The subscriptions that other, earlier transactions bill.
    #[serde(default)]
    pub earlier: Vec<Earlier>,
}

/// A subscription of the list that an earlier transaction bills: it has not failed.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Earlier {
    /// Which one.
    pub subscribe_id: SubscriptionId,
    /// The transaction.
    pub tx_hash: String,
    /// `open`, or `charged` in a final block.
    pub state: String,
}

/// A subscription that cannot be charged.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// Which one.
    pub subscribe_id: SubscriptionId,
    /// Its plan.
    pub plan_id: Option<PlanId>,
    /// The amount that was to be charged, in base units.
    pub amount: Option<BaseUnits>,
    /// The reason in words.
    #[serde(default)]
    pub fail_reason: String,
    /// The reason as a stable token.
    pub fail_code: Option<String>,
    /// The advice on the failure.
    pub retry: Option<Retry>,
    /// The user's allowance, in base units.
    pub token_allowance: Option<BaseUnits>,
    /// The user's balance, in base units.
    pub token_balance: Option<BaseUnits>,
    /// The key of the on-chain record; opaque.
    pub user_hash: Option<String>,
    /// The transaction that holds or has the charge, if one does.
    pub tx_hash: Option<String>,
}

/// The advice on a failure.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Retry {
    /// The customer must act.
    User,
    /// Post it later; nobody need act.
    Wait,
    /// Treat it as paid.
    Done,
    /// Not paid, and not to be billed for that period.
    Lost,
    /// End the subscription.
    Stop,
    /// The merchant or the operator must act.
    Fix,
    /// Post it again.
    Retry,
    /// A word that this version does not know: for a person to look at, like [`Retry::Fix`].
    Other(String),
}

impl Retry {
    /// As the Signer spells it.
    pub fn word(&self) -> &str {
        match self {
            Self::User => "USER",
            Self::Wait => "WAIT",
            Self::Done => "DONE",
            Self::Lost => "LOST",
            Self::Stop => "STOP",
            Self::Fix => "FIX",
            Self::Retry => "RETRY",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for Retry {
    fn from(word: String) -> Self {
        match word.as_str() {
            "USER" => Self::User,
            "WAIT" => Self::Wait,
            "DONE" => Self::Done,
            "LOST" => Self::Lost,
            "STOP" => Self::Stop,
            "FIX" => Self::Fix,
            "RETRY" => Self::Retry,
            _ => Self::Other(word),
        }
    }
}

impl From<Retry> for String {
    fn from(retry: Retry) -> Self {
        retry.word().to_owned()
    }
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The result of a dry run.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rehearsal {
    /// Always true.
    pub dry_run: bool,
    /// The account that would sign.
    pub address: Option<String>,
    /// Subscriptions that would be billed.
    pub would_charge: Vec<SubscriptionId>,
    /// Subscriptions that could not be billed, and the reasons.
    #[serde(default)]
    pub failed: Vec<Full<Failure>>,
    /// Subscriptions that earlier transactions bill.
    #[serde(default)]
    pub earlier: Vec<Earlier>,
    /// The gas limit; on TRON the fee limit in sun.
    pub gas_required: Option<String>,
}
