//! The budgets of callers for the Signer's work: each caller has a budget of its own, which no other can fill, and
//! a caller that has used its budget up is told so by name.

use super::purpose::Purpose;
use config::HttpConfig;
use door::{Owner, Permit, Permits};
use std::fmt;
use std::sync::Arc;
use strum::{IntoStaticStr, VariantNames};

/// Greatest number of one caller's questions at work at one time.
pub(super) const QUESTIONS: usize = 64;

/// Greatest number of those questions that may wait for something to happen. One more is answered at once.
const WAITING: usize = 32;

/// Greatest number of certificates that are made for one caller at one time: nodes are asked for a whole block each.
const CERTIFICATES: usize = 2;

/// Greatest number of one caller's control requests at work at one time.
const CONTROLS: usize = 16;

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
            CallerBudget::Certificates => "certificates at work",
            CallerBudget::Control => "requests at work that control something",
        };
        write!(f, "{} has used up its own budget of {what}", self.by)
    }
}

/// The permits for work.
#[derive(Debug)]
pub(super) struct Budgets {
    billings: Arc<Permits>,
    questions: Arc<Permits>,
    certificates: Arc<Permits>,
    control: Arc<Permits>,
    /// Of those that ask, who wait for something to happen.
    waiting: Arc<Permits>,
}

impl Budgets {
    pub(super) fn new(limits: &HttpConfig) -> Self {
        Self {
            billings: Permits::new(limits.max_concurrent_requests),
            questions: Permits::new(QUESTIONS),
            certificates: Permits::new(CERTIFICATES),
            control: Permits::new(CONTROLS),
            waiting: Permits::new(WAITING),
        }
    }

    /// A permit for work of one purpose, in the name of a caller.
    pub(super) fn permit(&self, purpose: Purpose, caller: &str) -> Result<Permit, UsedUp> {
        let (permits, what) = match purpose {
            Purpose::Bill => (&self.billings, CallerBudget::Billings),
            Purpose::Control | Purpose::Inspect => (&self.control, CallerBudget::Control),
            Purpose::Ask => (&self.questions, CallerBudget::Questions),
            Purpose::Certify => (&self.certificates, CallerBudget::Certificates),
        };
        permits.take(caller).ok_or_else(|| UsedUp { what, by: Owner::Caller(caller.into()) })
    }

    /// A permit to wait for something to happen.
    pub(super) fn wait_permit(&self, caller: &str) -> Option<Permit> {
        self.waiting.take(caller)
    }
}
