//! The account's transactions that are not irrevocable yet, on chains where nothing counts them: charges that are
//! forgotten there, or signed elsewhere, would be charged again before an irrevocable block tells of them.

use super::lane::Lane;
use super::lane_error::LaneError;
use alloy::primitives::B256;
use billing::{YoungRuling, YoungUse};
use chain::Young;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use tracing::debug;

/// The interval at which a lane reads new blocks while transactions of its own wait, ms of this machine.
const READ_EVERY_MS: u64 = 15_000;

/// A lane's knowledge of transactions that are not irrevocable yet.
#[derive(Debug, Default)]
pub(super) struct YoungKnown {
    /// True if it was settled, since this process began, that the journal knows of all of them.
    settled: AtomicBool,
    /// When that was last so, Unix ms of this machine; 0 before.
    known_ms: AtomicI64,
    /// True if something is unknown, as far as the last look told.
    unknown: AtomicBool,
    /// Until when any of that can land that was signed after this process began, Unix ms of blocks; 0 where nothing
    /// of it was.
    rival_until_ms: AtomicU64,
}

impl YoungKnown {
    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Relaxed)
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.unknown.load(Ordering::Relaxed)
    }

    pub(super) fn has_rival(&self) -> bool {
        self.rival_until_ms().is_some()
    }

    /// Until when something can land that was signed elsewhere after this process began, Unix ms of blocks.
    pub(super) fn rival_until_ms(&self) -> Option<u64> {
        Some(self.rival_until_ms.load(Ordering::Relaxed)).filter(|ms| *ms > 0)
    }

    /// Nobody else signs with the key any more.
    pub(super) fn forget_rival(&self) {
        self.rival_until_ms.store(0, Ordering::Relaxed);
    }
}

impl Lane {
    /// Returns true if it is settled what the account did that is not irrevocable. An unknown transaction puts the
    /// lane in doubt. While the lane is open, this is checked on and on: somebody else may have the key.
    pub(super) async fn knows_what_is_young(&self) -> Result<bool, LaneError> {
        let settled = self.young.is_settled();
        let in_doubt = self.doubt().is_some();
        let watched = self.watched.load(Ordering::Relaxed) || self.journal.left_ms().is_none();
        let own_waits = self.tracked.lock().values().any(|tracked| !tracked.in_block);
        let later = settled && watched && !in_doubt;
        if later && (self.follows.is_some() || own_waits && self.knew_all_just_now()) {
            return Ok(true);
        }
        let (ours, only_blocks) = (self.hashes(), later && own_waits);
        let told = self.chain.young((!only_blocks).then_some(&ours)).await;
        let told = told.unwrap_or_else(|error| Young { unread: Some(error), ..Young::default() });
        let unknown = self.unknown_young(&told, later).await?;
        match told.unread {
            Some(error) if !unknown && settled && !in_doubt => {
                debug!(%error, "new blocks could not be read of every node; that is tried again");
                return Ok(true);
            }
            Some(error) if !unknown => return Err(error.into()),
            Some(_) | None => {}
        }
        self.young.unknown.store(unknown, Ordering::Relaxed);
        let closed = settled || self.journal.was_closed();
        let explained = own_waits && closed;
        let young = YoungUse { unknown, untold: told.untold, explained };
        match young.rule() {
            YoungRuling::Known => {
                self.young.settled.store(true, Ordering::Relaxed);
                self.young.known_ms.store(self.journal.now_ms(), Ordering::Relaxed);
            }
            YoungRuling::Wait => return Ok(settled || in_doubt),
            YoungRuling::Unknown if !in_doubt => {
                let used_ms = self.last_used_ms().await?.unwrap_or_default();
                self.doubt_since(self.all_was_known_ms(), used_ms).await?;
            }
            YoungRuling::Unknown => {}
        }
        Ok(true)
    }

    /// Returns true if any of those transactions is unknown to the journal. Long after a start, only billings
    /// through a contract of ours count: the account may be used for something else as well.
    async fn unknown_young(&self, told: &Young, only_bills: bool) -> Result<bool, LaneError> {
        let counts = || told.calls.iter().filter(|call| call.bills || !only_bills);
        let unknown = self.journal.unknown(counts().map(|call| call.hash).collect()).await?;
        let rivals = counts().filter(|call| unknown.contains(&call.hash));
        let until_ms = rivals.filter_map(|call| call.rival_until_ms).max().unwrap_or(0);
        self.young.rival_until_ms.fetch_max(until_ms, Ordering::Relaxed);
        Ok(!unknown.is_empty())
    }

    /// Until when nothing was unknown, Unix ms by the time of blocks.
    fn all_was_known_ms(&self) -> i64 {
        let by_blocks = |at_ms| self.journal.by_blocks(at_ms);
        match self.young.known_ms.load(Ordering::Relaxed) {
            0 => self.journal.left_ms().unwrap_or_else(|| by_blocks(self.journal.now_ms())),
            known_ms => by_blocks(known_ms),
        }
    }

    fn knew_all_just_now(&self) -> bool {
        let known_ms = self.young.known_ms.load(Ordering::Relaxed);
        self.journal.now_ms().abs_diff(known_ms) < READ_EVERY_MS
    }

    /// Every transaction of the batches that the chain has not decided.
    fn hashes(&self) -> BTreeSet<B256> {
        let tracked = self.tracked.lock();
        let attempts = tracked.values().flat_map(|tracked| tracked.slot.attempts.iter());
        attempts.map(|attempt| attempt.get().signed.hash).collect()
    }
}
