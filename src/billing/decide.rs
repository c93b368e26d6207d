//! What to do next about an undecided batch: a total function of the slot, a look at the chain and
//! the time. It reads no clock, socket or database; lane and watcher carry its decisions out.

use super::{Attempt, AttemptKind, BatchState, Slot, Verdict, Winner};

/// What a look at the chain taught about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// In no block. It may be in a pool, and it can still land.
    Absent,
    /// The slot's place is taken in a block that can still be undone.
    Included,
    /// The transaction that took the slot's place is known, and its block is final.
    Final(Winner),
    /// The slot's place is taken for good, but by no transaction that could be identified.
    /// No proof of anything: the claims stay.
    Unidentified,
    /// The look failed. It taught nothing.
    Nothing,
}

/// When to offer the same bytes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long to leave a slot alone after it was offered, ms.
    pub offer_again_ms: u64,
}

/// What to do about a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Look again later.
    Wait,
    /// Offer the newest attempt's bytes to the chain again.
    OfferAgain,
    /// The chain has decided: write it down.
    Settle(Verdict),
    /// A person should look: the account's place was used by something that is not ours.
    Alarm,
}

/// Decides. `since_offer_ms` is the time since the slot's bytes were last offered.
pub fn next_step<A: AsRef<Attempt>>(
    slot: &Slot<A>,
    sighting: Sighting,
    since_offer_ms: u64,
    rules: Rules,
) -> Step {
    match sighting {
        Sighting::Final(winner) => settle(slot, winner),
        Sighting::Absent if since_offer_ms >= rules.offer_again_ms => Step::OfferAgain,
        Sighting::Absent | Sighting::Included | Sighting::Nothing => Step::Wait,
        Sighting::Unidentified => Step::Alarm,
    }
}

fn settle<A: AsRef<Attempt>>(slot: &Slot<A>, winner: Winner) -> Step {
    let ours = slot.attempts.iter().map(AsRef::as_ref).find(|a| a.signed.hash == winner.hash);
    let state = match (ours.map(|attempt| attempt.kind), winner.succeeded) {
        (Some(AttemptKind::Bill), true) => BatchState::Charged,
        (Some(AttemptKind::Bill), false) => BatchState::Reverted,
        (Some(AttemptKind::Cancel), _) => BatchState::Cancelled,
        (None, _) => return Step::Alarm,
    };
    Step::Settle(Verdict { state, winner })
}

impl AsRef<Self> for Attempt {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billing::{Attempts, BatchId, Signed};
    use alloy::primitives::B256;
    use proptest::prelude::*;

    const RULES: Rules = Rules { offer_again_ms: 10_000 };

    fn slot() -> Slot {
        let attempt = |seq, kind| Attempt {
            batch: BatchId(1),
            seq,
            kind,
            signed: Signed {
                hash: B256::repeat_byte(u8::try_from(seq).unwrap()),
                raw: vec![],
                gas_required: 0,
            },
        };
        let attempts = [attempt(0, AttemptKind::Bill), attempt(1, AttemptKind::Cancel)];
        let attempts = Attempts::from_oldest(attempts).unwrap();
        Slot { batch: BatchId(1), position: 7, items: vec![], attempts }
    }

    fn winner(hash: u8, succeeded: bool) -> Winner {
        let hash = B256::repeat_byte(hash);
        Winner { hash, succeeded, block: 1, block_time: 1, outcomes: vec![] }
    }

    fn state_after(winner: Winner) -> Option<BatchState> {
        match next_step(&slot(), Sighting::Final(winner), 0, RULES) {
            Step::Settle(verdict) => Some(verdict.state),
            Step::Wait | Step::OfferAgain | Step::Alarm => None,
        }
    }

    #[test]
    fn a_batch_ends_by_the_transaction_that_took_its_place() {
        assert_eq!(state_after(winner(0, true)), Some(BatchState::Charged));
        assert_eq!(state_after(winner(0, false)), Some(BatchState::Reverted));
        assert_eq!(state_after(winner(1, true)), Some(BatchState::Cancelled));
        assert_eq!(state_after(winner(9, true)), None, "a stranger settles nothing");
    }

    #[test]
    fn the_same_bytes_go_out_again_while_absent() {
        let step = |age| next_step(&slot(), Sighting::Absent, age, RULES);
        assert_eq!(step(9_999), Step::Wait);
        assert_eq!(step(10_000), Step::OfferAgain);
    }

    proptest! {
        #[test]
        fn nothing_but_a_final_winner_of_ours_ends_a_batch(age: u64, which in 0..4_u8) {
            let sighting = match which {
                0 => Sighting::Absent,
                1 => Sighting::Included,
                2 => Sighting::Unidentified,
                _ => Sighting::Nothing,
            };
            prop_assert!(!matches!(next_step(&slot(), sighting, age, RULES), Step::Settle(_)));
        }
    }
}
