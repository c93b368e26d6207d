//! An undecided batch as it is looked for: its transactions, and whether their time is over.

use super::head::TronHead;
use alloy::primitives::B256;
use billing::{Attempt, Slot};
use tracing::error;
use tron_node::ExpiringTx;
use tron_primitives::transaction::SignedBytes;

/// A batch that is looked for.
pub(super) struct Case {
    /// Its place in the lane.
    pub(super) position: u64,
    /// Its transactions, the newest last.
    pub(super) attempts: Vec<B256>,
    /// The newest.
    pub(super) tx: ExpiringTx,
    /// True if it is too late for the newest transaction, by the newest block.
    pub(super) late: bool,
    /// The same by the newest irrevocable block.
    pub(super) expired: bool,
}

/// None where the journal's bytes are not the transaction's.
pub(super) fn case<A: AsRef<Attempt>>(slot: &Slot<A>, head: &TronHead) -> Option<Case> {
    let tx = mortal(slot.attempts.newest().as_ref())?;
    let attempts = slot.attempts.iter().map(|attempt| attempt.as_ref().signed.hash).collect();
    let over = |time_ms: u64| time_ms >= tx.expiration_ms;
    let (late, expired) = (over(head.newest.time_ms), over(head.solid.time_ms));
    Some(Case { position: slot.position, attempts, tx, late, expired })
}

/// Reads the life of an attempt from its stored bytes.
fn mortal(attempt: &Attempt) -> Option<ExpiringTx> {
    let id = attempt.signed.hash;
    match SignedBytes::read(&attempt.signed.raw) {
        Ok(read) if read.txid == id => Some(ExpiringTx {
            id,
            ref_block: read.unsigned.ref_block,
            expiration_ms: read.unsigned.expiration_ms,
        }),
        Ok(_) | Err(_) => {
            error!(tx.hash = %id, "the journal's bytes are not this transaction's; it is not followed");
            None
        }
    }
}
