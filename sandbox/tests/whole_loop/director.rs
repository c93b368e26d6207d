//! Decides who is killed, when.

use super::cast::{Cast, Part};
use super::road::Moment;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// How long everybody is left alone after a kill, so that there is something to be killed at.
const REST: Duration = Duration::from_millis(120);

/// One kill: at which step, at which moment of it, of whom.
pub(crate) type Kill = (String, Moment, Part);

/// Kills every program once at each moment of every step that comes by.
pub(crate) struct Director {
    cast: OnceLock<Arc<Cast>>,
    state: Mutex<State>,
    /// Of so many kills, one is made.
    one_in: u64,
    /// Of so many exchanges, one is cut for no reason; 0 if none is.
    cut_one_in: u64,
}

struct State {
    armed: bool,
    done: BTreeSet<Kill>,
    /// How often each step came by at each moment, and how often somebody could be killed at it.
    steps: BTreeMap<(String, Moment), (u32, u32)>,
    rest_until: Instant,
    dice: u64,
}

impl Director {
    pub(crate) fn new(one_in: u64, cut_one_in: u64, seed: u64) -> Arc<Self> {
        let (done, steps) = (BTreeSet::new(), BTreeMap::new());
        let state = State { armed: false, done, steps, rest_until: Instant::now(), dice: seed };
        Arc::new(Self { cast: OnceLock::new(), state: Mutex::new(state), one_in, cut_one_in })
    }

    /// Whom it may kill.
    pub(crate) fn meet(&self, cast: Arc<Cast>) {
        assert!(self.cast.set(cast).is_ok());
    }

    /// From now on, or not any more.
    pub(crate) fn set_armed(&self, armed: bool) {
        self.state.lock().armed = armed;
    }

    /// How many kills were made, and how many steps were seen.
    pub(crate) fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.done.len(), names(&state).len())
    }

    /// Every step that came by.
    pub(crate) fn steps(&self) -> Vec<String> {
        names(&self.state.lock()).into_iter().collect()
    }

    /// The kills that were wanted and not made, in words: what comes by seldom gives too few chances. Nobody can be killed while
    /// another one is being started.
    pub(crate) fn missed(&self) -> Vec<String> {
        let state = self.state.lock();
        let mut missed = vec![];
        for step in names(&state) {
            for moment in [Moment::Before, Moment::After] {
                let (came, chances) =
                    state.steps.get(&(step.clone(), moment)).copied().unwrap_or_default();
                let of = |part: &Part| (step.clone(), moment, *part);
                let left = |part: &Part| self.wants(&of(part)) && !state.done.contains(&of(part));
                let parts: Vec<Part> = Part::ALL.into_iter().filter(left).collect();
                if !parts.is_empty() {
                    missed.push(format!(
                        "not killed: {parts:?}, {moment:?} {step}: it came by {came} times, {chances} of them with everybody there"
                    ));
                }
            }
        }
        missed
    }

    /// A number from 0 up to `below`, by the seed.
    pub(crate) fn throw(&self, below: u64) -> u64 {
        self.state.lock().throw(below)
    }

    /// Called at both moments of every step. True: the connection breaks here.
    pub(crate) fn step(&self, step: &str, moment: Moment) -> bool {
        let Some(cast) = self.cast.get() else { return false };
        let mut state = self.state.lock();
        if !state.armed {
            return false;
        }
        let place = (step.to_owned(), moment);
        state.steps.entry(place.clone()).or_default().0 += 1;
        if self.cut_one_in > 0 && state.throw(self.cut_one_in) == 0 {
            return true;
        }
        if Instant::now() < state.rest_until || !cast.is_whole() {
            return false;
        }
        state.steps.entry(place).or_default().1 += 1;
        let kills = Part::ALL.into_iter().map(|part| (step.to_owned(), moment, part));
        let Some(kill) = { kills }.find(|kill| self.wants(kill) && !state.done.contains(kill))
        else {
            return false;
        };
        let part = kill.2;
        state.done.insert(kill);
        state.rest_until = Instant::now() + REST;
        drop(state);
        cast.kill(part);
        true
    }

    fn wants(&self, kill: &Kill) -> bool {
        use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
        self.one_in > 0
            && BuildHasherDefault::<DefaultHasher>::default().hash_one(kill) % self.one_in == 0
    }
}

/// Every step that came by.
fn names(state: &State) -> BTreeSet<String> {
    state.steps.keys().map(|(step, _)| step.clone()).collect()
}

impl State {
    fn throw(&mut self, below: u64) -> u64 {
        // splitmix64
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.dice;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }
}
