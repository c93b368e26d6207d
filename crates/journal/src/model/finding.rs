//! A person's finding on a charge that the chain does not tell of.

use crate::model::{Billing, Resolution};
use billing::SubscribeId;

/// A person's statement on one charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonsWord {
    /// The billing: its number, any hash, or the request id.
    pub billing: String,
    /// The subscription.
    pub subscribe: SubscribeId,
    /// Its outcome is known.
    pub resolution: Resolution,
    /// The source of the statement.
    pub by: String,
    /// And why.
    pub why: String,
    /// Now, Unix ms.
    pub at_ms: i64,
}

/// The result of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The batch, as it is now.
    pub billing: Billing,
    /// True if the same had been stated before. Nothing was written then.
    pub repeated: bool,
}

/// Why nothing was resolved. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// Nobody knows the billing.
    #[error("no billing has the number, transaction hash or request id {0}")]
    NoBilling(String),
    /// It does not hold the subscription.
    #[error("the billing {billing} does not hold subscription {}", .subscribe.0)]
    NotInIt {
        /// As it was named.
        billing: String,
        /// The subscription.
        subscribe: SubscribeId,
    },
    /// The name stands for several billings that hold the subscription.
    #[error(
        "{billing} names several billings that hold subscription {}: name one by its transaction hash",
        .subscribe.0
    )]
    Ambiguous {
        /// As it was named.
        billing: String,
        /// The subscription.
        subscribe: SubscribeId,
    },
    /// The chain has not decided.
    #[error("the billing is still open: the chain decides about it, and nobody else may")]
    Open,
    /// The chain has told what became of it.
    #[error("the chain has told what became of it ({0}): only what is unproven can be resolved")]
    Told(&'static str),
    /// Somebody resolved it otherwise.
    #[error("it was resolved as {0} before, and that stands")]
    Otherwise(&'static str),
    /// Nobody said why.
    #[error("say why: it is kept in the history")]
    NoReason,
}
