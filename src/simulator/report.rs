//! What happened in one seed: the last events in order, a digest of all, and how often each.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// How many events a failure shows.
const SHOWN: usize = 500;

/// One thing that happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    step: u64,
    what: &'static str,
    one: u64,
    other: u64,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  {:>4}  {} {:x} {:x}", self.step, self.what, self.one, self.other)
    }
}

/// How often each thing happened.
pub(super) type Counts = BTreeMap<&'static str, u64>;

/// The trace of one seed.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The step of the simulation.
    pub(super) step: u64,
    /// A digest of every event so far.
    pub(super) digest: u64,
    /// How often each thing happened.
    pub(super) counts: Counts,
    last: VecDeque<Event>,
}

impl Log {
    pub(super) fn note(&mut self, what: &'static str, one: u64, other: u64) {
        let words = what.bytes().fold(self.digest, |digest, byte| mix(digest, byte.into()));
        self.digest = mix(mix(mix(words, self.step), one), other);
        *self.counts.entry(what).or_default() += 1;
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back(Event { step: self.step, what, one, other });
    }

    /// The last events, one a line.
    pub(super) fn tail(&self) -> String {
        self.last.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
}

/// FNV-1a over 64-bit words.
fn mix(digest: u64, word: u64) -> u64 {
    (digest ^ word).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
}

/// What many seeds came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) seeds: u64,
    pub(super) steps: u64,
    pub(super) counts: Counts,
    /// The digests of all seeds, in no order.
    pub(super) digest: u64,
}

impl Tally {
    pub(super) fn add(&mut self, log: &Log) {
        self.seeds += 1;
        self.steps += log.step;
        self.digest ^= log.digest;
        for (what, count) in &log.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.steps += other.steps;
        self.digest ^= other.digest;
        for (what, count) in &other.counts {
            *self.counts.entry(what).or_default() += count;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} seeds, {} steps", self.seeds, self.steps)?;
        for (what, count) in &self.counts {
            writeln!(f, "  {count:>12}  {what}")?;
        }
        Ok(())
    }
}
