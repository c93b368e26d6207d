//! How counters have moved: what they said every five minutes, for the charts of the operators' page. Kept in
//! memory since the start, for a week; a machine that is to remember longer reads `/metrics`.

use super::chains::ChainNow;
use crate::engine::{Engine, Tally};
use alloy::primitives::U256;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long it is from one sample to the next.
pub const EVERY: Duration = Duration::from_mins(5);

/// Upper bounds of how long billing requests took, seconds.
pub(super) const SECONDS: [f64; 12] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0];

/// As many as a week has.
const KEPT: usize = 7 * 24 * 12;

/// What the counters said at one moment. They count from the start of the process and never fall.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    /// When, Unix seconds of the Signer's clock.
    pub at: i64,
    /// Billing requests by how long they took: up to each of [`Trends::bounds`], and longer than the last.
    pub took: Vec<u64>,
    /// Subscriptions that were refused, by their `failCode`. Those of which there are none are left out.
    pub refused: BTreeMap<&'static str, u64>,
    /// By the platform's id of the chain.
    pub chains: BTreeMap<u32, ChainSample>,
}

/// The same of one chain.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChainSample {
    /// Charges that final blocks have decided, by how. Those of which there are none are left out.
    pub charges: BTreeMap<&'static str, u64>,
    /// What transactions in final blocks have cost: wei or sun, digits in text.
    pub fees: String,
}

/// The samples.
#[derive(Debug, Default)]
pub struct Trends {
    took: [AtomicU64; SECONDS.len() + 1],
    samples: Mutex<VecDeque<Sample>>,
}

impl Trends {
    /// Upper bounds of what [`Sample::took`] counts, seconds. One more count follows for what took longer.
    pub fn bounds() -> [f64; SECONDS.len()] {
        SECONDS
    }

    /// Counts a billing request.
    pub(super) fn took(&self, took: Duration) {
        let slower = SECONDS.iter().take_while(|bound| took.as_secs_f64() > **bound).count();
        if let Some(count) = self.took.get(slower) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Keeps what is counted now, and forgets what is older than a week.
    pub(super) fn keep(&self, engine: &Engine, refused: BTreeMap<&'static str, u64>) {
        let sample = self.now(engine, refused);
        let mut samples = self.samples.lock();
        if samples.len() == KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// The samples after the moment `after`, Unix seconds, oldest first, and what is counted now.
    pub(super) fn since(
        &self,
        after: i64,
        engine: &Engine,
        refused: BTreeMap<&'static str, u64>,
    ) -> Vec<Sample> {
        let now = self.now(engine, refused);
        let samples = self.samples.lock();
        let later = samples.iter().filter(|sample| sample.at > after).cloned();
        later.chain([now]).collect()
    }

    fn now(&self, engine: &Engine, refused: BTreeMap<&'static str, u64>) -> Sample {
        let lanes = engine.lanes();
        let chains = ChainNow::of(&lanes, engine.journal.now_ms());
        Sample {
            at: engine.journal.now_ms().div_euclid(1000),
            took: self.took.iter().map(|count| count.load(Ordering::Relaxed)).collect(),
            refused,
            chains: chains.iter().map(|chain| (chain.id.0, ChainSample::of(chain))).collect(),
        }
    }
}

impl ChainSample {
    fn of(chain: &ChainNow<'_>) -> Self {
        let mut charges = BTreeMap::new();
        for ((state, _), count) in chain.tallies().flat_map(|tally| &tally.charges) {
            if *count > 0 {
                let sum: &mut u64 = charges.entry(*state).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
        let fees = chain.tallies().flat_map(|tally: &Tally| tally.fees.values());
        let fees = fees.fold(U256::ZERO, |sum, fee| sum.saturating_add(*fee));
        Self { charges, fees: fees.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_below_the_bound_that_it_kept() {
        let trends = Trends::default();
        for ms in [0, 1, 2, 150, 10_000, 10_001] {
            trends.took(Duration::from_millis(ms));
        }
        let took: Vec<u64> =
            trends.took.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!(took, [2, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]);
        assert_eq!(took.len(), Trends::bounds().len() + 1);
    }
}
