//! When a reading is complete, and what fits into it.

use super::super::account_scan::SLOT_MS;
use super::*;
use alloy::primitives::B256;
use billing::{BlockRef, Landed};

const FIRST: u64 = 500;
const BEGAN: u64 = 1_000_000_000;
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
    Foreign::Opaque(Landed {
        hash,
        block: BlockRef { number: block, time: 0, hash: None },
        record: None,
    })
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
fn reading_begins_as_long_before_as_something_forgotten_may_have_been_signed_and_clocks_may_differ()
{
    assert_eq!(from_ms(10_000_000, 60_000), 10_000_000 - 60_000 - 600_000);
    assert_eq!(from_ms(-1, 60_000), 0);
}

#[test]
fn while_somebody_else_signs_it_is_read_until_the_newest_of_that_cannot_land() {
    let mut reading = Reading::after(&block(FIRST), block(FIRST + 1).time_ms);
    reading.read(&block(FIRST + 1), vec![stranger(FIRST + 1)]).unwrap();
    assert!(reading.so_far().complete && !reading.so_far().rival);
    reading.meets_rival(block(FIRST + 3).time_ms);
    reading.meets_rival(block(FIRST + 2).time_ms);
    assert!(!reading.so_far().complete && reading.so_far().rival);
    for number in FIRST + 2..=FIRST + 3 {
        reading.read(&block(number), vec![]).unwrap();
    }
    assert!(reading.so_far().complete, "the newest counts");
}

#[test]
fn what_is_learnt_is_not_found_again() {
    let mut reading = Reading::after(&block(FIRST), u64::MAX).of_uses();
    reading.read(&block(FIRST + 1), vec![stranger(FIRST + 1)]).unwrap();
    reading.forget_found();
    reading.read(&block(FIRST + 2), vec![stranger(FIRST + 2)]).unwrap();
    assert_eq!(reading.so_far().found, vec![stranger(FIRST + 2)]);
    let read = LearntUpTo { number: FIRST + 2, id: id(FIRST + 2) };
    assert_eq!(reading.so_far().read, read);
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
