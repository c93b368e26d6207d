//! The budgets of callers for the Signer's work: each caller has a budget of its own, which no other can fill, and
//! a caller that has used its budget up is told so by name.

use super::purpose::Purpose;
use super::used_up::{CallerBudget, UsedUp};
use config::HttpConfig;
use door::{Owner, Permit, Permits};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Greatest number of one caller's questions at work at one time.
pub(super) const QUESTIONS: usize = 64;

/// Greatest number of those questions that may wait for something to happen. One more is answered at once.
const WAITING: usize = 32;

/// Greatest number of those questions that look through the ledger at one time: commits wait for each step of each.
const SCANS: usize = 2;

/// Greatest number of certificates that are made for one caller at one time: nodes are asked for a whole block each.
const CERTIFICATES: usize = 2;

/// Greatest number of one caller's control requests at work at one time.
const CONTROLS: usize = 16;

/// A permit for work; given back when it is dropped.
#[derive(Debug)]
pub(super) struct WorkPermit {
    _work: Permit,
    /// Of a look through the ledger alone.
    _turn: Option<OwnedSemaphorePermit>,
}

/// Permits that a caller waits for in turn, so many for each. The names are those of configured callers.
#[derive(Debug, Default)]
struct Turns(Mutex<HashMap<Box<str>, Arc<Semaphore>>>);

impl Turns {
    /// A permit of `name`, once there is one; none by `deadline`.
    async fn take(&self, name: &str, deadline: Instant) -> Option<OwnedSemaphorePermit> {
        let its = {
            let mut all = self.0.lock();
            Arc::clone(all.entry(name.into()).or_insert_with(|| Arc::new(Semaphore::new(SCANS))))
        };
        timeout_at(deadline, its.acquire_owned()).await.ok()?.ok()
    }
}

/// The permits for work.
#[derive(Debug)]
pub(super) struct Budgets {
    billings: Arc<Permits>,
    questions: Arc<Permits>,
    scans: Turns,
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
            scans: Turns::default(),
            certificates: Permits::new(CERTIFICATES),
            control: Permits::new(CONTROLS),
            waiting: Permits::new(WAITING),
        }
    }

    /// A permit for work of one purpose, in the name of a caller. A look through the ledger waits for its turn, until
    /// `deadline`; nothing else waits.
    pub(super) async fn permit(
        &self,
        purpose: Purpose,
        caller: &str,
        deadline: Instant,
    ) -> Result<WorkPermit, UsedUp> {
        let used_up = |what| UsedUp { what, by: Owner::Caller(caller.into()) };
        let (permits, what) = match purpose {
            Purpose::Bill => (&self.billings, CallerBudget::Billings),
            Purpose::Control | Purpose::Inspect => (&self.control, CallerBudget::Control),
            Purpose::Ask | Purpose::Scan => (&self.questions, CallerBudget::Questions),
            Purpose::Certify => (&self.certificates, CallerBudget::Certificates),
        };
        let work = permits.take(caller).ok_or_else(|| used_up(what))?;
        let turn = match purpose {
            Purpose::Scan => {
                let turn = self.scans.take(caller, deadline).await;
                Some(turn.ok_or_else(|| used_up(CallerBudget::Scans))?)
            }
            Purpose::Bill
            | Purpose::Control
            | Purpose::Inspect
            | Purpose::Ask
            | Purpose::Certify => None,
        };
        Ok(WorkPermit { _work: work, _turn: turn })
    }

    /// A permit to wait for something to happen.
    pub(super) fn wait_permit(&self, caller: &str) -> Option<Permit> {
        self.waiting.take(caller)
    }
}

#[cfg(test)]
mod tests;
