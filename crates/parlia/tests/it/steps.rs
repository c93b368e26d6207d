//! From a trusted list of validators to newer ones.

use crate::made::{Chain, Validator, validators};
use crate::runs::{final_block, id, proven, read_all};
use crate::seals::sealed;
use alloy::primitives::B256;
use parlia::following::{Following, Step};
use parlia::run::Standing;
use parlia::unproven::Obstacle;
use parlia::validators::ValidatorList;
use std::sync::LazyLock;

/// The blocks in a row that a validator seals here, in epochs of 200 blocks.
const TURN: u8 = 4;

fn list(of: &[Validator]) -> ValidatorList {
    ValidatorList::new(TURN, of.iter().map(|validator| validator.address)).unwrap()
}

fn begin(number: u64) -> Chain {
    let mut chain = Chain::begin(number, validators(0..21));
    (chain.epoch, chain.turn) = (200, TURN);
    chain
}

/// The members of these seeds and of those: some of the old list, and some that are new.
fn of(seeds: [std::ops::Range<u64>; 2]) -> Vec<Validator> {
    let mut made = seeds.map(validators).concat();
    made.sort_by_key(|validator| validator.address);
    made
}

/// A chain over three epochs: in each, three of the validators make room for others.
static THREE_EPOCHS: LazyLock<Chain> = LazyLock::new(|| {
    let mut chain = begin(390);
    chain.grow(11);
    chain.elected = of([3..21, 30..33]);
    chain.grow(200);
    chain.elected = of([6..21, 30..36]);
    chain.grow(400);
    chain
});

/// A follower that trusts the list of block 400.
fn follower(chain: &Chain) -> Following {
    let trusted = chain.at(400);
    Following::pinned(trusted.hash_slow(), &sealed(trusted).unwrap()).unwrap()
}

/// Proves a block of the chain by as many of its headers as that takes.
fn proof(following: &Following, chain: &Chain, number: u64) -> (Standing, usize) {
    let mut run = following.prove(id(chain.at(number)));
    for (read, header) in (1..).zip(chain.from(number)) {
        let standing = run.read(&sealed(&header).unwrap()).unwrap();
        if matches!(standing, Standing::Final(_)) {
            return (standing, read);
        }
    }
    (run.standing(), chain.from(number).len())
}

#[test]
fn lists_are_followed_epoch_by_epoch() {
    let chain = &*THREE_EPOCHS;
    let mut following = follower(chain);
    assert_eq!((following.since(), following.validators()), (400, &list(&validators(0..21))));
    for (epoch, elected) in [(600, of([3..21, 30..33])), (800, of([6..21, 30..36]))] {
        let (standing, read) = proof(&following, chain, epoch);
        assert!(read <= 15 * 4 * 2, "{read} headers");
        assert_eq!(following.step(&final_block(standing)), Ok(Step::Stepped));
        assert_eq!((following.since(), following.validators()), (epoch, &list(&elected)));
    }
    assert!(matches!(proof(&following, chain, 888).0, Standing::Final(_)));
}

#[test]
fn epochs_may_be_left_out_while_enough_of_the_known_list_seal() {
    let chain = &*THREE_EPOCHS;
    let mut following = follower(chain);
    let (standing, _) = proof(&following, chain, 800);
    assert_eq!(following.step(&final_block(standing)), Ok(Step::Stepped));
    assert_eq!(following.since(), 800);
    // Of the list of 2,000 only fourteen seal: one has no seat any more.
    let mut chain = begin(399);
    chain.grow(2);
    chain.seated = of([7..21, 30..37]);
    chain.elected = chain.seated.clone();
    chain.grow(399);
    let (standing, _) = proof(&follower(&chain), &chain, 600);
    assert_eq!(standing, Standing::Short { sealers: 14, needed: 15 });
}

#[test]
fn an_epoch_header_that_too_few_sealed_is_no_step() {
    let mut chain = THREE_EPOCHS.fork(599);
    let mut following = follower(&chain);
    let before = following.clone();
    // Fourteen make up an epoch header with a list of their own.
    chain.elected = validators(50..71);
    let fourteen = validators(3..17);
    for sealer in fourteen.iter().cycle().take(300) {
        chain.append(sealer);
    }
    let mut run = following.prove(id(chain.at(600)));
    let standing = read_all(&mut run, &chain.from(600)).unwrap();
    assert_eq!(standing, Standing::Short { sealers: 14, needed: 15 });
    // Their own list proves it, and is not followed.
    for sealer in &validators(50..71) {
        chain.append(sealer);
    }
    let own = final_block(proven(&chain.from(600), &list(&chain.elected)).unwrap());
    assert_eq!(following.step(&own), Err(Obstacle::OtherList.into()));
    assert_eq!(following, before);
}

#[test]
fn a_proof_by_an_older_list_is_no_step_any_more() {
    let chain = &*THREE_EPOCHS;
    let mut following = follower(chain);
    let late = final_block(proof(&following, chain, 800).0);
    let first = final_block(proof(&following, chain, 600).0);
    assert_eq!(following.step(&first), Ok(Step::Stepped));
    let before = following.clone();
    assert_eq!(following.step(&late), Err(Obstacle::OtherList.into()));
    assert_eq!(following, before);
}

#[test]
fn a_list_never_goes_back() {
    let mut chain = begin(390);
    chain.grow(500);
    let mut following = follower(&chain);
    let blocks = [400, 600, 800].map(|number| proof(&following, &chain, number).0);
    let [own, third, fourth] = blocks.map(final_block);
    assert_eq!(following.step(&own), Ok(Step::KnownBefore));
    assert_eq!(following.step(&fourth), Ok(Step::Stepped));
    assert_eq!(following.step(&third), Ok(Step::KnownBefore));
    assert_eq!(following.since(), 800);
}

#[test]
fn a_final_block_that_begins_no_epoch_is_no_step() {
    let chain = &*THREE_EPOCHS;
    let mut following = follower(chain);
    let block = final_block(proof(&following, chain, 555).0);
    assert_eq!(following.step(&block), Err(Obstacle::NoList.into()));
    assert_eq!(following, follower(chain));
}

#[test]
fn a_start_is_the_epoch_header_that_was_pinned() {
    let chain = &*THREE_EPOCHS;
    let header = sealed(chain.at(600)).unwrap();
    let pinned = |hash| Following::pinned(hash, &header).map(drop);
    assert_eq!(pinned(header.id().hash), Ok(()));
    for other in [chain.at(400).hash_slow(), B256::ZERO] {
        assert_eq!(pinned(other), Err(Obstacle::OtherBlock(header.id()).into()));
    }
    let between = sealed(chain.at(601)).unwrap();
    let begun = Following::pinned(between.id().hash, &between).map(drop);
    assert_eq!(begun, Err(Obstacle::NoList.into()));
    let text = header.validators().unwrap().to_string();
    let trusted: ValidatorList = text.parse().unwrap();
    let following = Following::trusting(trusted, 600);
    assert_eq!(Ok(following), Following::pinned(header.id().hash, &header));
}
