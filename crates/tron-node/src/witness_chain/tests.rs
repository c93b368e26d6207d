//! The blocks that are confirmed, on chains that are made and signed here.

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
    signed_by(makers, |maker| maker)
}

/// A chain made in turn by the witnesses with these keys, and shown with signatures by others.
fn signed_by(makers: &[u8], signer: impl Fn(u8) -> u8) -> Vec<ProvenHeader> {
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
        let (signature, id) = key(signer(*maker)).sign_prehash_recoverable(&digest).unwrap();
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

fn scanned(from: Witnesses, headers: &[ProvenHeader]) -> HeaderScan {
    let mut scan = WitnessChain::beginning_with(Some(from)).scan(FIRST).unwrap();
    for header in headers {
        scan.read(header).unwrap();
    }
    scan
}

#[test]
fn a_block_is_confirmed_by_enough_witnesses_and_remembered() {
    let headers = chain(&[1, 2, 3, 4, 5]);
    assert!(!scanned(list(1..=5), &headers[..3]).is_confirmed());
    let scan = scanned(list(1..=5), &headers);
    assert!(scan.is_confirmed() && !scan.unknown_producers(scan.next() - 1));
    let mut witnesses = WitnessChain::beginning_with(Some(list(1..=5)));
    witnesses.take(scan);
    assert_eq!(witnesses.at(FIRST), Some(headers[0].id()));
    assert_eq!(witnesses.at(FIRST + 1), Some(headers[1].id()), "four stand on it too");
    assert_eq!(witnesses.at(FIRST + 2), None);
}

#[test]
fn a_scan_that_confirms_nothing_teaches_nothing() {
    let mut witnesses = WitnessChain::beginning_with(Some(list(1..=5)));
    witnesses.take(scanned(list(1..=5), &chain(&[1, 2, 3])));
    witnesses.take(scanned(list(1..=5), &chain(&[9, 10, 11, 12, 13])));
    assert_eq!((witnesses.at(FIRST), witnesses.list), (None, Some(list(1..=5))));
}

#[test]
fn producers_off_the_list_are_unknown_after_two_rounds() {
    let strangers: Vec<u8> = (101..=111).collect();
    let headers = chain(&strangers);
    let unknown_producers = |of: Witnesses, headers: &[ProvenHeader]| {
        let scan = scanned(of, headers);
        scan.unknown_producers(scan.next() - 1)
    };
    assert!(!unknown_producers(list(1..=5), &headers[..10]), "two rounds could be bad luck");
    assert!(unknown_producers(list(1..=5), &headers));
    assert!(!unknown_producers(list(1..=1), &headers[..2]));
    assert!(unknown_producers(list(1..=1), &headers[..3]));
}

/// One of three was down for a while, and blocks of that time are irrevocable since it is back.
#[test]
fn a_witness_that_is_back_makes_nobody_a_stranger() {
    let away: Vec<u8> = (0..20).map(|place| 1 + place % 2).collect();
    let headers = chain(&[away, vec![3]].concat());
    let (scan, head) = (scanned(list(1..=3), &headers[..20]), headers[20].number());
    assert!(!scan.is_confirmed() && !scan.is_over() && !scan.unknown_producers(head));
    assert!(
        scan.is_unproven(head - 1) && !scan.unknown_producers(head - 1),
        "had it never come back"
    );
    let scan = scanned(list(1..=3), &headers);
    assert!(scan.is_confirmed() && scan.is_over() && !scan.unknown_producers(head));
}

/// A chain that has just begun may not have shown everybody.
#[test]
fn a_list_from_few_blocks_makes_nobody_a_stranger_early() {
    let headers = chain(&(101..=156).collect::<Vec<u8>>());
    for (blocks, patience) in [(26, 54), (27, 2), (54, 2)] {
        let mut witnesses = WitnessChain::beginning_with(None);
        witnesses.learn(list(1..=1), blocks);
        let mut scan = witnesses.scan(FIRST).unwrap();
        headers[..patience].iter().for_each(|header| scan.read(header).unwrap());
        assert!(!scan.unknown_producers(scan.next() - 1), "{blocks}");
        scan.read(&headers[patience]).unwrap();
        assert!(scan.unknown_producers(scan.next() - 1), "{blocks}");
    }
}

#[test]
fn only_the_block_that_is_asked_for_begins_a_scan() {
    let headers = chain(&[1, 2, 3]);
    let mut scan = WitnessChain::beginning_with(Some(list(1..=5))).scan(FIRST).unwrap();
    assert_eq!(scan.read(&headers[1]), Err(Unlinked { number: FIRST + 1 }));
    scan.read(&headers[0]).unwrap();
    assert_eq!(scan.next(), FIRST + 1);
    assert_eq!(scan.read(&headers[2]), Err(Unlinked { number: FIRST + 2 }));
}

#[test]
fn the_list_moves_on_and_never_back() {
    let mut witnesses = WitnessChain::beginning_with(None);
    assert!(!witnesses.is_known() && witnesses.scan(FIRST).is_none());
    witnesses.learn(list(1..=5), 54);
    witnesses.learn(list(2..=6), 54);
    assert_eq!(witnesses.list, Some(list(1..=5)), "the first one stays the first");
    // 6 is elected for 1.
    let headers = chain(&[1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 2, 3]);
    witnesses.take(scanned(list(1..=5), &headers));
    assert_eq!(witnesses.list, Some(list(2..=6)));
    // An older row that is looked at later, with the list of then, changes nothing.
    witnesses.take(scanned(list(1..=5), &headers[..5]));
    assert_eq!(witnesses.list, Some(list(2..=6)));
    assert_eq!(witnesses.at(FIRST), Some(headers[0].id()));
}

/// Two are elected for 6 and 7, and have the last turns of the round: the first block is confirmed before.
#[test]
fn newcomers_whose_turn_comes_late_are_read_on_for() {
    let (confirmed, round) = (5, 7);
    let stays = chain(&[1, 2, 3, 4, 5, 6, 7]);
    let changes = chain(&[1, 2, 3, 4, 5, 8, 9, 1, 2, 3, 4, 5, 8, 9]);
    for headers in [&stays, &changes] {
        let scan = scanned(list(1..=7), &headers[..confirmed]);
        assert!(scan.is_confirmed() && scan.may_teach() && !scan.is_over());
    }
    assert!(scanned(list(1..=7), &stays[..round]).is_over());
    assert!(!scanned(list(1..=7), &changes[..round]).is_over());
    let mut witnesses = WitnessChain::beginning_with(Some(list(1..=7)));
    witnesses.take(scanned(list(1..=7), &changes));
    let elected = (1..=5).chain([8, 9]).map(producer);
    assert_eq!(witnesses.list, Some(Witnesses::new(elected).unwrap()));
}

#[test]
fn not_everything_is_remembered_for_ever() {
    let mut witnesses = WitnessChain::beginning_with(Some(list(1..=1)));
    let many = u64::try_from(KEPT).unwrap();
    let others = (0..=many).filter(|number| *number != FIRST);
    witnesses.confirmed.extend(others.map(|number| (number, B256::ZERO)));
    witnesses.take(scanned(list(1..=1), &chain(&[1])));
    assert_eq!((witnesses.confirmed.len(), witnesses.at(0)), (KEPT, Some(B256::ZERO)));
    assert_eq!(witnesses.at(many), None);
}

#[test]
fn an_old_block_is_not_forgotten_by_the_scan_that_confirms_it() {
    let mut witnesses = WitnessChain::beginning_with(Some(list(1..=1)));
    let newer = FIRST + 1_000..=FIRST + 1_000 + u64::try_from(KEPT).unwrap();
    witnesses.confirmed.extend(newer.map(|number| (number, B256::ZERO)));
    let chain = chain(&[1]);
    witnesses.take(scanned(list(1..=1), &chain));
    assert_eq!((witnesses.confirmed.len(), witnesses.at(FIRST)), (KEPT, Some(chain[0].id())));
}

/// True headers under other signatures, shown by as many providers as have to agree, would take over the keys of
/// the list one after another.
#[test]
fn no_claim_takes_the_key_of_a_witness_that_is_pinned() {
    let (pinned, mut learnt) = (Some(list(1..=5)), WitnessChain::default());
    learnt.learn(list(1..=5), 5);
    let headers =
        signed_by(&[1, 2, 3, 4, 5, 1, 2, 3, 4, 5], |maker| if maker == 1 { 9 } else { maker });
    for (witnesses, claims) in [(WitnessChain::beginning_with(pinned), 0), (learnt, 1)] {
        let mut scan = witnesses.scan(FIRST).unwrap();
        for header in &headers {
            scan.read(header).unwrap();
        }
        assert!(scan.is_confirmed());
        assert_eq!(scan.claims().len(), claims);
    }
}

/// The chain of a node that lies may be as long as it likes: no more than a day of it is read.
#[test]
fn a_scan_that_confirms_nothing_ends() {
    let mut scan = scanned(list(1..=5), &chain(&[1, 2, 1, 2]));
    scan.read.resize(28_799, (FIRST, B256::ZERO));
    assert!(!scan.is_confirmed() && !scan.is_over());
    scan.read.push((FIRST, B256::ZERO));
    assert!(!scan.is_confirmed() && scan.is_over());
}
