//! A visit of every state of a space, until a law is broken.

use stateright::{Checker as _, Expectation, HasDiscoveries, Model};
use std::fmt::Debug;
use std::hash::Hash;

/// The result of a visit.
#[derive(Clone, Debug)]
pub struct Visit {
    /// The number of states, each counted once.
    pub states: usize,
    /// The number of steps that led to them.
    pub steps: usize,
    /// The length of the longest history.
    pub depth: usize,
    /// The laws that are broken; where none is, the states that should be reached and were not.
    pub found: Vec<&'static str>,
}

/// Visits the states of a space.
pub fn visit<S>(space: &S) -> Visit
where
    S: Model + Clone + Send + Sync + 'static,
    S::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    S::Action: Clone + Debug + PartialEq,
{
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let checker = space.clone().checker().threads(threads);
    let checked = checker.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join();
    let named = |expectation: Expectation, discovered: bool| -> Vec<&'static str> {
        let laws = space.properties().into_iter().filter(|law| law.expectation == expectation);
        let told = laws.filter(|law| checked.discovery(law.name).is_some() == discovered);
        told.map(|law| law.name).collect()
    };
    let broken = named(Expectation::Always, true);
    let unreached = named(Expectation::Sometimes, false);
    Visit {
        states: checked.unique_state_count(),
        steps: checked.state_count(),
        depth: checked.max_depth(),
        // A visit that was broken off has not reached everything.
        found: if broken.is_empty() { unreached } else { broken },
    }
}
