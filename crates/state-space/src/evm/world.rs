//! A state of the world: the chain, the transactions that have left the process, the journal and a copy of it, the
//! process.

use crate::process::{GateState, Setting};
use crate::subscriptions::Subscriptions;
use crate::transactions::{Ending, TxId};
use billing::{AttemptKind, BatchState, PlaceTaker};
use std::collections::BTreeSet;

/// A signed transaction of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Tx {
    pub(crate) nonce: u8,
    pub(crate) kind: Kind,
    /// The subscriptions that it charges if it succeeds.
    pub(crate) charges: Subscriptions,
}

/// The effect of a transaction; [`AttemptKind`] has no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bill,
    Cancel,
}

impl From<Kind> for AttemptKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Bill => Self::Bill,
            Kind::Cancel => Self::Cancel,
        }
    }
}

/// The use of a nonce by a block. Each block uses one, so nonces number the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Used {
    /// By this transaction.
    By { tx: TxId, ending: Ending },
    /// By no transaction: an authorization of EIP-7702.
    UpByNone,
}

/// A batch in the journal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    pub(crate) position: u8,
    pub(crate) charges: Subscriptions,
    pub(crate) first: TxId,
    /// The other attempts, oldest first.
    pub(crate) later: Vec<TxId>,
    pub(crate) state: BatchState,
    /// The claims that it holds.
    pub(crate) held: Subscriptions,
    /// The claims that pass to it when another batch lets them go.
    pub(crate) waiting: Subscriptions,
    /// True if it was learnt from the chain.
    pub(crate) learnt: bool,
    /// The transaction that has its place; the process remembers it, and not the journal.
    pub(crate) taker: PlaceTaker,
}

impl Batch {
    /// The attempts, oldest first.
    pub(crate) fn attempts(&self) -> impl Iterator<Item = TxId> + '_ {
        std::iter::once(self.first).chain(self.later.iter().copied())
    }

    pub(crate) fn newest(&self) -> TxId {
        self.later.last().copied().unwrap_or(self.first)
    }

    pub(crate) fn has(&self, tx: TxId) -> bool {
        self.attempts().any(|attempt| attempt == tx)
    }
}

/// The journal: what a crash leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Journal {
    /// Every position below this is known.
    pub(crate) next: u8,
    pub(crate) batches: Vec<Batch>,
    /// True if the lane may have forgotten something.
    pub(crate) in_doubt: bool,
    /// A place that was used up by no transaction; no person has said more.
    pub(crate) used_up: Option<u8>,
}

impl Journal {
    pub(crate) fn held(&self) -> Subscriptions {
        self.batches.iter().fold(Subscriptions::NONE, |all, batch| all.and(batch.held))
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.batches).filter(|(_, b)| b.state == BatchState::Open).map(|(at, _)| at)
    }

    /// A process begins that has looked for nothing yet.
    pub(crate) fn begin(&mut self) {
        for batch in &mut self.batches {
            let is_open = batch.state == BatchState::Open;
            batch.taker = if is_open { PlaceTaker::Hidden } else { PlaceTaker::Known };
        }
    }
}

/// The events that are still to come, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Budget {
    /// The transactions that are signed.
    pub transactions: u8,
    /// The ends of the process without warning.
    pub crashes: u8,
    /// The copies of the journal that are made, and put back.
    pub copies: u8,
    /// The blocks that are undone.
    pub reorganisations: u8,
    /// The nonces that an authorization uses up.
    pub authorizations: u8,
    /// The changes of a setting.
    pub changes: u8,
}

/// A state of the world.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub(crate) txs: Vec<Tx>,
    pub(crate) blocks: Vec<Used>,
    /// The blocks that cannot be undone.
    pub(crate) final_blocks: u8,
    /// The transactions that have left the process. Each can land as long as its nonce is free.
    pub(crate) sent: BTreeSet<TxId>,
    pub(crate) journal: Journal,
    pub(crate) copy: Option<Journal>,
    pub(crate) gate: GateState,
    pub(crate) setting: Setting,
    pub(crate) left: Budget,
}

impl World {
    pub(crate) fn new(left: Budget) -> Self {
        Self {
            txs: vec![],
            blocks: vec![],
            final_blocks: 0,
            sent: BTreeSet::new(),
            journal: Journal::default(),
            copy: None,
            gate: GateState::Opening,
            setting: Setting::SignsAgain,
            left,
        }
    }

    pub(crate) fn tx(&self, id: TxId) -> Option<&Tx> {
        self.txs.get(usize::from(id.0))
    }

    pub(crate) fn height(&self) -> u8 {
        u8::try_from(self.blocks.len()).unwrap_or(u8::MAX)
    }

    /// Signs a transaction, if the history has room for one more.
    pub(crate) fn sign(&mut self, tx: Tx) -> Option<TxId> {
        self.left.transactions = self.left.transactions.checked_sub(1)?;
        let id = TxId(u8::try_from(self.txs.len()).ok()?);
        self.txs.push(tx);
        Some(id)
    }

    /// The number of blocks in which this subscription is charged.
    pub(crate) fn times_charged(&self, one: Subscriptions) -> usize {
        let charges = |used: &&Used| match used {
            Used::By { tx, ending: Ending::Succeeded } => {
                self.tx(*tx).is_some_and(|tx| !tx.charges.among(one).is_none())
            }
            Used::By { ending: Ending::Reverted, .. } | Used::UpByNone => false,
        };
        self.blocks.iter().filter(charges).count()
    }
}
