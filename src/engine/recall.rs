//! What a lane has forgotten, or never knew, and how it learns that.
//!
//! Where the chain counts the account's transactions, it tells how many are missing. Where it does
//! not, the final blocks are read, and a lane in doubt opens when nothing that was signed before can
//! land any more.

use super::bill::NoVerdict;
use super::lane::{Gate, Lane};
use crate::billing::{Again, Foreign, ForeignTx, Rules};
use alloy::primitives::B256;
use std::sync::atomic::Ordering;
use tracing::warn;

/// What was learnt of transactions that the journal did not know.
pub(super) struct Learnt {
    /// The first position that is still not known.
    pub(super) next: u64,
    /// What has it, when that is a call whose charges cannot be told.
    pub(super) opaque: Option<B256>,
}

impl Lane {
    /// Opens the lane, or reads on for what the journal may have forgotten.
    pub(super) async fn open_by_blocks(&self, next: u64) -> Result<(), NoVerdict> {
        self.next.fetch_max(next, Ordering::Relaxed);
        let Some(since_ms) = self.doubt() else { return self.open_gate().await };
        if !matches!(self.gate(), Gate::Closed(_)) {
            self.close(reading(0));
        }
        let recall = self.chain.recall(since_ms).await?;
        // A batch of the copy may hold a claim that its end sets free, and that one of these has used
        // since. It ends within the life of its transaction.
        if self.undecided() > 0 {
            self.close(reading(recall.percent));
            return Ok(());
        }
        let strangers = self.unknown(next, recall.found).await?;
        let learnt = self.learn(next, strangers).await?;
        self.next.fetch_max(learnt.next, Ordering::Relaxed);
        match learnt.opaque {
            Some(hash) => self.close(unreadable(hash)),
            None if recall.complete => self.open_gate().await?,
            None => self.close(reading(recall.percent)),
        }
        Ok(())
    }

    /// Those that the journal does not know, in the places from `next` on.
    async fn unknown(&self, next: u64, found: Vec<Foreign>) -> Result<Vec<Foreign>, NoVerdict> {
        let hashes = found.iter().map(|one| one.landed().hash).collect();
        let unknown = self.journal.unknown(hashes).await?;
        let foreign = found.into_iter().filter(|one| unknown.contains(&one.landed().hash));
        let placed = |(position, one): (u64, Foreign)| match one {
            Foreign::Readable(tx) => Foreign::Readable(ForeignTx { position, ..tx }),
            Foreign::Opaque(landed) => Foreign::Opaque(landed),
        };
        Ok((next..).zip(foreign).map(placed).collect())
    }

    /// Takes new work from now on: nothing that the lane did is unknown.
    pub(super) async fn open_gate(&self) -> Result<(), NoVerdict> {
        if self.doubt().is_some() {
            self.journal.end_doubt(self.id(), self.journal.now_ms()).await?;
            *self.doubt.write() = None;
        }
        self.set_gate(Gate::Open);
        Ok(())
    }

    /// Until when the journal knows what the lane did, Unix ms; none when it knows everything.
    pub(super) fn doubt(&self) -> Option<i64> {
        *self.doubt.read()
    }

    /// Takes the claims of transactions that the journal does not know, up to the first that does not
    /// tell whom it charged.
    pub(super) async fn learn(&self, next: u64, found: Vec<Foreign>) -> Result<Learnt, NoVerdict> {
        let mut readable = Vec::with_capacity(found.len());
        let mut opaque = None;
        for one in found {
            match one {
                Foreign::Readable(tx) => readable.push(tx),
                Foreign::Opaque(landed) => {
                    opaque = Some(landed.hash);
                    break;
                }
            }
        }
        let count = u64::try_from(readable.len()).unwrap_or(0);
        if count > 0 {
            warn!(chain = self.chain.facts().name, count, "learnt transactions of the account");
            let (guard, now) = (self.guard.as_secs(), self.journal.now_ms());
            self.journal.adopt(self.origin(), readable, guard, now).await?;
        }
        Ok(Learnt { next: next.saturating_add(count), opaque })
    }

    /// How open batches are treated now. While a lane is in doubt, a forgotten transaction may renew
    /// a batch whose known ones are dead: another would be one too many.
    pub(super) fn rules_for_now(&self) -> Rules {
        match self.rules.again {
            Again::Renew { .. } if self.doubt().is_some() => {
                Rules { again: Again::Never, ..self.rules }
            }
            Again::Never | Again::Replace { .. } | Again::Renew { .. } => self.rules,
        }
    }
}

fn reading(percent: u64) -> String {
    format!(
        "the journal is an old copy: what was billed since is being learnt from the chain's blocks, \
         and nothing that was signed may be able to land any more ({percent} % of that time is read)"
    )
}

/// Why a lane stays closed after a call that nobody can read.
pub(super) fn unreadable(hash: B256) -> String {
    format!(
        "the account's transaction {hash} called the contract, and nobody can tell whom it charged: \
         the lane stays closed, since any of its charges may be made twice"
    )
}
