//! The amounts that were counted for one place in the line: of all that is signed for it, one lands.

use alloy::primitives::U256;
use parking_lot::Mutex;
use policy::{Count, Refusal};
use std::collections::BTreeMap;

/// The number of places whose other attempts are known. For a place that is forgotten more is counted, never less.
const PLACES: usize = 1024;

/// The counts of new batches for the newest place.
#[derive(Debug, Default)]
pub(super) struct PlaceCounts {
    nonce: Option<u64>,
    counts: Vec<Count>,
}

impl PlaceCounts {
    /// Has `take` count what exceeds the counts for this place before.
    pub(super) fn take(
        &mut self,
        nonce: u64,
        counts: Vec<Count>,
        take: impl FnOnce(&[Count]) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let before = std::mem::take(self);
        let before = if before.nonce == Some(nonce) { before.counts } else { Vec::new() };
        let more: Vec<Count> = counts.iter().map(|count| beyond(count, &before)).collect();
        let taken = take(&more);
        let counts = if taken.is_ok() { highest(counts, before) } else { before };
        *self = Self { nonce: Some(nonce), counts };
        taken
    }
}

/// The cost of the dearest other attempt or cancel of each of the newest places, wei.
#[derive(Debug, Default)]
pub(super) struct DearestSigned(Mutex<BTreeMap<u64, U256>>);

impl DearestSigned {
    /// Has `take` count what `cost` exceeds the dearest for this place by. `before` was signed for it as well.
    pub(super) fn take(
        &self,
        nonce: u64,
        before: U256,
        cost: U256,
        take: impl FnOnce(U256) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let mut places = self.0.lock();
        let known = places.get(&nonce).map_or(before, |known| before.max(*known));
        take(cost.saturating_sub(known))?;
        places.insert(nonce, cost.max(known));
        if places.len() > PLACES {
            places.pop_first();
        }
        Ok(())
    }
}

/// Returns the part of `count` that exceeds what was counted for the same place before.
fn beyond(count: &Count, before: &[Count]) -> Count {
    let known = before.iter().find(|known| known.unit == count.unit);
    let known = known.map_or(U256::ZERO, |known| known.amount);
    Count { amount: count.amount.saturating_sub(known), ..count.clone() }
}

/// The higher of both, of each unit.
fn highest(counts: Vec<Count>, before: Vec<Count>) -> Vec<Count> {
    let mut all = before;
    for count in counts {
        match all.iter_mut().find(|known| known.unit == count.unit) {
            Some(known) => known.amount = known.amount.max(count.amount),
            None => all.push(count),
        }
    }
    all
}
