//! The health of a node: pure bookkeeping under a time that is passed in, milliseconds since the fleet began. Whole
//! numbers only, so that the same history always gives the same order.

use super::error::RealChain;
use std::collections::VecDeque;
use strum::EnumIter;

/// So many failures within [`FAILURE_WINDOW_MS`] open the breaker.
const FAILURES: usize = 5;

/// Time for which a failure counts, ms.
const FAILURE_WINDOW_MS: u64 = 10_000;

/// The first pause of an open breaker, ms. Each failed probe doubles it.
const FIRST_PAUSE_MS: u64 = 5_000;

/// The longest pause, ms.
const LONGEST_PAUSE_MS: u64 = 60_000;

/// Time that a probe may stay without an outcome before another may be made, ms.
const PROBE_PATIENCE_MS: u64 = 5_000;

/// Time that a node that was caught in a lie is left alone, ms.
pub(super) const QUARANTINE_MS: u64 = 3_600_000;

/// Time that a node is trusted to be on the same chain, unless an exchange breaks before, ms.
const RECHECK_MS: u64 = 600_000;

/// Interval at which a node on another chain is asked whether it still is, ms.
const WRONG_RECHECK_MS: u64 = 60_000;

/// So often in a row it has to name the right chain before it is used again.
const RIGHT_ANSWERS: u32 = 10;

/// Certainty, in the unit of [`Health::success`].
const CERTAIN: u64 = 1_000_000;

/// The share of the newest outcome in a moving average is one in so many.
const ALPHA: u64 = 10;

/// A node this slow, ms, counts half as much as one that answers at once.
const HALF_SCORE_MS: u64 = 500;

/// Number of durations that the 95th percentile is taken of.
const DURATIONS: usize = 40;

/// The use that may be made of a node at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumIter)]
pub enum State {
    /// Nobody knows yet which chain it is on.
    Unverified,
    /// It answers, and keeps up.
    Alive,
    /// Not one answer came from it in the whole last look, or while a question ran out of time: it hangs,
    /// or is gone. The others are asked first.
    Silent,
    /// It answers, but for another time than the others.
    OutOfSync,
    /// It failed too often just now, and is left alone for a while.
    Busy,
    /// It said something that turned out to be false, and is left alone for an hour.
    Quarantined,
    /// It is on another chain, or was less than ten minutes ago.
    WrongChain,
}

impl State {
    /// The word for it in logs, metrics and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Alive => "alive",
            Self::Silent => "silent",
            Self::OutOfSync => "out of sync",
            Self::Busy => "busy",
            Self::Quarantined => "quarantined",
            Self::WrongChain => "wrong chain",
        }
    }
}

/// Which chain a node is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    Unknown,
    /// The right one, when this was asked, at this count of broken exchanges.
    Right {
        at_ms: u64,
        breaks: u64,
    },
    /// Another one, when this was asked; since then it has named the right one so often.
    Wrong {
        answered: RealChain,
        asked_ms: u64,
        rights: u32,
    },
}

/// The health of one node.
#[derive(Clone, Debug)]
pub(super) struct Health {
    identity: Identity,
    behind: bool,
    /// Number of looks in a row without one answer; at least 1 while the node hangs.
    silent_looks: u32,
    /// Number of answers.
    answers: u64,
    breaker: Breaker,
    quarantined_until_ms: u64,
    /// Moving average of outcomes, parts per million.
    success: u64,
    /// Moving average of durations, µs.
    latency_us: u64,
    durations_ms: VecDeque<u64>,
}

impl Health {
    pub(super) fn new() -> Self {
        Self {
            identity: Identity::Unknown,
            behind: false,
            silent_looks: 0,
            answers: 0,
            breaker: Breaker::default(),
            quarantined_until_ms: 0,
            success: CERTAIN,
            latency_us: 0,
            durations_ms: VecDeque::new(),
        }
    }

    pub(super) fn state(&self, now_ms: u64) -> State {
        match self.identity {
            Identity::Wrong { .. } => State::WrongChain,
            _ if now_ms < self.quarantined_until_ms => State::Quarantined,
            _ if self.breaker.is_open() => State::Busy,
            Identity::Unknown => State::Unverified,
            Identity::Right { .. } if self.silent_looks > 0 => State::Silent,
            Identity::Right { .. } if self.behind => State::OutOfSync,
            Identity::Right { .. } => State::Alive,
        }
    }

    /// Returns true if the node's chain has been seen to be the right one.
    pub(super) fn is_verified(&self) -> bool {
        matches!(self.identity, Identity::Right { .. })
    }

    /// The wrong chain that it is on.
    pub(super) fn wrong_chain(&self) -> Option<RealChain> {
        match self.identity {
            Identity::Wrong { answered, .. } => Some(answered),
            Identity::Unknown | Identity::Right { .. } => None,
        }
    }

    /// Returns true if the node has to be asked for its chain before it is trusted again. `breaks` counts the
    /// exchanges that broke: another node may answer behind the same URL since.
    pub(super) fn verification_is_due(&self, now_ms: u64, breaks: u64) -> bool {
        match self.identity {
            Identity::Unknown => true,
            Identity::Wrong { asked_ms, .. } => now_ms.saturating_sub(asked_ms) >= WRONG_RECHECK_MS,
            Identity::Right { at_ms, breaks: before } => {
                breaks != before || now_ms.saturating_sub(at_ms) >= RECHECK_MS
            }
        }
    }

    /// It named the right chain when asked at this time. One that was on another has to say so for a
    /// while: what answers behind its URL may be one node now and another then.
    pub(super) fn verified(&mut self, at_ms: u64, breaks: u64) {
        self.identity = match self.identity {
            Identity::Wrong { answered, rights, .. }
                if rights.saturating_add(1) < RIGHT_ANSWERS =>
            {
                Identity::Wrong { answered, asked_ms: at_ms, rights: rights.saturating_add(1) }
            }
            Identity::Wrong { .. } | Identity::Unknown | Identity::Right { .. } => {
                Identity::Right { at_ms, breaks }
            }
        };
    }

    /// It named another chain when asked at this time.
    pub(super) fn is_on(&mut self, answered: RealChain, at_ms: u64) {
        self.identity = Identity::Wrong { answered, asked_ms: at_ms, rights: 0 };
    }

    /// It was asked which chain it is on, and did not say.
    pub(super) fn named_none(&mut self, at_ms: u64) {
        if let Identity::Wrong { asked_ms, .. } = &mut self.identity {
            *asked_ms = at_ms;
        }
    }

    pub(super) fn set_behind(&mut self, behind: bool) {
        self.behind = behind;
    }

    /// Returns true if the node may be asked now; an open breaker lets one probe through at a time.
    pub(super) fn admits(&self, now_ms: u64) -> bool {
        self.breaker.admits(now_ms)
    }

    /// A question begins.
    pub(super) fn begins(&mut self, now_ms: u64) {
        self.breaker.begins(now_ms);
    }

    /// A question was answered, after so many µs.
    pub(super) fn succeeded(&mut self, took_us: u64) {
        self.breaker = Breaker::default();
        self.spoke();
        self.success = average(self.success, CERTAIN);
        self.latency_us =
            if self.durations_ms.is_empty() { took_us } else { average(self.latency_us, took_us) };
        if self.durations_ms.len() >= DURATIONS {
            self.durations_ms.pop_front();
        }
        self.durations_ms.push_back(took_us.div_euclid(1_000));
    }

    /// Something came back, if only an error: it is not silent.
    pub(super) fn spoke(&mut self) {
        self.silent_looks = 0;
        self.answers = self.answers.wrapping_add(1);
    }

    /// A question got no answer.
    pub(super) fn failed(&mut self, now_ms: u64) {
        self.breaker.failed(now_ms);
        self.success = average(self.success, 0);
    }

    /// It kept everybody waiting who looked at all nodes: that is not done again before its pause is
    /// over, since looks are too far apart to count up to five.
    pub(super) fn kept_waiting(&mut self, now_ms: u64) {
        self.breaker.open(now_ms);
        self.success = average(self.success, 0);
    }

    /// Returns the number of the node's answers, to compare with later.
    pub(super) fn answers(&self) -> u64 {
        self.answers
    }

    /// A question ran out of time, and nothing else was answered meanwhile: it hangs, until it answers.
    pub(super) fn hangs(&mut self) {
        self.silent_looks = self.silent_looks.max(1);
    }

    /// A whole look went by without one answer. The first may be an accident; after the next one it is
    /// left alone for a while, as one that kept everybody waiting.
    pub(super) fn was_silent(&mut self, now_ms: u64) {
        self.silent_looks = self.silent_looks.saturating_add(1);
        if self.silent_looks > 1 {
            self.breaker.open(now_ms);
        }
    }

    /// It said something else than the others, which is no proof of a lie: it goes to the end of the
    /// row for a while.
    pub(super) fn dissented(&mut self) {
        self.success = self.success.div_euclid(4);
    }

    /// It said something false.
    pub(super) fn lied(&mut self, now_ms: u64) {
        self.quarantined_until_ms = now_ms.saturating_add(QUARANTINE_MS);
    }

    /// Returns the node's score, to compare with others: more is better.
    pub(super) fn score(&self) -> u64 {
        let slow = HALF_SCORE_MS.saturating_add(self.latency_us.div_euclid(1_000));
        self.success.saturating_mul(HALF_SCORE_MS).checked_div(slow).unwrap_or(0)
    }

    /// Returns the longest time that 95 of 100 answers take, ms.
    pub(super) fn p95_ms(&self) -> u64 {
        let mut sorted: Vec<u64> = self.durations_ms.iter().copied().collect();
        sorted.sort_unstable();
        let place = sorted.len().saturating_mul(95).div_euclid(100);
        sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

fn average(before: u64, newest: u64) -> u64 {
    let older = before.saturating_mul(ALPHA.saturating_sub(1));
    older.saturating_add(newest).div_euclid(ALPHA)
}

/// Keeps a node that fails from being asked all the time.
#[derive(Clone, Debug, Default)]
struct Breaker {
    failures_ms: VecDeque<u64>,
    /// When the pause ends; none while the breaker is closed.
    open_until_ms: Option<u64>,
    /// Number of times in a row that the breaker was opened.
    openings: u32,
    /// Until when a probe that has begun is waited for.
    probing_until_ms: u64,
}

impl Breaker {
    fn is_open(&self) -> bool {
        self.open_until_ms.is_some()
    }

    fn admits(&self, now_ms: u64) -> bool {
        self.open_until_ms.is_none_or(|until| now_ms >= until && now_ms >= self.probing_until_ms)
    }

    fn begins(&mut self, now_ms: u64) {
        if self.is_open() {
            self.probing_until_ms = now_ms.saturating_add(PROBE_PATIENCE_MS);
        }
    }

    fn failed(&mut self, now_ms: u64) {
        match self.open_until_ms {
            // A question that began before the pause and failed in it tells nothing new.
            Some(until) if now_ms < until => {}
            Some(_) => self.open(now_ms),
            None => {
                self.failures_ms.retain(|at| now_ms.saturating_sub(*at) < FAILURE_WINDOW_MS);
                self.failures_ms.push_back(now_ms);
                if self.failures_ms.len() >= FAILURES {
                    self.open(now_ms);
                }
            }
        }
    }

    fn open(&mut self, now_ms: u64) {
        let factor = 1_u64.checked_shl(self.openings).unwrap_or(u64::MAX);
        let pause = FIRST_PAUSE_MS.saturating_mul(factor).min(LONGEST_PAUSE_MS);
        self.open_until_ms = Some(now_ms.saturating_add(pause));
        self.openings = self.openings.saturating_add(1);
        self.probing_until_ms = 0;
        self.failures_ms.clear();
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
