//! Worlds that are not played yet, each with the hole that it would fall into. Whoever closes a hole
//! switches its world on here; no law is weaker for any of them.

use crate::dice::{Dice, Fault};
use crate::mutants::Mutant;
use crate::scene::{Change, Scene, Shape};
use crate::world::Side;

/// What is not played, and why.
pub(crate) const NOT_YET: &[(&str, &str)] = &[
    (
        "journal restored together with its mark, TRON",
        "the mark is a counter: whoever puts it back with the journal is not noticed, and TRON counts no nonces",
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
        "TRON: readiness while this machine's clock is out",
        "every request hears 503, and health says ready",
    ),
    (
        "TRON: a provider goes on with a chain of its own that too few witnesses sign",
        "what was signed on its blocks stays open for ever, and the other providers are called liars",
    ),
    (
        "readiness where one of two nodes is not to be asked",
        "what two have to agree on hears 503, and health says ready",
    ),
    (
        "EVM: readiness while the chain asks more than the ceilings allow",
        "every request hears 503, and health says ready",
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

/// Whether a journal may be restored together with its mark.
pub(crate) const MARKED_COPIES: bool = false;

/// Whether a TRON provider may go on with a chain of its own.
pub(crate) const FORGED_FORKS: bool = false;

/// Takes out of a scene what is not played.
pub(crate) fn restrain(scene: &mut Scene, mutant: Option<Mutant>) {
    scene.cancels &= mutant.is_some();
    scene.muted = false;
    scene.change = None;
    scene.clock_ms = scene.clock_ms.clamp(-5_000, 5_000);
}

/// Takes out of a seed what is not played, and what a restored journal is not safe from: what it has
/// forgotten has to be on the chain, or to wait in a pool that answers.
pub(crate) fn narrow(dice: &mut Dice, scene: &mut Scene, mutant: Option<Mutant>) {
    for side in Side::ALL {
        if scene.shape(side) == Shape::Guarded {
            dice.forbid(Fault::LieAboutTime);
        }
        // What was billed through a call that does not say whom it charged cannot be learnt.
        if scene.shape(side) == Shape::Bare {
            dice.forbid(Fault::OldCopy);
            dice.forbid(Fault::NewerBack);
        }
    }
    if mutant != Some(Mutant::LearnTooEarly) && dice.knows(Fault::OldCopy) {
        dice.forbid(Fault::KeyUsedElsewhere);
    }
    if matches!(scene.change, Some((_, Change::Key | Change::Removed))) {
        dice.forbid(Fault::OldCopy);
    }
    if dice.knows(Fault::OldCopy) {
        for fault in [
            Fault::Lagging,
            Fault::StuckOnFork,
            Fault::CallerSends,
            Fault::PoolForgets,
            Fault::NotPassedOn,
            Fault::CutOff,
            Fault::Reorg,
            Fault::Lie,
            Fault::NodeDown,
            Fault::NodeFails,
        ] {
            dice.forbid(fault);
        }
    }
}
