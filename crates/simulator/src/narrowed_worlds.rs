//! Faults that no Signer can be safe from, which are not played; and worlds in which little goes wrong but one
//! thing, so that it happens again and again, and while something is billed.

use crate::Rules;
use crate::dice::{Dice, Fault};
use crate::mutants::Mutant;
use crate::seed_settings::Scene;
use crate::world::{Side, World};

/// Faults that show something together, and how rare they are at most.
pub(crate) type Theme = &'static [(Fault, u64)];

/// A copy comes back while what it has forgotten waits, and is in no final block.
const YOUNG: Theme =
    &[(Fault::OldCopy, 1), (Fault::NewerBack, 2), (Fault::Kill, 300), (Fault::LastSlot, 15)];

/// The same, and nodes do not know what they should, or one says nothing of its pool.
const YOUNG_UNTOLD: Theme = &[
    (Fault::OldCopy, 1),
    (Fault::Kill, 300),
    (Fault::LastSlot, 15),
    (Fault::SecretPool, 2),
    (Fault::NodeAway, 20),
    (Fault::Lagging, 3),
];

/// A copy comes back of which nodes tell no more than blocks do.
const NO_HISTORY: Theme = &[(Fault::OldCopy, 1), (Fault::Kill, 300), (Fault::NoHistory, 1)];

/// A copy comes back that has forgotten what no node knows, and callers bring it back.
const BROUGHT_BACK: Theme = &[
    (Fault::OldCopy, 1),
    (Fault::Kill, 300),
    (Fault::PoolForgets, 3),
    (Fault::LastSlot, 20),
    (Fault::CallerSends, 4),
];

/// Others who have the key charge the customers who wait.
const STRANGERS: Theme = &[
    (Fault::KeyUsedElsewhere, 20),
    (Fault::Rival, 25),
    (Fault::Authorized, 60),
    (Fault::LastSlot, 25),
    (Fault::Kill, 900),
];

/// Blocks are undone, and nodes tell of some that are not there, or of no state.
const UNDONE: Theme = &[
    (Fault::Reorg, 2),
    (Fault::OrphanedReceipt, 1),
    (Fault::Pruned, 1),
    (Fault::StaleFinal, 4),
    (Fault::EmptySlot, 3),
];

/// Transactions end their lives in no block, and nodes cannot be asked about them.
const AT_THE_END: Theme =
    &[(Fault::CutOff, 30), (Fault::PoolForgets, 5), (Fault::NoRecord, 2), (Fault::NodeAway, 40)];

/// They charge customers anew whose guards are over.
const GUARDS_OVER: Theme = &[(Fault::KeyUsedElsewhere, 10), (Fault::Rival, 12)];

/// A copy comes back whose times were told by a clock that is wrong.
const CLOCKS_APART: Theme = &[(Fault::OldCopy, 1), (Fault::Kill, 250), (Fault::LastSlot, 40)];

/// The sole provider of a chain lies about what is in its blocks.
const SOLE_LIAR: Theme = &[
    (Fault::Lie, 2),
    (Fault::AlteredBlock, 6),
    (Fault::EmptyBlock, 6),
    (Fault::LostReceipt, 8),
    (Fault::NodeSilent, 40),
    (Fault::NodeFails, 40),
    (Fault::EmptySlot, 6),
    (Fault::Reorg, 8),
    (Fault::PoorAtLast, 6),
    (Fault::KeyUsedElsewhere, 20),
    (Fault::Authorized, 60),
    (Fault::Kill, 600),
];

/// The sole provider of a chain makes up whole blocks, and another node is the witness.
const WITNESSED: Theme = &[
    (Fault::MadeUpBlock, 2),
    (Fault::Lie, 6),
    (Fault::NodeSilent, 40),
    (Fault::NodeFails, 40),
    (Fault::EmptySlot, 6),
    (Fault::Reorg, 8),
    (Fault::PoorAtLast, 6),
    (Fault::KeyUsedElsewhere, 20),
    (Fault::Kill, 600),
];

/// All of them, by how often each is played.
const THEMES: [Theme; 11] = [
    YOUNG,
    YOUNG,
    YOUNG_UNTOLD,
    NO_HISTORY,
    BROUGHT_BACK,
    STRANGERS,
    UNDONE,
    AT_THE_END,
    GUARDS_OVER,
    CLOCKS_APART,
    SOLE_LIAR,
];

/// The theme of that name, for those that are played by themselves.
pub(crate) fn named(name: &str) -> Option<Theme> {
    match name {
        "sole-liar" => Some(SOLE_LIAR),
        "witnessed" => Some(WITNESSED),
        _ => None,
    }
}

/// In two of three worlds in which no rule is broken, little goes wrong but one thing.
fn theme(dice: &mut Dice, scene: &mut Scene, rules: Rules) {
    let many = rules.mutant.is_some() || dice.one_in(3);
    if many && rules.theme.is_none() {
        return dice.forbid(Fault::NoHistory);
    }
    let theme = rules.theme.unwrap_or_else(|| THEMES[dice.place(THEMES.len())]);
    dice.forbid_all();
    for (fault, rate) in theme {
        dice.demand(*fault, *rate);
    }
    if theme == AT_THE_END {
        // A transaction that nobody takes lives for a minute.
        scene.lasts_long();
    } else if theme == GUARDS_OVER {
        scene.lasts_long();
        scene.has_no_periods();
    } else if theme == CLOCKS_APART {
        scene.is_ahead();
    } else if theme == SOLE_LIAR {
        scene.has_one_provider(Side::Evm);
    } else if theme == WITNESSED {
        scene.has_one_provider(Side::Evm);
        scene.has_a_witness();
    }
}

/// Takes out of a seed what is not played, and what a restored journal is not safe from: what it has
/// forgotten has to be on the chain, or to wait in a pool that answers (and there behind no gap: `disk.rs`).
pub(crate) fn narrow(dice: &mut Dice, scene: &mut Scene, rules: Rules) {
    let mutant = rules.mutant;
    theme(dice, scene, rules);
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
    if mutant.is_none() && !scene.witnessed {
        // No proof tells such a block from the true one: the word of a sole provider is the chain's.
        dice.forbid(Fault::MadeUpBlock);
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

/// Returns the node of each chain that may lie. One that is configured alone lies about nothing but what its own blocks
/// contradict.
pub(crate) fn liars(dice: &mut Dice, scene: &Scene) -> [Option<usize>; 2] {
    Side::ALL.map(|side| Some(dice.place(scene.nodes(side))))
}

impl World {
    /// Returns true if what one node says of a chain counts: it is the only one, as it should not be where that is a
    /// broken rule.
    pub(crate) fn is_alone(&self, side: Side) -> bool {
        self.scene.nodes(side) == 1 && !self.breaks(Mutant::OneNodeQuorum)
    }
}
