//! The throttle on signing: if blocks stop a call for want of time, less is signed after it, or nothing until the
//! call is seen to pass. The throttle frees no claim and settles nothing.

use super::TronChain;
use super::head::TronHead;
use super::pace::{Burnt, CpuPace, Probe};
use super::transaction::SignedBytes;
use alloy::primitives::U256;
use billing::{Attempt, CallEnding, Execution, Landed, Sighting, SigningHalt, Slot};
use journal::{FailedBilling, Past};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::{info, warn};
use tron_node::{Authority, CallRan};
use tron_primitives::block::ProvenTransaction;
use tron_primitives::result::{ContractResult, Ending};

/// Number of times that a probe has to pass.
const PROBES: usize = 3;

/// The knowledge of the calls that pass.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    pub(super) pace: Mutex<CpuPace>,
}

impl TronChain {
    /// Takes up what an earlier process saw.
    pub(super) fn take_up(&self, past: Past) {
        let mut pace = self.throttle.pace.lock();
        for failed in past.failed {
            let after = past.charged_ms.is_none_or(|charged_ms| failed.settled_ms > charged_ms);
            pace.failed(burnt(&failed));
            if !after {
                pace.went_through();
            }
        }
        self.parts.burnings.note(self.account.facts.signer, pace.burnt());
    }

    /// Returns the cost of today's failures of all accounts of the chain, sun.
    pub(super) fn burnt_today(&self) -> u64 {
        self.parts.burnings.today(self.account.clock.unix_ms())
    }

    /// Why nothing should be signed now.
    pub(super) fn throttled(&self) -> Option<SigningHalt> {
        let not_alone = self.head.last().and_then(|head| head.not_alone);
        if let Some(Authority { weight, threshold }) = not_alone {
            return Some(SigningHalt::NotAlone {
                signer: self.account.facts.signer,
                weight,
                threshold,
            });
        }
        let most = self.parts.config.fees.max_burnt_per_day.0;
        self.throttle.pace.lock().closed(self.burnt_today(), most)
    }

    /// The most charges that may be signed at once.
    pub(super) fn most_at_once(&self) -> usize {
        self.throttle.pace.lock().most(self.account.clock.unix_ms())
    }

    /// The same sighting, after it was taken down how the batch ended, if it did.
    pub(super) fn note_end<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        sighting: Sighting,
    ) -> Sighting {
        if let Sighting::Final(landed, execution) = &sighting {
            self.ended_so(slot, landed, execution);
        }
        sighting
    }

    fn ended_so<A: AsRef<Attempt>>(&self, slot: &Slot<A>, landed: &Landed, execution: &Execution) {
        let mut attempts = slot.attempts.iter().map(AsRef::as_ref);
        let Some(attempt) = attempts.find(|one| one.signed.hash == landed.hash) else { return };
        if let Execution::Succeeded(_) = execution {
            self.throttle.pace.lock().charged(landed.hash);
            return;
        }
        let record = landed.record.as_ref();
        let burnt = burnt(&FailedBilling {
            hash: landed.hash,
            raw: attempt.signed.raw.clone(),
            charges: slot.items.len(),
            ending: record.map(|record| record.ending).or_else(|| self.ending_in_block(landed)),
            fee: record.map(|record| record.fee),
            settled_ms: self.account.clock.unix_ms(),
        });
        let (out_of_time, charges) = (burnt.out_of_time, burnt.charges);
        let (news, sum) = {
            let mut pace = self.throttle.pace.lock();
            (pace.failed(burnt), pace.burnt())
        };
        self.parts.burnings.note(self.account.facts.signer, sum);
        if news && out_of_time {
            let most = self.most_at_once();
            warn!(chain = self.account.facts.name, tx.hash = %landed.hash, charges, "a block stopped a billing transaction because it took too long: at most {most} charges are signed at once for a while");
        }
    }

    /// Returns the ending of the transaction, in the word of its block.
    fn ending_in_block(&self, landed: &Landed) -> Option<CallEnding> {
        let block = self.solid.kept(landed.block.number)?;
        match block.transaction(landed.hash).map(ProvenTransaction::ending)? {
            Ending::Failed(ContractResult::OutOfTime) => Some(CallEnding::OutOfTime),
            Ending::Failed(_) | Ending::Succeeded | Ending::Untold => None,
        }
    }

    /// Tries a smaller part of what blocks stopped, if nothing is signed because of that.
    pub(super) async fn probe_when_due(&self, head: &Arc<TronHead>) {
        let due = self.throttle.pace.lock().probe(self.account.clock.unix_ms());
        let Some(probe) = due else { return };
        let passed = self.passes(&probe, head).await;
        let now_ms = self.account.clock.unix_ms();
        self.throttle.pace.lock().probed(passed, now_ms);
        let (chain, charges) = (&self.account.facts.name, probe.charges);
        if passed {
            info!(chain, charges, "the call passes in time again, for as many charges");
        } else {
            warn!(chain, charges, "the call still takes too long: nothing is signed");
        }
    }

    /// Returns true if a call runs to its end in time, whatever it says, every time that it is tried.
    async fn passes(&self, probe: &Probe, head: &Arc<TronHead>) -> bool {
        let computed = self.computed(head);
        let Ok(call) = self.account.profile.shorten(&probe.calldata, probe.charges, &computed)
        else {
            return false;
        };
        for _ in 0..PROBES {
            let began = Instant::now();
            match self.call(self.api(), self.account.facts.contract, &call).await {
                Ok(CallRan::Passed { .. } | CallRan::Failed(_)) => {}
                Ok(CallRan::Stopped(_)) | Err(_) => return false,
            }
            if head.too_long(began.elapsed(), probe.charges) {
                return false;
            }
        }
        true
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
