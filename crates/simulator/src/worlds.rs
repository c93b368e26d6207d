//! Worlds that are not played yet, each with the hole that it would fall into. Whoever closes a hole
//! switches its world on here; no law is weaker for any of them.

use crate::dice::{Dice, Fault};

/// What is not played, and why.
pub(crate) const NOT_YET: &[(&str, &str)] = &[
    (
        "TRON: one node lies or alters blocks",
        "a TRON chain has one provider, whose single word frees claims",
    ),
    (
        "journal restored together with its mark, TRON",
        "the mark is a counter: whoever puts it back with the journal is not noticed, and TRON counts no nonces",
    ),
    (
        "newer journal put back after an old copy ran",
        "the mark moves back with the old copy, so that the newer file is not behind it",
    ),
    (
        "key, contract or chain number changed between two starts",
        "open batches of a lane that is not configured any more are followed by nobody",
    ),
    (
        "a guard judged while one node lies about time",
        "with two or three nodes the head's time can be the liar's, and a guard ends too early",
    ),
    (
        "items without events",
        "a repeat of a charge whose outcome is not proven is told that it is paid",
    ),
    (
        "a request repeated while its nonce is being cancelled",
        "the answer with code 1 names the empty transaction that cancels",
    ),
    (
        "a journal restored where the call does not carry every field",
        "the lane stays closed for ever: nobody can read whom the forgotten transaction charged",
    ),
];

/// Whether a TRON node may say what is not so.
pub(crate) fn tron_may_lie() -> bool {
    false
}

/// Whether batches on EVM are given up by an empty transaction on their nonce.
pub(crate) fn cancels() -> bool {
    false
}

/// Takes out of a seed what is not played, and what a restored journal is not safe from: what it has
/// forgotten has to be on the chain, or to wait in a pool that answers.
pub(crate) fn narrow(dice: &mut Dice) {
    for fault in [Fault::AlteredBlock, Fault::EmptyBlock, Fault::NewerBack, Fault::KeyUsedElsewhere]
    {
        dice.forbid(fault);
    }
    if dice.knows(Fault::OldCopy) {
        for fault in [
            Fault::Lagging,
            Fault::StuckOnFork,
            Fault::CallerSends,
            Fault::PoolForgets,
            Fault::NotPassedOn,
            Fault::Reorg,
            Fault::Lie,
            Fault::NodeDown,
            Fault::NodeFails,
        ] {
            dice.forbid(fault);
        }
    }
}
