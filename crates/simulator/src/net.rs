//! The nodes of one chain: one that makes the blocks, and others that hear of them late, stay on forks
//! that lost, and have pools of their own.

use crate::dice::{Dice, Fault, Log};
use alloy::primitives::B256;
use sandbox_chains::chain::{Family, Orphans, Pending};
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::tron::cpu::Cpu;
use sandbox_chains::tron::tx::Tx;
use sandbox_chains::tron::witness::Election;
use sandbox_chains::tron::{Tron, TronNode};
use std::fmt::Debug;
use std::sync::Arc;

/// Steps of a call that are always allowed in a block, and never more.
const TIGHT_BLOCK: [u64; 2] = [5_000, 16_000];

/// The same of a call that is only asked about.
const TIGHT_CALL: [u64; 2] = [5_000, 18_000];

/// For so many slots blocks may take nothing but what can land in no later one.
const HELD: u64 = 30;

/// A node of either family.
pub(crate) trait Member: Clone + Debug + Send + 'static {
    type Family: Family + Clone;

    fn node(&self) -> &Node<Self::Family>;

    /// Another node that has seen the same blocks.
    fn split(&self) -> Self;

    /// Makes a block of what waits.
    fn produce(&self);

    /// Passes everything that waits here on to another node.
    fn pass_on(&self, to: &Self);

    /// Returns true if all that waits here can also land in the block after the next one.
    fn has_time(&self) -> bool;
}

impl Member for Node<Evm> {
    type Family = Evm;

    fn node(&self) -> &Self {
        self
    }

    fn split(&self) -> Self {
        Self::split(self)
    }

    fn produce(&self) {
        self.step();
    }

    fn pass_on(&self, to: &Self) {
        let waiting: Vec<_> = self.chain().pool().iter().cloned().collect();
        for Pending { tx, .. } in waiting.into_iter().filter(|one| !knows(to, &one.id)) {
            // One that the other does not want stays here.
            Evm::admit(&mut to.chain(), tx).ok();
        }
    }

    /// On EVM nothing ends that waits.
    fn has_time(&self) -> bool {
        true
    }
}

impl Member for TronNode {
    type Family = Tron;

    fn node(&self) -> &Node<Tron> {
        self.node()
    }

    fn split(&self) -> Self {
        Self::split(self)
    }

    fn produce(&self) {
        self.step();
    }

    fn pass_on(&self, to: &Self) {
        let waiting: Vec<_> = self.node().chain().pool().iter().cloned().collect();
        for Pending { tx, .. } in waiting.into_iter().filter(|one| !knows(to.node(), &one.id)) {
            to.broadcast(tx).ok();
        }
    }

    fn has_time(&self) -> bool {
        let chain = self.node().chain();
        let next_ms = chain.head().header.time_ms + chain.clock().slot_ms();
        let ends_ms = |tx: &Tx| u64::try_from(tx.raw().expiration).unwrap_or(0);
        chain.pool().iter().all(|one| ends_ms(&one.tx) > next_ms)
    }
}

/// Returns true if a transaction waits at a node, or is on its chain.
fn knows<F: Family>(node: &Node<F>, id: &B256) -> bool {
    let chain = node.chain();
    chain.pool().get(id).is_some() || chain.find(id).is_some()
}

/// All nodes of one chain.
#[derive(Debug)]
pub(crate) struct Net<M: Member> {
    /// Name of the chain in the log.
    pub(crate) name: &'static str,
    /// The chain as it really is.
    pub(crate) truth: M,
    /// Those that are asked.
    pub(crate) members: Vec<M>,
    /// Number of blocks that each node is behind.
    behind: Vec<u64>,
    /// Until when each hears of no new block.
    stuck_until_ms: Vec<u64>,
    /// The node that goes on with a chain of its own.
    forked: Option<usize>,
    /// Until when nothing that waits at a node gets further.
    cut_until_ms: u64,
    /// Until when blocks take nothing but what can land in no later one.
    held_until_ms: u64,
    slot_ms: u64,
    /// When the next block is due.
    due_ms: u64,
}

impl<M: Member> Net<M> {
    /// Nodes over a copy of the chain as it was founded.
    pub(crate) fn new(name: &'static str, founded: &M, many: usize) -> Self {
        let truth = founded.split();
        let members = (0..many).map(|_| truth.split()).collect();
        let (slot_ms, head_ms) = {
            let chain = truth.node().chain();
            (chain.clock().slot_ms(), chain.head().header.time_ms)
        };
        let (behind, stuck_until_ms) = (vec![0; many], vec![0; many]);
        let (forked, due_ms) = (None, head_ms + slot_ms);
        Self {
            name,
            truth,
            members,
            behind,
            stuck_until_ms,
            forked,
            cut_until_ms: 0,
            held_until_ms: 0,
            slot_ms,
            due_ms,
        }
    }

    /// Returns true if a transaction is in a block that nobody undoes.
    pub(crate) fn is_final(&self, hash: &B256) -> bool {
        let final_block = self.final_block();
        let chain = self.truth.node().chain();
        chain.find(hash).is_some_and(|place| place.block.header.number <= final_block)
    }

    /// The newest block that nobody undoes, and whether the one of this number holds a transaction, if one is meant.
    pub(crate) fn final_and_in(&self, hash: Option<&B256>, number: u64) -> (u64, bool) {
        let final_block = self.final_block();
        let chain = self.truth.node().chain();
        let holds = |hash| chain.find(hash).is_some_and(|it| it.block.header.number == number);
        (final_block, hash.is_none_or(holds))
    }

    /// The newest block that any node of the true chain calls final: they move on by several at once, and not together.
    fn final_block(&self) -> u64 {
        let truth = self.truth.node().chain();
        let agreed = self.members.iter().filter_map(|member| {
            let solid = Arc::clone(member.node().chain().solid());
            let same = truth.block(solid.header.number).is_some_and(|block| block.id == solid.id);
            same.then_some(solid.header.number)
        });
        agreed.fold(truth.solid().header.number, u64::max)
    }

    /// The time of the newest block that nobody undoes (ms).
    pub(crate) fn final_ms(&self) -> u64 {
        let number = self.final_block();
        let chain = self.truth.node().chain();
        chain.block(number).map_or(0, |block| block.header.time_ms)
    }

    /// The head's number and its time (ms).
    pub(crate) fn head(&self) -> (u64, u64) {
        let chain = self.truth.node().chain();
        let header = &chain.head().header;
        (header.number, header.time_ms)
    }

    /// Lets time pass up to now.
    pub(crate) fn turn(&mut self, now_ms: u64, dice: &mut Dice, log: &mut Log) {
        self.gossip(now_ms, dice, log);
        if now_ms >= self.due_ms {
            self.due_ms += self.slot_ms;
            if dice.strikes(Fault::BlockMissed) {
                log.note(now_ms, self.name, Fault::BlockMissed.word(), 0);
                return;
            }
            self.undo(now_ms, dice, log);
            self.block(now_ms, dice, log);
            if let Some(liar) = self.forked {
                // Its blocks are as many, and hold nothing.
                let own = self.members[liar].node();
                let head_ms = own.chain().head().header.time_ms;
                own.skip((now_ms.saturating_sub(head_ms) / self.slot_ms).saturating_sub(1));
                own.chain().step_empty();
            }
        }
        self.spread(now_ms, dice, log);
    }

    fn block(&mut self, now_ms: u64, dice: &mut Dice, log: &mut Log) {
        let (_, head_ms) = self.head();
        let missed = (now_ms.saturating_sub(head_ms) / self.slot_ms).saturating_sub(1);
        self.truth.node().skip(missed);
        if dice.strikes(Fault::LastSlot) {
            log.note(now_ms, self.name, Fault::LastSlot.word(), 0);
            self.hold(now_ms);
        }
        if now_ms < self.cut_until_ms {
            // The producer of blocks takes nothing from pools either.
            self.truth.node().chain().step_empty();
        } else if now_ms < self.held_until_ms && self.truth.has_time() {
            self.truth.node().chain().step_empty();
        } else if dice.strikes(Fault::EmptySlot) {
            log.note(now_ms, self.name, Fault::EmptySlot.word(), 0);
            self.truth.node().chain().step_empty();
        } else {
            self.truth.produce();
        }
    }

    /// From now on blocks take nothing for a while but what can land in no later one.
    pub(crate) fn hold(&mut self, now_ms: u64) {
        self.held_until_ms = now_ms + HELD * self.slot_ms;
    }

    fn undo(&self, now_ms: u64, dice: &mut Dice, log: &mut Log) {
        if !dice.strikes(Fault::Reorg) {
            return;
        }
        let depth = 1 + dice.below(self.truth.node().chain().settings().lag);
        let depth = depth.min(self.head().0 - self.final_block());
        let orphans = if dice.one_in(2) { Orphans::Return } else { Orphans::Lose };
        let removed = self.truth.node().reorg(depth, orphans);
        let held = removed.iter().any(|block| !block.body.is_empty());
        log.note(
            now_ms,
            self.name,
            if held { "reorganisation of ours" } else { "reorganisation" },
            depth,
        );
        for _ in 1..removed.len() {
            if dice.one_in(2) {
                self.truth.produce();
            } else {
                self.truth.node().chain().step_empty();
            }
        }
    }

    /// Transactions wander from pool to pool.
    fn gossip(&mut self, now_ms: u64, dice: &mut Dice, log: &mut Log) {
        if now_ms < self.cut_until_ms {
            return;
        }
        if dice.strikes(Fault::CutOff) {
            log.note(now_ms, self.name, Fault::CutOff.word(), 0);
            self.cut_until_ms = now_ms + 1000 * (60 + dice.below(30));
        }
        for member in &self.members {
            if member.node().chain().pool().is_empty() {
                continue;
            }
            if dice.strikes(Fault::PoolForgets) {
                log.note(now_ms, self.name, Fault::PoolForgets.word(), 0);
                member.node().chain().pool_mut().clear();
            } else if dice.strikes(Fault::NotPassedOn) {
                log.note(now_ms, self.name, Fault::NotPassedOn.word(), 0);
            } else {
                member.pass_on(&self.truth);
                let other = dice.place(self.members.len());
                member.pass_on(&self.members[other]);
            }
        }
        if !self.truth.node().chain().pool().is_empty() && dice.strikes(Fault::PoolForgets) {
            log.note(now_ms, self.name, Fault::PoolForgets.word(), 1);
            self.truth.node().chain().pool_mut().clear();
        }
    }

    /// The nodes hear of the newest blocks, or do not.
    fn spread(&mut self, now_ms: u64, dice: &mut Dice, log: &mut Log) {
        let (head, _) = self.head();
        for at in 0..self.members.len() {
            if dice.one_in(8) {
                self.behind[at] = 0;
                if dice.strikes(Fault::Lagging) {
                    self.behind[at] = 1 + dice.below(self.slowest());
                    log.note(now_ms, self.name, Fault::Lagging.word(), self.behind[at]);
                }
                if dice.strikes(Fault::StuckOnFork) {
                    self.stuck_until_ms[at] = now_ms + 1000 * dice.below(20);
                    log.note(now_ms, self.name, Fault::StuckOnFork.word(), 0);
                }
            }
            if now_ms >= self.stuck_until_ms[at] && self.forked != Some(at) {
                let height = head.saturating_sub(self.behind[at]);
                let truth = self.truth.node().chain();
                self.members[at].node().chain().follow(&truth, height);
            }
        }
    }

    fn slowest(&self) -> u64 {
        self.truth.node().chain().settings().lag + 2
    }

    /// Returns true if a node goes on with a chain of its own.
    pub(crate) fn is_forked(&self) -> bool {
        self.forked.is_some()
    }

    /// From now on nothing is late any more, and there is one chain.
    pub(crate) fn heal(&mut self) {
        if let Some(liar) = self.forked.take() {
            self.members[liar] = self.truth.split();
            self.members[liar].node().chain().pool_mut().clear();
        }
        (self.cut_until_ms, self.held_until_ms) = (0, 0);
        self.behind.fill(0);
        self.stuck_until_ms.fill(0);
    }
}

impl Net<TronNode> {
    /// From now on nodes and blocks stop calls that take long, if that is wanted.
    pub(crate) fn tighten(&self, seed: Option<u64>) {
        let Some(seed) = seed else { return };
        let cpu = Cpu { block: TIGHT_BLOCK, call: TIGHT_CALL, seed };
        for node in self.members.iter().chain([&self.truth]) {
            node.node().chain().family_mut().cpu = cpu;
        }
    }

    /// From now on one node makes blocks by itself, signed by so many of the witnesses, or by all.
    pub(crate) fn fork(&mut self, liar: usize, all: bool, signers: usize) {
        self.forked = Some(liar);
        if !all {
            let mut chain = self.members[liar].node().chain();
            let from_ms = chain.head().header.time_ms + 1;
            let family = chain.family_mut();
            let witnesses = family.witnesses.iter().take(signers).copied().collect();
            family.elections.push(Election { from_ms, witnesses });
        }
    }
}
