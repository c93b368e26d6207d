//! The check that the journal knows everything that the account did before this process began, for chains on which
//! nothing counts an account's transactions. Only this check notices a copy that was put back with its mark.

use super::lane::Lane;
use super::lane_error::LaneError;
use billing::{Closed, LastUse, LastUseRuling, reads_arrivals};
use std::sync::atomic::Ordering;
use tracing::{debug, warn};

impl Lane {
    /// Returns true if it is settled, for this process, that the journal knows of everything that the account did
    /// before, or that it does not: then the lane is in doubt.
    pub(super) async fn knows_the_last_use(&self) -> Result<bool, LaneError> {
        if self.doubt().is_some() || self.compared.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let Some(used_ms) = self.last_used_ms().await? else { return Ok(self.has_compared()) };
        let before = self.owners_affair_ms();
        let known_at_start_ms = self.known_at_start.read().map(|known_ms| known_ms.max(before));
        let known_ms = self.journal.known_until(self.id()).await?.unwrap_or_default().max(before);
        let last = LastUse { used_ms, known_at_start_ms, known_ms, undecided: self.undecided() };
        match last.rule() {
            LastUseRuling::Known => {}
            LastUseRuling::ReadBlocks => {
                if !self.knows_what_landed_before(used_ms).await? {
                    return Ok(false);
                }
            }
            LastUseRuling::Unknown => self.doubt_since(known_ms, used_ms).await?,
        }
        Ok(self.has_compared())
    }

    /// Something has landed since the journal was left: the blocks since then are read for what it does not know.
    async fn knows_what_landed_before(&self, used_ms: i64) -> Result<bool, LaneError> {
        let left_ms = self.journal.left_ms().unwrap_or_default();
        let read = self.chain.used_between(left_ms, used_ms).await?;
        let used = read.found.iter().map(|found| found.landed().hash).collect();
        if !self.journal.unknown(used).await?.is_empty() {
            self.doubt_since(left_ms, used_ms).await?;
            return Ok(true);
        }
        Ok(read.complete)
    }

    /// Reads every block until nothing that was signed before this process began can land any more. Transactions
    /// that a copy has forgotten may have been on their way at that time, or in a block that was not irrevocable
    /// yet. The lane is open meanwhile; a transaction that is found closes it.
    pub(super) async fn watch_for_what_was_on_its_way(&self) -> Result<(), LaneError> {
        let (left_ms, over) = (self.journal.left_ms(), self.watched.load(Ordering::Relaxed));
        if !reads_arrivals(left_ms, self.doubt().is_some(), over) {
            return Ok(());
        }
        let read = match self.chain.arrivals().await {
            Ok(read) => read,
            Err(error) => {
                debug!(%error, "blocks could not be read on; that is tried again");
                return Ok(());
            }
        };
        let landed = read.found.iter().map(|found| found.landed().hash).collect();
        if !self.journal.unknown(landed).await?.is_empty() {
            let used_ms = self.last_used_ms().await?.unwrap_or_default();
            self.doubt_since(left_ms.unwrap_or_default(), used_ms).await?;
        }
        self.watched.store(read.complete, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the time before which it does not matter what else the account did, Unix ms. Transactions that a
    /// copy has forgotten were signed after the copy was left; the holder of the key of an account that bills no
    /// more may have moved its coins before.
    fn owners_affair_ms(&self) -> i64 {
        self.follows.and(self.journal.left_ms()).unwrap_or(0)
    }

    /// Puts a lane that the journal does not know in doubt if its account was used after the newest row that
    /// another process has left: the journal may be a copy from before the lane. Earlier use is the account's own
    /// history.
    pub(super) async fn was_used_since_it_was_left(&self) -> Result<(), LaneError> {
        let Some(left_ms) = self.journal.left_ms() else { return Ok(()) };
        match self.last_used_ms().await? {
            Some(used_ms) if used_ms >= left_ms && self.doubt().is_none() => {
                self.doubt_since(left_ms, used_ms).await
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) async fn last_used_ms(&self) -> Result<Option<i64>, LaneError> {
        let used_ms = self.chain.last_used().await?;
        Ok(used_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// The lane is in doubt from here on. It closes first: what is asked next may fail for long.
    pub(super) async fn doubt_since(&self, known_ms: i64, used_ms: i64) -> Result<(), LaneError> {
        self.close_meanwhile(Closed::UsedLater);
        let chain = &self.chain.facts().name;
        warn!(
            chain,
            used_ms,
            known_ms,
            "the account was used without this journal: it is new or an old copy, or the key is used elsewhere. What it did since is learnt from the chain's blocks"
        );
        self.journal.begin_doubt(self.id(), known_ms, self.journal.now_ms()).await?;
        *self.known.doubt.write() = Some(known_ms);
        Ok(())
    }

    fn has_compared(&self) -> bool {
        self.compared.store(true, Ordering::Relaxed);
        true
    }
}
