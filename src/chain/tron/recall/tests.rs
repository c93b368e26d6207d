//! What counts as complete, and which transactions are ours.

use super::super::transaction::{RefBlock, Unsigned};
use super::*;

const FIRST: u64 = 500;
const BEGAN: u64 = 1_000_000_000;
const ME: Address = Address::repeat_byte(0x51);
const CONTRACT: Address = Address::repeat_byte(0xC0);

fn id(number: u64) -> B256 {
    let mut id = B256::repeat_byte(7);
    id[..8].copy_from_slice(&number.to_be_bytes());
    id
}

fn block(number: u64) -> TronBlock {
    let time_ms = BEGAN + (number - FIRST) * SLOT_MS;
    TronBlock { id: id(number), number, parent: id(number - 1), time_ms, transactions: vec![] }
}

fn stranger(block: u64) -> Foreign {
    let hash = B256::with_last_byte(9);
    Foreign::Opaque(Landed { hash, block: BlockRef { number: block, time: 0 }, record: None })
}

#[test]
fn nothing_more_is_found_only_after_the_first_block_at_the_last_expiry() {
    let mut reading = Reading::after(&block(FIRST), block(FIRST + 4).time_ms);
    assert_eq!(reading.wanted(FIRST + 9, 120), FIRST + 1..=FIRST + 9);
    for number in FIRST + 1..FIRST + 4 {
        reading.read(&block(number), vec![]).unwrap();
        assert!(!reading.so_far().complete, "{number}");
    }
    assert_eq!(reading.so_far().percent, 75);
    reading.read(&block(FIRST + 4), vec![stranger(FIRST + 4)]).unwrap();
    let so_far = reading.so_far();
    assert!(so_far.complete);
    assert_eq!((so_far.found, so_far.percent), (vec![stranger(FIRST + 4)], 100));
    assert!(reading.wanted(FIRST + 9, 120).is_empty(), "no more is read");
}

#[test]
fn no_more_is_read_than_is_irrevocable_or_than_one_call_may() {
    let reading = Reading::after(&block(FIRST), u64::MAX);
    assert!(reading.wanted(FIRST, 120).is_empty());
    assert_eq!(reading.wanted(FIRST + 3, 120), FIRST + 1..=FIRST + 3);
    assert_eq!(reading.wanted(FIRST + 999, 120), FIRST + 1..=FIRST + 120);
}

#[test]
fn a_gap_and_another_chain_prove_nothing() {
    let mut reading = Reading::after(&block(FIRST), block(FIRST + 2).time_ms);
    assert_eq!(reading.read(&block(FIRST + 2), vec![]), Err(Misfit::Other));
    let elsewhere = TronBlock { parent: B256::ZERO, ..block(FIRST + 1) };
    assert_eq!(reading.read(&elsewhere, vec![stranger(1)]), Err(Misfit::Link));
    let earlier = TronBlock { time_ms: BEGAN, ..block(FIRST + 1) };
    assert_eq!(reading.read(&earlier, vec![]), Err(Misfit::Link));
    assert_eq!(reading.so_far().found, vec![]);
    reading.read(&block(FIRST + 1), vec![]).unwrap();
}

/// What we sign.
fn raw(owner: Address) -> Raw {
    let unsigned = Unsigned {
        owner,
        contract: CONTRACT,
        data: vec![1, 2, 3],
        ref_block: RefBlock::to(id(FIRST)),
        expiration_ms: 2,
        timestamp_ms: 1,
        fee_limit: 3,
    };
    Raw::decode(unsigned.raw_data().unwrap().as_slice()).unwrap()
}

#[test]
fn a_call_of_ours_is_recognised_also_with_what_we_would_never_sign() {
    let call = Some((CONTRACT, vec![1, 2, 3]));
    assert_eq!(call_by(ME, &raw(ME).encode_to_vec()), call);
    assert_eq!(call_by(ME, &raw(Address::repeat_byte(1)).encode_to_vec()), None);
    let memo = Raw { data: b"memo".to_vec(), ..raw(ME) };
    assert_eq!(call_by(ME, &memo.encode_to_vec()), call);
    let mut permitted = raw(ME);
    permitted.contract[0].permission_id = 2;
    assert_eq!(call_by(ME, &permitted.encode_to_vec()), call);
    // Field 20, which no message of ours has.
    let unknown = [raw(ME).encode_to_vec(), vec![0xA0, 0x01, 0x01]].concat();
    assert_eq!(call_by(ME, &unknown), call);
    let mut transfer = raw(ME);
    transfer.contract[0].kind = 1;
    assert_eq!(call_by(ME, &transfer.encode_to_vec()), None, "it moves coins, and calls nobody");
    assert_eq!(call_by(ME, b"no transaction"), None);
}
