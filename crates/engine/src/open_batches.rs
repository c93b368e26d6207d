//! The batches of one account that the chain has not decided, and the state that a lane remembers of each.

use super::charge_spans::settlement;
use super::held_up::{HeldUp, SigningFailure};
use alloy::primitives::B256;
use billing::{Attempt, BatchId, NodeRejection, PlaceTaker, Sighting, Slot};
use journal::Durable;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tracing::Span;

/// The time that nodes are given to tell which transaction has a place that they call used. A node that did not tell a
/// whole block is asked for it again after 5 s.
const UNTOLD: Duration = Duration::from_secs(8);

/// The batches of one account that the chain has not decided. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct OpenBatches {
    batches: Arc<Mutex<BTreeMap<BatchId, OpenBatch>>>,
}

/// A committed batch that the chain has not decided.
#[derive(Clone, Debug)]
pub(super) struct OpenBatch {
    pub(super) slot: Arc<Slot<Durable<Attempt>>>,
    /// When its newest attempt was signed, or resumed by this process.
    pub(super) signed: Instant,
    /// When its bytes were last offered; none in this process yet.
    pub(super) offered: Option<Instant>,
    /// The nodes' rejection of the newest attempt when that was last offered.
    pub(super) rejection: Option<NodeRejection>,
    /// The reason that the batch does not land, as far as is known.
    pub(super) held_up: Option<HeldUp>,
    /// True if the batch was in a block when it was last seen.
    pub(super) in_block: bool,
    /// The transaction that has the batch's place. Of a batch that was resumed, it is hidden until the first look at it.
    taker: PlaceTaker,
    /// Since when no node has told that transaction; none if one has.
    untold_since: Option<Instant>,
    /// Why the last try to sign another attempt failed, if it did.
    pub(super) unsigned: Option<SigningFailure>,
    /// True if a person was called already.
    pub(super) alarmed: bool,
    /// The span from the commit to the final block.
    pub(super) settlement: Span,
}

impl OpenBatch {
    /// Takes in what a look told of the batch's place.
    pub(super) fn see(&mut self, sighting: &Sighting) {
        self.taker = self.taker.after(sighting);
        let is_untold = self.taker == PlaceTaker::Untold;
        self.untold_since = is_untold.then(|| self.untold_since.unwrap_or_else(Instant::now));
    }

    /// Returns true if a transaction may have the batch's place that no node names for good.
    fn hides_taker(&self) -> bool {
        self.taker == PlaceTaker::Hidden
            || self.untold_since.is_some_and(|since| since.elapsed() >= UNTOLD)
    }

    /// Returns true if the batch was signed and offered less than `while_young` ago, and nothing is known that
    /// keeps it from landing.
    fn is_left_alone(&self, while_young: Duration) -> bool {
        let stopped = self.rejection.is_some() || self.held_up.is_some() || self.unsigned.is_some();
        self.offered.is_some() && !stopped && self.signed.elapsed() < while_young
    }
}

impl OpenBatches {
    /// Returns the number of batches.
    pub fn count(&self) -> usize {
        self.batches.lock().len()
    }

    /// When the oldest batch was accepted, Unix ms.
    pub fn oldest_ms(&self) -> Option<i64> {
        self.batches.lock().values().map(|batch| batch.slot.accepted_ms).min()
    }

    /// Returns the reasons that keep single batches from landing, as far as is known, the oldest batch first.
    pub fn held_up(&self) -> Vec<(BatchId, HeldUp)> {
        let batches = self.batches.lock();
        batches.values().filter_map(|one| one.held_up.map(|why| (one.slot.batch, why))).collect()
    }

    /// Returns the reason that keeps this batch from landing, as far as is known.
    pub fn held_up_by(&self, batch: BatchId) -> Option<HeldUp> {
        self.batches.lock().get(&batch)?.held_up
    }

    /// Returns the batch that has a position.
    pub(super) fn at(&self, position: u64) -> Option<BatchId> {
        let batches = self.batches.lock();
        batches.values().find(|one| one.slot.position == position).map(|one| one.slot.batch)
    }

    /// Returns every batch as it is now, the oldest first.
    pub(super) fn all(&self) -> Vec<OpenBatch> {
        self.batches.lock().values().cloned().collect()
    }

    /// Returns the number of batches that were in a block when they were last seen.
    pub(super) fn in_blocks(&self) -> u64 {
        let seen = self.batches.lock().values().filter(|one| one.in_block).count();
        u64::try_from(seen).unwrap_or(u64::MAX)
    }

    /// Returns true if any batch was in no block when it was last seen.
    pub(super) fn any_waits(&self) -> bool {
        self.batches.lock().values().any(|one| !one.in_block)
    }

    /// Returns the first place below `mined`, the number of the account's transactions in blocks, which a transaction
    /// may have that no node names for good.
    pub(super) fn unnamed_taker(&self, mined: u64) -> Option<u64> {
        let batches = self.batches.lock();
        let hiding = batches.values().filter(|one| one.hides_taker());
        hiding.map(|one| one.slot.position).filter(|position| *position < mined).min()
    }

    /// Returns true if there are batches, and each is in a block or was offered less than `while_young` ago: none is
    /// signed again for the prices and coins that a look tells of.
    pub(super) fn only_wait(&self, while_young: Duration) -> bool {
        let batches = self.batches.lock();
        let mut each = batches.values();
        !batches.is_empty() && each.all(|one| one.in_block || one.is_left_alone(while_young))
    }

    /// Returns the hashes of all transactions of the batches.
    pub(super) fn hashes(&self) -> BTreeSet<B256> {
        let batches = self.batches.lock();
        let attempts = batches.values().flat_map(|one| one.slot.attempts.iter());
        attempts.map(|attempt| attempt.get().signed.hash).collect()
    }

    /// Follows a batch of an earlier process from now on.
    pub(super) fn resume(&self, slot: &Arc<Slot<Durable<Attempt>>>) {
        self.follow(slot);
        self.note(slot.batch, |batch| batch.taker = PlaceTaker::Hidden);
    }

    /// Follows a batch from now on, or its newest attempt.
    pub(super) fn follow(&self, slot: &Arc<Slot<Durable<Attempt>>>) {
        let mut batches = self.batches.lock();
        let known = batches.remove(&slot.batch);
        let batch = OpenBatch {
            slot: Arc::clone(slot),
            signed: Instant::now(),
            offered: None,
            rejection: None,
            held_up: None,
            in_block: false,
            untold_since: known.as_ref().and_then(|known| known.untold_since),
            taker: known.as_ref().map_or_else(PlaceTaker::default, |known| known.taker),
            unsigned: None,
            alarmed: false,
            settlement: known.map_or_else(settlement, |known| known.settlement),
        };
        batches.insert(slot.batch, batch);
    }

    /// Remembers something of a batch; nothing if it has ended.
    pub(super) fn note(&self, batch: BatchId, note: impl FnOnce(&mut OpenBatch)) {
        if let Some(batch) = self.batches.lock().get_mut(&batch) {
            note(batch);
        }
    }

    /// Returns true if the batch is open and no person was called for it.
    pub(super) fn calls_for_alarm(&self, batch: BatchId) -> bool {
        self.batches.lock().get(&batch).is_some_and(|batch| !batch.alarmed)
    }

    /// Follows a batch no more.
    pub(super) fn end(&self, batch: BatchId) -> Option<OpenBatch> {
        self.batches.lock().remove(&batch)
    }
}
