//! How fast is signed: what became of transactions that failed is read from the nodes, and what blocks
//! stopped for want of time has less signed, or nothing until it is seen to pass.
//!
//! None of it frees a claim or settles anything, so one node's word is enough.

use super::TronChain;
use super::api::Side;
use super::constant::ConstantCallOutcome;
use super::head::Head;
use super::pace::{Burnt, Pace, Probe};
use super::transaction::SignedBytes;
use crate::billing::{Attempt, Closed, Execution, Sighting, Slot};
use crate::chain::{Chain, ChainError, Pulse};
use crate::journal::Past;
use alloy::primitives::B256;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::{debug, info, warn};
use tron_primitives::block::ProvenTransaction;
use tron_primitives::result::{ContractResult, Ending};

/// How often a probe has to pass.
const PROBES: usize = 3;

/// What is known of what passes, and what is still to be read.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    pub(super) pace: Mutex<Pace>,
    ended: Mutex<VecDeque<Ended>>,
}

/// How a billing transaction ended, in the order of the ends.
#[derive(Clone, Debug)]
enum Ended {
    Charged,
    Failed(Unread),
}

/// A billing transaction that failed, of which it is not known why.
#[derive(Clone, Debug)]
struct Unread {
    id: B256,
    raw: Vec<u8>,
    charges: usize,
    /// The number of its block, where it is known.
    block: Option<u64>,
    /// When that was noticed, Unix ms.
    at_ms: i64,
}

impl TronChain {
    /// Looks at the head, and at what follows from it for what is signed next.
    pub(super) async fn beaten(&self) -> Result<Pulse, ChainError> {
        let head = self.observe().await?;
        self.read_failures().await;
        self.probe_when_due(&head).await;
        Ok(head.pulse)
    }

    /// Takes up what an earlier process saw.
    pub(super) fn take_up(&self, past: Past) {
        let before = |at_ms| past.charged_ms.is_some_and(|charged_ms| at_ms <= charged_ms);
        let (old, new): (Vec<_>, Vec<_>) =
            past.failed.into_iter().partition(|one| before(one.settled_ms));
        let unread = |one: crate::journal::FailedBilling| {
            Ended::Failed(Unread {
                id: one.hash,
                raw: one.raw,
                charges: one.charges,
                block: None,
                at_ms: one.settled_ms,
            })
        };
        let mut ended = self.throttle.ended.lock();
        ended.extend(old.into_iter().map(unread));
        ended.push_back(Ended::Charged);
        ended.extend(new.into_iter().map(unread));
    }

    /// Why nothing should be signed now.
    pub(super) fn throttled(&self) -> Option<Closed> {
        let most = self.parts.config.fees.max_burnt_per_day.0;
        self.throttle.pace.lock().closed(most, self.parts.clock.unix_ms())
    }

    /// The most charges that may be signed at once.
    pub(super) fn most_at_once(&self) -> usize {
        self.throttle.pace.lock().most(self.parts.clock.unix_ms())
    }

    /// Takes down how a batch ended, if it did.
    pub(super) fn note_end<A: AsRef<Attempt>>(&self, slot: &Slot<A>, sighting: &Sighting) {
        let Sighting::Final(landed, execution) = sighting else { return };
        let mut attempts = slot.attempts.iter().map(AsRef::as_ref);
        let Some(attempt) = attempts.find(|one| one.signed.hash == landed.hash) else { return };
        match execution {
            Execution::Succeeded(_) => self.throttle.pace.lock().charged(landed.hash),
            Execution::Reverted => {
                let failed = Unread {
                    id: landed.hash,
                    raw: attempt.signed.raw.clone(),
                    charges: slot.items.len(),
                    block: Some(landed.block.number),
                    at_ms: self.parts.clock.unix_ms(),
                };
                self.throttle.ended.lock().push_back(Ended::Failed(failed));
            }
        }
    }

    /// Asks why transactions failed and what that cost, in the order of their ends.
    pub(super) async fn read_failures(&self) {
        loop {
            let next = self.throttle.ended.lock().front().cloned();
            match next {
                None => return,
                Some(Ended::Charged) => self.throttle.pace.lock().went_through(),
                Some(Ended::Failed(failed)) if self.throttle.pace.lock().knows(failed.id) => {}
                Some(Ended::Failed(failed)) => match self.burnt(&failed).await {
                    Ok(burnt) => self.take_down(burnt),
                    Err(error) => {
                        debug!(tx.hash = %failed.id, %error, "no answer");
                        return;
                    }
                },
            }
            self.throttle.ended.lock().pop_front();
        }
    }

    fn take_down(&self, burnt: Burnt) {
        let (id, charges, fee) = (burnt.id, burnt.charges, burnt.fee);
        let out_of_time = burnt.out_of_time;
        self.throttle.pace.lock().failed(burnt);
        if out_of_time {
            let most = self.most_at_once();
            warn!(chain = self.facts().name, tx.hash = %id, charges, burnt_sun = fee, "a block stopped a billing transaction because it took too long: at most {most} charges are signed at once for a while");
        }
    }

    /// What a node tells of a failure. Where none keeps a record, the block tells how it failed, and
    /// it may have cost what it could.
    async fn burnt(&self, failed: &Unread) -> Result<Burnt, ChainError> {
        let info = self.api().info(Side::Solidity, failed.id).await?;
        let signed = SignedBytes::read(&failed.raw).ok().map(|read| read.unsigned);
        let limit = signed.as_ref().map_or(0, |unsigned| unsigned.fee_limit);
        let (word, fee) = match info {
            Some(info) => (ContractResult::of_word(&info.outcome), info.fee),
            None => (failed.block.and_then(|block| self.word_in(block, failed.id)), limit),
        };
        Ok(Burnt {
            id: failed.id,
            charges: failed.charges,
            calldata: signed.map(|unsigned| unsigned.data.into()).unwrap_or_default(),
            fee,
            out_of_time: word == Some(ContractResult::OutOfTime),
            at_ms: failed.at_ms,
        })
    }

    fn word_in(&self, block: u64, id: B256) -> Option<ContractResult> {
        let block = self.solid.kept(block)?;
        match block.transaction(id).map(ProvenTransaction::ending)? {
            Ending::Failed(word) => Some(word),
            Ending::Succeeded | Ending::Untold => None,
        }
    }

    /// Tries a smaller part of what blocks stopped, if nothing is signed because of that.
    async fn probe_when_due(&self, head: &Arc<Head>) {
        let due = self.throttle.pace.lock().probe(self.parts.clock.unix_ms());
        let Some(probe) = due else { return };
        let passed = self.passes(&probe, head).await;
        let now_ms = self.parts.clock.unix_ms();
        self.throttle.pace.lock().probed(passed, now_ms);
        let (chain, charges) = (&self.facts().name, probe.charges);
        if passed {
            info!(
                chain,
                charges, "the call passes again in time: it is signed for as many charges"
            );
        } else {
            warn!(chain, charges, "the call still takes too long, and nothing is signed");
        }
    }

    /// Whether a call runs to its end in time, whatever it says, every time that it is tried.
    async fn passes(&self, probe: &Probe, head: &Arc<Head>) -> bool {
        let computed = self.computed(head);
        let Ok(call) = self.profile().shorten(&probe.calldata, probe.charges, &computed) else {
            return false;
        };
        for _ in 0..PROBES {
            let began = Instant::now();
            match self.call(self.api(), self.facts().contract, &call).await {
                Ok(ConstantCallOutcome::Said { .. } | ConstantCallOutcome::Failed(_)) => {}
                Ok(ConstantCallOutcome::Stopped(_)) | Err(_) => return false,
            }
            if head.too_long(began.elapsed(), probe.charges) {
                return false;
            }
        }
        true
    }
}
