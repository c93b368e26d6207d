//! When enough witnesses stand on a block, and how the list of them is followed.

use crate::forge::{account, chain, key, signed, transaction};
use alloy::primitives::Address;
use proptest::prelude::*;
use std::collections::BTreeSet;
use tron_primitives::answer::BlockAnswer;
use tron_primitives::block::Producer;
use tron_primitives::finality::{BadWitnesses, Following, Unlinked, Witnesses, needed};

const FIRST: u64 = 1000;

fn own(n: u64) -> Producer {
    Producer { witness: account(n), signer: account(n) }
}

fn list(seeds: impl IntoIterator<Item = u64>) -> Witnesses {
    Witnesses::new(seeds.into_iter().map(own)).unwrap()
}

fn turns(seeds: &[u64]) -> Vec<(Address, u64)> {
    seeds.iter().map(|seed| (account(*seed), *seed)).collect()
}

fn follow(witnesses: Witnesses, blocks: &[BlockAnswer]) -> Following {
    let mut following = Following::from(witnesses);
    for block in blocks {
        following.read(&block.prove_header().unwrap()).unwrap();
    }
    following
}

/// How many of the blocks are solidified.
fn solid(following: &Following) -> u64 {
    following.solid().map_or(0, |(number, _)| number - FIRST + 1)
}

#[test]
fn as_many_are_needed_as_by_the_nodes_rule() {
    let pairs = [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (10, 7), (20, 14), (26, 19), (27, 19)];
    for (witnesses, wanted) in pairs {
        assert_eq!(needed(witnesses), wanted, "{witnesses}");
    }
}

#[test]
fn a_list_has_each_witness_once() {
    assert_eq!(Witnesses::new([]), Err(BadWitnesses::Empty));
    let other_key = Producer { witness: account(1), signer: account(2) };
    assert_eq!(Witnesses::new([own(1), other_key]), Err(BadWitnesses::Twice(account(1))));
    assert_eq!(Witnesses::new((0..28).map(own)), Err(BadWitnesses::TooMany(28)));
    assert!(list(0..27).has(own(26)) && !list(0..27).has(own(27)));
    assert!(!list(0..27).has(Producer { witness: account(1), signer: account(99) }));
}

#[test]
fn a_block_is_solid_with_the_nineteenth_witness_and_not_before() {
    let in_turn: Vec<u64> = (0..27).collect();
    let blocks = chain(FIRST, &turns(&in_turn));
    assert_eq!(solid(&follow(list(0..27), &blocks[..18])), 0);
    assert_eq!(solid(&follow(list(0..27), &blocks[..19])), 1);
    assert_eq!(solid(&follow(list(0..27), &blocks)), 9);
    let again: Vec<u64> = (0..18).cycle().take(200).collect();
    assert_eq!(solid(&follow(list(0..27), &chain(FIRST, &turns(&again)))), 0, "eighteen for ever");
}

#[test]
fn made_up_witnesses_solidify_nothing() {
    let strangers: Vec<u64> = (100..127).cycle().take(81).collect();
    let following = follow(list(0..27), &chain(FIRST, &turns(&strangers)));
    assert_eq!((solid(&following), following.witnesses()), (0, &list(0..27)));
    // Naming elected witnesses does not help who cannot sign for them.
    let named: Vec<_> = (0..27).map(|seed| (account(seed), 100 + seed)).collect();
    assert_eq!(solid(&follow(list(0..27), &chain(FIRST, &named))), 0);
    // Nor does having eighteen of the keys.
    let eighteen: Vec<u64> = (0..18).chain(100..150).cycle().take(200).collect();
    assert_eq!(solid(&follow(list(0..27), &chain(FIRST, &turns(&eighteen)))), 0);
}

#[test]
fn a_header_that_does_not_follow_is_refused_and_changes_nothing() {
    let in_turn: Vec<u64> = (0..5).cycle().take(10).collect();
    let (ours, theirs) = (chain(FIRST, &turns(&in_turn)), chain(FIRST, &turns(&[9; 10])));
    let mut following = follow(list(0..5), &ours[..4]);
    let before = following.solid();
    for wrong in [&ours[5], &ours[3], &theirs[4]] {
        let header = wrong.prove_header().unwrap();
        assert_eq!(following.read(&header), Err(Unlinked { number: header.number() }));
        assert_eq!((following.solid(), following.next()), (before, Some(FIRST + 4)));
    }
    let mut early = ours[4].block_header.raw_data.clone();
    early.timestamp = ours[3].block_header.raw_data.timestamp;
    let early = signed(early, vec![], &key(4));
    assert!(following.read(&early.prove_header().unwrap()).is_err(), "time stands still");
    let mut later = ours[4].block_header.raw_data.clone();
    later.number += 1;
    let later = signed(later, vec![], &key(4));
    assert!(following.read(&later.prove_header().unwrap()).is_err(), "a number is left out");
    following.read(&ours[4].prove_header().unwrap()).unwrap();
}

#[test]
fn who_is_elected_takes_the_place_of_whom_nobody_sees_any_more() {
    // Witness 0 is voted out for 27 after a round.
    let in_turn: Vec<u64> = (0..27).chain((1..28).cycle().take(81)).collect();
    let following = follow(list(0..27), &chain(FIRST, &turns(&in_turn)));
    assert_eq!(following.witnesses(), &list(1..28));
    assert_eq!(following.witnesses().needed(), 19);
    assert_eq!(solid(&following), 90, "all but the last eighteen");
}

#[test]
fn the_whole_list_can_change_a_few_at_a_time() {
    let mut in_turn: Vec<u64> = vec![];
    for epoch in 0..10 {
        in_turn.extend((epoch * 5..epoch * 5 + 27).cycle().take(81));
    }
    let following = follow(list(0..27), &chain(FIRST, &turns(&in_turn)));
    assert_eq!(following.witnesses(), &list(45..72));
}

#[test]
fn more_than_eight_new_ones_at_once_cannot_be_followed() {
    let turns_of = |new: u64| {
        let elected = (new..27 + new).cycle().take(135);
        turns(&(0..27).chain(elected).collect::<Vec<_>>())
    };
    let followed = follow(list(0..27), &chain(FIRST, &turns_of(8)));
    assert_eq!(followed.witnesses(), &list(8..35));
    let lost = follow(list(0..27), &chain(FIRST, &turns_of(9)));
    assert_eq!(solid(&lost), 9, "nothing above what nineteen of the old list bear out");
    assert_eq!(lost.witnesses(), &list(0..27));
}

#[test]
fn a_witness_may_sign_with_another_key_and_counts_once() {
    // Witness 0 changes its key to that of 50 after two rounds, and back and forth.
    let round =
        |key: u64| (0..5_u64).map(move |seed| (account(seed), if seed == 0 { key } else { seed }));
    let all: Vec<_> =
        round(0).chain(round(0)).chain(round(50)).chain(round(50)).chain(round(50)).collect();
    let mut following = follow(list(0..5), &chain(FIRST, &all));
    let moved = Producer { witness: account(0), signer: account(50) };
    assert!(!following.witnesses().has(moved), "no address proves the key");
    let claims: Vec<_> = following.claims().collect();
    assert_eq!(claims.iter().map(|claim| claim.producer).collect::<Vec<_>>(), [moved]);
    following.bear_out(claims[0]);
    assert!(following.witnesses().has(moved) && !following.witnesses().has(own(0)));
    assert_eq!((following.witnesses().len(), following.claims().count()), (5, 0));
    // Two keys of one witness are one witness.
    let both: Vec<_> = [(0, 0), (0, 50), (1, 1), (2, 2)].map(|(w, s)| (account(w), s)).to_vec();
    assert_eq!(solid(&follow(list(0..5), &chain(FIRST, &both))), 0);
}

/// A signature is no part of a block's id. Whoever passes true headers on could otherwise put its own key
/// under one of them at a time, until the list was its own.
#[test]
fn a_true_header_under_another_signature_teaches_nothing() {
    let in_turn: Vec<u64> = (0..27).cycle().take(27 * 20).collect();
    let blocks = chain(FIRST, &turns(&in_turn));
    let mut following = Following::from(list(0..27));
    for (at, block) in blocks.iter().enumerate() {
        // One more witness of eight is replaced in each round.
        let (round, witness) = (at / 27, at % 27);
        let stolen = witness < 8.min(round);
        let header = &block.block_header.raw_data;
        let told = if stolen { signed(header.clone(), vec![], &key(99)) } else { block.clone() };
        assert_eq!(told.block_id, block.block_id);
        following.read(&told.prove_header().unwrap()).unwrap();
    }
    assert_eq!(following.witnesses(), &list(0..27));
    assert_eq!(following.claims().count(), 8);
    assert!(following.claims().all(|claim| claim.producer.signer == account(99)));
}

/// Nor does it make anybody a witness.
#[test]
fn who_is_elected_and_shown_with_a_key_that_no_address_proves_is_not_on_the_list_yet() {
    let key_of = |seed: u64| if seed == 27 { 77 } else { seed };
    let elected: Vec<_> = (1..28).map(|seed| (account(seed), key_of(seed))).collect();
    let all: Vec<_> = turns(&(0..27).collect::<Vec<_>>())
        .into_iter()
        .chain(elected.into_iter().cycle().take(81))
        .collect();
    let mut following = follow(list(0..27), &chain(FIRST, &all));
    assert_eq!(following.witnesses(), &list(0..27));
    let claim = following.claims().next().unwrap();
    following.bear_out(claim);
    let new = Producer { witness: account(27), signer: account(77) };
    assert!(following.witnesses().has(new) && !following.witnesses().has(own(0)));
}

#[test]
fn one_witness_alone_solidifies_its_own_blocks() {
    let following = follow(list(0..1), &chain(FIRST, &turns(&[0, 0, 0])));
    assert_eq!(solid(&following), 3);
}

#[test]
fn an_altered_body_is_not_the_headers_business() {
    let honest = &chain(FIRST, &turns(&[0]))[0];
    let mut hidden = honest.clone();
    hidden.transactions = vec![transaction(1, "SUCCESS")];
    assert!(hidden.prove_header().is_ok() && hidden.prove().is_err());
}

/// The rule as the node has it: sort the newest blocks of all, take the one at 30 %.
fn by_the_node(seeds: &[u64], witnesses: u64) -> u64 {
    let newest = |who: u64| {
        seeds.iter().rposition(|seed| *seed == who).map_or(0, |at| u64::try_from(at).unwrap() + 1)
    };
    let mut newest: Vec<u64> = (0..witnesses).map(newest).collect();
    newest.sort_unstable();
    newest[usize::try_from(witnesses * 30 / 100).unwrap()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// While nobody new is elected, what is solid is what a node calls so.
    #[test]
    fn the_rule_is_the_nodes(
        witnesses in 1_u64..8, picks in prop::collection::vec(0_u64..8, 1..40),
    ) {
        let seeds: Vec<u64> = picks.iter().map(|pick| pick % witnesses).collect();
        let following = follow(list(0..witnesses), &chain(FIRST, &turns(&seeds)));
        prop_assert_eq!(solid(&following), by_the_node(&seeds, witnesses));
    }

    /// Whatever chain somebody makes who has fewer keys than are needed: nothing is solid, nothing
    /// is learnt.
    #[test]
    fn too_few_keys_prove_nothing(
        witnesses in 2_u64..8, picks in prop::collection::vec((0_u64..8, 0_u64..12), 1..40),
    ) {
        let most = u64::try_from(needed(usize::try_from(witnesses).unwrap())).unwrap() - 1;
        // He names whom he likes, and signs with his own keys: the first `most`, and strangers'.
        let made: Vec<_> = picks.iter().map(|(named, key)| {
            let key = if key % 12 < most { key % 12 } else { 100 + key };
            (account(*named), key)
        }).collect();
        let following = follow(list(0..witnesses), &chain(FIRST, &made));
        prop_assert_eq!(solid(&following), 0);
        prop_assert_eq!(following.witnesses(), &list(0..witnesses));
    }

    /// Reading on never takes back what was solid, and the list keeps its length.
    #[test]
    fn what_is_solid_stays_so(picks in prop::collection::vec(0_u64..7, 1..60)) {
        let mut following = Following::from(list(0..5));
        let mut before = 0;
        for block in chain(FIRST, &turns(&picks)) {
            following.read(&block.prove_header().unwrap()).unwrap();
            prop_assert!(solid(&following) >= before);
            before = solid(&following);
            prop_assert_eq!(following.witnesses().len(), 5);
            let signers: BTreeSet<_> = following.witnesses().iter().collect();
            prop_assert_eq!(signers.len(), 5);
        }
    }
}
