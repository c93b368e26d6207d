//! The settings of a seed's world: the contract's shape, the number of configured nodes, what the configuration
//! allows, and how it changes between two starts.

use crate::dice::Dice;
use crate::mutants::Mutant;
use crate::world::{NODES, Side};

/// The shape of a chain's billing call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shape {
    /// It carries everything that an entry says.
    Full,
    /// Plan and user are not in it.
    Bare,
    /// The contract tells wallet, token, amount and period of a subscription.
    Lookup,
    /// It knows no period: a charge is claimed for a time.
    Guarded,
}

impl Shape {
    /// Its name in the report.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Full => "world: plain profile",
            Self::Bare => "world: profile without plan and user",
            Self::Lookup => "world: lookup",
            Self::Guarded => "world: no period",
        }
    }
}

/// A change of the configuration after some start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// Another key signs.
    Key,
    /// One more signs.
    KeyAdded,
    /// The first of several does not any more.
    KeyRemoved,
    /// They are named in another order.
    KeysTurned,
    /// Another contract charges.
    Contract,
    /// The platform's number of the chain is another.
    Number,
    /// Another entry field names the periods, or none does any more.
    Naming,
    /// The chain is not in it.
    Removed,
}

impl Change {
    /// Returns true if no start may take the change, as long as nobody says that it is meant.
    pub(crate) fn is_refused(self) -> bool {
        matches!(self, Self::Number | Self::Naming)
    }

    /// Its name in the report.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Key => "key changed",
            Self::KeyAdded => "key added",
            Self::KeyRemoved => "key removed",
            Self::KeysTurned => "keys named in another order",
            Self::Contract => "contract changed",
            Self::Number => "chain number changed",
            Self::Naming => "periods named otherwise",
            Self::Removed => "chain removed",
        }
    }
}

/// For how long a charge without a period stays claimed (s).
pub(crate) const GUARD: u64 = 45;

/// For how long everything may go wrong (s): one seed in four sees two periods end, and billings given up that
/// land all the same; the others see what one process, or two, make of one period.
const LONG: u64 = 130;
const SHORT: (u64, u64) = (40, 80);

/// Distances that this machine's clock may have from that of the chains (ms).
const CLOCKS_MS: [i64; 12] = [0, 0, 0, 0, 0, 0, 4_000, -4_000, 50_000, -50_000, 150_000, -150_000];

/// The settings of a seed.
#[expect(clippy::struct_excessive_bools, reason = "a world has that many independent settings")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Scene {
    shapes: [Shape; 2],
    nodes: [usize; 2],
    /// For how long everything may go wrong (s).
    pub(crate) chaos: u64,
    /// True if billings are given up by an empty transaction on their nonce.
    pub(crate) cancels: bool,
    /// True if a transaction that bids too little is replaced.
    pub(crate) replaces: bool,
    /// True if TRON's witnesses stand in the configuration; with one node, they always do.
    pub(crate) pinned: bool,
    /// True if callers wait before they themselves send the transactions that they were handed.
    pub(crate) patient: bool,
    /// True if one customer's charges are told to nobody.
    pub(crate) muted: bool,
    /// Distance of this machine's clock from that of the chains (ms) while things go wrong.
    pub(crate) clock_ms: i64,
    /// True if TRON's providers have a JSON-RPC door.
    pub(crate) jsonrpc: bool,
    /// True if TRON's nodes and blocks stop calls of more than a few charges.
    pub(crate) tight: bool,
    /// The change between two starts, and its chain.
    pub(crate) change: Option<(Side, Change)>,
    /// True if the keys are in a store that signs with them.
    pub(crate) elsewhere: bool,
    /// True if TRON's nodes keep no records of what transactions did, while things go wrong.
    pub(crate) recordless: bool,
    /// True if another node has to bear out what the sole provider on EVM calls final.
    pub(crate) witnessed: bool,
    /// Number of accounts that sign on each chain, before anything changes.
    signers: [usize; 2],
}

impl Scene {
    /// The scene of a seed. Its dice are its own: what is drawn here changes nothing else.
    pub(crate) fn of(seed: u64, mutant: Option<Mutant>) -> Self {
        let mut dice = Dice::new(seed ^ 0x5CE7_E000_0000_0000);
        let shape = |dice: &mut Dice| match dice.below(8) {
            0 => Shape::Bare,
            1 | 2 => Shape::Lookup,
            3 | 4 => Shape::Guarded,
            _ => Shape::Full,
        };
        let nodes = |dice: &mut Dice| match dice.below(8) {
            0 => 1,
            1 | 2 => 2,
            _ => NODES,
        };
        let change = |dice: &mut Dice| {
            let side = Side::ALL[dice.place(2)];
            let what = [Change::Key, Change::Contract, Change::Number, Change::Removed];
            (side, what[dice.place(what.len())])
        };
        let mut scene = Self {
            shapes: [shape(&mut dice), shape(&mut dice)],
            nodes: [nodes(&mut dice), nodes(&mut dice)],
            chaos: if dice.one_in(4) { LONG } else { SHORT.0 + dice.below(SHORT.1 - SHORT.0 + 1) },
            cancels: dice.one_in(4),
            replaces: !dice.one_in(4),
            pinned: !dice.one_in(4),
            patient: dice.one_in(4),
            muted: dice.one_in(4),
            clock_ms: CLOCKS_MS[dice.place(CLOCKS_MS.len())],
            change: if dice.one_in(4) { Some(change(&mut dice)) } else { None },
            jsonrpc: dice.one_in(2),
            tight: dice.one_in(6),
            elsewhere: dice.one_in(2),
            witnessed: false,
            recordless: false,
            signers: [1; 2],
        };
        // A setting that came to a scene later is drawn last: the settings that were drawn before it stay as they
        // were.
        scene.signers = [(); 2].map(|()| [1, 1, 2, 3][dice.place(4)]);
        scene.recordless = dice.one_in(6);
        let side = Side::ALL[dice.place(2)];
        if scene.change.is_none() && scene.signers(side) > 1 && dice.one_in(2) {
            scene.change = Some((side, Change::Key));
        }
        if scene.change.is_none() && dice.one_in(6) {
            scene.change = Some((side, Change::Naming));
        }
        if let Some((side, Change::Key)) = scene.change {
            let ways: &[Change] = match scene.signers(side) {
                1 => &[Change::Key, Change::KeyAdded],
                _ => &[Change::KeyAdded, Change::KeyRemoved, Change::KeysTurned],
            };
            scene.change = Some((side, ways[dice.place(ways.len())]));
        }
        if let Some(mutant) = mutant {
            scene.suit(mutant, Side::ALL[dice.place(2)]);
        }
        scene
    }

    /// Two periods end in it.
    pub(crate) fn lasts_long(&mut self) {
        self.chaos = LONG;
    }

    /// A chain has one provider.
    pub(crate) fn has_one_provider(&mut self, side: Side) {
        self.nodes[side.place()] = 1;
    }

    /// Charges are claimed for a time.
    pub(crate) fn has_no_periods(&mut self) {
        self.shapes = [Shape::Guarded; 2];
    }

    /// Another node has to bear out the final blocks of the sole provider on EVM.
    pub(crate) fn has_a_witness(&mut self) {
        self.witnessed = true;
    }

    /// This machine's clock is ahead of the chains, by as much as a Signer may work with.
    pub(crate) fn is_ahead(&mut self) {
        self.clock_ms = 50_000;
    }

    /// Sets, on its chain, what a broken rule needs in order to be seen, and nothing that could stand in for it.
    fn suit(&mut self, mutant: Mutant, side: Side) {
        let cancelled = [Mutant::CancelReleasesAtBroadcast, Mutant::NamesCancel];
        let of_several = [Mutant::ClaimsPerAccount, Mutant::ClaimsGoWithTheKey];
        let alone = matches!(
            mutant,
            Mutant::OneNodeQuorum
                | Mutant::AnybodySigns
                | Mutant::HeadersUnhashed
                | Mutant::TransactionsUnproven
                | Mutant::ReceiptsUnproven
                | Mutant::WitnessUnasked
        );
        let many = if mutant == Mutant::OneRefuses { 2 } else { NODES };
        let nodes = if alone { 1 } else { many };
        *self = Self {
            shapes: [if mutant == Mutant::NoGuard { Shape::Guarded } else { Shape::Full }; 2],
            nodes: [nodes; 2],
            chaos: LONG,
            cancels: cancelled.contains(&mutant),
            replaces: mutant != Mutant::NoRebroadcast,
            pinned: true,
            patient: cancelled.contains(&mutant),
            muted: false,
            clock_ms: 0,
            jsonrpc: false,
            tight: false,
            change: mutant.change().map(|change| (side, change)),
            elsewhere: mutant == Mutant::AnyPosition,
            recordless: false,
            witnessed: false,
            signers: if of_several.contains(&mutant) { [2; 2] } else { [1; 2] },
        };
    }

    /// Returns the shape of a chain's call.
    pub(crate) fn shape(&self, side: Side) -> Shape {
        self.shapes[side.place()]
    }

    /// Returns the number of configured nodes of a chain.
    pub(crate) fn nodes(&self, side: Side) -> usize {
        self.nodes[side.place()]
    }

    /// Returns the number of accounts that sign on a chain before anything changes.
    pub(crate) fn signers(&self, side: Side) -> usize {
        self.signers[side.place()]
    }

    /// Which accounts sign on a chain after this change, in the order of the configuration.
    pub(crate) fn billers(&self, side: Side, change: Option<Change>) -> Vec<usize> {
        let signers = self.signers(side);
        match change {
            Some(Change::Key) => vec![1],
            Some(Change::KeyAdded) => (0..=signers).collect(),
            Some(Change::KeyRemoved) => (1..signers).collect(),
            Some(Change::KeysTurned) => (0..signers).rev().collect(),
            Some(Change::Contract | Change::Number | Change::Naming | Change::Removed) | None => {
                (0..signers).collect()
            }
        }
    }

    /// Returns true if a section may name other accounts after some start, without some that it named before.
    pub(crate) fn changes_key(&self) -> bool {
        matches!(self.change, Some((_, Change::Key | Change::KeyRemoved)))
    }

    /// Its words for the report.
    pub(crate) fn words(&self) -> Vec<(&'static str, &'static str)> {
        let mut words = vec![];
        for side in Side::ALL {
            words.push((side.name(), self.shape(side).word()));
            words.push((
                side.name(),
                ["world: one node", "world: two nodes", "world: three nodes"][self.nodes(side) - 1],
            ));
        }
        for side in Side::ALL.into_iter().filter(|side| self.signers(*side) > 1) {
            words.push((side.name(), "world: several accounts sign"));
        }
        words.extend((self.chaos == LONG).then_some(("both", "world: a long history")));
        words.extend(self.cancels.then_some(("EVM", "world: billings are given up")));
        words.extend((!self.replaces).then_some(("EVM", "world: nothing is replaced")));
        words.extend((!self.pinned).then_some(("TRON", "world: witnesses are read")));
        words.extend(self.jsonrpc.then_some(("TRON", "world: providers have a JSON-RPC door")));
        words.extend(self.recordless.then_some(("TRON", "world: nodes keep no records")));
        words.extend(self.tight.then_some(("TRON", "world: long calls are stopped")));
        words.extend(self.patient.then_some(("both", "world: callers are patient")));
        words.extend(self.elsewhere.then_some(("both", "world: keys in a store that signs")));
        words.extend(self.witnessed.then_some(("EVM", "world: a witness")));
        words.extend(self.muted.then_some(("both", "world: charges without events")));
        words.extend(
            (self.clock_ms != 0).then_some(("both", "world: this machine's clock is wrong")),
        );
        words
    }
}
