//! The state that a lane remembers of the batches that the chain has not decided.

use super::held_up::{HeldUp, SigningFailure};
use billing::{Attempt, BatchId, NodeRejection, Slot};
use journal::Durable;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The batches of one account that the chain has not decided.
pub(super) type Undecided = Arc<Mutex<BTreeMap<BatchId, Tracked>>>;

/// A committed batch that the chain has not decided.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) slot: Arc<Slot<Durable<Attempt>>>,
    /// When its newest attempt was signed, or taken up by this process.
    pub(super) signed: Instant,
    /// When its bytes were last offered; none in this process yet.
    pub(super) offered: Option<Instant>,
    /// The nodes' rejection of the newest attempt when that was last offered.
    pub(super) rejection: Option<NodeRejection>,
    /// The hindrance that keeps the batch from landing, as far as is known.
    pub(super) held_up: Option<HeldUp>,
    /// True if the batch was in a block when it was last seen.
    pub(super) in_block: bool,
    /// Why the last try to sign another attempt failed, if it did.
    pub(super) unsigned: Option<SigningFailure>,
    /// True if a person was called already.
    pub(super) alarmed: bool,
}

impl Tracked {
    /// Returns true if the batch was signed and offered less than `while_young` ago, and nothing is known that
    /// keeps it from landing.
    pub(super) fn is_left_alone(&self, while_young: Duration) -> bool {
        let hindered =
            self.rejection.is_some() || self.held_up.is_some() || self.unsigned.is_some();
        self.offered.is_some() && !hindered && self.signed.elapsed() < while_young
    }
}
