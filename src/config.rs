//! What the operator configures.

use std::collections::BTreeMap;
use std::time::Duration;

/// How the billing contract of one chain is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BillingConfig {
    /// The function that charges, in human-readable ABI.
    pub call: String,
    /// The function that knows a subscription's terms.
    pub lookup: Option<String>,
    /// The event that proves a charge.
    pub charged: Option<String>,
    /// The event that reports an item that was not charged.
    pub skipped: Option<String>,
    /// Values by parameter name.
    pub constants: BTreeMap<String, String>,
    /// Our fail codes by the contract's number, error name or text.
    pub reasons: BTreeMap<String, String>,
    /// The entry field that numbers the billing period.
    pub period: Option<String>,
    /// How long a signed call stays valid.
    pub deadline: Duration,
    /// How long a charge without a period stays claimed after it is final.
    pub guard: Duration,
}
