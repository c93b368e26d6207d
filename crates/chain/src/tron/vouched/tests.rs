//! Which blocks stand, on chains that are made and signed here.

use super::*;
use alloy::primitives::{Address, Bytes};
use k256::ecdsa::SigningKey;
use prost::Message;
use sha2::{Digest, Sha256};
use tron_primitives::address::prefixed;
use tron_primitives::answer::{BlockAnswer, HeaderAnswer, SignedHeader};
use tron_primitives::block::Producer;
use tron_primitives::messages::HeaderRaw;

const FIRST: u64 = 500;

fn key(n: u8) -> SigningKey {
    SigningKey::from_slice(&[n; 32]).unwrap()
}

fn producer(n: u8) -> Producer {
    let witness = Address::from_public_key(key(n).verifying_key());
    Producer { witness, signer: witness }
}

fn list(seeds: std::ops::RangeInclusive<u8>) -> Witnesses {
    Witnesses::new(seeds.map(producer)).unwrap()
}

/// A chain made in turn by the witnesses with these keys.
fn chain(makers: &[u8]) -> Vec<ProvenHeader> {
    let mut parent = B256::ZERO;
    parent[..8].copy_from_slice(&(FIRST - 1).to_be_bytes());
    let mut headers = vec![];
    for (number, maker) in (FIRST..).zip(makers) {
        let raw = HeaderRaw {
            timestamp: i64::try_from(number * 3000).unwrap(),
            tx_trie_root: vec![0; 32],
            parent_hash: parent.to_vec(),
            number: i64::try_from(number).unwrap(),
            witness_address: prefixed(producer(*maker).witness).to_vec(),
            version: 32,
            ..HeaderRaw::default()
        };
        let digest = Sha256::digest(raw.encode_to_vec());
        let (signature, id) = key(*maker).sign_prehash_recoverable(&digest).unwrap();
        let mut block_id = B256::from_slice(&digest);
        block_id[..8].copy_from_slice(&number.to_be_bytes());
        let raw_data = HeaderAnswer {
            number,
            timestamp: number * 3000,
            parent_hash: parent,
            witness_address: Bytes::from(raw.witness_address),
            version: 32,
            ..HeaderAnswer::default()
        };
        let witness_signature = [&signature.to_bytes()[..], &[id.to_byte()]].concat().into();
        let block_header = SignedHeader { raw_data, witness_signature };
        let answer = BlockAnswer { block_id, block_header, transactions: vec![] };
        headers.push(answer.prove_header().unwrap());
        parent = block_id;
    }
    headers
}

fn walked(from: Witnesses, headers: &[ProvenHeader]) -> HeaderWalk {
    let mut walk = Vouched::beginning_with(Some(from)).walk(FIRST).unwrap();
    for header in headers {
        walk.read(header).unwrap();
    }
    walk
}

#[test]
fn a_block_stands_with_enough_witnesses_and_is_remembered() {
    let headers = chain(&[1, 2, 3, 4, 5]);
    assert!(!walked(list(1..=5), &headers[..3]).stands());
    let walk = walked(list(1..=5), &headers);
    assert!(walk.stands() && !walk.is_strange(walk.next() - 1));
    let mut vouched = Vouched::beginning_with(Some(list(1..=5)));
    vouched.take(walk);
    assert_eq!(vouched.at(FIRST), Some(headers[0].id()));
    assert_eq!(vouched.at(FIRST + 1), Some(headers[1].id()), "four stand on it too");
    assert_eq!(vouched.at(FIRST + 2), None);
}

#[test]
fn a_walk_that_does_not_stand_teaches_nothing() {
    let mut vouched = Vouched::beginning_with(Some(list(1..=5)));
    vouched.take(walked(list(1..=5), &chain(&[1, 2, 3])));
    vouched.take(walked(list(1..=5), &chain(&[9, 10, 11, 12, 13])));
    assert_eq!((vouched.at(FIRST), vouched.list), (None, Some(list(1..=5))));
}

#[test]
fn blocks_of_strangers_are_strange_after_two_rounds() {
    let strangers: Vec<u8> = (101..=111).collect();
    let headers = chain(&strangers);
    let is_strange = |of: Witnesses, headers: &[ProvenHeader]| {
        let walk = walked(of, headers);
        walk.is_strange(walk.next() - 1)
    };
    assert!(!is_strange(list(1..=5), &headers[..10]), "two rounds could be bad luck");
    assert!(is_strange(list(1..=5), &headers));
    assert!(!is_strange(list(1..=1), &headers[..2]));
    assert!(is_strange(list(1..=1), &headers[..3]));
}

/// One of three was down for a while, and blocks of that time are irrevocable since it is back.
#[test]
fn a_witness_that_is_back_makes_nobody_a_stranger() {
    let away: Vec<u8> = (0..20).map(|place| 1 + place % 2).collect();
    let headers = chain(&[away, vec![3]].concat());
    let (walk, head) = (walked(list(1..=3), &headers[..20]), headers[20].number());
    assert!(!walk.stands() && !walk.is_over() && !walk.is_strange(head));
    assert!(walk.is_unproven(head - 1) && !walk.is_strange(head - 1), "had it never come back");
    let walk = walked(list(1..=3), &headers);
    assert!(walk.stands() && walk.is_over() && !walk.is_strange(head));
}

/// A chain that has just begun may not have shown everybody.
#[test]
fn a_list_from_few_blocks_makes_nobody_a_stranger_early() {
    let headers = chain(&(101..=156).collect::<Vec<u8>>());
    for (blocks, patience) in [(26, 54), (27, 2), (54, 2)] {
        let mut vouched = Vouched::beginning_with(None);
        vouched.learn(list(1..=1), blocks);
        let mut walk = vouched.walk(FIRST).unwrap();
        headers[..patience].iter().for_each(|header| walk.read(header).unwrap());
        assert!(!walk.is_strange(walk.next() - 1), "{blocks}");
        walk.read(&headers[patience]).unwrap();
        assert!(walk.is_strange(walk.next() - 1), "{blocks}");
    }
}

#[test]
fn only_the_block_that_is_asked_for_begins_a_walk() {
    let headers = chain(&[1, 2, 3]);
    let mut walk = Vouched::beginning_with(Some(list(1..=5))).walk(FIRST).unwrap();
    assert_eq!(walk.read(&headers[1]), Err(Unlinked { number: FIRST + 1 }));
    walk.read(&headers[0]).unwrap();
    assert_eq!(walk.next(), FIRST + 1);
    assert_eq!(walk.read(&headers[2]), Err(Unlinked { number: FIRST + 2 }));
}

#[test]
fn the_list_moves_on_and_never_back() {
    let mut vouched = Vouched::beginning_with(None);
    assert!(!vouched.is_known() && vouched.walk(FIRST).is_none());
    vouched.learn(list(1..=5), 54);
    vouched.learn(list(2..=6), 54);
    assert_eq!(vouched.list, Some(list(1..=5)), "the first one stays the first");
    // 6 is elected for 1.
    let headers = chain(&[1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 2, 3]);
    vouched.take(walked(list(1..=5), &headers));
    assert_eq!(vouched.list, Some(list(2..=6)));
    // An older row that is looked at later, with the list of then, changes nothing.
    vouched.take(walked(list(1..=5), &headers[..5]));
    assert_eq!(vouched.list, Some(list(2..=6)));
    assert_eq!(vouched.at(FIRST), Some(headers[0].id()));
}

#[test]
fn not_everything_is_remembered_for_ever() {
    let mut vouched = Vouched::beginning_with(Some(list(1..=1)));
    let many = u64::try_from(KEPT).unwrap();
    let others = (0..=many).filter(|number| *number != FIRST);
    vouched.standing.extend(others.map(|number| (number, B256::ZERO)));
    vouched.take(walked(list(1..=1), &chain(&[1])));
    assert_eq!((vouched.standing.len(), vouched.at(0)), (KEPT, None));
}

/// The chain of a node that lies may be as long as it likes: no more than a day of it is read.
#[test]
fn a_walk_that_never_stands_ends() {
    let mut walk = walked(list(1..=5), &chain(&[1, 2, 1, 2]));
    walk.read.resize(28_799, (FIRST, B256::ZERO));
    assert!(!walk.stands() && !walk.is_over());
    walk.read.push((FIRST, B256::ZERO));
    assert!(!walk.stands() && walk.is_over());
}
