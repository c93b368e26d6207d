//! From a later block down to a trusted one.

use alloy::consensus::Header;
use alloy::primitives::B256;
use evm_proofs::header::ProvenHeader;
use evm_proofs::walk::{BlockId, Step, Walk};

/// Headers from this number up, each after the one before it.
fn chain(from: u64, many: u64, extra: &'static [u8]) -> Vec<ProvenHeader> {
    let mut made: Vec<ProvenHeader> = vec![];
    for number in from..from + many {
        let parent_hash = made.last().map_or(B256::ZERO, ProvenHeader::hash);
        let header = Header { number, parent_hash, extra_data: extra.into(), ..Header::default() };
        made.push(ProvenHeader::of_rlp(&alloy::rlp::encode(header)).unwrap());
    }
    made
}

fn id(header: &ProvenHeader) -> BlockId {
    BlockId { number: header.fields().number, hash: header.hash() }
}

/// Walks down by the headers of these chains, as a node tells them by hash.
fn walked(mut step: Step, told: &[ProvenHeader]) -> (Step, usize) {
    let mut asked = 0;
    while let Step::Goes(walk) = step {
        let wanted = told.iter().find(|header| header.hash() == walk.wanted().hash);
        step = walk.step(wanted.unwrap());
        asked += 1;
    }
    (step, asked)
}

#[test]
fn a_later_block_stands_on_the_trusted_one_or_does_not() {
    let own = chain(10, 8, b"");
    let (trusted, later) = (id(&own[0]), id(&own[7]));
    assert_eq!(walked(Walk::begin(later, trusted), &own), (Step::Joined, 7));
    assert_eq!(walked(Walk::begin(trusted, trusted), &own), (Step::Joined, 0));
    let others = chain(10, 8, b"another");
    let (step, asked) = walked(Walk::begin(id(&others[7]), trusted), &others);
    assert_eq!((step, asked), (Step::Apart, 7), "seen at the trusted number");
    assert_eq!(Walk::begin(id(&others[0]), trusted), Step::Apart);
    assert_eq!(Walk::begin(trusted, later), Step::Apart, "it is older");
    assert!(own[1].follows(&own[0]) && !own[1].follows(&others[0]) && !own[2].follows(&own[0]));
}

#[test]
fn a_header_that_was_not_asked_for_says_nothing() {
    let own = chain(10, 4, b"");
    let Step::Goes(walk) = Walk::begin(id(&own[3]), id(&own[0])) else { panic!("it goes") };
    assert_eq!(walk.step(&own[2]), Step::NotWanted);
}

/// The number that a node tells beside a hash is no part of the hash.
#[test]
fn a_block_under_another_number_is_apart() {
    let own = chain(10, 4, b"");
    let wrong = BlockId { number: 14, hash: own[3].hash() };
    let (step, asked) = walked(Walk::begin(wrong, id(&own[0])), &own);
    assert_eq!((step, asked), (Step::Apart, 1));
}
