//! What a transaction in a final block did, in the words of the chain's profile.

use super::EvmChain;
use super::conclude::{ReadsOutcomes, Taker};
use crate::billing::{Attempt, AttemptKind, ForeignEffect, ItemOutcome, Opaque, Slot};

/// Reads what transactions did, with the words of the chain's profile.
pub(super) struct OutcomeReader<'a, A> {
    pub(super) chain: &'a EvmChain,
    /// The slot whose place was taken, if it is one of ours.
    pub(super) slot: Option<&'a Slot<A>>,
}

impl<A: AsRef<Attempt>> ReadsOutcomes for OutcomeReader<'_, A> {
    fn outcomes(&self, ours: &Taker) -> Vec<ItemOutcome> {
        let Some(slot) = self.slot else { return Vec::new() };
        let bills =
            slot.attempts.iter().map(AsRef::as_ref).any(|attempt| {
                attempt.signed.hash == ours.hash && attempt.kind == AttemptKind::Bill
            });
        if !bills {
            return Vec::new();
        }
        self.chain.account.profiles.outcomes(slot, &ours.logs)
    }

    fn effect(&self, foreign: &Taker) -> Result<ForeignEffect, Opaque> {
        let call = foreign.call.as_ref();
        let call = call.and_then(|call| Some((call.to?, call.input.as_ref())));
        self.chain.account.profiles.effect(self.slot, call, foreign.succeeded, &foreign.logs)
    }
}
