//! Drafts of billing transactions: of new batches, and of further attempts for a batch whose earlier ones are dead.
//!
//! The proof that the earlier attempts are dead is made elsewhere. This module takes a second look, by time alone: an
//! attempt that no irrevocable block has outlived can still land, and then nothing is signed, whoever asks.

use super::access::Access;
use super::draft::TronDraft;
use super::head::TronHead;
use super::head_watch::HeadWatch;
use super::resources::Spend;
use super::simulation::Simulation;
use super::spending::Spending;
use super::throttle::Throttle;
use crate::simulation::CallFailure;
use crate::{CallFault, ChainError, Estimate, Standstill, Unanswered, check_length};
use alloy::primitives::Address;
use billing::{Attempt, AttemptKind, Charge, Opinion, Slot};
use contract::Profile;
use std::sync::Arc;
use tron_node::CallRan;
use tron_primitives::transaction::{RefBlock, SignedBytes, Unsigned};

/// The most calldata that fits in a transaction that nodes take (500 KiB, results included), with
/// 2 KiB left for the rest of it. java-tron: common/.../core/Constant.java, `TRANSACTION_MAX_BYTE_SIZE`.
const MAX_CALLDATA: usize = (500 << 10) - (2 << 10);

/// The address that a transaction calls, and the input of the call.
struct ContractCall {
    to: Address,
    data: Vec<u8>,
    /// The profile by which the data is read before it is signed.
    profile: Arc<Profile>,
    /// The place whose earlier attempts are dead, if it is for another attempt.
    instead: Option<u64>,
}

/// Drafts transactions of the account.
#[derive(Debug)]
pub(super) struct Drafting {
    pub(super) access: Access,
    pub(super) head: Arc<HeadWatch>,
    pub(super) spending: Arc<Spending>,
    pub(super) throttle: Arc<Throttle>,
    pub(super) simulation: Arc<Simulation>,
}

impl Drafting {
    /// Drafts the billing of `good`. Asks the node nothing when the last look is young and the
    /// estimate holds for `good`; else the call is run once more.
    pub(super) async fn bill(
        &self,
        good: &[Charge],
        estimate: &Estimate,
    ) -> Result<TronDraft, ChainError> {
        let head = self.head.current().await?;
        head.timely(self.access.now_ms())?;
        let data = self.access.calldata(head.view.head_time, good);
        let data = data.map_err(|bad| ChainError::CallFails(bad.into()))?;
        check_length(&data, good.len(), MAX_CALLDATA)?;
        let account = &self.access.account;
        let holds = estimate.holds_for(good.len(), &account.profile);
        let estimate = if holds { estimate.clone() } else { self.simulation.measure(good).await? };
        let profile = Arc::clone(&account.profile);
        let call = ContractCall { to: self.access.contract(), data, profile, instead: None };
        let draft = self.draft(&head, call, &estimate, good.len())?;
        self.spending.note_draft(estimate, draft.priced.spend.size);
        Ok(draft)
    }

    /// Drafts the same charges again, if they still go through: with a new life and a new deadline.
    pub(super) async fn again<A: AsRef<Attempt>>(
        &self,
        slot: &Slot<A>,
        kind: AttemptKind,
    ) -> Result<TronDraft, ChainError> {
        if kind == AttemptKind::Cancel {
            return Err(Standstill::NothingToCancel.into());
        }
        let head = self.head.current().await?;
        head.timely(self.access.now_ms())?;
        let dead = self.call_of_the_dead(slot, &head)?;
        // The contract lets nobody be charged after the deadline in the old call.
        let profile = self.access.account.profiles.needed(slot)?;
        let renewed = profile.renew(&dead, &self.access.computed(head.view.head_time));
        let data = renewed.map_err(Standstill::from)?.to_vec();
        let charges = slot.items.len();
        if head.not_alone.is_some() {
            return Err(Standstill::NotAlone.into());
        }
        if charges > self.throttle.most_at_once() {
            return Err(Standstill::TooSlow.into());
        }
        let call = ContractCall { to: slot.contract, data, profile, instead: Some(slot.position) };
        let used = self.still_passes(&call, charges).await?;
        self.draft(&head, call, &Estimate { used, charges }, charges)
    }

    /// A call of the contract that builds on the irrevocable block of `head`, and dies by its time.
    fn draft(
        &self,
        head: &TronHead,
        call: ContractCall,
        estimate: &Estimate,
        charges: usize,
    ) -> Result<TronDraft, ChainError> {
        let fee_limit = self.spending.limit(head, estimate, charges)?;
        let unsigned = Unsigned {
            owner: self.access.signer(),
            contract: call.to,
            data: call.data,
            ref_block: RefBlock::to(head.solid.id),
            expiration_ms: head.newest.time_ms.saturating_add(self.access.life_ms()),
            timestamp_ms: head.newest.time_ms,
            fee_limit,
        };
        let size = unsigned.signed_size().map_err(|why| ChainError::CallFails(why.into()))?;
        let priced = self.spending.reserve(head, Spend { fee_limit, size }, call.instead)?;
        let (profile, signing) = (call.profile, self.access.account.signing()?);
        Ok(TronDraft { unsigned, priced, profile, signing })
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
        if (first.owner, first.contract) == (self.access.signer(), slot.contract) {
            return Ok(first.data);
        }
        Err(Standstill::AnothersCall.into())
    }

    /// Returns the energy that the call uses now, if at least one of its charges would be made.
    async fn still_passes(&self, call: &ContractCall, charges: usize) -> Result<u64, ChainError> {
        match self.access.call(self.access.api(), call.to, &call.data).await? {
            CallRan::Passed { energy, answer } => {
                let opinions = call.profile.opinions(&answer, charges).unwrap_or_default();
                if opinions.contains(&Opinion::Passes) {
                    return Ok(energy);
                }
                Err(CallFault::ChargesNobody.into())
            }
            CallRan::Failed(failure) => Err(CallFailure::from(failure).of_all(&call.profile)),
            CallRan::Stopped(words) => Err(Unanswered::StopsCall(words).into()),
        }
    }
}
