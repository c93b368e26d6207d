//! Which entries to try together when a batch fails as a whole: pure.
//!
//! Groups that fail are split until the culprits stand alone. Those whose funds fall short are
//! suspects from the start, so the first split sets each of them apart; in the usual case the rest
//! then passes at once.

use std::collections::BTreeSet;

/// Entries to try in one call, by their place in the batch. Never empty.
pub(crate) type Group = Vec<usize>;

/// Splits a group that failed. A group of one is a culprit: there is nothing to split.
pub(super) fn split(group: &Group, suspects: &BTreeSet<usize>) -> Vec<Group> {
    if group.len() <= 1 {
        return Vec::new();
    }
    let (apart, rest): (Group, Group) = group.iter().partition(|entry| suspects.contains(entry));
    if !apart.is_empty() {
        let alone = apart.into_iter().map(|entry| vec![entry]);
        return Some(rest).into_iter().filter(|rest| !rest.is_empty()).chain(alone).collect();
    }
    let (first, second) = rest.split_at(rest.len() >> 1);
    vec![first.to_vec(), second.to_vec()]
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the entries found guilty when a group fails exactly if it holds one of `guilty`, with the number of
    /// calls and of rounds that the search took.
    fn search(n: usize, guilty: &[usize], suspects: &[usize]) -> (Vec<usize>, usize, usize) {
        let suspects = suspects.iter().copied().collect();
        let fails = |group: &Group| group.iter().any(|entry| guilty.contains(entry));
        let (mut found, mut calls, mut rounds) = (Vec::new(), 0, 0);
        let mut failed: Vec<Group> = vec![(0..n).collect()];
        while !failed.is_empty() {
            found.extend(failed.iter().filter(|group| group.len() == 1).flatten());
            let level: Vec<Group> = failed.iter().flat_map(|g| split(g, &suspects)).collect();
            calls += level.len();
            rounds += usize::from(!level.is_empty());
            failed = level.into_iter().filter(|group| fails(group)).collect();
        }
        found.sort_unstable();
        (found, calls, rounds)
    }

    #[test]
    fn one_culprit_in_a_hundred_is_found_by_halves() {
        assert_eq!(search(100, &[37], &[]), (vec![37], 12, 6));
    }

    #[test]
    fn those_who_fall_short_are_set_apart_in_one_round() {
        assert_eq!(search(100, &[3, 37], &[3, 37]), (vec![3, 37], 3, 1));
        assert_eq!(search(2, &[0, 1], &[0, 1]), (vec![0, 1], 2, 1));
        assert_eq!(search(1, &[0], &[0]), (vec![0], 0, 0));
    }

    proptest! {
        #[test]
        fn exactly_the_guilty_are_found_in_fewer_than_two_calls_each(
            n in 1..200_usize,
            guilty in prop::collection::btree_set(0..200_usize, 1..50),
            suspects in prop::collection::vec(0..200_usize, 0..20),
        ) {
            let guilty: Vec<usize> = guilty.into_iter().map(|g| g % n).collect::<BTreeSet<_>>()
                .into_iter().collect();
            let suspects: Vec<usize> = suspects.into_iter().map(|s| s % n).collect();
            let (found, calls, _) = search(n, &guilty, &suspects);
            prop_assert_eq!(found, guilty);
            prop_assert!(calls < 2 * n);
        }
    }
}
