//! The throttle on signing: if blocks stop a call for want of time, less is signed after it, or nothing until the
//! call is seen to pass. The throttle frees no claim and settles nothing.

use super::access::Access;
use super::burnings::Burnings;
use super::head::TronHead;
use crate::ChainError;
use alloy::primitives::U256;
use billing::{Attempt, CallEnding, Execution, Landed, SigningHalt, Slot};
use billing::{Burnt, CpuPace, PaceRuling, Probe, ProbeResult};
use journal::{FailedBilling, Past};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::{info, warn};
use tron_node::{Authority, CallRan};
use tron_primitives::transaction::SignedBytes;

/// Number of times that a probe has to pass.
const PROBES: usize = 3;

/// The throttle of one account.
#[derive(Debug)]
pub(super) struct Throttle {
    access: Access,
    /// The cost of the failures of all accounts of the chain.
    burnings: Arc<Burnings>,
    pace: Mutex<CpuPace>,
}

impl Throttle {
    /// No call has failed yet.
    pub(super) fn of(access: Access, burnings: Arc<Burnings>) -> Self {
        Self { access, burnings, pace: Mutex::default() }
    }

    /// Restores what an earlier process saw.
    pub(super) fn restore(&self, past: Past) {
        let mut pace = self.pace.lock();
        for failed in past.failed {
            let after = past.charged_ms.is_none_or(|charged_ms| failed.settled_ms > charged_ms);
            pace.failed(burnt(&failed));
            if !after {
                pace.went_through();
            }
        }
        self.burnings.note(self.access.signer(), pace.burnt());
    }

    /// Returns the cost of today's failures of all accounts of the chain, sun.
    pub(super) fn burnt_today(&self) -> u64 {
        self.burnings.today(self.access.now_ms())
    }

    /// Returns the reason why nothing should be signed now. `not_alone` is the key's authority if it does not suffice.
    pub(super) fn halt(&self, not_alone: Option<Authority>) -> Option<SigningHalt> {
        if let Some(Authority { weight, threshold }) = not_alone {
            let signer = self.access.signer();
            return Some(SigningHalt::NotAlone { signer, weight, threshold });
        }
        let most = self.access.config.fees.max_burnt_per_day.0;
        self.pace.lock().closed(self.burnt_today(), most)
    }

    /// Returns the most charges that may be signed at once.
    pub(super) fn most_at_once(&self) -> usize {
        self.pace.lock().most(self.access.now_ms())
    }

    /// Rules on whether so many charges may be signed; see [`CpuPace::admits`].
    pub(super) fn admits(&self, charges: usize) -> PaceRuling {
        self.pace.lock().admits(charges, self.access.now_ms())
    }

    /// Returns the number of times that a call has to pass before it is signed.
    pub(super) fn passes_needed(&self) -> usize {
        self.pace.lock().passes()
    }

    /// Takes down that a try of so many charges has passed. An error if too few tries have.
    pub(super) fn note_try(&self, charges: usize) -> Result<(), ChainError> {
        let enough = self.pace.lock().passed(charges);
        if enough { Ok(()) } else { Err(self.too_slow(charges)) }
    }

    /// Takes down that nodes stopped a simulation, and that at most `fits` charges passed.
    pub(super) fn note_stop(&self, fits: usize) {
        self.pace.lock().stopped(fits, self.access.now_ms());
    }

    /// Returns the refusal of so many charges, since they were stopped before.
    pub(super) fn too_slow(&self, charges: usize) -> ChainError {
        let now_ms = self.access.now_ms();
        let pace = self.pace.lock();
        let (max, again_s) = (pace.most(now_ms).max(1), pace.again_s(now_ms));
        ChainError::BatchTooSlow { charges, max, again_s }
    }

    /// Takes down how a batch ended. `in_block` is the ending of its transaction in the word of the block.
    pub(super) fn note_end<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        landed: &Landed,
        execution: &Execution,
        in_block: Option<CallEnding>,
    ) {
        let mut attempts = slot.attempts.iter().map(AsRef::as_ref);
        let Some(attempt) = attempts.find(|one| one.signed.hash == landed.hash) else { return };
        if let Execution::Succeeded(_) = execution {
            self.pace.lock().charged(landed.hash);
            return;
        }
        let record = landed.record.as_ref();
        let burnt = burnt(&FailedBilling {
            hash: landed.hash,
            raw: attempt.signed.raw.clone(),
            charges: slot.items.len(),
            ending: record.map(|record| record.ending).or(in_block),
            fee: record.map(|record| record.fee),
            settled_ms: self.access.now_ms(),
        });
        let (out_of_time, charges) = (burnt.out_of_time, burnt.charges);
        let (news, sum) = {
            let mut pace = self.pace.lock();
            (pace.failed(burnt), pace.burnt())
        };
        self.burnings.note(self.access.signer(), sum);
        if news && out_of_time {
            let most = self.most_at_once();
            warn!(chain = self.access.chain(), tx.hash = %landed.hash, charges, "a block stopped a billing transaction because it took too long: at most {most} charges are signed at once for a while");
        }
    }

    /// Tries a smaller part of what blocks stopped, if nothing is signed because of that.
    pub(super) async fn probe_when_due(&self, head: &TronHead) {
        let due = self.pace.lock().probe(self.access.now_ms());
        let Some(probe) = due else { return };
        let result = self.run(&probe, head).await;
        let now_ms = self.access.now_ms();
        self.pace.lock().probed(result, now_ms);
        let (chain, charges) = (self.access.chain(), probe.charges);
        match result {
            ProbeResult::Passed => {
                info!(chain, charges, "the call passes in time again, for as many charges");
            }
            ProbeResult::Stopped => {
                warn!(chain, charges, "the call still takes too long: nothing is signed");
            }
        }
    }

    /// Finds out whether a call runs to its end in time, whatever it says, every time that it is tried.
    async fn run(&self, probe: &Probe, head: &TronHead) -> ProbeResult {
        let computed = self.access.computed(head.view.head_time);
        let profile = &self.access.account.profile;
        let Ok(call) = profile.shorten(&probe.calldata, probe.charges, &computed) else {
            return ProbeResult::Stopped;
        };
        for _ in 0..PROBES {
            let began = Instant::now();
            match self.access.call(self.access.api(), self.access.contract(), &call).await {
                Ok(CallRan::Passed { .. } | CallRan::Failed(_)) => {}
                Ok(CallRan::Stopped(_)) | Err(_) => return ProbeResult::Stopped,
            }
            if head.too_long(began.elapsed(), probe.charges) {
                return ProbeResult::Stopped;
            }
        }
        ProbeResult::Passed
    }
}

/// Returns the known facts of a failure. If nobody told its cost, the failure may have cost all that it could.
fn burnt(failed: &FailedBilling) -> Burnt {
    let signed = SignedBytes::read(&failed.raw).ok().map(|read| read.unsigned);
    let limit = U256::from(signed.as_ref().map_or(0, |unsigned| unsigned.fee_limit));
    Burnt {
        id: failed.hash,
        charges: failed.charges,
        calldata: signed.map(|unsigned| unsigned.data.into()).unwrap_or_default(),
        fee: failed.fee.unwrap_or(limit).saturating_to(),
        out_of_time: failed.ending == Some(CallEnding::OutOfTime),
        at_ms: failed.settled_ms,
    }
}
