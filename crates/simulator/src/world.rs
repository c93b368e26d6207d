//! Everything outside the Signer: both chains with their nodes, the dice, and what has been seen to leave.

use crate::dice::{Dice, Fault, Log};
use crate::mutants::Mutant;
use crate::net::Net;
use crate::town::{CUSTOMERS, Places, Towns, purse};
use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, B256, TxKind};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolEvent as _;
use parking_lot::Mutex;
use sandbox_chains::contracts::Careless;
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::town::wallet;
use sandbox_chains::tron::TronNode;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::Notify;

/// How many nodes each chain has.
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

    /// Its number on the platform.
    pub(crate) fn platform_id(self) -> u32 {
        match self {
            Self::Evm => 139,
            Self::Tron => 195,
        }
    }
}

/// What one charge is: nobody may pay it twice.
pub(crate) type ChargeName = (Side, u64, u32);

/// What is known of a transaction that is on disk.
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
    pub(crate) mutant: Option<Mutant>,
    /// The chain that callers bill on, if it is not both.
    pub(crate) only: Option<Side>,
    pub(crate) evm: Net<Node<Evm>>,
    pub(crate) tron: Net<TronNode>,
    pub(crate) evm_at: Places,
    pub(crate) tron_at: Places,
    /// The one node of each chain that may lie.
    pub(crate) liar: usize,
    /// Which process runs: what an earlier one left behind is not heard any more.
    pub(crate) life: u64,
    /// Whether the process that ran is dead.
    pub(crate) dead: bool,
    /// Told when it dies.
    pub(crate) death: Arc<Notify>,
    /// Everything that was ever committed.
    pub(crate) durable: BTreeMap<B256, Kind>,
    /// Everything that was ever offered to a node by the Signer.
    pub(crate) sent: BTreeSet<B256>,
    /// Transactions whose claims a broken rule sets free at the next write.
    pub(crate) released: Vec<B256>,
    /// How many rows of attempts there were when the transaction that runs began.
    pub(crate) known_attempts: i64,
    /// Whether anything was committed since this was looked at.
    pub(crate) committed: bool,
    /// Whether the next answer that something was sent is told as if nothing had been done.
    pub(crate) denied: bool,
    /// What a restored copy has forgotten.
    pub(crate) forgotten: BTreeSet<B256>,
    /// Bytes that callers were handed.
    pub(crate) handed_out: Vec<(Side, Vec<u8>)>,
    /// The first law that was seen to be broken while the world went on.
    pub(crate) broken: Option<String>,
}

impl World {
    /// The world of a seed.
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>, towns: &Towns) -> Self {
        let mut dice = Dice::new(seed);
        if let Some(fault) = mutant.and_then(Mutant::needs) {
            dice.demand(fault);
        }
        crate::worlds::narrow(&mut dice);
        let evm = Net::new(Side::Evm.name(), &towns.evm, NODES);
        let tron = Net::new(Side::Tron.name(), &towns.tron, NODES);
        let now_ms = evm.head().1.max(tron.head().1);
        let liar = dice.place(NODES);
        Self {
            dice,
            log: Log::default(),
            now_ms,
            mutant,
            only: None,
            evm,
            tron,
            evm_at: towns.evm_at,
            tron_at: towns.tron_at,
            liar,
            life: 0,
            dead: true,
            death: Arc::default(),
            durable: BTreeMap::new(),
            sent: BTreeSet::new(),
            released: vec![],
            known_attempts: 0,
            committed: false,
            denied: false,
            forgotten: BTreeSet::new(),
            handed_out: vec![],
            broken: None,
        }
    }

    /// Whether a rule is broken in this world.
    pub(crate) fn breaks(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Writes down that something happened.
    pub(crate) fn note(&mut self, at: &'static str, what: &'static str, more: u64) {
        self.log.note(self.now_ms, at, what, more);
    }

    /// Whether a fault happens now; it is written down.
    pub(crate) fn fault(&mut self, at: &'static str, fault: Fault) -> bool {
        let strikes = self.dice.strikes(fault);
        if strikes {
            self.note(at, fault.word(), 0);
        }
        strikes
    }

    /// The process ends here and now. Nothing that it still does is seen.
    pub(crate) fn kill(&mut self) {
        self.dead = true;
        self.death.notify_one();
    }

    /// A second passes.
    pub(crate) fn turn(&mut self) {
        self.now_ms += 1000;
        let (now, dice, log) = (self.now_ms, &mut self.dice, &mut self.log);
        self.evm.turn(now, dice, log);
        self.tron.turn(now, dice, log);
        self.mishaps();
    }

    fn mishaps(&mut self) {
        if self.fault("EVM", Fault::FeeSpike) {
            let price = 10_000_000_000 * [1, 3, 12, 40][self.dice.place(4)];
            self.evm.truth.chain().family_mut().base_fee = Some(price);
        }
        for side in Side::ALL {
            if self.fault(side.name(), Fault::CustomerPoor) {
                let who = 1 + self.dice.below(CUSTOMERS);
                let value = if self.dice.one_in(2) { 0 } else { 1_000_000_000_000 };
                self.fill_purse(side, who, value);
            }
        }
        if !self.handed_out.is_empty() && self.fault("both", Fault::CallerSends) {
            let which = self.dice.place(self.handed_out.len());
            let (side, raw) = self.handed_out[which].clone();
            self.send_straight(side, &raw);
        }
    }

    /// Bytes reach whoever makes the blocks.
    pub(crate) fn send_straight(&self, side: Side, raw: &[u8]) {
        match side {
            Side::Evm => {
                if let Some(tx) = sandbox_chains::evm::decode(raw) {
                    Evm::admit(&mut self.evm.truth.chain(), tx).ok();
                }
            }
            Side::Tron => {
                if let Ok(tx) = sandbox_chains::tron::tx::Tx::decode(raw) {
                    self.tron.truth.broadcast(tx).ok();
                }
            }
        }
    }

    fn fill_purse(&self, side: Side, who: u64, value: u64) {
        let owner = wallet("owner").address();
        match side {
            Side::Tron => {
                self.tron.truth.impersonate(owner, self.tron_at.token, purse(who, value));
            }
            Side::Evm => {
                let raw = self.signed(&wallet("owner"), self.evm_at.token, purse(who, value));
                self.send_straight(Side::Evm, &raw);
            }
        }
    }

    /// A transaction on EVM that is not the Signer's.
    pub(crate) fn signed(&self, from: &PrivateKeySigner, to: Address, data: Vec<u8>) -> Vec<u8> {
        let nonce = eth::pool::next_nonce(&self.evm.truth.chain(), &from.address());
        let tx = TxEip1559 {
            chain_id: self.evm_at.chain_id,
            nonce,
            gas_limit: 500_000,
            max_fee_per_gas: 1_000_000_000_000,
            max_priority_fee_per_gas: 1_000_000_000,
            to: TxKind::Call(to),
            input: data.into(),
            ..TxEip1559::default()
        };
        let signature = from.sign_hash_sync(&tx.signature_hash()).expect("a key signs any digest");
        TxEnvelope::from(tx.into_signed(signature)).encoded_2718()
    }

    /// From now on nothing fails any more, and everybody can pay.
    pub(crate) fn heal(&mut self) {
        self.dice.faults = false;
        self.evm.heal();
        self.tron.heal();
        self.evm.truth.chain().family_mut().base_fee = Some(10_000_000_000);
        for side in Side::ALL {
            for who in 1..=CUSTOMERS {
                self.fill_purse(side, who, 1_000_000_000_000);
            }
        }
    }

    /// Every charge that the chains hold: who paid what, and for which requests.
    pub(crate) fn charges(&self) -> BTreeMap<ChargeName, Vec<u64>> {
        let mut charges: BTreeMap<ChargeName, Vec<u64>> = BTreeMap::new();
        for (side, moved) in self.moves() {
            charges.entry((side, moved.subscribeId, moved.period)).or_default().push(moved.tag);
        }
        charges
    }

    /// Every movement of money, oldest first.
    pub(crate) fn moves(&self) -> Vec<(Side, Careless::Moved)> {
        let mut moves = vec![];
        {
            let chain = self.evm.truth.chain();
            for number in 0..=chain.head().header.number {
                let Some(block) = chain.block(number) else { continue };
                let logs = block.body.iter().flat_map(|one| one.receipt.result.logs());
                moves.extend(logs.filter_map(moved).map(|one| (Side::Evm, one)));
            }
        }
        let chain = self.tron.truth.node().chain();
        for number in 0..=chain.head().header.number {
            let Some(block) = chain.block(number) else { continue };
            let included = block.body.iter().filter(|one| one.receipt.succeeded());
            let logs = included.flat_map(|one| &one.receipt.logs);
            moves.extend(logs.filter_map(moved).map(|one| (Side::Tron, one)));
        }
        moves
    }

    /// Whether a transaction is in a block that nobody can undo, and whether it succeeded.
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

fn moved(log: &alloy::primitives::Log) -> Option<Careless::Moved> {
    Careless::Moved::decode_log(log).ok().map(|log| log.data)
}
