//! Conclusions, case by case, and under every kind of testimony that a liar may give.

use super::*;
use alloy::primitives::Bytes;
use proptest::prelude::*;

/// The place that is concluded about.
const PLACE: u64 = 7;

/// The attempts that were signed for it.
const OURS: [u8; 2] = [1, 2];

/// Another transaction of the account.
const OTHER: u8 = 3;

fn hash(byte: u8) -> B256 {
    B256::repeat_byte(byte)
}

fn block(number: u64, fork: u8) -> Block {
    let mut hash = B256::repeat_byte(fork);
    hash.0[..8].copy_from_slice(&number.to_be_bytes());
    Block { number, hash, time: number * 10 }
}

fn receipt(number: u64, fork: u8) -> Receipt {
    Receipt { block: number, block_hash: block(number, fork).hash, succeeded: true, logs: vec![] }
}

/// A node at block 100, final to 90, that has not seen the place taken.
fn fresh() -> EvmTestimony {
    EvmTestimony {
        head: 100,
        taken: Some(PLACE),
        final_block: 90,
        settled: Some(PLACE),
        ..EvmTestimony::default()
    }
}

/// A node that shows `tx` in the canonical block `number`.
fn shows(tx: u8, number: u64) -> EvmTestimony {
    let settled = if number <= 90 { PLACE + 1 } else { PLACE };
    let mut node = EvmTestimony { taken: Some(PLACE + 1), settled: Some(settled), ..fresh() };
    node.receipts.insert(hash(tx), receipt(number, 0));
    node.canonical.insert(number, block(number, 0));
    if !OURS.contains(&tx) {
        let call = TxCall { to: None, input: Bytes::new() };
        node.identified.insert(PLACE, Identified::Transaction { hash: hash(tx), call });
    }
    node
}

fn with(mut node: EvmTestimony, change: impl FnOnce(&mut EvmTestimony)) -> EvmTestimony {
    change(&mut node);
    node
}

/// One that counts the place as taken for good, and was searched without success.
fn lost() -> EvmTestimony {
    with(fresh(), |node| {
        (node.taken, node.settled) = (Some(PLACE + 1), Some(PLACE + 1));
        node.identified.insert(PLACE, Identified::Nobody(block(80, 0)));
    })
}

fn about(said: &[EvmTestimony], quorum: usize) -> (String, Vec<usize>) {
    let EvmConclusion { fate, liars, .. } = conclude(PLACE, &OURS.map(hash), said, quorum);
    let word = match fate {
        NonceFate::Ours(taker) => format!("ours {}", taker.hash.0[0]),
        NonceFate::Foreign(taker) => format!("foreign {}", taker.hash.0[0]),
        NonceFate::Absent => "absent".to_owned(),
        NonceFate::Included => "included".to_owned(),
        NonceFate::Shown => "shown".to_owned(),
        NonceFate::UsedUp(block) => format!("used up {}", block.number),
        NonceFate::Unwitnessed => "unwitnessed".to_owned(),
        NonceFate::Unrecorded => "unrecorded".to_owned(),
        NonceFate::Disputed => "disputed".to_owned(),
        NonceFate::Unclear => "unclear".to_owned(),
    };
    (word, liars)
}

fn word(said: &[EvmTestimony], quorum: usize) -> String {
    about(said, quorum).0
}

#[test]
fn one_node_alone_decides_where_there_is_one() {
    assert_eq!(word(&[shows(1, 90)], 1), "ours 1");
    assert_eq!(word(&[shows(2, 5)], 1), "ours 2", "the older bytes and the newer ones alike");
    assert_eq!(word(&[shows(OTHER, 80)], 1), "foreign 3");
    assert_eq!(word(&[shows(1, 91)], 1), "included");
    assert_eq!(word(&[fresh()], 1), "absent");
    assert_eq!(word(&[lost()], 1), "used up 80");
    assert_eq!(word(&[EvmTestimony::default()], 1), "unclear");
    assert_eq!(word(&[], 1), "unclear");
}

#[test]
fn two_have_to_name_the_same_transaction() {
    assert_eq!(word(&[shows(1, 80), shows(1, 80)], 2), "ours 1");
    assert_eq!(word(&[shows(OTHER, 80), shows(OTHER, 80)], 2), "foreign 3");
    assert_eq!(word(&[shows(1, 80), fresh()], 2), "shown", "one lags, or one lies");
    assert_eq!(word(&[shows(1, 80), shows(2, 80)], 2), "disputed");
    assert_eq!(word(&[shows(1, 80), shows(OTHER, 80)], 2), "disputed");
    assert_eq!(word(&[shows(1, 80), shows(1, 81)], 2), "disputed", "in two blocks at once");
    assert_eq!(word(&[shows(OTHER, 80)], 2), "shown", "one node's word for a usurper");
    assert_eq!(word(&[lost(), shows(1, 80)], 2), "unrecorded");
    assert_eq!(word(&[lost(), lost()], 2), "used up 80");
    let split = [shows(1, 80), shows(1, 80), shows(2, 80), shows(2, 80)];
    assert_eq!(about(&split, 2), ("disputed".to_owned(), vec![]), "nobody knows who lies");
    assert_eq!(conclude(PLACE, &OURS.map(hash), &split, 2).disputing, [0, 1, 2, 3]);
    let one = [shows(1, 80), lost(), shows(2, 80)];
    assert_eq!(conclude(PLACE, &OURS.map(hash), &one, 2).disputing, [0, 2]);
}

#[test]
fn a_place_is_used_up_by_no_transaction_where_enough_say_so_of_one_final_block_and_none_shows_a_taker()
 {
    let at = |number, fork| {
        with(lost(), |node| {
            node.identified.insert(PLACE, Identified::Nobody(block(number, fork)));
        })
    };
    assert_eq!(word(&[lost(), lost(), fresh()], 2), "used up 80");
    assert_eq!(word(&[lost(), at(81, 0)], 2), "unrecorded", "not of one block");
    assert_eq!(word(&[lost(), at(80, 1)], 2), "unrecorded", "not of one block");
    assert_eq!(word(&[at(91, 0), at(91, 0)], 2), "unrecorded", "it is not final");
    assert_eq!(word(&[lost(), lost(), shows(1, 80)], 2), "disputed", "one shows what took it");
    assert_eq!(word(&[lost(), lost(), shows(OTHER, 80)], 2), "disputed");
    assert_eq!(word(&[lost(), with(lost(), |node| node.identified.clear())], 2), "unrecorded");
}

#[test]
fn whoever_contradicts_what_is_final_is_named() {
    let named = |liar| about(&[shows(1, 80), liar, shows(1, 80)], 2);
    let case = |liar, liars: &[usize]| {
        assert_eq!(named(liar), ("ours 1".to_owned(), liars.to_vec()));
    };
    case(shows(2, 80), &[1]);
    case(shows(OTHER, 80), &[1]);
    case(shows(1, 79), &[1]);
    let failed = |node: &mut EvmTestimony| {
        node.receipts.get_mut(&hash(1)).unwrap().succeeded = false;
    };
    case(with(shows(1, 80), failed), &[1]);
    let both = |node: &mut EvmTestimony| {
        node.receipts.insert(hash(2), receipt(80, 0));
    };
    case(with(shows(1, 80), both), &[1]);
    // Behind, on a fork, silent, or searched in vain: no lie.
    case(fresh(), &[]);
    case(shows(2, 95), &[]);
    case(EvmTestimony::default(), &[]);
    case(lost(), &[]);
}

#[test]
fn a_receipt_counts_only_in_the_block_that_the_same_node_holds_there() {
    let reorged = with(shows(1, 80), |node| {
        node.canonical.insert(80, block(80, 1));
    });
    assert_eq!(word(&[reorged.clone(), reorged], 2), "unrecorded", "settled, but by whom?");
    let headless = with(shows(1, 80), |node| node.canonical.clear());
    assert_eq!(word(&[headless.clone(), headless], 2), "unrecorded");
    let other_number = with(shows(1, 80), |node| {
        node.canonical.insert(80, Block { number: 79, ..block(80, 0) });
    });
    assert_eq!(word(&[other_number.clone(), other_number], 2), "unrecorded");
    let undone = with(shows(1, 95), |node| {
        node.taken = Some(PLACE);
        node.canonical.insert(95, block(95, 1));
    });
    assert_eq!(word(&[undone], 1), "absent", "a reorg takes an inclusion back");
}

#[test]
fn any_node_that_shows_an_inclusion_stops_the_bidding_unless_two_others_have_seen_more() {
    assert_eq!(word(&[fresh(), shows(1, 95), with(fresh(), |node| node.head = 94)], 2), "shown");
    assert_eq!(
        word(&[shows(1, 95), shows(1, 95), with(fresh(), |node| node.head = 94)], 2),
        "included"
    );
    assert_eq!(word(&[fresh(), shows(1, 95), fresh()], 2), "absent", "refuted by two");
    assert_eq!(word(&[fresh(), shows(1, 95)], 2), "shown");
    assert_eq!(word(&[shows(1, 95)], 1), "included");
    let counted = with(fresh(), |node| node.taken = Some(PLACE + 1));
    assert_eq!(word(&[counted.clone(), EvmTestimony::default()], 2), "shown");
    assert_eq!(word(&[counted, fresh(), fresh()], 2), "absent");
}

#[test]
fn a_broken_quorum_believes_a_liar() {
    let said = [shows(OTHER, 80), fresh(), fresh()];
    assert_eq!(word(&said, 1), "foreign 3");
    assert_eq!(word(&said, 2), "absent");
}

/// What is true: who took the place, and where. Blocks up to 90 are final and on no fork.
type Truth = Option<(u8, u64)>;

/// What an honest node tells: it may be behind, not answer, or be on a fork above the final block.
fn honest(truth: Truth) -> impl Strategy<Value = EvmTestimony> {
    (80..=100_u64, 0..=90_u64, any::<[bool; 5]>()).prop_map(move |(head, seen_final, answers)| {
        let final_block = seen_final.min(head);
        let [knows, counts, receipt_known, header_known, fork] = answers;
        let by = |limit: u64| truth.is_some_and(|(_, at)| at <= limit);
        let count = |yes| PLACE + u64::from(yes);
        let mut node = EvmTestimony {
            head,
            taken: counts.then(|| count(by(head) && (by(90) || !fork))),
            final_block,
            settled: knows.then(|| count(by(final_block))),
            ..EvmTestimony::default()
        };
        let Some((tx, at)) = truth.filter(|_| by(head)) else { return node };
        let side = u8::from(fork && at > 90);
        if receipt_known {
            node.receipts.insert(hash(tx), receipt(at, 0));
        }
        if header_known {
            node.canonical.insert(at, block(at, side));
        }
        if by(final_block) && !OURS.contains(&tx) {
            let call = TxCall { to: None, input: Bytes::new() };
            node.identified.insert(PLACE, Identified::Transaction { hash: hash(tx), call });
        }
        node
    })
}

/// Anything at all, from a small world so that it often hits what others say.
fn liar() -> impl Strategy<Value = EvmTestimony> {
    let tale = (1..=3_u8, 80..=100_u64, 0..2_u8, 0..2_u8, any::<bool>());
    let numbers =
        (0..=200_u64, 0..=200_u64, prop::option::of(5..=9_u64), prop::option::of(5..=9_u64));
    (prop::collection::vec(tale, 0..4), numbers, 0..=4_u8).prop_map(|(tales, numbers, named)| {
        let (head, final_block, taken, settled) = numbers;
        let mut node =
            EvmTestimony { head, taken, final_block, settled, ..EvmTestimony::default() };
        for (tx, number, fork, canonical, succeeded) in tales {
            node.receipts.insert(hash(tx), Receipt { succeeded, ..receipt(number, fork) });
            node.canonical.insert(number, block(number, canonical));
        }
        let call = TxCall { to: None, input: Bytes::new() };
        let identified = match named {
            0 => Identified::Nobody(block(80, 0)),
            tx => Identified::Transaction { hash: hash(tx), call },
        };
        node.identified.insert(PLACE, identified);
        node
    })
}

fn truth() -> impl Strategy<Value = Truth> {
    prop::option::of((1..=OTHER, 80..=100_u64))
}

#[test]
fn what_a_taker_cost_is_told_by_as_many_as_have_to_agree_and_decides_nothing() {
    let costs = |fee: u64| {
        with(shows(1, 80), |node| {
            node.costs.insert(hash(1), (50_000, U256::from(fee)));
            node.receipts.get_mut(&hash(1)).unwrap().succeeded = false;
        })
    };
    let told = |said: &[EvmTestimony], limit| {
        let NonceFate::Ours(mut taker) = conclude(PLACE, &OURS.map(hash), said, 2).fate else {
            panic!()
        };
        taker.look_up(said, 2, limit);
        taker.landed().record.map(|record| (record.ending, record.fee))
    };
    let fee = U256::from(7);
    let alike = [costs(7), costs(8), costs(7)];
    assert_eq!(told(&alike, None), Some((CallEnding::Revert, fee)));
    assert_eq!(told(&alike, Some(50_000)), Some((CallEnding::OutOfGas, fee)));
    assert_eq!(told(&[costs(7), costs(8)], None), None, "it is the same end all the same");
}

proptest! {
    #[test]
    fn one_liar_of_three_never_decides_and_only_liars_are_named(
        (truth, said) in truth().prop_flat_map(|truth| {
            (Just(truth), (honest(truth), honest(truth), liar()))
        })
    ) {
        let said: [EvmTestimony; 3] = said.into();
        let EvmConclusion { fate, liars, .. } = conclude(PLACE, &OURS.map(hash), &said, 2);
        prop_assert!(liars.iter().all(|at| *at == 2));
        match fate {
            NonceFate::Ours(taker) | NonceFate::Foreign(taker) => {
                prop_assert_eq!(Some((taker.hash.0[0], taker.block.number)), truth);
                prop_assert!(taker.succeeded && taker.block.number <= 90);
            }
            NonceFate::UsedUp(_) => prop_assert!(false, "an honest node was not searched in vain"),
            NonceFate::Absent
            | NonceFate::Included
            | NonceFate::Shown
            | NonceFate::Unwitnessed
            | NonceFate::Unrecorded
            | NonceFate::Disputed
            | NonceFate::Unclear => {}
        }
    }

    #[test]
    fn two_honest_nodes_that_know_all_decide_whatever_the_third_says(
        tx in 1..=OTHER, at in 80..=90_u64, liar in liar()
    ) {
        let said = [shows(tx, at), liar, shows(tx, at)];
        let EvmConclusion { fate, .. } = conclude(PLACE, &OURS.map(hash), &said, 2);
        let (NonceFate::Ours(taker) | NonceFate::Foreign(taker)) = fate else {
            return Err(TestCaseError::fail(format!("{fate:?}")));
        };
        prop_assert_eq!((taker.hash, taker.block.number), (hash(tx), at));
    }

    #[test]
    fn a_reorg_above_the_final_block_undoes_no_conclusion(
        (truth, before, after) in truth().prop_flat_map(|truth| {
            (Just(truth), [honest(truth), honest(truth)], [honest(truth), honest(truth)])
        })
    ) {
        let decided = |said: &[EvmTestimony]| match conclude(PLACE, &OURS.map(hash), said, 2).fate {
            NonceFate::Ours(taker) | NonceFate::Foreign(taker) => Some(taker),
            NonceFate::Absent
            | NonceFate::Included
            | NonceFate::Shown
            | NonceFate::UsedUp(_)
            | NonceFate::Unwitnessed
            | NonceFate::Unrecorded
            | NonceFate::Disputed
            | NonceFate::Unclear => None,
        };
        if let (Some(before), Some(after)) = (decided(&before), decided(&after)) {
            prop_assert_eq!(before, after, "{:?}", truth);
        }
    }

    #[test]
    fn the_order_of_the_nodes_does_not_matter(said in [liar(), liar(), liar()]) {
        let turned: Vec<EvmTestimony> = said.iter().rev().cloned().collect();
        let one = conclude(PLACE, &OURS.map(hash), &said, 2);
        let other = conclude(PLACE, &OURS.map(hash), &turned, 2);
        prop_assert_eq!(one.fate, other.fate);
        let mirrored: Vec<usize> = other.liars.iter().rev().map(|at| 2 - at).collect();
        prop_assert_eq!(one.liars, mirrored);
    }
}
