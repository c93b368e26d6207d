//! What can go wrong, how often, and the dice that decide. One seed, one sequence of throws: there is
//! no other source of chance, and no clock.

/// Everything that goes wrong in the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    NodeDown,
    NodeSilent,
    SilentAfterTaking,
    FalseRefusal,
    WrongHash,
    LaggingBackend,
    StaleFinal,
    StaleFork,
    LostReceipt,
    Lie,
    PoolForgets,
    OlderWins,
    CallerSends,
    Reorg,
    FeeSpike,
    FinalityStalls,
    GasGone,
    CallReverts,
    ItemFails,
    CustomerLacks,
    SigningFails,
    ForeignUse,
    SlowNode,
    SlowJournal,
    Kill,
    KillInCommit,
    KillAfterCommit,
    CommitUnclear,
    DiskFull,
    OldCopy,
}

/// The fault, its name in reports, and how rare it is: one in so many occasions.
const TABLE: [(Fault, &str, u64); 30] = [
    (Fault::NodeDown, "node down", 12),
    (Fault::NodeSilent, "node gives no answer", 14),
    (Fault::SilentAfterTaking, "node takes it and gives no answer", 8),
    (Fault::FalseRefusal, "node refuses falsely", 10),
    (Fault::WrongHash, "node names a wrong hash", 40),
    (Fault::LaggingBackend, "lagging backend", 3),
    (Fault::StaleFinal, "stale finalized tag", 6),
    (Fault::StaleFork, "node stays on the old fork", 2),
    (Fault::LostReceipt, "receipt vanishes", 10),
    (Fault::Lie, "lie", 2),
    (Fault::PoolForgets, "pool forgets", 16),
    (Fault::OlderWins, "an older attempt is preferred", 3),
    (Fault::CallerSends, "caller sends the bytes", 25),
    (Fault::Reorg, "reorg", 18),
    (Fault::FeeSpike, "base fee spike", 25),
    (Fault::FinalityStalls, "finality stalls", 10),
    (Fault::GasGone, "gas money gone", 80),
    (Fault::CallReverts, "call reverts", 12),
    (Fault::ItemFails, "item fails inside", 12),
    (Fault::CustomerLacks, "customer refused by the contract", 20),
    (Fault::SigningFails, "signing fails", 60),
    (Fault::ForeignUse, "key used elsewhere", 90),
    (Fault::SlowNode, "slow node", 6),
    (Fault::SlowJournal, "slow journal", 5),
    (Fault::Kill, "killed", 300),
    (Fault::KillInCommit, "killed in a commit", 60),
    (Fault::KillAfterCommit, "killed after a commit", 60),
    (Fault::CommitUnclear, "COMMIT says neither yes nor no", 40),
    (Fault::DiskFull, "disk full", 30),
    (Fault::OldCopy, "journal restored from a copy", 4),
];

impl Fault {
    /// Its name in reports.
    pub(super) fn word(self) -> &'static str {
        TABLE.iter().find(|(fault, ..)| *fault == self).map_or("", |(_, word, _)| word)
    }

    /// The names of all.
    pub(super) fn words() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|(_, word, _)| *word)
    }
}

/// `SplitMix64`: the same numbers on every machine and in every version.
#[derive(Debug)]
pub(super) struct Dice {
    state: u64,
    /// Whether anything goes wrong at all. Off while the world heals.
    pub(super) faults: bool,
    rates: [u64; TABLE.len()],
}

impl Dice {
    /// Which faults a seed has, and how many of each, is thrown first: a world in which all goes
    /// wrong at once hides what one fault alone does.
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Self { state: seed, faults: true, rates: [0; TABLE.len()] };
        for (place, (.., usual)) in TABLE.iter().enumerate() {
            dice.rates[place] = match dice.below(6) {
                0 | 1 => 0,
                2 => usual.div_ceil(2),
                3 => usual * 3,
                _ => *usual,
            };
        }
        dice
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`.
    pub(super) fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    pub(super) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    /// One of several.
    pub(super) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    /// Whether the world of this seed knows the fault.
    pub(super) fn knows(&self, fault: Fault) -> bool {
        TABLE.iter().zip(&self.rates).any(|((other, ..), rate)| *other == fault && *rate > 0)
    }

    /// Puts a fault into this world.
    pub(super) fn demand(&mut self, fault: Fault) {
        for ((other, _, usual), rate) in TABLE.iter().zip(&mut self.rates) {
            if *other == fault && *rate == 0 {
                *rate = *usual;
            }
        }
    }

    /// Takes a fault out of this world.
    pub(super) fn forbid(&mut self, fault: Fault) {
        for ((other, ..), rate) in TABLE.iter().zip(&mut self.rates) {
            if *other == fault {
                *rate = 0;
            }
        }
    }

    /// Whether it happens now.
    pub(super) fn strikes(&mut self, fault: Fault) -> bool {
        let rate = self.rates[fault as usize];
        self.faults && rate > 0 && self.one_in(rate)
    }
}
