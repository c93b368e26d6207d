//! Runs of headers: enough validators for a block, and everything that is not enough.

use crate::made::{CHAIN, Chain, Validator, unsealed, validators};
use crate::seals::sealed;
use alloy::consensus::Header;
use evm_proofs::block_id::BlockId;
use parlia::run::{FinalBlock, LONGEST_RUN, Run, Standing};
use parlia::unproven::{Obstacle, Unproven};
use parlia::validators::ValidatorList;

pub(crate) fn list(of: &[Validator]) -> ValidatorList {
    ValidatorList::new(16, of.iter().map(|validator| validator.address)).unwrap()
}

pub(crate) fn id(header: &Header) -> BlockId {
    BlockId { number: header.number, hash: header.hash_slow() }
}

/// The state after all of these headers.
pub(crate) fn read_all(run: &mut Run, headers: &[Header]) -> Result<Standing, Unproven> {
    let mut standing = run.standing();
    for header in headers {
        assert_eq!(run.wanted(), header.number);
        standing = run.read(&sealed(header).unwrap())?;
    }
    Ok(standing)
}

/// The state of the first header, after all of them.
pub(crate) fn proven(headers: &[Header], by: &ValidatorList) -> Result<Standing, Unproven> {
    read_all(&mut Run::begin(id(&headers[0]), by.clone()), headers)
}

pub(crate) fn final_block(standing: Standing) -> FinalBlock {
    match standing {
        Standing::Final(block) => *block,
        Standing::Short { sealers, needed } => panic!("{sealers} of {needed}"),
    }
}

fn short(sealers: usize) -> Standing {
    Standing::Short { sealers, needed: 15 }
}

/// A chain of 21 validators whose turns of 16 blocks begin with its first block.
fn chain() -> Chain {
    Chain::begin(16 * 21 * 10 + 16, validators(0..21))
}

#[test]
fn fourteen_of_21_are_not_enough_and_fifteen_are() {
    let mut chain = chain();
    chain.grow(14 * 16);
    let by = list(&chain.seated);
    assert_eq!((by.needed(), by.usual_run()), (15, 225));
    let first = id(&chain.headers[1]);
    let mut run = Run::begin(first, by.clone());
    assert_eq!(run.standing(), short(0));
    assert_eq!(read_all(&mut run, &chain.headers[1..]), Ok(short(14)));
    chain.grow(1);
    let block = final_block(read_all(&mut run, &chain.headers[225..]).unwrap());
    assert_eq!((block.id(), block.by()), (first, &by));
    assert_eq!(block.header().header().fields(), &chain.headers[1]);
    assert_eq!(run.wanted(), first.number + 225);
    // Later headers take nothing back.
    chain.grow(1);
    let standing = read_all(&mut run, &chain.headers[226..]).unwrap();
    assert_eq!(final_block(standing), block);
}

#[test]
fn the_needed_number_is_more_than_two_thirds() {
    let needed = |many| list(&validators(0..many)).needed();
    let all = [(1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (6, 5), (7, 5), (9, 7), (21, 15), (45, 31)];
    for (many, expected) in all {
        assert_eq!(needed(many), expected, "of {many}");
    }
}

#[test]
fn one_validator_counts_once_whatever_its_turns() {
    let mut chain = chain();
    // Fourteen validators take turns, block by block.
    chain.grow_by((0..300).map(|block| block % 14));
    assert_eq!(proven(&chain.headers[1..], &list(&chain.seated)), Ok(short(14)));
}

#[test]
fn a_run_has_an_end() {
    let mut chain = chain();
    let longest = usize::try_from(LONGEST_RUN).unwrap();
    chain.grow_by((0..longest).map(|_| 3));
    let mut run = Run::begin(id(&chain.headers[1]), list(&chain.seated));
    assert_eq!(read_all(&mut run, &chain.headers[1..]), Ok(short(1)));
    chain.grow(1);
    let said = read_all(&mut run, &chain.headers[1 + longest..]);
    assert_eq!(said, Err(Obstacle::TooLong.into()));
    assert_eq!(run.standing(), short(1));
}

#[test]
fn strangers_count_nothing_and_break_no_run() {
    let mut chain = chain();
    let strangers = validators(100..121);
    for stranger in &strangers {
        chain.append(stranger);
    }
    let by = list(&chain.seated);
    assert_eq!(proven(&chain.headers[1..], &by), Ok(short(0)));
    chain.grow_by(0..15);
    assert!(matches!(proven(&chain.headers[1..], &by), Ok(Standing::Final(_))));
}

#[test]
fn the_blocks_own_seal_counts() {
    let mut chain = Chain::begin(2_001, validators(0..1));
    chain.grow(1);
    let by = list(&chain.seated);
    assert!(matches!(proven(&chain.headers[1..], &by), Ok(Standing::Final(_))));
}

#[test]
fn another_block_than_the_one_in_question_is_not_read_first() {
    let mut chain = chain();
    chain.grow(3);
    let [first, second] = [&chain.headers[1], &chain.headers[2]];
    let other_number = BlockId { number: second.number, ..id(first) };
    for wanted in [id(second), other_number] {
        let mut run = Run::begin(wanted, list(&chain.seated));
        let said = run.read(&sealed(first).unwrap());
        assert_eq!(said, Err(Obstacle::OtherBlock(id(first)).into()));
        assert_eq!((run.wanted(), run.standing()), (wanted.number, short(0)));
    }
}

/// The validators of a branch prove the blocks of that branch, and none of another.
#[test]
fn a_branch_that_goes_off_below_proves_nothing_above() {
    let mut chain = chain();
    chain.grow(20);
    let fork = chain.headers[10].number;
    let mut branch = chain.fork(fork);
    // The branch needs another first block.
    branch.append(&branch.seated[20].clone());
    branch.grow(300);
    let by = list(&chain.seated);
    let above = chain.at(fork + 1);
    assert_ne!(above, branch.at(fork + 1));
    let mut run = Run::begin(id(above), by.clone());
    let other = branch.at(fork + 1);
    assert_eq!(run.read(&sealed(other).unwrap()), Err(Obstacle::OtherBlock(id(other)).into()));
    run.read(&sealed(above).unwrap()).unwrap();
    let next = branch.at(fork + 2);
    let apart = Err(Obstacle::Apart(id(next)).into());
    assert_eq!(run.read(&sealed(next).unwrap()), apart);
    assert_eq!(run.standing(), short(1), "a refused header changes nothing");
    // Below both, it proves.
    assert!(matches!(proven(&branch.from(fork), &by), Ok(Standing::Final(_))));
}

#[test]
fn a_header_that_is_left_out_or_told_twice_is_apart() {
    let mut chain = chain();
    chain.grow(3);
    for (first, second) in [(1, 3), (1, 1), (2, 1)] {
        let [first, second] = [first, second].map(|place: usize| &chain.headers[place]);
        let mut run = Run::begin(id(first), list(&chain.seated));
        run.read(&sealed(first).unwrap()).unwrap();
        let apart = Err(Obstacle::Apart(id(second)).into());
        assert_eq!(run.read(&sealed(second).unwrap()), apart);
        assert_eq!(run.wanted(), first.number + 1);
    }
}

/// A header names its parent by hash alone: its number has to fit as well.
#[test]
fn a_header_of_another_height_is_apart() {
    let mut chain = chain();
    chain.grow(1);
    let first = chain.headers[1].clone();
    let mut header = unsealed(&first, &[]);
    header.number += 1;
    crate::made::seal(&mut header, &chain.seated[0], CHAIN);
    let mut run = Run::begin(id(&first), list(&chain.seated));
    run.read(&sealed(&first).unwrap()).unwrap();
    let apart = Err(Obstacle::Apart(id(&header)).into());
    assert_eq!(run.read(&sealed(&header).unwrap()), apart);
}

#[test]
fn a_run_goes_back_to_where_a_node_left_a_branch() {
    let mut chain = chain();
    chain.grow(100);
    let fork = chain.headers[95].number;
    let mut branch = chain.fork(fork);
    // The branch that is left holds a block of a validator that the other one lacks so far.
    branch.append(&branch.seated[20].clone());
    branch.grow(4);
    let by = list(&chain.seated);
    let mut run = Run::begin(id(&chain.headers[1]), by.clone());
    assert_eq!(read_all(&mut run, &branch.headers[1..]), Ok(short(8)));
    chain.grow(1);
    let next = sealed(&chain.headers[101]).unwrap();
    assert_eq!(run.read(&next), Err(Obstacle::Apart(next.id()).into()));
    run.step_back(3);
    assert_eq!((run.wanted(), run.standing()), (fork + 3, short(8)));
    run.step_back(4);
    assert_eq!((run.wanted(), run.standing()), (fork - 1, short(6)));
    // From there on it is the run that it would have been without the branch.
    chain.grow(140);
    let again = read_all(&mut run, &chain.from(fork - 1)).unwrap();
    assert_eq!(again, proven(&chain.headers[1..], &by).unwrap());
    assert_eq!(final_block(again).id(), id(&chain.headers[1]));
}

#[test]
fn a_run_never_goes_back_below_its_own_block() {
    let mut chain = chain();
    chain.grow(20);
    let first = id(&chain.headers[1]);
    let mut run = Run::begin(first, list(&chain.seated));
    run.step_back(1);
    assert_eq!((run.wanted(), run.standing()), (first.number, short(0)));
    assert_eq!(read_all(&mut run, &chain.headers[1..]), Ok(short(2)));
    run.step_back(usize::MAX);
    assert_eq!((run.wanted(), run.standing()), (first.number + 1, short(1)));
    assert_eq!(read_all(&mut run, &chain.headers[2..]), Ok(short(2)));
}
