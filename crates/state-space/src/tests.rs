//! A slice of what `cargo run --profile campaign -p state-space` visits, as large as an unoptimised program visits in seconds.

use super::{Mark, Wanted, evm, tron, visit};
use strum::IntoEnumIterator as _;

const NOTHING_FOUND: [&str; 0] = [];

mod on_evm {
    use super::evm::{BrokenRule, Budget, Pools, Space};
    use super::*;

    const NOTHING: Budget = Budget {
        transactions: 2,
        crashes: 0,
        copies: 0,
        reorganisations: 0,
        authorizations: 0,
        changes: 0,
    };

    #[test]
    fn no_law_is_broken_and_every_end_is_reached() {
        for budget in [
            Budget { crashes: 1, reorganisations: 1, authorizations: 1, changes: 1, ..NOTHING },
            Budget { copies: 1, ..NOTHING },
        ] {
            let space =
                Space { budget, requests: Wanted::ALL, pools: Pools::TellAll, broken: None };
            assert_eq!(visit(&space).found, NOTHING_FOUND, "{budget:?}");
        }
    }

    #[test]
    fn every_broken_rule_breaks_a_law() {
        let budget = Budget { transactions: 3, copies: 1, ..NOTHING };
        for rule in BrokenRule::iter() {
            let space =
                Space { budget, requests: Wanted::ALL, pools: Pools::TellAll, broken: Some(rule) };
            assert_ne!(visit(&space).found, NOTHING_FOUND, "{rule:?} is not noticed");
        }
    }

    /// docs/proof.md tells of this limit.
    #[test]
    fn an_old_copy_forgets_what_waits_behind_a_gap_where_pools_count_up_to_it() {
        let budget = Budget { transactions: 3, copies: 1, ..NOTHING };
        let space =
            Space { budget, requests: Wanted::ALL, pools: Pools::CountUpToGap, broken: None };
        assert_eq!(visit(&space).found, ["nobody is charged twice"]);
    }
}

mod on_tron {
    use super::tron::{BrokenRule, Budget, Pools, Space};
    use super::*;

    const NOTHING: Budget = Budget {
        blocks: 3,
        transactions: 2,
        crashes: 0,
        copies: 0,
        reorganisations: 0,
        changes: 0,
    };

    const SPACE: Space = Space {
        budget: NOTHING,
        requests: &[Wanted::First],
        marks: &[Mark::Stays, Mark::PutBackToo],
        pools: Pools::TellAll,
        broken: None,
    };

    /// A copy whose mark tells that, where no node tells what waits in its pool.
    const MARKED: Space = Space {
        budget: Budget { copies: 1, ..NOTHING },
        marks: &[Mark::Stays],
        pools: Pools::Forget,
        ..SPACE
    };

    #[test]
    fn no_law_is_broken_and_every_end_is_reached() {
        let space = Space { requests: Wanted::ALL, ..SPACE };
        assert_eq!(visit(&space).found, NOTHING_FOUND);
    }

    #[test]
    fn no_law_is_broken_by_a_crash_an_undone_block_or_a_copy() {
        let crash = Space { budget: Budget { crashes: 1, ..NOTHING }, ..SPACE };
        let undone = Space { budget: Budget { reorganisations: 1, ..NOTHING }, ..SPACE };
        for space in [crash, undone, MARKED] {
            assert_eq!(visit(&space).found, NOTHING_FOUND, "{space:?}");
        }
    }

    #[test]
    fn every_broken_rule_breaks_a_law() {
        for rule in BrokenRule::iter() {
            let transactions = if rule == BrokenRule::RenewsInDoubt { 3 } else { 2 };
            let budget = Budget { transactions, ..MARKED.budget };
            let by_pools = [BrokenRule::PastIsNotAsked, BrokenRule::UnconfirmedAreNotAsked];
            let space = if by_pools.contains(&rule) { SPACE } else { MARKED };
            let space = Space { budget, broken: Some(rule), ..space };
            assert_ne!(visit(&space).found, NOTHING_FOUND, "{rule:?} is not noticed");
        }
    }

    /// docs/proof.md tells of this limit.
    #[test]
    fn a_copy_that_comes_back_with_its_mark_forgets_what_no_pool_tells() {
        let space = Space { marks: &[Mark::PutBackToo], ..MARKED };
        assert_eq!(visit(&space).found, ["nobody is charged twice"]);
    }
}
