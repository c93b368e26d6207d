//! The effect of a transaction in a final block, in the words of the chain's profile.

use crate::profiles::KnownProfiles;
use billing::{
    Attempt, AttemptKind, Execution, FeeStanding, Foreign, ForeignEffect, ItemOutcome, Opaque,
    Sighting, Slot, Unsettled,
};
use contract::FinalTx;
use evm_testimony::conclude::{NonceFate, Taker, decided};

/// Reads what transactions did, with the words of the chain's profile.
pub(super) struct OutcomeReader<'a, A> {
    pub(super) profiles: &'a KnownProfiles,
    /// The slot whose place was taken, if it is one of ours.
    pub(super) slot: Option<&'a Slot<A>>,
}

impl<A: AsRef<Attempt>> OutcomeReader<'_, A> {
    /// Returns the sighting of a place that the engine hears. `standing` counts only while nothing took the place.
    pub(super) fn sighting(
        &self,
        fate: NonceFate,
        position: u64,
        standing: FeeStanding,
    ) -> Sighting {
        match fate {
            NonceFate::Absent => Sighting::Absent(standing),
            NonceFate::Included => Sighting::Included,
            NonceFate::Shown => Sighting::Absent(FeeStanding::Shown),
            NonceFate::Ours(taker) => {
                let execution = if taker.succeeded {
                    Execution::Succeeded(self.outcomes(&taker))
                } else {
                    Execution::Reverted
                };
                Sighting::Final(taker.landed(), execution)
            }
            NonceFate::Foreign(taker) => {
                let effect = self.effect(&taker);
                Sighting::Usurped(Foreign::new(position, taker.landed(), effect))
            }
            NonceFate::UsedUp(block) => Sighting::UsedUp(decided(&block)),
            NonceFate::Unwitnessed => Sighting::Unsettled(Unsettled::NoState),
            NonceFate::Unrecorded => Sighting::Unsettled(Unsettled::NoRecord),
            NonceFate::Unclear => Sighting::Nothing,
            NonceFate::Disputed => Sighting::Unsettled(Unsettled::Disputed),
        }
    }

    /// Returns the outcome of each item of the slot, where a successful transaction of ours took the place; none
    /// for a cancel.
    fn outcomes(&self, ours: &Taker) -> Vec<ItemOutcome> {
        let Some(slot) = self.slot else { return Vec::new() };
        let bills =
            slot.attempts.iter().map(AsRef::as_ref).any(|attempt| {
                attempt.signed.hash == ours.hash && attempt.kind == AttemptKind::Bill
            });
        if !bills {
            return Vec::new();
        }
        self.profiles.outcomes(slot, &ours.logs)
    }

    /// Returns the effect of a transaction that is not ours.
    pub(super) fn effect(&self, foreign: &Taker) -> Result<ForeignEffect, Opaque> {
        let call = foreign.call.as_ref();
        let call = call.and_then(|call| Some((call.to?, call.input.as_ref())));
        let tx = FinalTx { call, succeeded: foreign.succeeded, logs: &foreign.logs };
        self.profiles.effect(self.slot, tx)
    }
}
