//! From what each node testified to what became of one place in the account's line: a pure function.
//!
//! Only presence counts: a transaction that took the place, in a block that is canonical and final
//! for the node that shows it, and the same one at as many nodes as have to agree. An error or a silence is
//! no part of a testimony, so nothing can be concluded from one. One absence is: that a whole final block in
//! which the account's nonce passes the place holds no transaction with it. It ends a batch and frees nothing.

use alloy::primitives::{B256, Log, U256};
use billing::{BlockRef, CallEnding, Landed, TxRecord};
pub use evm_node::{Block, Identified, TxCall};
use node::shared;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// The fate of a transaction, as a node tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The number of the block that it is in.
    pub block: u64,
    /// The hash of that block.
    pub block_hash: B256,
    /// True if the transaction succeeded.
    pub succeeded: bool,
    /// The logs of the transaction's contracts.
    pub logs: Vec<Log>,
}

/// The testimony of one node in one look. Questions that the node did not answer are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EvmTestimony {
    /// The number of its newest block.
    pub head: u64,
    /// The number of the account's transactions that the node counts up to there.
    pub taken: Option<u64>,
    /// The number of its newest final block.
    pub final_block: u64,
    /// The number of the account's transactions that the node counts up to that block, asked by number.
    pub settled: Option<u64>,
    /// The receipts of our attempts, and of the transactions that the node identified.
    pub receipts: BTreeMap<B256, Receipt>,
    /// The blocks that it holds at the numbers that its receipts name.
    pub canonical: BTreeMap<u64, Block>,
    /// The takers that the node identified, by place.
    pub identified: BTreeMap<u64, Identified>,
    /// The costs of transactions, as the node's receipts tell: gas, and wei. They decide nothing.
    pub costs: BTreeMap<B256, (u64, U256)>,
}

/// The transaction that took a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taker {
    /// Its hash.
    pub hash: B256,
    /// The block that it is in.
    pub block: Block,
    /// True if the transaction succeeded.
    pub succeeded: bool,
    /// The logs of the transaction's contracts.
    pub logs: Vec<Log>,
    /// The action that the transaction asked for; none where that is known already, since the transaction is ours.
    pub call: Option<TxCall>,
    /// The outcome and the cost of the call, which are looked up once it is known who took the place.
    pub record: Option<TxRecord>,
}

/// The fate of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NonceFate {
    /// Nothing took it so far.
    Absent,
    /// Something took it, in a block that can still be undone.
    Included,
    /// Fewer nodes say so than have to agree, and too few contradict: it may be true.
    Shown,
    /// An attempt of ours took it for good.
    Ours(Taker),
    /// Another transaction took it for good.
    Foreign(Taker),
    /// It is used for good as of this block, and no transaction took it.
    UsedUp(Block),
    /// It is taken in some block, no node shows an attempt of ours, and none knows whether it is taken
    /// for good.
    Unwitnessed,
    /// It is taken for good, and too few nodes show the record of who took it.
    Unrecorded,
    /// Too few nodes told enough.
    Unclear,
    /// Nodes tell different things of who took it, or of what that did, in blocks that they call final.
    Disputed,
}

/// Returns a block as what decided a batch.
pub fn decided(block: &Block) -> BlockRef {
    BlockRef { number: block.number, time: block.time, hash: Some(block.hash) }
}

/// The conclusion from what the nodes say together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvmConclusion {
    /// The fate of the place.
    pub fate: NonceFate,
    /// The nodes that contradict the fate: places in the list of testimonies. They name another transaction, or
    /// tell another tale of the same one, in a block that they call final.
    pub liars: Vec<usize>,
    /// The nodes that tell what others contradict, while too few agree to know who is right: places in the list of
    /// testimonies.
    pub disputing: Vec<usize>,
}

/// Concludes what became of the place `position`, for which `attempts` were signed. `quorum` nodes
/// have to tell the same of its taker before it counts.
pub fn conclude<T: Borrow<EvmTestimony>>(
    position: u64,
    attempts: &[B256],
    said: &[T],
    quorum: usize,
) -> EvmConclusion {
    let quorum = quorum.max(1);
    let said: Vec<&EvmTestimony> = said.iter().map(Borrow::borrow).collect();
    let told: Vec<TakerTold> = said.iter().map(|node| node.taker(position, attempts)).collect();
    match agreed(&told, quorum) {
        Agreed::On(taker) => {
            let contradicts = |told: &TakerTold| match told {
                TakerTold::Taker(other) => other.as_ref() != taker,
                TakerTold::TwoTales => true,
                TakerTold::Nothing => false,
            };
            let liars = places(&told, contradicts);
            let ours = attempts.contains(&taker.hash);
            let taker = taker.clone();
            let fate = if ours { NonceFate::Ours(taker) } else { NonceFate::Foreign(taker) };
            EvmConclusion { fate, liars, disputing: vec![] }
        }
        Agreed::Twice => disputed(&told),
        Agreed::No => {
            let fate = undecided(position, attempts, &said, quorum);
            let contradicted = match fate {
                // One that shows a taker contradicts those who say that there is none.
                NonceFate::UsedUp(_) => told.iter().any(|told| !matches!(told, TakerTold::Nothing)),
                NonceFate::Included | NonceFate::Unrecorded | NonceFate::Unclear => {
                    contradictory(&told)
                }
                NonceFate::Absent
                | NonceFate::Shown
                | NonceFate::Ours(_)
                | NonceFate::Foreign(_)
                | NonceFate::Unwitnessed
                | NonceFate::Disputed => false,
            };
            if contradicted {
                return disputed(&told);
            }
            EvmConclusion { fate, liars: vec![], disputing: vec![] }
        }
    }
}

fn disputed(told: &[TakerTold]) -> EvmConclusion {
    let disputing = places(told, |told| !matches!(told, TakerTold::Nothing));
    EvmConclusion { fate: NonceFate::Disputed, liars: vec![], disputing }
}

fn places(told: &[TakerTold], which: impl Fn(&TakerTold) -> bool) -> Vec<usize> {
    (0..).zip(told).filter(|(_, told)| which(told)).map(|(at, _)| at).collect()
}

/// Returns true if two nodes name different takers, or tell different things of one, or one node names two.
fn contradictory(told: &[TakerTold]) -> bool {
    let mut takers = told.iter().filter_map(TakerTold::taker);
    let first = takers.next();
    takers.any(|other| Some(other) != first)
        || told.iter().any(|t| matches!(t, TakerTold::TwoTales))
}

/// Returns the fate of a place that no agreed transaction took for good. None of these fates frees a claim.
fn undecided(position: u64, attempts: &[B256], said: &[&EvmTestimony], quorum: usize) -> NonceFate {
    let settled = said.iter().filter(|node| node.settled.is_some_and(|nonce| nonce > position));
    if settled.count() >= quorum {
        let by_nobody = said.iter().filter_map(|node| node.used_up(position));
        let agreed = shared(&by_nobody.collect::<Vec<_>>(), quorum).copied();
        return agreed.map_or(NonceFate::Unrecorded, NonceFate::UsedUp);
    }
    let showing = said.iter().enumerate().filter(|(at, node)| {
        node.shows_since(position, attempts)
            .is_some_and(|since| !refuted(position, since, *at, said, quorum))
    });
    match showing.count() {
        0 => {}
        few if few < quorum => return NonceFate::Shown,
        _ => return NonceFate::Included,
    }
    let absent = said.iter().any(|node| node.taken.is_some_and(|nonce| nonce <= position));
    if absent { NonceFate::Absent } else { NonceFate::Unclear }
}

/// Returns true if as many other nodes as have to agree have seen the block that a node speaks of, and count fewer
/// transactions: then the node lags on a fork, or lies.
fn refuted(position: u64, since: u64, at: usize, said: &[&EvmTestimony], quorum: usize) -> bool {
    let denies = |(other, node): &(usize, &&EvmTestimony)| {
        *other != at && node.head >= since && node.taken.is_some_and(|nonce| nonce <= position)
    };
    said.iter().enumerate().filter(denies).count() >= quorum.max(2)
}

/// The taker of a place for good, as one node tells.
#[derive(Debug)]
enum TakerTold {
    Taker(Box<Taker>),
    /// Two transactions, which cannot be.
    TwoTales,
    Nothing,
}

enum Agreed<'a> {
    On(&'a Taker),
    /// Several times, on different things.
    Twice,
    No,
}

fn agreed(told: &[TakerTold], quorum: usize) -> Agreed<'_> {
    let takers: Vec<&Taker> = told.iter().filter_map(TakerTold::taker).collect();
    let mut agreed_on =
        takers.iter().filter(|one| takers.iter().filter(|other| other == one).count() >= quorum);
    match agreed_on.next() {
        None => Agreed::No,
        Some(first) if agreed_on.all(|other| other == first) => Agreed::On(first),
        Some(_) => Agreed::Twice,
    }
}

impl TakerTold {
    fn taker(&self) -> Option<&Taker> {
        match self {
            Self::Taker(taker) => Some(taker),
            Self::TwoTales | Self::Nothing => None,
        }
    }
}

impl EvmTestimony {
    /// The transaction that took the place, in a block that is canonical and final for this node.
    fn taker(&self, position: u64, attempts: &[B256]) -> TakerTold {
        let mut takers = self.candidates(position, attempts).into_iter().filter_map(|hash| {
            let (receipt, block) = self.landed(hash)?;
            (block.number <= self.final_block).then(|| Taker {
                hash,
                block,
                succeeded: receipt.succeeded,
                logs: receipt.logs.clone(),
                call: self.call(position, hash).filter(|_| !attempts.contains(&hash)).cloned(),
                record: None,
            })
        });
        match (takers.next(), takers.next()) {
            (None, _) => TakerTold::Nothing,
            (Some(taker), None) => TakerTold::Taker(Box::new(taker)),
            (Some(_), Some(_)) => TakerTold::TwoTales,
        }
    }

    /// The final block as of which the place is used by no transaction, if this node says so.
    fn used_up(&self, position: u64) -> Option<Block> {
        match self.identified.get(&position) {
            Some(Identified::Nobody(block)) => {
                Some(*block).filter(|at| at.number <= self.final_block)
            }
            Some(Identified::Transaction { .. }) | None => None,
        }
    }

    /// The block since which this node shows the place as taken, if it does.
    fn shows_since(&self, position: u64, attempts: &[B256]) -> Option<u64> {
        let seen = self.candidates(position, attempts).into_iter();
        let seen = seen.filter_map(|hash| self.landed(hash)).map(|(_, block)| block.number).min();
        seen.or_else(|| self.taken.filter(|nonce| *nonce > position).map(|_| self.head))
    }

    /// Returns the node's receipt of a transaction, if the transaction is in the block that the node holds there.
    pub fn landed(&self, hash: B256) -> Option<(&Receipt, Block)> {
        let receipt = self.receipts.get(&hash)?;
        let block = self.canonical.get(&receipt.block)?;
        let holds = block.number == receipt.block && block.hash == receipt.block_hash;
        holds.then_some((receipt, *block))
    }

    fn candidates(&self, position: u64, attempts: &[B256]) -> BTreeSet<B256> {
        let mut hashes: BTreeSet<B256> = attempts.iter().copied().collect();
        if let Some(Identified::Transaction { hash, .. }) = self.identified.get(&position) {
            hashes.insert(*hash);
        }
        hashes
    }

    fn call(&self, position: u64, hash: B256) -> Option<&TxCall> {
        match self.identified.get(&position) {
            Some(Identified::Transaction { hash: found, call }) if *found == hash => Some(call),
            Some(Identified::Transaction { .. } | Identified::Nobody(_)) | None => None,
        }
    }
}

impl Taker {
    /// Takes down what it cost, if as many nodes as have to agree tell the same. `limit` is the gas that
    /// it had, where that is known.
    pub fn look_up<T: Borrow<EvmTestimony>>(
        &mut self,
        said: &[T],
        quorum: usize,
        limit: Option<u64>,
    ) {
        let told: Vec<_> =
            said.iter().filter_map(|node| node.borrow().costs.get(&self.hash)).collect();
        let agreed = |one: &&&(u64, U256)| told.iter().filter(|two| two == one).count() >= quorum;
        let Some((used, fee)) = told.iter().find(agreed).map(|cost| **cost) else { return };
        let ending = match self.succeeded {
            true => CallEnding::Success,
            false if limit == Some(used) => CallEnding::OutOfGas,
            false => CallEnding::Revert,
        };
        self.record = Some(TxRecord { ending, message: None, used, fee });
    }

    /// Returns where the transaction landed for good.
    pub fn landed(&self) -> Landed {
        let block = decided(&self.block);
        Landed { hash: self.hash, block, record: self.record.clone() }
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
