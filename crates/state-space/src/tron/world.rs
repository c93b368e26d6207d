//! A state of the world: the chain, the transactions that have left the process, the journal and a copy of it, the
//! process.
//!
//! Blocks come at equal times, so the number of a block tells its time, and clocks are right.

use super::past::Past;
use crate::process::{GateState, Setting};
use crate::subscriptions::Subscriptions;
use crate::transactions::{Landing, TxId};
use billing::BatchState;
use std::collections::BTreeSet;

/// Time from one block to the next, ms: longer than the 15 s after which new blocks are read while a batch waits.
const BLOCK_MS: u64 = 20_000;

/// The number of blocks after the newest one in which a transaction that is signed now can land.
pub(crate) const LIFE: u8 = 1;

/// Returns the time of the block with this number, Unix ms.
pub(crate) fn time_ms(number: u8) -> u64 {
    u64::from(number).saturating_mul(BLOCK_MS)
}

/// Returns the first block at or after this time, Unix ms.
pub(crate) fn block_from(ms: u64) -> u8 {
    u8::try_from(ms.div_ceil(BLOCK_MS)).unwrap_or(u8::MAX)
}

/// A signed transaction of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tx {
    /// The subscriptions that it charges if it succeeds.
    pub(crate) charges: Subscriptions,
    /// The block that it builds on, which cannot be undone.
    pub(crate) built_on: u8,
    /// The block whose time is its expiration: the last one that it can land in.
    pub(crate) expires: u8,
}

/// A batch in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    pub(crate) charges: Subscriptions,
    pub(crate) first: TxId,
    /// The other attempts, oldest first. Each was signed when those before it were dead.
    pub(crate) later: Vec<TxId>,
    pub(crate) state: BatchState,
    /// The block that ended it.
    pub(crate) ended_in: Option<u8>,
    /// The claims that it holds.
    pub(crate) held: Subscriptions,
    /// The claims that pass to it when another batch lets them go.
    pub(crate) waiting: Subscriptions,
    /// True if it was learnt from the chain.
    pub(crate) learnt: bool,
    /// True if this process has signed the newest attempt, and may be about to send it.
    pub(crate) is_fresh: bool,
}

impl Batch {
    /// The attempts, oldest first.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = TxId> + '_ {
        std::iter::once(self.first).chain(self.later.iter().copied())
    }

    pub(crate) fn newest(&self) -> TxId {
        self.later.last().copied().unwrap_or(self.first)
    }
}

/// The journal: what a crash leaves. Times are those of blocks, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Journal {
    pub(crate) batches: Vec<Batch>,
    /// True if the lane may have forgotten something. Since when is not in it: all blocks are read.
    pub(crate) in_doubt: bool,
    /// When the lane was opened, or had learnt everything, Unix ms.
    pub(crate) learnt_ms: i64,
    /// The past that no process has reconciled yet.
    pub(crate) unreconciled: Option<Past>,
}

impl Journal {
    pub(crate) fn held(&self) -> Subscriptions {
        self.batches.iter().fold(Subscriptions::NONE, |all, batch| all.and(batch.held))
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.batches).filter(|(_, b)| b.state == BatchState::Open).map(|(at, _)| at)
    }

    pub(crate) fn knows(&self, tx: TxId) -> bool {
        self.batches.iter().any(|batch| batch.attempts().any(|attempt| attempt == tx))
    }

    /// Until when the journal knows for sure what the account did, Unix ms.
    pub(crate) fn known_ms(&self) -> i64 {
        let ends = self.batches.iter().filter(|batch| batch.state != BatchState::Expired);
        let newest = ends.filter_map(|batch| batch.ended_in).max();
        let newest_ms = newest.map(|block| i64::try_from(time_ms(block)).unwrap_or(i64::MAX));
        newest_ms.map_or(self.learnt_ms, |ms| ms.max(self.learnt_ms))
    }
}

/// The end of the process before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum EndBefore {
    /// It closed the journal.
    Closed,
    /// It was killed, or the journal is a copy.
    Killed,
}

/// The memory of a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) gate: GateState,
    /// The past that it found, and how far that is checked.
    pub(crate) past: Past,
    /// The first look; none before that.
    pub(crate) began: Option<Began>,
    /// The last block in which something can be that the lane has forgotten; none while that is not read.
    pub(crate) reads_until: Option<u8>,
}

/// The first look of a process, in numbers of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Began {
    /// The newest block that nobody could undo: later ones are read.
    pub(crate) solid: u8,
    /// The last block in which something can land that was signed before.
    pub(crate) dead_after: u8,
}

/// The events that are still to come, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// The number of the last block.
    pub blocks: u8,
    /// The transactions that are signed.
    pub transactions: u8,
    /// The ends of the process without warning.
    pub crashes: u8,
    /// The copies of the journal that are made, and put back.
    pub copies: u8,
    /// The blocks that are undone.
    pub reorganisations: u8,
    /// The changes of a setting.
    pub changes: u8,
}

/// A state of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub(crate) txs: Vec<Tx>,
    /// Block 1 and those after it, each with at most one transaction.
    pub(crate) blocks: Vec<Option<Landing>>,
    /// The newest block that cannot be undone.
    pub(crate) solid: u8,
    /// The transactions that have left the process. Each can land until it expires.
    pub(crate) sent: BTreeSet<TxId>,
    pub(crate) journal: Journal,
    /// A copy of the journal, and when it was made, Unix ms.
    pub(crate) copy: Option<(Journal, i64)>,
    pub(crate) process: Process,
    pub(crate) setting: Setting,
    pub(crate) left: Budget,
}

impl World {
    /// A process has begun with a new journal.
    pub(crate) fn new(left: Budget) -> Self {
        Self {
            txs: vec![],
            blocks: vec![],
            solid: 0,
            sent: BTreeSet::new(),
            journal: Journal { batches: vec![], in_doubt: false, learnt_ms: 0, unreconciled: None },
            copy: None,
            process: Process::with(Past::default()),
            setting: Setting::SignsAgain,
            left,
        }
    }

    pub(crate) fn tx(&self, id: TxId) -> Option<&Tx> {
        self.txs.get(usize::from(id.0))
    }

    /// The number of the newest block.
    pub(crate) fn height(&self) -> u8 {
        u8::try_from(self.blocks.len()).unwrap_or(u8::MAX)
    }

    /// The transaction in a block.
    pub(crate) fn in_block(&self, number: u8) -> Option<Landing> {
        *self.blocks.get(usize::from(number.checked_sub(1)?))?
    }

    /// The transactions in these blocks, each with the number of its block.
    pub(crate) fn landed(
        &self,
        numbers: std::ops::RangeInclusive<u8>,
    ) -> impl Iterator<Item = (u8, Landing)> + '_ {
        numbers.filter_map(|number| Some((number, self.in_block(number)?)))
    }

    /// The block that holds a transaction.
    pub(crate) fn block_of(&self, tx: TxId) -> Option<(u8, Landing)> {
        self.landed(1..=self.height()).find(|(_, landing)| landing.tx == tx)
    }

    /// The time now, Unix ms.
    pub(crate) fn now_ms(&self) -> i64 {
        i64::try_from(time_ms(self.height())).unwrap_or(i64::MAX)
    }

    /// Signs a transaction, if the history has room for one more.
    pub(crate) fn sign(&mut self, charges: Subscriptions) -> Option<TxId> {
        self.left.transactions = self.left.transactions.checked_sub(1)?;
        let id = TxId(u8::try_from(self.txs.len()).ok()?);
        let expires = self.height().saturating_add(LIFE);
        self.txs.push(Tx { charges, built_on: self.solid, expires });
        Some(id)
    }

    /// A process begins that has looked at nothing yet, with a journal whose newest row is of `left_ms`, Unix ms.
    pub(crate) fn begin(&mut self, before: EndBefore, left_ms: i64) {
        for batch in &mut self.journal.batches {
            batch.is_fresh = false;
        }
        let found = Past::found(&self.journal, before, left_ms);
        let past = self.journal.unreconciled.map_or(found, |past| past.found_again(before));
        self.journal.unreconciled = Some(past);
        self.process = Process::with(past);
    }

    /// The number of blocks in which this subscription is charged.
    pub(crate) fn times_charged(&self, one: Subscriptions) -> usize {
        use crate::transactions::Ending;
        let charges = |landing: &Landing| {
            landing.ending == Ending::Succeeded
                && self.tx(landing.tx).is_some_and(|tx| !tx.charges.among(one).is_none())
        };
        self.landed(1..=self.height()).filter(|(_, landing)| charges(landing)).count()
    }
}

impl Process {
    fn with(past: Past) -> Self {
        let gate = GateState::Opening;
        Self { gate, past, began: None, reads_until: None }
    }
}
