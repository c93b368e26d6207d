//! A slice of what `cargo run --profile campaign -p state-space` visits, as large as an unoptimised program visits in seconds.

use super::*;
use stateright::{Checker as _, HasDiscoveries, Model as _};
use strum::IntoEnumIterator as _;

const NOTHING: Budget = Budget {
    transactions: 2,
    crashes: 0,
    copies: 0,
    reorganisations: 0,
    authorizations: 0,
    changes: 0,
};

/// Returns the laws that are broken, once one is.
fn broken_laws(space: Space) -> Vec<&'static str> {
    let checker = space.checker().finish_when(HasDiscoveries::AnyFailures).threads(2);
    let checked = checker.spawn_bfs().join();
    let laws = ["nobody is charged twice", "an end is what a final block holds"];
    laws.into_iter().filter(|law| checked.discovery(law).is_some()).collect()
}

#[test]
fn no_law_is_broken_and_every_end_is_reached() {
    for budget in [
        Budget { crashes: 1, reorganisations: 1, authorizations: 1, changes: 1, ..NOTHING },
        Budget { copies: 1, ..NOTHING },
    ] {
        let space = Space { budget, pools: Pools::TellAll, broken: None };
        space.checker().threads(2).spawn_bfs().join().assert_properties();
    }
}

#[test]
fn every_broken_rule_breaks_a_law() {
    let budget = Budget { transactions: 3, copies: 1, ..NOTHING };
    for rule in BrokenRule::iter() {
        let space = Space { budget, pools: Pools::TellAll, broken: Some(rule) };
        let noticed = !broken_laws(space).is_empty();
        assert!(noticed, "{rule:?} is not noticed");
    }
}

/// docs/proof.md tells of this limit.
#[test]
fn an_old_copy_forgets_what_waits_behind_a_gap_where_pools_count_up_to_it() {
    let budget = Budget { transactions: 3, copies: 1, ..NOTHING };
    let space = Space { budget, pools: Pools::CountUpToGap, broken: None };
    assert_eq!(broken_laws(space), ["nobody is charged twice"]);
}
