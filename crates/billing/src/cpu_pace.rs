//! The number of charges that fit into the CPU time of one transaction, by what was seen. Pure: time comes in.
//!
//! A block stops a call that takes its producer longer than the chain allows, takes the whole fee limit,
//! and charges nobody. No simulation foretells that: it runs on another machine, at another moment. So a
//! size that was stopped once is not signed for a while, what a block stopped halves the size, and after a few
//! in a row nothing is signed until the call is seen to pass again.

use super::day::utc_day;
use super::signing_halt::SigningHalt;
use alloy::primitives::{B256, Bytes};
use std::collections::VecDeque;

/// So many in a row that blocks stopped close the lane.
const FEW: usize = 3;

/// After so long without another stop, twice as many charges are tried, ms: after nodes stopped a
/// simulation, and after a block stopped a transaction.
const SIMULATED_MS: i64 = 600_000;
const BURNT_MS: i64 = 3_600_000;

/// Time after a stop until a larger simulation is tried again, ms; also the time from the closing of the lane to a
/// probe, and from one probe to the next until one passes. Doubles after each further transaction that a block
/// stops, since a simulation may pass where blocks do not.
const PROBE_MS: i64 = 10_000;

/// The longest time between two probes, ms.
const LONGEST_MS: i64 = 3_600_000;

/// Number of ends that are remembered, so that none counts twice.
const KEPT: usize = 256;

/// A billing transaction that failed in an irrevocable block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burnt {
    /// Its id.
    pub id: B256,
    /// Number of charges in the transaction.
    pub charges: usize,
    /// Call data of the transaction.
    pub calldata: Bytes,
    /// Cost of the transaction, sun.
    pub fee: u64,
    /// True if the transaction took too long.
    pub out_of_time: bool,
    /// When that was noticed, Unix ms.
    pub at_ms: i64,
}

/// A call that has to pass before anything is signed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The call that was stopped.
    pub calldata: Bytes,
    /// Number of the call's charges to run.
    pub charges: usize,
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The call ran to its end in time, every time that it was tried.
    Passed,
    /// It did not.
    Stopped,
}

/// The knowledge of the calls that pass.
#[derive(Clone, Debug, Default)]
pub struct CpuPace {
    ceiling: Option<Ceiling>,
    /// Number of transactions that blocks stopped in a row since one went through.
    row: usize,
    /// The newest that a block stopped, while nothing is signed for it.
    closed: Option<Halt>,
    /// The day (UTC), and what failures cost in it, sun.
    burnt: (i64, u64),
    known: VecDeque<B256>,
}

#[derive(Clone, Debug)]
struct Halt {
    probe: Probe,
    /// When the next probe is due, Unix ms.
    due_ms: i64,
}

/// The most charges, doubled after each quiet `every_ms`.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    charges: usize,
    since_ms: i64,
    every_ms: i64,
    tries: Tries,
}

/// Simulations of more charges than may be signed, which passed in a row.
#[derive(Clone, Copy, Debug)]
struct Tries {
    /// When the next may be made, Unix ms.
    due_ms: i64,
    /// Lowest number of charges in any of these simulations.
    charges: usize,
    passed: usize,
}

/// The ruling on so many charges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceRuling {
    /// They may be signed, if a simulation passes.
    Sign,
    /// They are simulated, and signed only if enough simulations have passed in a row.
    Try,
    /// They are refused unasked.
    Refuse,
}

impl Ceiling {
    /// When so many may be signed, or twice as many as now, at the latest, Unix ms.
    fn raised_ms(self, now_ms: i64) -> i64 {
        let into = now_ms.saturating_sub(self.since_ms).checked_rem(self.every_ms);
        now_ms.saturating_add(self.every_ms.saturating_sub(into.unwrap_or_default()))
    }

    fn at(self, now_ms: i64) -> usize {
        let quiet = now_ms.saturating_sub(self.since_ms).checked_div(self.every_ms);
        let steps = u32::try_from(quiet.unwrap_or_default().max(0)).unwrap_or(u32::MAX);
        let times = 1_usize.checked_shl(steps).unwrap_or(usize::MAX);
        self.charges.saturating_mul(times)
    }
}

impl CpuPace {
    /// The most charges that may be signed at once.
    pub fn most(&self, now_ms: i64) -> usize {
        self.ceiling.map_or(usize::MAX, |ceiling| ceiling.at(now_ms))
    }

    /// Rules on whether so many charges may be signed. A size that nodes alone have stopped is tried again from
    /// time to time: a simulation costs nothing, and a node that was just started stops a call that passes a moment
    /// later.
    pub fn admits(&mut self, charges: usize, now_ms: i64) -> PaceRuling {
        if charges <= self.most(now_ms) {
            return PaceRuling::Sign;
        }
        match &mut self.ceiling {
            Some(ceiling) if ceiling.every_ms == SIMULATED_MS && now_ms >= ceiling.tries.due_ms => {
                ceiling.tries.due_ms = now_ms.saturating_add(PROBE_MS);
                PaceRuling::Try
            }
            Some(_) | None => PaceRuling::Refuse,
        }
    }

    /// Takes down that a try of so many has passed; whether they may be signed now.
    pub fn passed(&mut self, charges: usize) -> bool {
        let Some(ceiling) = &mut self.ceiling else { return true };
        let Tries { charges: least, passed, .. } = ceiling.tries;
        let least = if passed == 0 { charges } else { least.min(charges) };
        (ceiling.tries.charges, ceiling.tries.passed) = (least, passed.saturating_add(1));
        if ceiling.tries.passed >= FEW {
            ceiling.charges = ceiling.charges.max(least);
            ceiling.tries.passed = 0;
        }
        charges <= ceiling.charges
    }

    /// In how many seconds more may be asked for again than may be signed now.
    pub fn again_s(&self, now_ms: i64) -> u64 {
        let at = |ceiling: &Ceiling| match ceiling.every_ms {
            SIMULATED_MS => ceiling.tries.due_ms,
            _ => ceiling.raised_ms(now_ms),
        };
        let wait_ms = self.ceiling.as_ref().map_or(0, at).saturating_sub(now_ms);
        u64::try_from(wait_ms).unwrap_or(0).div_ceil(1000).max(1)
    }

    /// Returns the number of times that a call has to pass before it is signed: more after a block has stopped one.
    pub fn passes(&self) -> usize {
        if self.row == 0 { 1 } else { FEW }
    }

    /// Takes down that nodes stopped a simulation, and that at most `fits` charges passed (at least one
    /// may always be tried).
    pub fn stopped(&mut self, fits: usize, now_ms: i64) {
        self.lower(fits, SIMULATED_MS, now_ms);
    }

    /// Takes down that this billing transaction went through.
    pub fn charged(&mut self, id: B256) {
        if self.is_new(id) {
            self.went_through();
        }
    }

    /// Takes down that one went through.
    pub fn went_through(&mut self) {
        (self.row, self.closed) = (0, None);
    }

    /// Takes down that one failed; whether that was news.
    pub fn failed(&mut self, burnt: Burnt) -> bool {
        if !self.is_new(burnt.id) {
            return false;
        }
        let day = utc_day(burnt.at_ms);
        let before = if self.burnt.0 == day { self.burnt.1 } else { 0 };
        if day >= self.burnt.0 {
            self.burnt = (day, before.saturating_add(burnt.fee));
        }
        if !burnt.out_of_time {
            return true;
        }
        self.lower(burnt.charges >> 1, BURNT_MS, burnt.at_ms);
        self.row = self.row.saturating_add(1);
        if self.row >= FEW {
            let charges = self.most(burnt.at_ms).min(burnt.charges);
            let probe = Probe { calldata: burnt.calldata, charges };
            let due_ms = burnt.at_ms.saturating_add(self.patience_ms());
            self.closed = Some(Halt { probe, due_ms });
        }
        true
    }

    /// Why nothing is signed now, if failures of all accounts cost `sun` today and may cost `most`.
    pub fn closed(&self, sun: u64, most: u64) -> Option<SigningHalt> {
        if sun >= most {
            return Some(SigningHalt::Burnt { sun, most });
        }
        self.closed.as_ref().map(|_| SigningHalt::OutOfTime { times: self.row })
    }

    /// The newest day (UTC) with a failure, and what failures cost in it, sun.
    pub fn burnt(&self) -> (i64, u64) {
        self.burnt
    }

    /// Returns the probe to try, if one is due.
    pub fn probe(&self, now_ms: i64) -> Option<Probe> {
        self.closed.as_ref().filter(|stop| now_ms >= stop.due_ms).map(|stop| stop.probe.clone())
    }

    /// Takes down what came of a probe. One more that a block stops closes the lane again.
    pub fn probed(&mut self, result: ProbeResult, now_ms: i64) {
        let due_ms = now_ms.saturating_add(self.patience_ms());
        match (result, &mut self.closed) {
            (ProbeResult::Passed, _) => self.closed = None,
            (ProbeResult::Stopped, Some(stop)) => {
                stop.due_ms = due_ms;
                stop.probe.charges = (stop.probe.charges >> 1).max(1);
                let charges = stop.probe.charges;
                self.lower(charges, BURNT_MS, now_ms);
            }
            (ProbeResult::Stopped, None) => {}
        }
    }

    fn patience_ms(&self) -> i64 {
        let more = u32::try_from(self.row.saturating_sub(FEW)).unwrap_or(u32::MAX).min(20);
        PROBE_MS.saturating_mul(1_i64 << more).min(LONGEST_MS)
    }

    fn lower(&mut self, charges: usize, every_ms: i64, now_ms: i64) {
        let charges = self.most(now_ms).min(charges.max(1));
        let young = |before: &Ceiling| now_ms.saturating_sub(before.since_ms) < before.every_ms;
        let before = self.ceiling.filter(young);
        let every_ms = before.map_or(every_ms, |before| before.every_ms.max(every_ms));
        let tries = Tries { due_ms: now_ms.saturating_add(PROBE_MS), charges: 0, passed: 0 };
        self.ceiling = Some(Ceiling { charges, since_ms: now_ms, every_ms, tries });
    }

    fn is_new(&mut self, id: B256) -> bool {
        let new = !self.known.contains(&id);
        if new {
            self.known.push_back(id);
        }
        if self.known.len() > KEPT {
            self.known.pop_front();
        }
        new
    }
}

#[cfg(test)]
mod tests;
