use super::*;
use proptest::prelude::*;

fn heads(numbers: &[u64]) -> Vec<(NodeId, HeadSeen)> {
    let head = |(id, number): (usize, &u64)| {
        (NodeId(id), HeadSeen { number: *number, time: 1_000 + number * 12 })
    };
    numbers.iter().enumerate().map(head).collect()
}

fn off(numbers: &[u64]) -> Vec<usize> {
    out_of_step(&heads(numbers)).into_iter().map(|id| id.0).collect()
}

#[test]
fn a_node_that_lags_is_out_of_step_and_one_that_is_a_block_late_is_not() {
    assert_eq!(off(&[100, 100, 99]), [0; 0]);
    assert_eq!(off(&[100, 100, 94]), [2]);
    assert_eq!(off(&[100, 94]), [1]);
    assert_eq!(off(&[100]), [0; 0]);
    assert_eq!(off(&[]), [0; 0]);
}

#[test]
fn a_head_that_nobody_else_has_seen_the_like_of_does_not_put_the_others_out_of_step() {
    assert_eq!(off(&[100, 1_000_000, 100]), [1]);
    assert_eq!(off(&[100, 104, 100]), [0; 0]);
}

#[test]
fn a_head_is_stale_when_its_time_is_far_behind_the_others() {
    let mut seen = heads(&[100, 100, 99]);
    seen[2].1.time = seen[0].1.time - MOST_SECONDS_APART;
    assert!(out_of_step(&seen).is_empty());
    seen[2].1.time -= 1;
    assert_eq!(out_of_step(&seen), [NodeId(2)]);
}

#[test]
fn a_nonce_is_refuted_by_two_who_have_seen_as_much_and_count_less() {
    let seen = |told: &[(u64, u64)]| -> Vec<usize> {
        let told: Vec<NonceSeen> = told
            .iter()
            .enumerate()
            .map(|(id, (head, nonce))| NonceSeen { node: NodeId(id), head: *head, nonce: *nonce })
            .collect();
        refuted(&told).into_iter().map(|id| id.0).collect()
    };
    assert_eq!(seen(&[(100, 7), (100, 7), (100, 900)]), [2]);
    assert_eq!(seen(&[(100, 7), (100, 7), (101, 8)]), [0; 0], "it may have seen the next block");
    assert_eq!(seen(&[(100, 7), (100, 900)]), [0; 0], "of two nobody can tell who lies");
    assert_eq!(seen(&[(100, 900), (100, 900), (100, 7)]), [0; 0]);
    assert_eq!(seen(&[(100, 9), (100, 9), (100, 7), (100, 7)]), [0; 0], "two have seen it");
}

#[test]
fn that_nothing_more_is_there_is_believed_of_two_who_say_so_and_never_of_silence() {
    assert_eq!(undenied([7, 7, 900], 2), Some(7), "two deny what one tells");
    assert_eq!(undenied([7, 8], 2), Some(8), "the third is down: one does not deny it");
    assert_eq!(undenied([7, 7], 2), Some(7));
    assert_eq!(undenied([8, 8, 7, 7], 2), Some(8), "two tell of it");
    assert_eq!(undenied([7], 2), None, "too few tell");
    assert_eq!(undenied([7], 1), Some(7));
    assert_eq!(undenied::<u64>([], 1), None);
}

#[test]
fn a_median_is_set_by_no_single_node() {
    assert_eq!(median([1, 1_000_000, 2]), Some(2));
    assert_eq!(median([1, 5]), Some(5), "of two the larger one: a price that is paid");
    assert_eq!(median::<u64>([]), None);
}

#[test]
fn an_answer_counts_when_enough_give_it() {
    assert_eq!(shared(&["a", "b", "a"], 2), Some(&"a"));
    assert_eq!(shared(&["a", "b"], 2), None);
    assert_eq!(shared(&["a"], 1), Some(&"a"));
    assert_eq!(shared::<u8>(&[], 1), None);
}

proptest! {
    /// With one liar among three, whatever it says, the value lies within what the honest ones say.
    #[test]
    fn one_liar_among_three_moves_no_value_out_of_the_range_of_the_honest(
        honest in prop::array::uniform2(0..1000_u64), lie in any::<u64>(),
    ) {
        let (low, high) = (honest[0].min(honest[1]), honest[0].max(honest[1]));
        for value in [
            reached_by([lie, honest[0], honest[1]], 2),
            median([honest[0], lie, honest[1]]),
            undenied([honest[0], lie, honest[1]], 2),
        ] {
            prop_assert!((low..=high).contains(&value.unwrap()), "{value:?}");
        }
    }

    /// Whatever a third node claims, two that are in step with each other stay in use.
    #[test]
    fn two_nodes_in_step_are_never_put_out_of_use_by_a_third(head in 0..1_000_000_u64, lie in any::<u64>()) {
        let mut seen = heads(&[head, head]);
        seen.push((NodeId(2), HeadSeen { number: lie, time: lie }));
        let off = out_of_step(&seen);
        prop_assert!(!off.contains(&NodeId(0)) && !off.contains(&NodeId(1)), "{off:?}");
    }

    /// One of three is down and one lies: what the honest one knows counts.
    #[test]
    fn one_liar_beside_one_honest_node_hides_nothing(honest in 0..1000_u64, lie in any::<u64>()) {
        prop_assert!(undenied([lie, honest], 2).unwrap() >= honest);
    }

    #[test]
    fn no_more_values_than_asked_for_are_above_the_one_that_is_reached(
        values in prop::collection::vec(0..50_u64, 0..8), needed in 1..4_usize,
    ) {
        match reached_by(values.clone(), needed) {
            None => prop_assert!(values.len() < needed),
            Some(value) => {
                prop_assert!(values.iter().filter(|v| **v >= value).count() >= needed);
                prop_assert!(values.iter().filter(|v| **v > value).count() < needed);
            }
        }
    }
}
