//! The world outside the process: three nodes with their pools, the builders of blocks, and whoever
//! else holds the key or the bytes. At most one node lies; every call may reach a backend that lags.

use super::chain::{Chain, Done, GAS, Tx, View};
use super::faults::{Dice, Fault};
use super::messages::{ALL_MESSAGES, failed, messages, refuses};
use super::mutants::Mutant;
use super::report::Log;
use crate::billing::{
    AttemptKind, ChargeKey, ChargeTerms, Item, Objection, Period, PlanId, SubscribeId, UserHash,
};
use crate::chain::evm::seam;
use crate::node::Fault as Failure;
use crate::node::NoReply;
use alloy::primitives::{B256, U256, keccak256};
use std::collections::{BTreeMap, BTreeSet};

/// How many nodes there are.
pub(super) const NODES: usize = 3;

/// One provider.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) liar: bool,
    down: bool,
    lag: u64,
    stale: bool,
    pub(super) pool: BTreeMap<u64, B256>,
}

/// All that is not the process and not its disk.
#[derive(Debug)]
pub(super) struct World {
    pub(super) dice: Dice,
    pub(super) log: Log,
    pub(super) mutant: Option<Mutant>,
    pub(super) chain: Chain,
    pub(super) nodes: Vec<Node>,
    /// Every transaction that was ever signed with the key.
    pub(super) txs: BTreeMap<B256, Tx>,
    /// What builders of blocks hold, replaced transactions included.
    builders: BTreeMap<u64, BTreeSet<B256>>,
    /// What has left the process.
    pub(super) sent: BTreeSet<B256>,
    /// What is known to be on disk.
    pub(super) durable: BTreeSet<B256>,
    /// Signed inside the transaction that is open.
    pub(super) signed: Vec<B256>,
    /// The first law that was broken.
    pub(super) broken: Option<String>,
    /// Hashes that callers were given.
    pub(super) answered: Vec<B256>,
    /// What a restored journal does not know any more.
    pub(super) forgotten: BTreeSet<B256>,
}

impl World {
    pub(super) fn new(seed: u64, mutant: Option<Mutant>) -> Self {
        let mut dice = Dice::new(seed);
        let liar = dice.below(4);
        let nodes = (0..NODES as u64).map(|at| Node { liar: at == liar, ..Node::default() });
        if let Some(fault) = mutant.and_then(Mutant::needs) {
            dice.demand(fault);
        }
        // Who restores an old copy asks the pools what it forgot: one of them has to tell.
        if dice.knows(Fault::OldCopy) {
            dice.forbid(Fault::LaggingBackend);
            dice.forbid(Fault::CallerSends);
        }
        // The key was used before the Signer had it.
        let before: Vec<Tx> = (0..dice.below(3)).map(|nonce| foreign(nonce, 20, None)).collect();
        let done = |tx: &Tx| Done { hash: tx.hash, succeeded: true, charged: vec![] };
        let sent: Vec<Done> = before.iter().map(done).collect();
        Self {
            nodes: nodes.collect(),
            chain: Chain::new(&sent),
            dice,
            log: Log::default(),
            mutant,
            txs: before.into_iter().map(|tx| (tx.hash, tx)).collect(),
            builders: BTreeMap::new(),
            sent: BTreeSet::new(),
            durable: BTreeSet::new(),
            signed: vec![],
            broken: None,
            answered: vec![],
            forgotten: BTreeSet::new(),
        }
    }

    /// Whether a fault happens now. It is noted if it does.
    pub(super) fn fault(&mut self, fault: Fault) -> bool {
        let strikes = self.dice.strikes(fault);
        if strikes {
            self.log.note(fault.word(), 0, 0);
        }
        strikes
    }

    pub(super) fn breaks(&mut self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(super) fn note(&mut self, what: &'static str, one: u64, other: u64) {
        self.log.note(what, one, other);
    }

    /// Remembers the first law that was broken.
    pub(super) fn violate(&mut self, law: String) {
        self.broken.get_or_insert(law);
    }

    /// The present, Unix seconds: one a step.
    pub(super) fn now(&self) -> u64 {
        super::chain::GENESIS + 60 + self.log.step
    }

    /// One second of the world outside.
    pub(super) fn turn(&mut self) {
        if self.dice.one_in(8) {
            for at in 0..NODES {
                let (down, lagging) =
                    (self.fault(Fault::NodeDown), self.fault(Fault::LaggingBackend));
                self.nodes[at].down = down;
                self.nodes[at].lag = if lagging { self.dice.below(4) } else { 0 };
                self.nodes[at].stale &= self.dice.one_in(2);
            }
        }
        if self.fault(Fault::FeeSpike) {
            let factor = u128::from(self.dice.below(900) + 150);
            self.chain.base_fee = (self.chain.base_fee * factor / 100).clamp(5, 6000);
        } else if self.dice.one_in(6) {
            self.chain.base_fee =
                (self.chain.base_fee * 70 / 100).max(if self.dice.faults { 5 } else { 1 });
        }
        if self.fault(Fault::GasGone) {
            self.chain.balance = U256::ZERO;
        } else if self.chain.balance.is_zero() && (!self.dice.faults || self.dice.one_in(15)) {
            self.chain.balance = super::chain::plenty();
        }
        if self.forgotten.is_empty() && self.fault(Fault::PoolForgets) {
            let at = usize::try_from(self.dice.below(NODES as u64)).unwrap();
            self.nodes[at].pool.clear();
            if self.dice.one_in(2) {
                self.builders.clear();
            }
        }
        if self.fault(Fault::CallerSends) && !self.answered.is_empty() {
            let hash = self.dice.pick(&self.answered.clone());
            self.offer_to_builders(hash);
        }
        if self.fault(Fault::ForeignUse) {
            self.foreign();
        }
        if self.fault(Fault::Reorg) {
            self.reorg();
        }
        if !self.dice.faults || self.dice.one_in(2) {
            self.mine();
        }
        if !self.fault(Fault::FinalityStalls) {
            self.chain.finalize();
        }
    }

    /// The world is kind from now on.
    pub(super) fn heal(&mut self) {
        self.dice.faults = false;
        // What a liar made somebody bid can land as well.
        self.chain.base_fee = 1;
        self.chain.balance = super::chain::plenty();
        for node in &mut self.nodes {
            (node.liar, node.down, node.lag, node.stale) = (false, false, 0, false);
        }
    }

    /// A restored journal does not know this transaction. What of it has not landed waits in every
    /// pool, and stays there: nobody can know of bytes that no node has.
    pub(super) fn forget(&mut self, hash: B256) {
        self.forgotten.insert(hash);
        let nonce = self.txs[&hash].nonce;
        if nonce >= self.chain.nonce() {
            for node in &mut self.nodes {
                node.pool.insert(nonce, hash);
            }
        }
    }

    fn offer_to_builders(&mut self, hash: B256) {
        let nonce = self.txs[&hash].nonce;
        self.builders.entry(nonce).or_default().insert(hash);
    }

    fn mine(&mut self) {
        let mut nonce = self.chain.nonce();
        let mut txs = vec![];
        while txs.len() < 4 {
            let Some(hash) = self.next_for(nonce) else { break };
            let cost = U256::from(u128::from(GAS) * self.chain.base_fee);
            self.chain.balance = self.chain.balance.saturating_sub(cost);
            let done = self.execute(hash);
            txs.push(done);
            nonce += 1;
            if self.dice.one_in(3) {
                break;
            }
        }
        for done in &txs {
            self.note("mined", short(done.hash), self.chain.head() + 1);
        }
        self.chain.add(self.now(), txs);
        for node in &mut self.nodes {
            node.pool = node.pool.split_off(&nonce);
        }
        self.builders = self.builders.split_off(&nonce);
    }

    /// What a builder takes for a nonce: the highest bid, or just any of those that pay enough.
    fn next_for(&mut self, nonce: u64) -> Option<B256> {
        let pools = self.nodes.iter().filter_map(|node| node.pool.get(&nonce));
        let mut held: BTreeSet<B256> = pools.copied().collect();
        held.extend(self.builders.get(&nonce).into_iter().flatten());
        held.retain(|hash| self.pays(&self.txs[hash]));
        let all: Vec<B256> = held.into_iter().collect();
        if all.len() > 1 && self.fault(Fault::OlderWins) {
            return Some(self.dice.pick(&all));
        }
        all.into_iter().max_by_key(|hash| (self.txs[hash].max_fee, *hash))
    }

    fn pays(&self, tx: &Tx) -> bool {
        let most = U256::from(u128::from(GAS) * tx.max_fee);
        tx.max_fee >= self.chain.base_fee && most <= self.chain.balance
    }

    /// The contract charges whatever lands.
    fn execute(&mut self, hash: B256) -> Done {
        let tx = self.txs[&hash].clone();
        let bills = tx.kind == AttemptKind::Bill;
        let succeeded = !bills || !self.fault(Fault::CallReverts);
        let charged = tx.items.iter().map(|_| succeeded && !self.fault(Fault::ItemFails));
        Done { hash, succeeded, charged: charged.collect() }
    }

    /// Another branch wins. What was in the old one is in some pools again, or in none.
    fn reorg(&mut self) {
        let height = self.chain.head();
        let depth = self.dice.below(8) + 1;
        for hash in self.chain.undo(depth) {
            let nonce = self.txs[&hash].nonce;
            for at in 0..NODES {
                if self.dice.below(3) > 0 || !self.forgotten.is_empty() {
                    self.nodes[at].pool.entry(nonce).or_insert(hash);
                }
            }
            self.note("undone", short(hash), nonce);
        }
        for at in 0..NODES {
            self.nodes[at].stale = self.fault(Fault::StaleFork);
        }
        while self.chain.head() < height {
            if self.dice.one_in(2) { self.mine() } else { self.chain.add(self.now(), vec![]) }
        }
    }

    /// Somebody else signs with the key: for customers that this Signer does not bill, or for none.
    fn foreign(&mut self) {
        let nonce = self.chain.nonce() + self.dice.below(3);
        let bills = self.dice.one_in(2);
        let item = Item {
            subscribe: SubscribeId(900 + i64::try_from(self.txs.len()).unwrap()),
            key: ChargeKey {
                plan: PlanId(1),
                user: UserHash(B256::from(U256::from(self.txs.len() + 9000))),
                period: Period::Numbered(U256::from(1)),
            },
            amount: U256::from(1),
            terms: ChargeTerms::default(),
        };
        let tx = foreign(nonce, self.chain.base_fee * 3, bills.then_some(item));
        let hash = tx.hash;
        self.txs.insert(hash, tx);
        self.offer_to_builders(hash);
        let at = usize::try_from(self.dice.below(NODES as u64)).unwrap();
        self.nodes[at].pool.entry(nonce).or_insert(hash);
    }

    /// From where node `at` answers this one call; none when it does not.
    pub(super) fn call(&mut self, at: usize) -> Option<View> {
        if self.nodes[at].down || self.fault(Fault::NodeSilent) {
            return None;
        }
        let more = if self.fault(Fault::LaggingBackend) { self.dice.below(4) } else { 0 };
        Some(self.chain.view(self.nodes[at].lag + more, self.nodes[at].stale))
    }

    /// Whether node `at` lies in this call.
    pub(super) fn lies(&mut self, at: usize) -> bool {
        self.nodes[at].liar && self.fault(Fault::Lie)
    }

    /// The nonce that a node calls pending.
    pub(super) fn pending(&mut self, at: usize) -> Option<u64> {
        let view = self.call(at)?;
        let mut nonce = self.chain.block(view, view.head)?.nonce;
        while self.nodes[at].pool.contains_key(&nonce) {
            nonce += 1;
        }
        Some(nonce)
    }

    /// Hands bytes to a node.
    pub(super) fn send(&mut self, at: usize, hash: B256) -> seam::Said {
        if !self.durable.contains(&hash) {
            self.violate(format!("I2: {hash} left the process before it was on disk"));
        }
        self.sent.insert(hash);
        let Some(view) = self.call(at) else { return failed(Failure::Lost(NoReply::TimedOut)) };
        if self.lies(at) {
            if self.dice.one_in(2) {
                self.take(at, hash);
            }
            return match self.dice.below(4) {
                0 => Ok(hash),
                1 => Ok(B256::repeat_byte(0xEE)),
                2 => refuses(self.dice.pick(messages(Objection::NonceTaken))),
                _ => refuses(self.dice.pick(&ALL_MESSAGES)),
            };
        }
        let tx = self.txs[&hash].clone();
        if tx.nonce < self.chain.block(view, view.head).map_or(0, |block| block.nonce) {
            return refuses(self.dice.pick(messages(Objection::NonceTaken)));
        }
        if self.fault(Fault::FalseRefusal) {
            return match self.dice.below(5) {
                0 => refuses("a message that nobody has ever seen"),
                1 => failed(self.dice.pick(&[
                    Failure::Http(503),
                    Failure::Http(502),
                    Failure::Lost(NoReply::NoConnection),
                ])),
                _ => refuses(self.dice.pick(&ALL_MESSAGES)),
            };
        }
        if !self.pays(&tx) {
            let poor = U256::from(u128::from(GAS) * tx.max_fee) > self.chain.balance;
            let objection = if poor { Objection::Starved } else { Objection::Underpriced };
            return refuses(self.dice.pick(messages(objection)));
        }
        if let Some(held) = self.nodes[at].pool.get(&tx.nonce).map(|held| &self.txs[held])
            && held.hash != hash
            && tx.max_fee * 100 < held.max_fee * 110
        {
            return refuses(self.dice.pick(messages(Objection::Replaced)));
        }
        self.take(at, hash);
        if self.fault(Fault::SilentAfterTaking) {
            return failed(Failure::Lost(NoReply::Broken));
        }
        Ok(if self.fault(Fault::WrongHash) { B256::repeat_byte(0xEE) } else { hash })
    }

    fn take(&mut self, at: usize, hash: B256) {
        let nonce = self.txs[&hash].nonce;
        self.nodes[at].pool.insert(nonce, hash);
        if self.dice.one_in(2) {
            self.offer_to_builders(hash);
        }
    }
}

/// A transaction that somebody else signed with the key.
fn foreign(nonce: u64, max_fee: u128, charges: Option<Item>) -> Tx {
    let kind = if charges.is_some() { AttemptKind::Bill } else { AttemptKind::Cancel };
    let (items, hash) = (charges.into_iter().collect(), B256::ZERO);
    let mut tx = Tx { hash, nonce, kind, max_fee, tip: 1, items, request: 0, ours: false };
    tx.hash = keccak256(tx.encode());
    tx
}

/// Enough of a hash to recognise it in a trace.
pub(super) fn short(hash: B256) -> u64 {
    U256::from_be_bytes(hash.0).wrapping_to::<u64>() & 0xFFFF_FFFF
}
