//! The memory of each transaction that is looked for, from one look to the next.

use super::head::TronHead;
use alloy::primitives::B256;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use tron_node::{ExpiringTx, TxScan};

/// A transaction that was seen in a block is asked about again when so many more are on top.
const SEEN_FOR: u64 = 5;

/// The memory of each transaction from one look to the next.
#[derive(Debug, Default)]
pub(super) struct Tracks(Mutex<HashMap<B256, Track>>);

#[derive(Debug, Default)]
struct Track {
    seen: Option<InclusionSeen>,
    scan: Option<TxScan>,
}

/// A transaction in a block that can still be undone, as enough nodes told.
#[derive(Clone, Copy, Debug)]
pub(super) struct InclusionSeen {
    pub(super) block: u64,
    /// The newest block when it was seen.
    pub(super) head: u64,
}

impl Tracks {
    /// The block that the transaction was seen in, if that was not long ago, or if the block is
    /// irrevocable by now.
    pub(super) fn seen(&self, id: B256, head: &TronHead) -> Option<u64> {
        let seen = self.0.lock().get(&id)?.seen?;
        let young = head.newest.number < seen.head.saturating_add(SEEN_FOR);
        (young || seen.block <= head.solid.number).then_some(seen.block)
    }

    pub(super) fn set_seen(&self, id: B256, seen: Option<InclusionSeen>) {
        self.0.lock().entry(id).or_default().seen = seen;
    }

    pub(super) fn scan(&self, tx: ExpiringTx) -> TxScan {
        let scan = self.0.lock().get(&tx.id).and_then(|track| track.scan.clone());
        scan.unwrap_or_else(|| TxScan::new(tx))
    }

    pub(super) fn set_scan(&self, id: B256, scan: TxScan) {
        self.0.lock().entry(id).or_default().scan = Some(scan);
    }

    /// Forgets all transactions but these.
    pub(super) fn keep(&self, ids: &BTreeSet<B256>) {
        self.0.lock().retain(|id, _| ids.contains(id));
    }
}
