//! Bids, first ones and those that replace others.

use super::*;
use crate::config::{L1Fee, Wei};
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
    first_bid(&market, &CEILINGS)
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
    assert_eq!(first_bid(&market, &CEILINGS), Ok(Bid::Legacy { price: 50 }));
    let moving = Market { base_fee: Some(48), ..market };
    let legacy = FeeConfig { legacy: true, ..CEILINGS };
    assert_eq!(first_bid(&moving, &legacy), Ok(Bid::Legacy { price: 56 }));
    let dear = Market { gas_price: Some(101), ..market };
    assert!(matches!(first_bid(&dear, &CEILINGS), Err(ChainError::FeeTooHigh(_))));
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
    assert_eq!(affordable(wei(10_000), wei(0), wei(10_000)), Ok(()));
    assert!(matches!(
        affordable(wei(10_000), wei(1), wei(10_000)),
        Err(ChainError::GasFunds { have, need, unit: "wei" }) if have == "10000" && need == "10001"
    ));
    assert_eq!(allowed(wei(1_000_000), &CEILINGS), Ok(()));
    let refused = allowed(wei(1_000_001), &CEILINGS).unwrap_err().to_string();
    assert!(refused.contains("fees.max_tx_cost"), "{refused}");
}

#[test]
fn a_replacement_outbids_the_highest_bid_ever_made_or_waits() {
    let bid = |max_fee, tip| Bid::Dynamic { max_fee, tip };
    let earlier = [bid(40, 3), bid(56, 2)];
    assert_eq!(outbid(bid(43, 3), earlier, &CEILINGS), Ok(bid(64, 5)));
    assert_eq!(outbid(bid(90, 9), earlier, &CEILINGS), Ok(bid(90, 9)), "the chain asks more");
    assert_eq!(outbid(bid(43, 3), [], &CEILINGS), Ok(bid(43, 3)));
    let refused =
        |fresh, earlier: Bid| outbid(fresh, [earlier], &CEILINGS).unwrap_err().to_string();
    assert!(refused(bid(43, 3), bid(90, 2)).contains("fees.max_fee_per_gas"));
    assert!(refused(bid(43, 3), bid(40, 9)).contains("fees.max_priority_fee_per_gas"));
    let price = |price| Bid::Legacy { price };
    assert_eq!(outbid(price(43), [price(48)], &CEILINGS), Ok(price(55)));
    assert_eq!(outbid(price(43), [bid(48, 2)], &CEILINGS), Ok(price(55)), "the kind was changed");
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

/// What a node makes of a replacement. geth: core/txpool/legacypool/list.go, `Add`: both prices
/// strictly higher, and both at least 110 % rounded down.
fn is_taken_in_place_of(new: Bid, old: Bid) -> bool {
    let enough = |new: u128, old: u128| new > old && new >= old * 110 / 100;
    enough(new.at_most(), old.at_most()) && enough(new.tip(), old.tip())
}

proptest! {
    #[test]
    fn no_bid_is_above_a_ceiling(base: u128, tip: u128, price: u128, legacy: bool) {
        let market = Market {
            base_fee: Some(base), tip: Some(tip), low_tip: None, gas_price: Some(price)
        };
        if let Ok(bid) = first_bid(&market, &FeeConfig { legacy, ..CEILINGS }) {
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
        match outbid(fresh, earlier.iter().copied(), &ceilings) {
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
