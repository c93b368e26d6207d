//! The words of three nodes: one is honest and up to date, one is honest and may lag, one may lie. The content of a
//! block is no word: whoever tells of a block proves it.

use super::world::{Batch, LIFE, World, time_ms};
use crate::transactions::{Ending, Landing, TxId};
use alloy::primitives::B256;
use std::collections::BTreeMap;
use strum::EnumIter;
use tron_node::{CallResult, TronBlock};
use tron_testimony::conclude::{Record, Shown, TronTestimony};

/// The words of the third node in one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter)]
pub(crate) enum Word {
    /// The truth.
    Honest,
    /// Nothing.
    Silent,
    /// Nothing ever landed, and nothing waits.
    Denies,
    /// The newest attempt has charged, and nobody can undo that.
    Charged,
    /// The newest attempt has failed, and nobody can undo that.
    Reverted,
}

/// A look at the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Nodes {
    /// The blocks that the second node lags behind.
    pub(crate) lag: u8,
    /// The words of the third.
    pub(crate) word: Word,
    /// True if a block counts as irrevocable as soon as it is there (a broken rule).
    pub(crate) newest_is_solid: bool,
    /// The number of nodes that have to agree.
    pub(crate) quorum: usize,
    /// The words of honest nodes about their pools.
    pub(crate) pools: Pools,
}

/// The words of honest nodes about the account's transactions in their pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pools {
    /// All that was sent and can land.
    TellAll,
    /// Nothing: they have dropped what can land all the same, by whoever has kept the bytes.
    Forget,
}

/// The blocks by which a look judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heads {
    /// The newest that as many nodes tell of as have to agree.
    pub(crate) newest: u8,
    /// The same of those that nobody can undo.
    pub(crate) solid: u8,
}

/// The blocks that a node has.
#[derive(Clone, Copy)]
struct View {
    newest: u8,
    solid: u8,
}

impl Nodes {
    /// The heads that as many nodes reach as have to agree. A block that is not there cannot be shown.
    pub(crate) fn heads(self, world: &World) -> Heads {
        let views = self.views(world);
        let reached = |of: fn(&View) -> u8| {
            let mut told: Vec<u8> = views.iter().flatten().map(of).collect();
            told.sort_unstable_by(|a, b| b.cmp(a));
            let agreed = self.quorum.checked_sub(1).and_then(|at| told.get(at));
            agreed.copied().unwrap_or(0).min(world.height())
        };
        Heads { newest: reached(|view| view.newest), solid: reached(|view| view.solid) }
    }

    /// The testimonies about a batch. Once it is `expired`, nodes are asked for the records of all its attempts, and
    /// before that for the newest one's, where a block that nobody can undo may hold it.
    pub(crate) fn testify(self, world: &World, batch: &Batch, expired: bool) -> Vec<TronTestimony> {
        let heads = self.heads(world);
        let told = |view: View| honest(world, view, batch, expired, heads.solid);
        let [first, second, third] = self.views(world);
        let lie = |result| {
            let mut testimony = TronTestimony { shown: Shown::In(1), ..TronTestimony::default() };
            let landing = record(heads.solid, result);
            testimony.records.insert(batch.newest().hash(), Some(landing));
            testimony
        };
        let third = match self.word {
            Word::Honest => third.map(told),
            Word::Silent => None,
            Word::Denies => Some(TronTestimony {
                shown: Shown::No,
                records: batch.attempts().map(|tx| (tx.hash(), None)).collect(),
                ..TronTestimony::default()
            }),
            Word::Charged => Some(lie(Ending::Succeeded)),
            Word::Reverted => Some(lie(Ending::Reverted)),
        };
        [first.map(told), second.map(told), third].map(Option::unwrap_or_default).into()
    }

    /// The last time at which the account was used, as any node tells, Unix ms. A use bears the time of the block
    /// before.
    pub(crate) fn last_used_ms(self, world: &World) -> Option<i64> {
        let of = |view: View| {
            let uses = world.landed(1..=view.solid).map(|(number, _)| number).last();
            uses.map(|number| time_ms(number.saturating_sub(1)))
        };
        let latest = self.views(world).into_iter().flatten().filter_map(of).max();
        latest.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX))
    }

    /// The calls of the account that any node tells of in blocks above `after`, and in its pool if that is asked.
    pub(crate) fn calls(self, world: &World, after: u8, pools: bool) -> Vec<TxId> {
        let mut calls = Vec::new();
        for view in self.views(world).into_iter().flatten() {
            let read = after.saturating_add(1)..=view.newest;
            calls.extend(world.landed(read).map(|(_, landing)| landing.tx));
            if pools && self.pools == Pools::TellAll {
                calls.extend(waiting(world, view));
            }
        }
        calls
    }

    fn views(self, world: &World) -> [Option<View>; 3] {
        let of = |lag: u8| {
            let newest = world.height().saturating_sub(lag);
            let solid = world.solid.saturating_sub(lag);
            View { newest, solid: if self.newest_is_solid { newest } else { solid } }
        };
        let boasts = world.height().saturating_add(LIFE);
        let third = match self.word {
            Word::Honest => Some(of(0)),
            Word::Silent => None,
            Word::Denies => Some(View { newest: 0, solid: 0 }),
            Word::Charged | Word::Reverted => Some(View { newest: boasts, solid: boasts }),
        };
        [Some(of(0)), Some(of(self.lag)), third]
    }
}

fn honest(world: &World, view: View, batch: &Batch, expired: bool, solid: u8) -> TronTestimony {
    let mut testimony = TronTestimony::default();
    let newest = batch.newest();
    let landed = |tx, up_to| world.block_of(tx).filter(|(number, _)| *number <= up_to);
    let asked: Vec<TxId> = if expired {
        batch.attempts().collect()
    } else {
        let block = landed(newest, view.newest).map(|(number, _)| number);
        testimony.shown = block.map_or(Shown::No, |number| Shown::In(number.into()));
        block.filter(|number| *number <= solid).map(|_| newest).into_iter().collect()
    };
    testimony.records = asked
        .into_iter()
        .map(|tx| {
            let landing = landed(tx, view.solid);
            (tx.hash(), landing.map(|(number, landing)| record(number, landing.ending)))
        })
        .collect::<BTreeMap<B256, Option<Record>>>();
    testimony
}

fn record(number: u8, ending: Ending) -> Record {
    let result = match ending {
        Ending::Succeeded => CallResult::Succeeded,
        Ending::Reverted => CallResult::Failed,
    };
    Record { block: number.into(), block_time_ms: time_ms(number), result, logs: vec![] }
}

/// The transactions in a node's pool.
fn waiting(world: &World, view: View) -> impl Iterator<Item = TxId> + '_ {
    world.sent.iter().copied().filter(move |tx| {
        let landed = world.block_of(*tx).is_some_and(|(number, _)| number <= view.newest);
        let lives = world.tx(*tx).is_some_and(|tx| tx.expires > view.newest);
        lives && !landed
    })
}

/// The block with this number, as whoever tells of it proves it.
pub(crate) fn block(world: &World, number: u8) -> TronBlock {
    let transactions = world.in_block(number).map(|landing| landing.tx.hash()).into_iter();
    TronBlock {
        id: block_id(world, number),
        number: number.into(),
        parent: number.checked_sub(1).map_or(B256::ZERO, |before| block_id(world, before)),
        time_ms: time_ms(number),
        transactions: transactions.collect(),
    }
}

/// An id that begins with the block's number, as all do, and tells the content of all blocks up to this one.
pub(crate) fn block_id(world: &World, number: u8) -> B256 {
    let mut id = B256::ZERO;
    for (byte, content) in id.0.iter_mut().skip(8).zip(1..=number) {
        *byte = match world.in_block(content) {
            Some(Landing { tx, ending: Ending::Succeeded }) => tx.0.wrapping_add(10),
            Some(Landing { tx, ending: Ending::Reverted }) => tx.0.wrapping_add(100),
            None => 1,
        };
    }
    for (byte, of_number) in id.0.iter_mut().zip(u64::from(number).to_be_bytes()) {
        *byte = of_number;
    }
    id
}
