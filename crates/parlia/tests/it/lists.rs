//! Lists of validators: as headers tell them, as a configuration writes them, and lists that are none.

use crate::made::{CHAIN, Chain, listed, seal, unsealed, validators, votes};
use crate::seals::sealed;
use alloy::consensus::Header;
use alloy::primitives::{Address, Bytes};
use parlia::unproven::Obstacle;
use parlia::validators::{BadList, LONGEST_TURN, MOST_VALIDATORS, ValidatorList};

/// The list in a header whose extra data hold these bytes between vanity and seal.
fn told(between: &[u8]) -> Result<ValidatorList, Obstacle> {
    let sealer = &validators(0..1)[0];
    let mut header = unsealed(&Header { number: 999, ..Header::default() }, &[]);
    header.extra_data = Bytes::from([&[7; 32], between, &[0; 65]].concat());
    seal(&mut header, sealer, CHAIN);
    sealed(&header).unwrap().validators()
}

fn addresses(many: u64) -> Vec<Address> {
    validators(0..many).iter().map(|validator| validator.address).collect()
}

#[test]
fn an_epoch_header_tells_its_list_with_votes_and_without() {
    let elected = validators(0..21);
    let list = ValidatorList::new(16, addresses(21)).unwrap();
    assert_eq!(told(&listed(&elected, 16)), Ok(list.clone()));
    assert_eq!(told(&[listed(&elected, 16), votes()].concat()), Ok(list.clone()));
    assert_eq!((list.turn(), list.len()), (16, 21));
    assert!(list.has(&elected[20].address) && !list.has(&Address::ZERO));
    assert!(list.iter().copied().eq(addresses(21)));
    assert_eq!(told(&listed(&elected, 8)).unwrap().turn(), 8);
}

#[test]
fn the_headers_between_epochs_tell_no_list() {
    let mut chain = Chain::begin(1_999, validators(0..21));
    chain.grow(3);
    let lists = chain.headers[1..].iter().map(|header| sealed(header).unwrap().validators());
    let lists: Vec<_> = lists.map(|list| list.map(|list| list.len())).collect();
    assert_eq!(lists, [Err(Obstacle::NoList), Ok(21), Err(Obstacle::NoList)]);
    assert_eq!(told(&votes()), Err(Obstacle::NoList));
    assert_eq!(told(&[]), Err(Obstacle::NoList));
}

#[test]
fn extra_data_that_are_no_list_tell_none() {
    let elected = validators(0..21);
    let whole = listed(&elected, 16);
    let mut double = validators(0..20);
    double.push(double[3].clone());
    let without_turn = &whole[..whole.len() - 1];
    let bad = [
        // As before Bohr, with votes and without.
        without_turn.to_vec(),
        [without_turn, &votes()].concat(),
        without_turn[..400].to_vec(),
        listed(&[], 16),
        listed(&double, 16),
        listed(&elected, 0),
        listed(&elected, LONGEST_TURN + 1),
        // More after the turn's length than votes.
        [&whole[..], &[0]].concat(),
        [&whole[..], &[0xb8]].concat(),
        [whole.clone(), votes(), vec![0xc0]].concat(),
        [&whole[..], &votes()[..50]].concat(),
        listed(&validators(0..101), 16),
    ];
    for (place, between) in bad.iter().enumerate() {
        assert_eq!(told(between), Err(Obstacle::NoList), "{place}");
    }
    assert_eq!(told(&listed(&validators(0..100), 1)).unwrap().len(), MOST_VALIDATORS);
}

#[test]
fn a_list_is_neither_empty_nor_endless_and_names_nobody_twice() {
    let new = |turn, many| ValidatorList::new(turn, addresses(many));
    assert_eq!(new(16, 0), Err(BadList::Empty));
    assert_eq!(new(16, 101), Err(BadList::TooMany(101)));
    assert_eq!(new(0, 1), Err(BadList::Turn(0)));
    assert_eq!(new(65, 1), Err(BadList::Turn(65)));
    assert_eq!(new(64, 100).unwrap().usual_run(), 64 * 66 + 1);
    assert_eq!(new(1, 1).unwrap().usual_run(), 1);
    let twice = addresses(1)[0];
    assert_eq!(ValidatorList::new(1, [twice, twice]), Err(BadList::Twice(twice)));
}

#[test]
fn a_list_is_read_from_the_text_that_it_writes() {
    let list = ValidatorList::new(16, addresses(21)).unwrap();
    let text = list.to_string();
    assert!(text.starts_with("16 0x") && text.split(' ').count() == 22);
    assert_eq!(text.parse(), Ok(list.clone()));
    assert_eq!(text.replace(' ', "\n  ").to_lowercase().parse(), Ok(list));
    let one = addresses(1)[0];
    for (text, refused) in [
        (String::new(), BadList::Text),
        (one.to_string(), BadList::Text),
        ("256".to_owned(), BadList::Text),
        (format!("16 {one} 0x12"), BadList::Text),
        (format!("16, {one}"), BadList::Text),
        ("16".to_owned(), BadList::Empty),
        (format!("0 {one}"), BadList::Turn(0)),
        (format!("16 {one} {one}"), BadList::Twice(one)),
    ] {
        assert_eq!(text.parse::<ValidatorList>(), Err(refused), "{text}");
    }
}
