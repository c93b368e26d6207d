//! The budgets of callers by name: a caller that has used one up is told which.

use door::Owner;
use std::fmt;
use strum::{IntoStaticStr, VariantNames};

/// The resources of a caller that can be used up, each with its word for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum CallerBudget {
    /// Connections on which something is done.
    Connections,
    /// Bodies that are not whole yet.
    Bodies,
    /// Messages of the last minute.
    Messages,
    /// Billing requests at work.
    Billings,
    /// Requests at work that change nothing.
    Questions,
    /// Questions that look through the ledger.
    Scans,
    /// Certificates that are being made.
    Certificates,
    /// Requests at work that pause, resume, resolve, or ask for what those change.
    Control,
}

/// A budget that is used up, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsedUp {
    pub(super) what: CallerBudget,
    pub(super) by: Owner,
}

impl fmt::Display for UsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            CallerBudget::Connections => "connections on which something is done",
            CallerBudget::Bodies => "bodies on their way",
            CallerBudget::Messages => "messages in the last minute",
            CallerBudget::Billings => "billing requests at work",
            CallerBudget::Questions => "questions at work",
            CallerBudget::Scans => "looks through the ledger at work",
            CallerBudget::Certificates => "certificates at work",
            CallerBudget::Control => "requests at work that control something",
        };
        write!(f, "{} has used up its own budget of {what}", self.by)
    }
}
