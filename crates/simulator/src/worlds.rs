//! What no Signer can be safe from, which is not played.

use crate::dice::{Dice, Fault};
use crate::mutants::Mutant;
use crate::scene::Scene;
use crate::world::Side;

/// Takes out of a seed what is not played, and what a restored journal is not safe from: what it has
/// forgotten has to be on the chain, or to wait in a pool that answers (and there behind no gap: `disk.rs`).
pub(crate) fn narrow(dice: &mut Dice, scene: &Scene, mutant: Option<Mutant>) {
    if mutant.is_some() {
        // An account without money stands in the way of what is to be seen.
        dice.forbid(Fault::NoGasMoney);
    }
    if mutant == Some(Mutant::AnyPosition) {
        // A second start would refuse a file that lacks what the broken rule takes out of it.
        for fault in [Fault::Kill, Fault::CommitUnclear, Fault::OldCopy, Fault::NewerBack] {
            dice.forbid(fault);
        }
    }
    if dice.knows(Fault::OldCopy) && scene.nodes(Side::Tron) == 1 {
        // When the account was last used is the word of whoever is asked.
        dice.forbid(Fault::ForgedFork);
    }
    if dice.knows(Fault::OldCopy) {
        // A copy that nobody puts back shows nothing.
        dice.demand(Fault::Kill, 300);
        if dice.one_in(2) {
            dice.demand(Fault::LastSlot, 40);
        }
        // Pools drop what an account cannot pay for: then nobody sees it, until it can.
        dice.forbid(Fault::NoGasMoney);
    }
}
