//! Another attempt for a batch whose earlier ones are dead: the same charges, with a new life and a
//! new deadline.
//!
//! The proof that the earlier attempts are dead is made elsewhere. This module takes a second look, by time alone:
//! an attempt that no irrevocable block has outlived can still land, and then nothing is signed, whoever asks.

use super::TronChain;
use super::draft::{ContractCall, TronDraft};
use super::head::TronHead;
use super::transaction::SignedBytes;
use crate::{CallFault, ChainError, Estimate, Standstill, Unanswered};
use billing::{Attempt, AttemptKind, Opinion, Slot};
use tron_node::CallRan;

impl TronChain {
    /// Drafts the same charges again, if they still go through.
    pub(super) async fn recompose<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        kind: AttemptKind,
    ) -> Result<TronDraft, ChainError> {
        if kind == AttemptKind::Cancel {
            return Err(Standstill::NothingToCancel.into());
        }
        let head = self.current().await?;
        head.timely(self.account.clock.unix_ms())?;
        let dead = self.call_of_the_dead(slot, &head)?;
        // The contract lets nobody be charged after the deadline in the old call.
        let profile = self.account.profiles.needed(slot)?;
        let renewed = profile.renew(&dead, &self.computed(&head));
        let data = renewed.map_err(Standstill::from)?.to_vec();
        let charges = slot.items.len();
        if head.not_alone.is_some() {
            return Err(Standstill::NotAlone.into());
        }
        if charges > self.most_at_once() {
            return Err(Standstill::TooSlow.into());
        }
        let call = ContractCall { to: slot.contract, data, profile, instead: Some(slot.position) };
        let used = self.still_passes(&call, charges).await?;
        self.draft_of(&head, call, &Estimate { used, charges }, charges)
    }

    /// Returns the data that the first attempt calls the contract with.
    fn call_of_the_dead<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        head: &TronHead,
    ) -> Result<Vec<u8>, ChainError> {
        let read = |attempt: &A| SignedBytes::read(&attempt.as_ref().signed.raw);
        for attempt in slot.attempts.iter() {
            let expiration_ms = read(attempt).map_err(Standstill::from)?.unsigned.expiration_ms;
            if head.solid.time_ms < expiration_ms {
                return Err(Standstill::CanStillLand.into());
            }
        }
        let first = read(slot.attempts.first()).map_err(Standstill::from)?.unsigned;
        if (first.owner, first.contract) == (self.account.facts.signer, slot.contract) {
            return Ok(first.data);
        }
        Err(Standstill::AnothersCall.into())
    }

    /// The energy that the call uses now, if at least one of its charges would be made.
    async fn still_passes(&self, call: &ContractCall, charges: usize) -> Result<u64, ChainError> {
        match self.call(self.api(), call.to, &call.data).await? {
            CallRan::Passed { energy, answer } => {
                let opinions = call.profile.opinions(&answer, charges).unwrap_or_default();
                if opinions.contains(&Opinion::Passes) {
                    return Ok(energy);
                }
                Err(CallFault::ChargesNobody.into())
            }
            CallRan::Failed(failure) => {
                let (code, detail) = call.profile.reverted(&failure.data);
                let detail = detail.unwrap_or(failure.words);
                Err(CallFault::Reverts { code, detail }.into())
            }
            CallRan::Stopped(words) => Err(Unanswered::StopsCall(words).into()),
        }
    }
}
