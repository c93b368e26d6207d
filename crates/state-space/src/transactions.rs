//! Transactions and their batches, as both worlds know them.

use super::subscriptions::Subscriptions;
use alloy::primitives::{Address, B256};
use billing::{Attempt, AttemptKind, Attempts, BatchId, Signed, Slot};
use std::sync::Arc;

/// A transaction, by the order of signing in the whole history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TxId(pub(crate) u8);

impl TxId {
    pub(crate) fn hash(self) -> B256 {
        B256::with_last_byte(self.0.wrapping_add(1))
    }

    pub(crate) fn of(hash: B256) -> Self {
        Self(hash.last().copied().unwrap_or_default().wrapping_sub(1))
    }
}

/// The end of a transaction in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It did what it was to do.
    Succeeded,
    /// It changed nothing.
    Reverted,
}

/// A transaction in the next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Landing {
    pub(crate) tx: TxId,
    pub(crate) ending: Ending,
}

impl Landing {
    /// Returns both landings of a transaction.
    pub(crate) fn each(tx: TxId) -> [Self; 2] {
        [Ending::Succeeded, Ending::Reverted].map(|ending| Self { tx, ending })
    }
}

/// An open batch, as the product's functions take it.
pub(crate) fn slot(
    at: usize,
    position: u8,
    charges: Subscriptions,
    first: (TxId, AttemptKind),
    later: impl Iterator<Item = (TxId, AttemptKind)>,
) -> Slot {
    let id = BatchId(i64::try_from(at).unwrap_or(i64::MAX));
    let attempt = |(seq, (tx, kind)): (u32, (TxId, AttemptKind))| {
        let signed = Signed { hash: tx.hash(), raw: vec![], gas_required: 0 };
        Attempt { batch: id, seq, kind, signed }
    };
    let first = Attempts::new(attempt((0, first)));
    Slot {
        batch: id,
        position: u64::from(position),
        contract: Address::ZERO,
        profile: Arc::from(""),
        accepted_ms: 0,
        items: charges.items(),
        attempts: (1..)
            .zip(later)
            .map(attempt)
            .fold(first, |attempts, next| attempts.followed_by(next)),
    }
}
