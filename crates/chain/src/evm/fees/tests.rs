//! Bids, first ones and those that replace others.

use super::*;
use crate::Payer;
use billing::Family;
use config::{L1Fee, Wei};
use evm_node::median_tip;
use proptest::prelude::*;

const CEILINGS: FeeConfig = FeeConfig {
    max_fee_per_gas: Wei(100),
    max_priority_fee_per_gas: Wei(10),
    max_tx_cost: Wei(1_000_000),
    legacy: false,
    l1_fee: L1Fee::None,
};

fn bid(base: u128, tip: u128) -> Result<Bid, ChainError> {
    let market = Market { base_fee: Some(base), tip: Some(tip), low_tip: Some(1), gas_price: None };
    first_bid(&market, &CEILINGS, 0)
}

#[test]
fn a_bid_covers_twice_the_base_fee_and_stays_under_the_ceilings() {
    assert_eq!(bid(20, 3), Ok(Bid::Dynamic { max_fee: 43, tip: 3 }));
    assert_eq!(bid(20, 99), Ok(Bid::Dynamic { max_fee: 50, tip: 10 }));
    assert_eq!(bid(60, 3), Ok(Bid::Dynamic { max_fee: 100, tip: 3 }));
    assert_eq!(bid(0, 0), Ok(Bid::Dynamic { max_fee: 1, tip: 1 }), "never a tip of nothing");
    let refused = bid(101, 1).unwrap_err().to_string();
    assert!(refused.contains("fees.max_fee_per_gas"), "{refused}");
}

#[test]
fn a_chain_without_a_base_fee_is_paid_what_it_asks() {
    let market = Market { base_fee: None, tip: None, low_tip: None, gas_price: Some(50) };
    assert_eq!(first_bid(&market, &CEILINGS, 0), Ok(Bid::Legacy { price: 50 }));
    let moving = Market { base_fee: Some(48), ..market };
    let legacy = FeeConfig { legacy: true, ..CEILINGS };
    assert_eq!(first_bid(&moving, &legacy, 0), Ok(Bid::Legacy { price: 56 }));
    let dear = Market { gas_price: Some(101), ..market };
    assert!(matches!(first_bid(&dear, &CEILINGS, 0), Err(ChainError::FeeTooHigh(_))));
}

#[test]
fn the_tip_is_what_others_paid_in_blocks_that_held_something() {
    assert_eq!(median_tip([(0.5, 7), (0.0, 0), (0.1, 3), (0.9, 9), (0.0, 1)]), Some(7));
    assert_eq!(median_tip([(0.5, 7), (0.5, 3)]), Some(7));
    assert_eq!(median_tip([(0.0, 7)]), None);
    assert_eq!(median_tip([]), None);
}

#[test]
fn a_transaction_that_cannot_be_paid_for_is_not_made() {
    let bid = Bid::Dynamic { max_fee: 10, tip: 1 };
    let wei = |amount: u64| U256::from(amount);
    assert_eq!(cost(1000, bid), wei(10_000));
    assert_eq!(affordable(wei(10_000), wei(0), wei(10_000), Payer::nobody(Family::Evm)), Ok(()));
    assert!(matches!(
        affordable(wei(10_000), wei(1), wei(10_000), Payer::nobody(Family::Evm)),
        Err(ChainError::GasFunds { have, need, .. }) if (have, need) == (wei(10_000), wei(10_001))
    ));
    assert_eq!(allowed(wei(1_000_000), AttemptKind::Bill, &CEILINGS), Ok(()));
    let refused = allowed(wei(1_000_001), AttemptKind::Bill, &CEILINGS).unwrap_err().to_string();
    assert!(refused.contains("fees.max_tx_cost"), "{refused}");
}

#[test]
fn a_replacement_outbids_the_highest_bid_ever_made_or_waits() {
    let bid = |max_fee, tip| Bid::Dynamic { max_fee, tip };
    let earlier = [bid(40, 3), bid(56, 2)];
    assert_eq!(outbid(bid(43, 3), earlier, Ceilings::of(&CEILINGS)), Ok(bid(64, 5)));
    assert_eq!(
        outbid(bid(90, 9), earlier, Ceilings::of(&CEILINGS)),
        Ok(bid(90, 9)),
        "the chain asks more"
    );
    assert_eq!(outbid(bid(43, 3), [], Ceilings::of(&CEILINGS)), Ok(bid(43, 3)));
    let refused = |fresh, earlier: Bid| {
        outbid(fresh, [earlier], Ceilings::of(&CEILINGS)).unwrap_err().to_string()
    };
    assert!(refused(bid(43, 3), bid(90, 2)).contains("fees.max_fee_per_gas"));
    assert!(refused(bid(43, 3), bid(40, 9)).contains("fees.max_priority_fee_per_gas"));
    let price = |price| Bid::Legacy { price };
    assert_eq!(outbid(price(43), [price(48)], Ceilings::of(&CEILINGS)), Ok(price(55)));
    assert_eq!(
        outbid(price(43), [bid(48, 2)], Ceilings::of(&CEILINGS)),
        Ok(price(55)),
        "the kind was changed"
    );
    assert!(refused(bid(43, 3), price(48)).contains("max_priority_fee_per_gas"));
}

#[test]
fn a_bid_is_too_low_when_the_base_fee_or_the_lowest_tips_are_above_it() {
    let market = |base_fee, low_tip| Market { base_fee, tip: None, low_tip, gas_price: Some(30) };
    let bid = Bid::Dynamic { max_fee: 40, tip: 5 };
    let above = |base, low| market(Some(base), low).is_above(bid);
    assert!(!above(20, Some(5)) && !above(40, None));
    assert!(above(41, None), "the base fee");
    assert!(above(20, Some(6)), "the tip");
    assert!(above(37, Some(4)), "what the base fee leaves of the tip");
    let legacy = Bid::Legacy { price: 30 };
    assert!(!market(None, None).is_above(legacy), "it bids what is asked");
    assert!(market(None, None).is_above(Bid::Legacy { price: 29 }));
    assert!(market(Some(31), None).is_above(legacy));
}

const DEEP: FeeConfig =
    FeeConfig { max_fee_per_gas: Wei(100_000), max_priority_fee_per_gas: Wei(10_000), ..CEILINGS };

fn dynamic(base_fee: u128, tip: u128, low_tip: u128) -> Market {
    Market { base_fee: Some(base_fee), tip: Some(tip), low_tip: Some(low_tip), gas_price: None }
}

#[test]
fn a_first_bid_leaves_room_for_every_replacement_that_is_allowed() {
    let market = dynamic(50_000, 20_000, 1);
    let mut bids = vec![first_bid(&market, &DEEP, 3).unwrap()];
    for _ in 0..3 {
        let next = outbid(bids[0], bids.iter().copied(), Ceilings::of(&DEEP));
        bids.push(next.expect("only the base fee rose, and there was room"));
    }
    assert_eq!(bids[0], Bid::Dynamic { max_fee: 70_227, tip: 7_017 });
    assert!(outbid(bids[0], bids.iter().copied(), Ceilings::of(&DEEP)).is_err());
}

#[test]
fn a_chain_that_asks_for_the_room_gets_what_it_asks() {
    let near = first_bid(&dynamic(85_000, 9_900, 9_500), &DEEP, 7);
    assert_eq!(near, Ok(Bid::Dynamic { max_fee: 100_000, tip: 9_500 }));
    let legacy = FeeConfig { legacy: true, ..DEEP };
    let asked = |price| Market { gas_price: Some(price), ..dynamic(price, 1, 1) };
    assert_eq!(first_bid(&asked(90_000), &legacy, 7), Ok(Bid::Legacy { price: 90_000 }));
    assert_eq!(first_bid(&asked(8_000), &legacy, 7), Ok(Bid::Legacy { price: 9_000 }));
}

#[test]
fn a_cancel_outbids_a_bid_that_is_at_the_ceiling_whatever_the_chain_asks() {
    let at_ceiling = Bid::Dynamic { max_fee: 100, tip: 10 };
    let market = |base| Market { base_fee: Some(base), tip: None, low_tip: None, gas_price: None };
    assert!(outbid(at_ceiling, [at_ceiling], Ceilings::of(&CEILINGS)).is_err());
    for base in [1, 99, 5_000] {
        let fresh = cancel_bid(&market(base), &CEILINGS).unwrap();
        let ceilings = Ceilings::of_cancel(&CEILINGS, [at_ceiling]);
        let cancel = outbid(fresh, [at_ceiling], ceilings).unwrap();
        assert_eq!(cancel, Bid::Dynamic { max_fee: 114, tip: 13 }, "{base}");
        let again = outbid(fresh, [at_ceiling, cancel], ceilings);
        assert!(again.is_err(), "by one step, and no further");
    }
    // The ceilings were lowered since it was signed.
    let dear = Bid::Dynamic { max_fee: 800, tip: 80 };
    let fresh = cancel_bid(&market(1), &CEILINGS).unwrap();
    let cancel = outbid(fresh, [dear], Ceilings::of_cancel(&CEILINGS, [dear]));
    assert_eq!(cancel, Ok(Bid::Dynamic { max_fee: 901, tip: 91 }));
    let wei = |amount: u64| U256::from(amount);
    assert_eq!(allowed(wei(1_000_001), AttemptKind::Cancel, &CEILINGS), Ok(()));
    assert!(allowed(wei(1_200_000), AttemptKind::Cancel, &CEILINGS).is_err());
}

/// What a node makes of a replacement. geth: core/txpool/legacypool/list.go, `Add`: both prices
/// strictly higher, and both at least 110 % rounded down.
fn is_taken_in_place_of(new: Bid, old: Bid) -> bool {
    let enough = |new: u128, old: u128| new > old && new >= old * 110 / 100;
    enough(new.at_most(), old.at_most()) && enough(new.tip(), old.tip())
}

proptest! {
    #[test]
    fn no_bid_is_above_a_ceiling(
        base: u128, tip: u128, price: u128, legacy: bool, raises in 0..20_usize,
    ) {
        let market = Market {
            base_fee: Some(base), tip: Some(tip), low_tip: None, gas_price: Some(price)
        };
        if let Ok(bid) = first_bid(&market, &FeeConfig { legacy, ..CEILINGS }, raises) {
            prop_assert!(bid.at_most() <= CEILINGS.max_fee_per_gas.0);
            if let Bid::Dynamic { max_fee, tip } = bid {
                prop_assert!(tip <= max_fee && tip <= CEILINGS.max_priority_fee_per_gas.0);
            }
        }
    }

    #[test]
    fn a_replacement_is_taken_in_the_place_of_every_earlier_attempt(
        bids in prop::collection::vec((1..1_u128 << 90, 0..1_u128 << 90, any::<bool>()), 1..6),
        fresh in (1..1_u128 << 90, 0..1_u128 << 90, any::<bool>()),
        ceilings in (0..1_u128 << 91, 0..1_u128 << 91),
    ) {
        let bid = |(fee, tip, legacy): (u128, u128, bool)| {
            if legacy {
                Bid::Legacy { price: fee }
            } else {
                Bid::Dynamic { max_fee: fee, tip: tip.min(fee) }
            }
        };
        let (fresh, earlier): (Bid, Vec<Bid>) = (bid(fresh), bids.into_iter().map(bid).collect());
        let ceilings = FeeConfig {
            max_fee_per_gas: Wei(ceilings.0),
            max_priority_fee_per_gas: Wei(ceilings.1),
            ..CEILINGS
        };
        match outbid(fresh, earlier.iter().copied(), Ceilings::of(&ceilings)) {
            Ok(new) => {
                for old in earlier {
                    prop_assert!(is_taken_in_place_of(new, old), "{new:?} for {old:?}");
                }
                prop_assert!(new.at_most() >= fresh.at_most() && new.tip() >= fresh.tip());
                prop_assert!(new.tip() <= new.at_most());
                prop_assert!(new.at_most() <= ceilings.max_fee_per_gas.0);
                if let Bid::Dynamic { tip, .. } = new {
                    prop_assert!(tip <= ceilings.max_priority_fee_per_gas.0);
                }
            }
            Err(error) => prop_assert!(matches!(error, ChainError::FeeTooHigh(_))),
        }
    }
}
