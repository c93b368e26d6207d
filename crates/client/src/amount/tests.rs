use super::*;
use proptest::prelude::*;

#[test]
fn decimals_become_base_units_and_come_back_exactly() {
    for (decimal, decimals, units) in [
        ("10.5", 6, "10500000"),
        ("0.000001", 6, "1"),
        ("10", 18, "10000000000000000000"),
        ("0", 77, "0"),
        ("1.10", 1, "11"),
    ] {
        let amount: Decimal = decimal.parse().unwrap();
        let units: BaseUnits = units.parse().unwrap();
        assert_eq!(amount.to_base_units(decimals), Ok(units));
        assert_eq!(units.to_decimal(decimals), Ok(amount));
    }
}

#[test]
fn what_is_no_amount_is_refused() {
    for text in ["", ".", "1.", ".5", "-1", "+1", "1e5", "1,000", " 1", "1 ", "0x1", "1.2.3", "١"]
    {
        assert!(text.parse::<Decimal>().is_err(), "{text:?}");
        assert!(text.parse::<BaseUnits>().is_err(), "{text:?}");
    }
    assert_eq!("1".repeat(79).parse::<BaseUnits>(), Err(AmountError::TooLarge));
}

#[test]
fn nothing_is_rounded() {
    let fine: Decimal = "0.0000001".parse().unwrap();
    assert!(matches!(fine.to_base_units(6), Err(AmountError::TooFine { scale: 7, .. })));
    let large: Decimal = U256::MAX.to_string().parse().unwrap();
    assert_eq!(large.to_base_units(1), Err(AmountError::TooLarge));
}

#[test]
fn json_numbers_and_strings_of_any_size_are_read() {
    let max = U256::MAX.to_string();
    for text in [max.clone(), format!("\"{max}\"")] {
        assert_eq!(serde_json::from_str::<BaseUnits>(&text).unwrap().0, U256::MAX);
    }
    assert!(serde_json::from_str::<BaseUnits>("1e3").is_err());
    assert!(serde_json::from_str::<BaseUnits>("1.0").is_err());
    assert_eq!(serde_json::from_str::<Decimal>("1.50").unwrap().to_string(), "1.5");
}

#[test]
fn people_see_at_least_two_digits_and_grouped_thousands() {
    let shown = |text: &str| text.parse::<Decimal>().unwrap().for_people();
    assert_eq!(shown("1234567.5"), "1\u{2009}234\u{2009}567.50");
    assert_eq!(shown("999"), "999.00");
    assert_eq!(shown("0.000001"), "0.000001");
}

proptest! {
    #[test]
    fn every_amount_survives_text_and_units(limbs: [u64; 4], decimals in 0_u8..=77) {
        let units = BaseUnits(U256::from_limbs(limbs));
        let decimal = units.to_decimal(decimals).unwrap();
        prop_assert_eq!(decimal.to_string().parse::<Decimal>().unwrap(), decimal);
        prop_assert_eq!(decimal.to_base_units(decimals).unwrap(), units);
    }
}
