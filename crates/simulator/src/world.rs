//! Everything outside the Signer: both chains with their nodes, the dice, and what has been seen to leave.

use crate::Rules;
use crate::attempts::NewestAttempts;
use crate::authorizations::Authorized;
use crate::callers::Named;
use crate::dice::{Dice, Fault, Log};
use crate::exchange::Place;
use crate::genesis::{BILLERS, Places, Towns, biller};
use crate::made_up_blocks::MadeUp;
use crate::mutants::Mutant;
use crate::net::Net;
use crate::observations::Watch;
use crate::other_signers::Stranger;
use crate::seed_settings::{Change, Scene};
use crate::takeover::Stale;
use alloy::primitives::{Address, B256, Log as EventLog, U256};
use alloy::sol_types::SolEvent as _;
use parking_lot::Mutex;
use sandbox_chains::contracts::Careless;
use sandbox_chains::eth;
use sandbox_chains::evm::{Evm, Tx};
use sandbox_chains::node::Node;
use sandbox_chains::tron::TronNode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::Notify;

/// Number of nodes of each chain.
pub(crate) const NODES: usize = 3;

/// Both chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Evm,
    Tron,
}

impl Side {
    pub(crate) const ALL: [Self; 2] = [Self::Evm, Self::Tron];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Evm => "EVM",
            Self::Tron => "TRON",
        }
    }

    /// The chain of that name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|side| side.name() == name)
    }

    /// Its place in a pair of both.
    pub(crate) fn place(self) -> usize {
        match self {
            Self::Evm => 0,
            Self::Tron => 1,
        }
    }

    /// Its number on the platform.
    pub(crate) fn platform_id(self) -> u32 {
        match self {
            Self::Evm => 139,
            Self::Tron => 195,
        }
    }
}

/// The name of one charge: nobody may pay the same charge twice to one contract.
pub(crate) type ChargeName = (Side, u64, u32);

/// One movement of money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Charge {
    /// The number of the request that asked for it.
    pub(crate) tag: u64,
    pub(crate) contract: Address,
    pub(crate) hash: B256,
    /// The time of its block (Unix s).
    pub(crate) at_s: u64,
}

/// All of them, by name.
pub(crate) type Charges = BTreeMap<ChargeName, Vec<Charge>>;

/// The kind of a transaction that is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bill,
    Cancel,
}

/// Shared by nodes, disk and callers of one seed.
pub(crate) type Shared = Arc<Mutex<World>>;

/// The world of one seed.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) log: Log,
    pub(crate) now_ms: u64,
    pub(crate) begun_ms: u64,
    /// Offset of this machine's clock from that of the chains (ms) as long as this process lives.
    pub(crate) clock_ms: i64,
    pub(crate) mutant: Option<Mutant>,
    /// The chain that callers bill on, if it is not both.
    pub(crate) only: Option<Side>,
    pub(crate) evm: Net<Node<Evm>>,
    pub(crate) tron: Net<TronNode>,
    pub(crate) evm_at: Places,
    pub(crate) tron_at: Places,
    /// The one node of each chain that may lie, where one may.
    pub(crate) liars: [Option<usize>; 2],
    /// Settings of the world.
    pub(crate) scene: Scene,
    /// Until when no node of a chain answers (ms).
    pub(crate) dark_until_ms: [u64; 2],
    /// Coins of the signing accounts in the beginning.
    pub(crate) tanks: [U256; 2],
    /// Which of them have nothing now.
    pub(crate) broke: [[bool; BILLERS]; 2],
    /// True if a customer was ever without money, for each chain.
    pub(crate) emptied: [bool; 2],
    /// Number of times that the key was used elsewhere.
    pub(crate) foreign: u32,
    /// And when it was last (ms).
    pub(crate) foreign_ms: u64,
    /// Transactions that others signed with the key.
    pub(crate) strangers: Vec<Stranger>,
    /// Authorisations that were signed with the key of the first account on EVM.
    pub(crate) authorized: Vec<Authorized>,
    /// Customers who are out of money because of them, and until when (ms).
    pub(crate) refills: Vec<(Side, u64, u64)>,
    /// Transactions on EVM that a restored copy may have forgotten, and that everybody can see.
    pub(crate) in_sight: Vec<Tx>,
    /// The block that the liar on EVM made up in the place of another.
    pub(crate) made_up: Option<MadeUp>,
    /// Which node of each chain answers nobody, and until when (ms).
    pub(crate) away: [(usize, u64); 2],
    /// The transactions that callers were told of.
    pub(crate) told: BTreeSet<B256>,
    /// Which process runs: what an earlier one left behind is not heard any more.
    pub(crate) life: u64,
    /// A process that another one took over from, and that does not know it yet.
    pub(crate) stale: Option<Stale>,
    /// True if the process that ran is dead.
    pub(crate) dead: bool,
    /// Told when it dies.
    pub(crate) death: Arc<Notify>,
    /// Everything that was ever committed.
    pub(crate) durable: BTreeMap<B256, Kind>,
    /// And when it was first (ms).
    pub(crate) signed_ms: BTreeMap<B256, u64>,
    /// Since when a journal has known the first account of each chain (ms).
    pub(crate) known_since_ms: [Option<u64>; 2],
    /// Everything that was ever offered to a node by the Signer.
    pub(crate) sent: BTreeSet<B256>,
    /// Transactions whose claims a broken rule has set free: nothing brings them back.
    pub(crate) released: BTreeSet<B256>,
    /// The newest attempts when the running transaction began.
    pub(crate) known_attempts: NewestAttempts,
    /// True if anything was committed since this field was last looked at.
    pub(crate) committed: bool,
    /// True if the next answer that something was sent is told as if nothing had been done.
    pub(crate) denied: bool,
    /// Transactions that a restored copy has forgotten.
    pub(crate) forgotten: BTreeSet<B256>,
    /// Number of transactions that restored copies ever forgot. A transaction that a copy learns again is no longer
    /// its own.
    pub(crate) ever_forgotten: u32,
    /// The difference between the configuration of the running process and the first configuration.
    pub(crate) changed: Option<(Side, Change)>,
    /// When a question to a chain last went wrong by itself (ms).
    pub(crate) disturbed_ms: [u64; 2],
    /// Charges of earlier transactions, as answers told them.
    pub(crate) named: Vec<Named>,
    /// Bytes that callers were handed, and when (ms).
    pub(crate) handed_out: Vec<(Side, Vec<u8>, u64)>,
    /// Facts remembered for the laws on decisions.
    pub(crate) watch: Watch,
    /// The first law that was seen to be broken while the world went on.
    pub(crate) broken: Option<String>,
}

impl World {
    /// The world of a seed.
    pub(crate) fn new(seed: u64, rules: Rules, towns: &Towns) -> Self {
        let Rules { mutant, only, talkative, .. } = rules;
        let (mut dice, scene) = setting(seed, rules);
        let evm = Net::new(Side::Evm.name(), &towns.evm, NODES);
        let tron = Net::new(Side::Tron.name(), &towns.tron, NODES);
        let now_ms = evm.head().1.max(tron.head().1);
        tron.tighten(scene.tight.then_some(seed));
        let liars = crate::narrowed_worlds::liars(&mut dice, &scene);
        let mut log = Log { talkative, ..Log::default() };
        scene.words().into_iter().for_each(|(at, word)| log.note(now_ms, at, word, 0));
        let world = Self {
            dice,
            log,
            now_ms,
            begun_ms: now_ms,
            clock_ms: scene.clock_ms,
            mutant,
            only,
            evm,
            tron,
            evm_at: towns.evm_at,
            tron_at: towns.tron_at,
            liars,
            scene,
            dark_until_ms: [0; 2],
            tanks: tanks(towns),
            broke: [[false; BILLERS]; 2],
            emptied: [false; 2],
            foreign: 0,
            foreign_ms: 0,
            strangers: vec![],
            authorized: vec![],
            refills: vec![],
            in_sight: vec![],
            made_up: None,
            away: [(0, 0); 2],
            told: BTreeSet::new(),
            life: 0,
            stale: None,
            dead: true,
            death: Arc::default(),
            durable: BTreeMap::new(),
            signed_ms: BTreeMap::new(),
            known_since_ms: [None; 2],
            sent: BTreeSet::new(),
            released: BTreeSet::new(),
            known_attempts: NewestAttempts::default(),
            committed: false,
            denied: false,
            forgotten: BTreeSet::new(),
            ever_forgotten: 0,
            changed: None,
            disturbed_ms: [0; 2],
            named: vec![],
            handed_out: vec![],
            watch: Watch::default(),
            broken: None,
        };
        world.mute_if_so_set();
        world
    }

    /// Returns true if this rule is broken in this world.
    pub(crate) fn breaks(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Writes down that something happened.
    pub(crate) fn note(&mut self, at: &'static str, what: &'static str, more: u64) {
        self.log.note(self.now_ms, at, what, more);
    }

    /// Returns the time on this machine's clock (Unix ms). The clock is set right when nothing goes wrong any more.
    pub(crate) fn machine_ms(&self) -> u64 {
        let wrong = if self.dice.faults { self.clock_ms } else { 0 };
        self.now_ms.saturating_add_signed(wrong)
    }

    /// Returns the next nonce of the Signer's first account on EVM, as a node tells it, with the transactions that
    /// wait in its pool.
    pub(crate) fn pending(node: &Node<Evm>) -> u64 {
        eth::pool::next_nonce(&node.chain(), &biller(0).address())
    }

    /// Returns the number of nonces of the Signer's accounts that the chain has used up on EVM, and the number of
    /// transactions that wait there.
    pub(crate) fn used_up_on_evm(&self) -> (u64, usize) {
        let chain = self.evm.truth.chain();
        let used = (0..BILLERS).map(|place| chain.head_state().nonce(&biller(place).address()));
        (used.sum(), chain.pool().iter().count())
    }

    /// Returns true if this node may tell an untruth.
    pub(crate) fn is_liar(&self, at: Place) -> bool {
        self.dice.faults && self.liars[at.side().place()] == Some(at.number())
    }

    /// These are on disk now.
    pub(crate) fn note_signed(&mut self, signed: Vec<(B256, Kind)>) {
        for (hash, kind) in signed {
            self.durable.insert(hash, kind);
            self.signed_ms.entry(hash).or_insert(self.now_ms);
        }
    }

    /// Returns true if a fault happens now, and writes the fault down.
    pub(crate) fn fault(&mut self, at: &'static str, fault: Fault) -> bool {
        let strikes = self.dice.strikes(fault);
        if strikes {
            self.note(at, fault.word(), 0);
        }
        strikes
    }

    /// Returns true if the actions of that process are seen.
    pub(crate) fn is_alive(&self, life: u64) -> bool {
        !self.dead && (self.life == life || self.stale.is_some_and(|stale| stale.life == life))
    }

    /// Returns true if that process has the journal, or believes that it may write.
    pub(crate) fn writes(&self, life: u64) -> bool {
        !self.dead && (self.life == life || (self.breaks(Mutant::LeaseOnly) && self.is_alive(life)))
    }

    /// The process ends here and now. Nothing that it still does is seen.
    pub(crate) fn kill(&mut self) {
        self.dead = true;
        self.death.notify_one();
    }

    /// A second passes.
    pub(crate) fn turn(&mut self) {
        self.now_ms += 1000;
        self.keep_receipts();
        let (now, dice, log) = (self.now_ms, &mut self.dice, &mut self.log);
        self.evm.turn(now, dice, log);
        self.tron.turn(now, dice, log);
        self.mishaps();
        self.show();
        self.look_around();
    }

    /// Every charge that the chains hold: who paid what, and for which requests, the oldest first.
    pub(crate) fn charges(&self) -> Charges {
        let mut charges = Charges::new();
        let evm = self.evm.truth.chain();
        for block in (0..=evm.head().header.number).filter_map(|number| evm.block(number)) {
            for one in &block.body {
                let (hash, time_ms) = (*one.tx.tx_hash(), block.header.time_ms);
                let logs = one.receipt.result.logs();
                note_charges(&mut charges, Side::Evm, hash, time_ms, logs);
            }
        }
        let tron = self.tron.truth.node().chain();
        for block in (0..=tron.head().header.number).filter_map(|number| tron.block(number)) {
            for one in block.body.iter().filter(|one| one.receipt.succeeded()) {
                let (hash, time_ms) = (one.tx.id, block.header.time_ms);
                note_charges(&mut charges, Side::Tron, hash, time_ms, &one.receipt.logs);
            }
        }
        charges
    }

    /// Returns true if a transaction succeeded in a block that nobody can undo; none if it is in no such block.
    pub(crate) fn fate(&self, side: Side, hash: B256) -> Option<bool> {
        match side {
            Side::Evm => {
                let place = self.evm.truth.chain().find(&hash)?;
                Some(place.included().receipt.result.is_success())
            }
            Side::Tron => {
                let place = self.tron.truth.node().chain().find(&hash)?;
                Some(place.included().receipt.succeeded())
            }
        }
    }
}

/// The dice of a seed, which know what its world has, and its scene.
fn setting(seed: u64, rules: Rules) -> (Dice, Scene) {
    let Rules { mutant, only, .. } = rules;
    let mut dice = Dice::new(seed);
    let mut scene = Scene::of(seed, mutant);
    // Half of all worlds are as hard as one in which some rule is broken, with that rule in force.
    let hard = mutant.or_else(|| dice.one_in(2).then(|| Mutant::any(&mut dice)));
    for (fault, rate) in hard.map(Mutant::demands).unwrap_or_default() {
        dice.demand(*fault, *rate);
    }
    // The only chain that is billed on is there throughout, and nothing else changes.
    if let Some(only) = only {
        let stays = |(side, change): &(Side, Change)| *side == only && *change != Change::Removed;
        scene.change = scene.change.filter(stays);
    }
    crate::narrowed_worlds::narrow(&mut dice, &mut scene, rules);
    (dice, scene)
}

/// Coins of the signing accounts in the beginning.
fn tanks(towns: &Towns) -> [U256; 2] {
    let who = biller(0).address();
    let evm = towns.evm.chain().head_state().balance(&who);
    [evm, towns.tron.node().chain().head_state().balance(&who)]
}

fn note_charges(charges: &mut Charges, side: Side, hash: B256, time_ms: u64, logs: &[EventLog]) {
    for log in logs {
        let Ok(moved) = Careless::Moved::decode_log(log) else { continue };
        let charge = Charge { tag: moved.tag, contract: log.address, hash, at_s: time_ms / 1000 };
        charges.entry((side, moved.subscribeId, moved.period)).or_default().push(charge);
    }
}
