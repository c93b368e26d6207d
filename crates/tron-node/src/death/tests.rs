//! The rule of the dead, against chains with missed slots, forks, gaps and late inclusions.

use super::*;
use proptest::prelude::*;

const FIRST: u64 = 70_000;
const FIRST_TIME: u64 = 1_000_000_000;
const SLOT: u64 = 3_000;
const OURS: B256 = B256::repeat_byte(0x0A);

/// Every id of one chain differs from every id of another.
fn id(number: u64, chain: u8) -> B256 {
    let mut id = B256::repeat_byte(chain);
    id[..8].copy_from_slice(&number.to_be_bytes());
    id
}

/// A chain that begins at `FIRST`; between two blocks so many slots are missed.
fn chain(missed: &[u64], salt: u8) -> Vec<TronBlock> {
    let mut time_ms = FIRST_TIME;
    let mut blocks = vec![];
    for (number, missed) in (FIRST..).zip(missed) {
        let parent = id(number - 1, salt);
        blocks.push(TronBlock {
            id: id(number, salt),
            number,
            parent,
            time_ms,
            transactions: vec![],
        });
        time_ms += SLOT * (1 + missed);
    }
    blocks
}

fn mortal(builds_on: &TronBlock, expiration_ms: u64) -> ExpiringTx {
    ExpiringTx { id: OURS, ref_block: RefBlock::to(builds_on.id), expiration_ms }
}

/// Reads what is asked for as long as it is there and fits.
fn run(tx: ExpiringTx, blocks: &[TronBlock], solid: u64) -> (TxScan, Result<(), Misfit>) {
    let mut scan = TxScan::new(tx);
    while let Some(number) = scan.next(solid) {
        let Some(block) = blocks.iter().find(|block| block.number == number) else { break };
        if let Err(misfit) = scan.read(block) {
            return (scan, Err(misfit));
        }
    }
    (scan, Ok(()))
}

fn fate(tx: ExpiringTx, blocks: &[TronBlock]) -> Option<TxFate> {
    let (scan, read) = run(tx, blocks, blocks.last().unwrap().number);
    read.unwrap();
    scan.fate()
}

#[test]
fn a_transaction_is_dead_only_with_the_first_block_at_its_expiration() {
    let blocks = chain(&[0; 10], 1);
    let tx = mortal(&blocks[1], blocks[5].time_ms);
    for (height, dead) in [(2, false), (4, false), (5, true)] {
        let found = fate(tx, &blocks[..=height]);
        let place = BlockPoint::from(&blocks[5]);
        assert_eq!(found, dead.then_some(TxFate::Dead(place)), "{height}");
    }
}

#[test]
fn the_block_that_would_prove_it_dead_may_hold_it() {
    let mut blocks = chain(&[0, 0, 4, 0, 0], 1);
    let tx = mortal(&blocks[0], blocks[2].time_ms + SLOT);
    assert!(
        matches!(fate(tx, &blocks), Some(TxFate::Dead(BlockPoint { number, .. })) if number == FIRST + 3)
    );
    blocks[3].transactions = vec![B256::ZERO, OURS];
    let Some(TxFate::Landed(place)) = fate(tx, &blocks) else { panic!("it is there") };
    assert_eq!(place.number, FIRST + 3);
    assert!(place.time_ms > tx.expiration_ms, "four slots were missed");
}

#[test]
fn what_is_read_of_another_chain_proves_nothing() {
    let (ours, other) = (chain(&[0; 10], 1), chain(&[0; 10], 2));
    let tx = mortal(&ours[1], ours[5].time_ms);
    let forked: Vec<TronBlock> = ours[..4].iter().chain(&other[4..]).cloned().collect();
    let (scan, read) = run(tx, &forked, FIRST + 9);
    assert_eq!((scan.fate(), read), (None, Err(Misfit::Link)));
    assert_eq!(scan.next(FIRST + 9), Some(FIRST + 4), "it is still waited for");
}

/// The block that a lie was built on is on no chain. Nothing of the true one can hold the transaction, and
/// the fate names a block of the chain that was read: it has to stand.
#[test]
fn a_transaction_that_builds_on_a_made_up_block_dies_with_its_time() {
    let (chain, made_up) = (chain(&[0; 10], 1), chain(&[0; 10], 2));
    let tx = mortal(&made_up[1], chain[5].time_ms);
    let lower = FIRST + 1 - ROUND;
    let lower_of = |salt: u8| TronBlock {
        id: id(lower, salt),
        number: lower,
        parent: id(lower - 1, salt),
        time_ms: 1_000,
        transactions: vec![],
    };
    let read = |last: usize, lower: TronBlock| {
        let mut scan = TxScan::new(tx);
        while let Some(number) = scan.next(FIRST + 9) {
            let above = chain[..=last].iter().find(|block| block.number == number);
            let Some(block) = above.or((number == lower.number).then_some(&lower)) else { break };
            scan.read(block).unwrap();
        }
        scan
    };
    assert_eq!(read(4, lower_of(1)).fate(), None, "its time is not over");
    let scan = read(9, lower_of(1));
    assert_eq!(scan.fate(), Some(TxFate::Dead(BlockPoint::from(&chain[5]))));
    assert_eq!(
        scan.rests_on(),
        Some(BlockPoint::from(&lower_of(1))),
        "nothing links it to the others"
    );

    // It does build on a block of the chain, a round below where it seemed to.
    let scan = read(9, lower_of(2));
    assert_eq!((scan.fate(), scan.rests_on()), (None, None));
    assert_eq!(scan.next(FIRST + 9), Some(lower + 1), "all that follow are read");
}

#[test]
fn a_young_chain_has_no_block_a_round_below() {
    let on = |block: &TronBlock, number| TronBlock { id: id(number, 1), number, ..block.clone() };
    let block = &chain(&[0], 1)[0];
    let tx = mortal(&TronBlock { id: id(7, 2), ..block.clone() }, FIRST_TIME + SLOT);
    let mut scan = TxScan::new(tx);
    assert_eq!(scan.next(9), Some(7));
    scan.read(&on(block, 7)).unwrap();
    assert_eq!((scan.next(9), scan.rests_on()), (Some(8), None));
}

#[test]
fn a_block_under_a_false_number_is_not_read() {
    let blocks = chain(&[0; 10], 1);
    let tx = mortal(&blocks[1], blocks[5].time_ms);
    let (mut scan, _) = run(tx, &blocks[..3], FIRST + 2);
    let before = scan.clone();
    assert_eq!(scan.read(&blocks[5]), Err(Misfit::Other), "a gap");
    let renumbered = TronBlock { number: FIRST + 3, parent: blocks[2].id, ..blocks[5].clone() };
    assert_eq!(scan.read(&renumbered), Err(Misfit::Other), "the id says otherwise");
    let early = TronBlock { time_ms: blocks[2].time_ms, ..blocks[3].clone() };
    assert_eq!(scan.read(&early), Err(Misfit::Link), "time stands still");
    assert_eq!(scan, before);
}

#[test]
fn the_block_that_it_builds_on_is_found_long_after() {
    let blocks = chain(&[0; 10], 1);
    let tx = mortal(&blocks[1], blocks[5].time_ms);
    let solid = FIRST + 1 + 65_536 * 2 + 7;
    let mut scan = TxScan::new(tx);
    for later in [2, 1] {
        let number = scan.next(solid).unwrap();
        assert_eq!(number, FIRST + 1 + 65_536 * later);
        let time_ms = FIRST_TIME + number * SLOT;
        let parent = id(number - 1, 1);
        scan.read(&TronBlock { id: id(number, 9), number, parent, time_ms, transactions: vec![] })
            .unwrap();
    }
    for block in &blocks[1..=5] {
        assert_eq!(scan.next(solid), Some(block.number));
        scan.read(block).unwrap();
    }
    assert!(matches!(scan.fate(), Some(TxFate::Dead(_))));
    assert_eq!(scan.next(solid), None, "there is nothing left to read");
}

#[test]
fn a_solid_head_that_falls_back_undoes_nothing() {
    let blocks = chain(&[0; 10], 1);
    let tx = mortal(&blocks[1], blocks[5].time_ms);
    let (scan, _) = run(tx, &blocks, FIRST + 3);
    assert_eq!(scan.next(FIRST + 2), None, "a lagging answer: wait");
    assert_eq!(scan.next(FIRST + 4), Some(FIRST + 4));
}

proptest! {
    /// The chain's own rule decides where the transaction may be; whatever the scan is shown of such
    /// a chain, it never says more than is so.
    #[test]
    fn what_is_said_is_so(
        missed in prop::collection::vec(prop_oneof![4 => Just(0_u64), 1 => 1..60_u64], 12..80),
        builds_on in 0..6_usize,
        ttl_slots in 1..40_u64,
        lands in prop::option::of(0..80_usize),
        height in 0..80_usize,
        hidden in prop::option::of(0..80_usize),
    ) {
        let mut blocks = chain(&missed, 1);
        let expiration_ms = blocks[builds_on].time_ms + ttl_slots * SLOT - 1_500;
        let may_hold = |at: usize| {
            at > builds_on && at < blocks.len() && blocks[at - 1].time_ms < expiration_ms
        };
        let lands = lands.filter(|at| may_hold(*at));
        if let Some(at) = lands {
            blocks[at].transactions.push(OURS);
        }
        let tx = mortal(&blocks[builds_on], expiration_ms);
        let height = height.min(blocks.len() - 1);
        let shown: Vec<TronBlock> = blocks.iter().enumerate()
            .filter(|(at, _)| *at <= height && Some(*at) != hidden)
            .map(|(_, block)| block.clone()).collect();
        prop_assume!(!shown.is_empty());
        let (scan, read) = run(tx, &shown, FIRST + u64::try_from(height).unwrap());
        match scan.fate() {
            Some(TxFate::Landed(place)) => {
                prop_assert_eq!(Some(place.number), lands.map(|at| FIRST + u64::try_from(at).unwrap()));
            }
            Some(TxFate::Dead(place)) => {
                prop_assert_eq!(lands, None);
                prop_assert!(place.time_ms >= expiration_ms);
            }
            None => {}
        }
        // And it says all that can be said: with every block that counts at hand there is a fate.
        let last = blocks.iter().position(|block| block.time_ms >= expiration_ms);
        let end = lands.or(last);
        if let Some(end) = end
            && height >= end && height >= builds_on
            && hidden.is_none_or(|at| at < builds_on || at > end)
        {
            prop_assert_eq!(read, Ok(()));
            prop_assert!(scan.fate().is_some());
        }
    }
}
