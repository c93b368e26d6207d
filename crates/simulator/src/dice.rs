//! The faults, their rates, and the dice that decide. One seed, one sequence of throws: there is no other source of
//! chance, and no clock.

use std::collections::BTreeMap;

/// Everything that goes wrong in the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NodeDown,
    NodeAway,
    Blackout,
    NodeSilent,
    SilentAfterTaking,
    NodeFails,
    ActTwice,
    SlowAnswer,
    FalseRefusal,
    Lagging,
    Ahead,
    StuckOnFork,
    StaleFinal,
    NoState,
    Pruned,
    LostReceipt,
    OrphanedReceipt,
    NoRecord,
    NoHistory,
    Lie,
    SecretPool,
    LieAboutTime,
    AlteredBlock,
    EmptyBlock,
    ForgedFork,
    Resigned,
    PoolForgets,
    NotPassedOn,
    CutOff,
    BlockMissed,
    EmptySlot,
    LastSlot,
    Reorg,
    FeeSpike,
    CustomerPoor,
    PoorAtLast,
    NoGasMoney,
    KeyUsedElsewhere,
    Rival,
    Authorized,
    CallerSends,
    SlowJournal,
    Kill,
    CommitUnclear,
    DiskFull,
    OldCopy,
    NewerBack,
    SlowKeyStore,
    KeyStoreFails,
    SignsOtherwise,
    TakenOver,
    MadeUpBlock,
}

/// The fault, its name in reports, and how rare it is: one in so many occasions; 0 if a world has it only where its theme
/// or a broken rule demands it.
const TABLE: [(Fault, &str, u64); 52] = [
    (Fault::NodeDown, "node down", 40),
    (Fault::NodeAway, "one node answers nobody for long", 60),
    (Fault::Blackout, "no node answers for long", 150),
    (Fault::NodeSilent, "node gives no answer", 60),
    (Fault::SilentAfterTaking, "node acts and gives no answer", 40),
    (Fault::NodeFails, "node answers 502", 40),
    (Fault::ActTwice, "node gets it twice", 30),
    (Fault::SlowAnswer, "slow answer", 12),
    (Fault::FalseRefusal, "node refuses falsely", 12),
    (Fault::Lagging, "node behind", 6),
    (Fault::Ahead, "head ahead of the others", 20),
    (Fault::StuckOnFork, "node stays on the old fork", 2),
    (Fault::StaleFinal, "stale final block", 12),
    (Fault::NoState, "state of a past block missing", 20),
    (Fault::Pruned, "state of final blocks missing", 2),
    (Fault::LostReceipt, "receipt missing", 12),
    (Fault::OrphanedReceipt, "receipt of a block that was undone", 4),
    (Fault::NoRecord, "records cannot be asked for", 6),
    (Fault::NoHistory, "nodes never keep records", 1),
    (Fault::Lie, "lie", 4),
    (Fault::SecretPool, "nothing said of what waits in a pool", 3),
    (Fault::LieAboutTime, "lie about time", 12),
    (Fault::AlteredBlock, "altered block", 12),
    (Fault::EmptyBlock, "emptied block", 12),
    (Fault::ForgedFork, "chain of its own, by too few witnesses", 60),
    (Fault::Resigned, "another signature under a true header", 3),
    (Fault::PoolForgets, "pool forgets", 20),
    (Fault::NotPassedOn, "not passed on", 3),
    (Fault::CutOff, "nodes cut off from who makes blocks", 200),
    (Fault::BlockMissed, "slot missed", 12),
    (Fault::EmptySlot, "block without the pool", 6),
    (Fault::LastSlot, "blocks take only what can wait no longer", 60),
    (Fault::Reorg, "reorganisation", 14),
    (Fault::FeeSpike, "base fee spike", 25),
    (Fault::CustomerPoor, "customer cannot pay", 20),
    (Fault::PoorAtLast, "customer emptied before the block", 15),
    (Fault::NoGasMoney, "signing account has no money, or again", 50),
    (Fault::KeyUsedElsewhere, "key used elsewhere", 90),
    (Fault::Rival, "another installation bills with the key", 120),
    (Fault::Authorized, "an authorisation takes a nonce of the account", 150),
    (Fault::CallerSends, "caller sends the bytes", 12),
    (Fault::SlowJournal, "slow journal", 8),
    (Fault::Kill, "killed", 1200),
    (Fault::CommitUnclear, "COMMIT says neither yes nor no", 40),
    (Fault::DiskFull, "disk full", 30),
    (Fault::OldCopy, "journal restored from a copy", 4),
    (Fault::NewerBack, "newer journal put back", 3),
    (Fault::SlowKeyStore, "slow key store", 6),
    (Fault::KeyStoreFails, "key store gives no signature", 20),
    (Fault::SignsOtherwise, "key store signs with another key, or something else", 20),
    (Fault::TakenOver, "taken over by another process, and goes on", 80),
    (Fault::MadeUpBlock, "made up a whole block", 0),
];

impl Fault {
    /// Its name in reports.
    pub(crate) fn word(self) -> &'static str {
        TABLE.iter().find(|(fault, ..)| *fault == self).map_or("", |(_, word, _)| word)
    }

    /// Every fault's name.
    pub(crate) fn words() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|(_, word, _)| *word)
    }
}

/// The dice of one seed.
#[derive(Clone, Debug)]
pub(crate) struct Dice {
    state: u64,
    rates: Vec<u64>,
    /// True if anything fails.
    pub(crate) faults: bool,
}

impl Dice {
    /// The dice of a seed. Each seed knows only some of the faults, some of them more often.
    pub(crate) fn new(seed: u64) -> Self {
        let usual = TABLE.iter().map(|(.., usual)| *usual).collect();
        let mut dice = Self { state: seed ^ 0x5EED_0000_0000, rates: usual, faults: true };
        let drawn = TABLE.iter().enumerate().filter(|(_, (.., usual))| *usual > 0);
        for (place, (.., usual)) in drawn {
            dice.rates[place] = match dice.below(6) {
                0 | 1 => 0,
                2 => usual.div_ceil(2),
                3 => usual * 3,
                _ => *usual,
            };
        }
        dice
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `most`.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// A place in a list of `many`.
    pub(crate) fn place(&mut self, many: usize) -> usize {
        let most = u64::try_from(many).unwrap_or(u64::MAX);
        usize::try_from(self.below(most)).unwrap_or(0)
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn place_of(fault: Fault) -> usize {
        TABLE.iter().position(|(other, ..)| *other == fault).unwrap_or(0)
    }

    /// Returns true if the world of this seed knows the fault.
    pub(crate) fn knows(&self, fault: Fault) -> bool {
        self.rates[Self::place_of(fault)] > 0
    }

    /// Puts a fault into this world, no rarer than one in `rate` occasions.
    pub(crate) fn demand(&mut self, fault: Fault, rate: u64) {
        let known = &mut self.rates[Self::place_of(fault)];
        *known = if *known == 0 { rate } else { rate.min(*known) };
    }

    /// Takes a fault out of this world.
    pub(crate) fn forbid(&mut self, fault: Fault) {
        self.rates[Self::place_of(fault)] = 0;
    }

    /// Takes all of them out of this world.
    pub(crate) fn forbid_all(&mut self) {
        self.rates.fill(0);
    }

    /// Returns true if the fault happens now.
    pub(crate) fn strikes(&mut self, fault: Fault) -> bool {
        let rate = self.rates[Self::place_of(fault)];
        self.faults && rate > 0 && self.one_in(rate)
    }
}

/// The events of one seed: every event goes into the digest, and is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    /// Of everything that happened, in order.
    pub(crate) digest: u64,
    /// Number of times that each event happened, by its place and its name.
    pub(crate) counts: BTreeMap<(&'static str, &'static str), u64>,
    /// The last of it, for people.
    pub(crate) lines: Vec<String>,
    /// True if lines are kept.
    pub(crate) talkative: bool,
}

impl Log {
    /// Writes down that something happened.
    pub(crate) fn note(&mut self, now_ms: u64, at: &'static str, what: &'static str, more: u64) {
        *self.counts.entry((at, what)).or_default() += 1;
        self.mix(now_ms);
        self.mix(more);
        for byte in at.bytes().chain(what.bytes()) {
            self.mix(u64::from(byte));
        }
        if self.talkative {
            self.lines.push(format!(
                "{:>7}.{:03}  {at:<5} {what} {more:x}",
                now_ms / 1000 % 1_000_000,
                now_ms % 1000
            ));
        }
    }

    /// Stirs a number into the digest.
    pub(crate) fn mix(&mut self, number: u64) {
        self.digest = (self.digest ^ number).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(17);
    }
}
