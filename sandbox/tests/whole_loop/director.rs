//! Decides who is killed, when.

use super::cast::{Cast, Part};
use super::road::Moment;
use parking_lot::Mutex;
use std::collections::BTreeSet;
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
    steps: BTreeSet<String>,
    rest_until: Instant,
    dice: u64,
}

impl Director {
    pub(crate) fn new(one_in: u64, cut_one_in: u64, seed: u64) -> Arc<Self> {
        let (done, steps) = (BTreeSet::new(), BTreeSet::new());
        let state = State { armed: false, done, steps, rest_until: Instant::now(), dice: seed };
        Arc::new(Self { cast: OnceLock::new(), state: Mutex::new(state), one_in, cut_one_in })
    }

    /// Whom it may kill.
    pub(crate) fn meet(&self, cast: Arc<Cast>) {
        assert!(self.cast.set(cast).is_ok());
    }

    /// From now on, or not any more.
    pub(crate) fn arm(&self, armed: bool) {
        self.state.lock().armed = armed;
    }

    /// How many kills were made, and how many steps were seen.
    pub(crate) fn count(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.done.len(), state.steps.len())
    }

    /// Every step that came by.
    pub(crate) fn steps(&self) -> Vec<String> {
        self.state.lock().steps.iter().cloned().collect()
    }

    /// The kills that were wanted, and for which there was no chance.
    pub(crate) fn missed(&self) -> Vec<Kill> {
        let state = self.state.lock();
        let moments = state
            .steps
            .iter()
            .flat_map(|step| [Moment::Before, Moment::After].map(|moment| (step, moment)));
        let kills =
            moments.flat_map(|(step, moment)| Part::ALL.map(|part| (step.clone(), moment, part)));
        kills.filter(|kill| self.wants(kill) && !state.done.contains(kill)).collect()
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
        state.steps.insert(step.to_owned());
        if self.cut_one_in > 0 && state.throw(self.cut_one_in) == 0 {
            return true;
        }
        if Instant::now() < state.rest_until || !cast.is_whole() {
            return false;
        }
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
