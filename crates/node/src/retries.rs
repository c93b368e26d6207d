//! The budget of a fleet's retries, and the pauses before them.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Holds retries to a tenth of all questions, so that a fleet in trouble is not asked twice as much.
#[derive(Debug)]
pub(super) struct Retries {
    saved: AtomicU32,
    /// State of the random numbers that spread the pauses (splitmix64). The same seed gives the same pauses again.
    chance: AtomicU64,
}

/// Cost of one retry; one question earns one.
const RETRY_COST: u32 = 10;

/// The most that may be saved up: thirty retries.
const MOST_SAVED: u32 = 300;

/// The longest pause before the first retry on the same node, ms. Grows by as much with each.
const LONGEST_PAUSE_MS: u64 = 100;

impl Retries {
    /// A full budget; `seed` spreads the pauses.
    pub(super) fn new(seed: u64) -> Self {
        Self { saved: AtomicU32::new(MOST_SAVED), chance: AtomicU64::new(seed) }
    }

    /// A question was asked.
    pub(super) fn earn(&self) {
        let more = |saved: u32| (saved < MOST_SAVED).then(|| saved.saturating_add(1));
        self.saved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok();
    }

    /// Returns true if one more retry is within the budget, and takes it.
    pub(super) fn take(&self) -> bool {
        let less = |saved: u32| saved.checked_sub(RETRY_COST);
        self.saved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// A pause before the `retry`-th retry, evenly spread, so that many who failed together do not
    /// come back together.
    pub(super) fn pause(&self, retry: usize) -> Duration {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let state = self.chance.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let longest = LONGEST_PAUSE_MS.saturating_mul(u64::try_from(retry).unwrap_or(1));
        let pause = (mixed ^ (mixed >> 31)).checked_rem(longest.saturating_add(1));
        Duration::from_millis(pause.unwrap_or(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn pauses_are_spread_and_the_same_seed_gives_the_same_ones() {
        let pauses = |seed| {
            let retries = Retries::new(seed);
            (0..50).map(|_| retries.pause(1).as_millis()).collect::<Vec<_>>()
        };
        assert_eq!(pauses(7), pauses(7));
        assert_ne!(pauses(7), pauses(8));
        let spread: BTreeSet<u128> = pauses(7).into_iter().collect();
        assert!(spread.len() > 25 && spread.iter().all(|pause| *pause <= 100), "{spread:?}");
        assert!(Retries::new(7).pause(2).as_millis() <= 200);
    }
}
