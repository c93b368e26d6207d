//! The reading of blocks without a gap, and the findings in them. Pure.

use crate::BlockScan;
use billing::Foreign;
use journal::LearntUpTo;
use tron_node::{BlockPoint, Misfit, TronBlock};

/// Time by which reading begins earlier than the journal's knowledge ends, besides a transaction's life: the
/// journal's times are this machine's, and those of blocks are not.
const MARGIN_MS: u64 = 600_000;

/// The irrevocable blocks read so far, and the findings in them.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// The block after which it begins.
    first: BlockPoint,
    /// Nothing that was signed before lands in a block after the first one at or past this time,
    /// Unix ms.
    until_ms: u64,
    pub(super) last: BlockPoint,
    /// True if the effects of transactions are looked at.
    pub(super) judges: bool,
    found: Vec<Foreign>,
    /// True if any of the found transactions was signed after this process began.
    rival: bool,
}

impl Reading {
    /// Nothing is read yet but the block that comes before all that can hold something forgotten.
    pub(super) fn after(first: &TronBlock, until_ms: u64) -> Self {
        let (first, found, rival) = (BlockPoint::from(first), Vec::new(), false);
        Self { first, until_ms, last: first, judges: true, found, rival }
    }

    /// The same before anything was read. It is read as far as before: what lands until then may have been signed.
    pub(super) fn anew(self) -> Self {
        Self { last: self.first, found: Vec::new(), rival: false, ..self }
    }

    /// One of uses of the account, whatever they did.
    pub(super) fn of_uses(self) -> Self {
        Self { judges: false, ..self }
    }

    /// One that ends at another time, Unix ms of blocks.
    pub(super) fn until(self, until_ms: u64) -> Self {
        Self { until_ms, ..self }
    }

    /// The numbers of the blocks to read next, where those up to `solid` are irrevocable.
    pub(super) fn wanted(&self, solid: u64, most: u64) -> std::ops::RangeInclusive<u64> {
        let first = self.last.number.saturating_add(1);
        let last =
            if self.complete() { 0 } else { solid.min(self.last.number.saturating_add(most)) };
        first..=last
    }

    /// Takes the next block, and what was found in it.
    pub(super) fn read(&mut self, block: &TronBlock, found: Vec<Foreign>) -> Result<(), Misfit> {
        self.last = self.last.followed_by(block)?;
        self.found.extend(found);
        Ok(())
    }

    /// Forgets the findings, which are known by now.
    pub(super) fn forget_found(&mut self) {
        self.found.clear();
    }

    /// Somebody else signs with the key, who may have signed more that can land as long as this: so long
    /// is read on.
    pub(super) fn meets_rival(&mut self, lands_until_ms: u64) {
        self.until_ms = self.until_ms.max(lands_until_ms);
        self.rival = true;
    }

    /// The first block at or past the time counts itself, since its parent's time decides about it.
    fn complete(&self) -> bool {
        self.last.time_ms >= self.until_ms
    }

    pub(super) fn so_far(&self) -> BlockScan {
        let whole = self.until_ms.saturating_sub(self.first.time_ms).max(1);
        let read = self.last.time_ms.saturating_sub(self.first.time_ms).min(whole);
        let percent = read.saturating_mul(100).checked_div(whole).unwrap_or(100);
        let (found, complete, rival) = (self.found.clone(), self.complete(), self.rival);
        let read = LearntUpTo { number: self.last.number, id: self.last.id };
        BlockScan { found, percent, complete, rival, read }
    }
}

/// From when on blocks may hold what a journal has forgotten that knows everything up to `since_ms` (of
/// this machine): a transaction may have been signed before and land later. Unix ms of blocks.
pub(super) fn from_ms(since_ms: i64, life_ms: u64) -> u64 {
    let margin = life_ms.saturating_add(MARGIN_MS);
    u64::try_from(since_ms).unwrap_or_default().saturating_sub(margin)
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
