//! Campaigns: many seeds, what happened in them, and which broken rules were noticed.

use crate::dice::{Fault, Log};
use crate::mutants::Mutant;
use crate::narrowed_worlds;
use crate::world::Side;
use crate::{Bench, Outcome, Rules};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The seeds and rules that are to be played.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The first seed.
    pub from: u64,
    /// The number of them.
    pub seeds: u64,
    /// The rule that is broken, by its name.
    pub mutant: Option<String>,
    /// The chain that alone is billed on ("EVM", "TRON").
    pub only: Option<String>,
    /// The one thing that goes wrong ("sole-liar").
    pub theme: Option<String>,
    /// Number of threads that play.
    pub threads: usize,
}

/// The result of a campaign.
#[derive(Debug, Default)]
pub struct Tally {
    /// Number of seeds that were played.
    pub seeds: u64,
    /// The seeds in which a law was broken, and which.
    pub broken: BTreeMap<u64, String>,
    counts: BTreeMap<(&'static str, &'static str), u64>,
}

impl Tally {
    fn add(&mut self, seed: u64, outcome: Outcome) {
        self.seeds += 1;
        for (what, times) in outcome.log.counts {
            *self.counts.entry(what).or_default() += times;
        }
        self.broken.extend(outcome.broken.map(|law| (seed, law)));
    }

    fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        for (what, times) in other.counts {
            *self.counts.entry(what).or_default() += times;
        }
        self.broken.extend(other.broken);
    }

    /// Returns the number of times that an event happened on a chain ("EVM", "TRON", "both").
    pub fn count(&self, at: &str, what: &str) -> u64 {
        self.counts.iter().filter(|((a, w), _)| *a == at && *w == what).map(|(_, n)| n).sum()
    }

    /// Every event and how often it happened on each chain, as lines.
    pub fn table(&self) -> String {
        let mut names: Vec<&str> = self.counts.keys().map(|(_, what)| *what).collect();
        names.extend(Fault::words());
        names.sort_unstable();
        names.dedup();
        let mut text = format!("{:<36} {:>10} {:>10} {:>10}\n", "", "EVM", "TRON", "both");
        for name in names {
            let [evm, tron, both] = ["EVM", "TRON", "both"].map(|at| self.count(at, name));
            writeln!(text, "{name:<36} {evm:>10} {tron:>10} {both:>10}").unwrap_or_default();
        }
        text
    }
}

/// Every broken rule's name, with each chain that it exists on.
pub fn mutants() -> Vec<(String, &'static str)> {
    let each = |mutant: Mutant| {
        let name = format!("{mutant:?}");
        mutant.sides().iter().map(move |side| (name.clone(), side.name())).collect::<Vec<_>>()
    };
    Mutant::all().flat_map(each).collect()
}

/// Plays many seeds. A broken rule is played until a law notices it.
pub fn campaign(what: &Campaign) -> Result<Tally, String> {
    let rules = rules(what)?;
    let (next, stop) = (AtomicU64::new(what.from), AtomicBool::new(false));
    let end = what.from.saturating_add(what.seeds);
    let play = || {
        let (mut bench, mut tally) = (Bench::new(), Tally::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end || stop.load(Ordering::Relaxed) {
                return tally;
            }
            let played = catch_unwind(AssertUnwindSafe(|| bench.play(seed, rules)));
            let outcome = played.unwrap_or_else(|_| {
                bench = Bench::new();
                Outcome { broken: Some("it panicked".to_owned()), log: Log::default() }
            });
            if outcome.broken.is_some() && rules.mutant.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            tally.add(seed, outcome);
        }
    };
    let mut all = Tally::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..what.threads.max(1)).map(|_| scope.spawn(play)).collect();
        for thread in threads {
            match thread.join() {
                Ok(tally) => all.merge(tally),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    Ok(all)
}

/// Plays one seed and tells all of it: the law that was broken, and what happened, line by line.
pub fn replay(seed: u64, what: &Campaign) -> Result<Replay, String> {
    let rules = rules(what)?;
    let rules = Rules { talkative: true, ..rules };
    let Outcome { broken, log } = Bench::new().play(seed, rules);
    let Log { lines, digest, .. } = log;
    Ok(Replay { broken, lines, digest })
}

/// One seed in full.
#[derive(Debug)]
pub struct Replay {
    /// The law that was broken, if one was.
    pub broken: Option<String>,
    /// The events of the history.
    pub lines: Vec<String>,
    /// The digest of all of it: the same for the same seed.
    pub digest: u64,
}

fn rules(Campaign { mutant, only, theme, .. }: &Campaign) -> Result<Rules, String> {
    Ok(Rules {
        mutant: named(mutant.as_deref(), Mutant::named)?,
        only: named(only.as_deref(), Side::named)?,
        theme: named(theme.as_deref(), narrowed_worlds::named)?,
        talkative: false,
    })
}

fn named<T>(name: Option<&str>, known: fn(&str) -> Option<T>) -> Result<Option<T>, String> {
    name.map(|name| known(name).ok_or_else(|| format!("nothing is called {name}"))).transpose()
}
