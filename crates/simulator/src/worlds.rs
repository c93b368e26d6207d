//! Worlds that are not played yet, each with the hole that it would fall into. Whoever closes a hole
//! switches its world on here; no law is weaker for any of them.

use crate::dice::{Dice, Fault};
use crate::mutants::Mutant;
use crate::scene::{Scene, Shape};
use crate::world::Side;

/// What is not played, and why.
pub(crate) const NOT_YET: &[(&str, &str)] = &[
    (
        "journal restored together with its mark, TRON",
        "the mark is a counter: whoever puts it back with the journal is not noticed, and TRON counts no nonces",
    ),
    (
        "a journal restored where the call does not carry every field",
        "the lane stays closed for ever: nobody can read whom the forgotten transaction charged",
    ),
];

/// Whether a journal may be restored together with its mark.
pub(crate) const MARKED_COPIES: bool = false;

/// Takes out of a seed what is not played, and what a restored journal is not safe from: what it has
/// forgotten has to be on the chain, or to wait in a pool that answers.
pub(crate) fn narrow(dice: &mut Dice, scene: &Scene, mutant: Option<Mutant>) {
    for side in Side::ALL {
        // What was billed through a call that does not say whom it charged cannot be learnt.
        if scene.shape(side) == Shape::Bare {
            dice.forbid(Fault::OldCopy);
            dice.forbid(Fault::NewerBack);
        }
    }
    if mutant != Some(Mutant::LearnTooEarly) && dice.knows(Fault::OldCopy) {
        dice.forbid(Fault::KeyUsedElsewhere);
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
