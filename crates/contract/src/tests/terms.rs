//! What an entry must state, and what happens when it differs from the chain.

use super::*;
use alloy::dyn_abi::DynSolValue;
use billing::{Refused, spell_address};

fn looked(profile: &Profile, words: [U256; 5]) -> Option<Looked> {
    profile.read_lookup(&words.map(B256::from).concat())
}

fn address_word(address: Address) -> U256 {
    U256::from_be_bytes(address.into_word().0)
}

/// What the reference contract knows of subscription 1.
fn on_chain(amount: u64) -> [U256; 5] {
    let [amount, version, period] = [amount, 2, 3].map(U256::from);
    [address_word(WALLET), address_word(TOKEN), amount, version, period]
}

fn refused(entry: &Entry) -> Refused {
    let profile = parsed(&rows());
    complete(&profile, entry, looked(&profile, on_chain(100)).as_ref()).unwrap_err()
}

#[test]
fn an_entry_states_what_nothing_else_supplies() {
    let with_lookup = parsed(&rows());
    assert!(with_lookup.admit(&entry(1, &[])).is_ok());
    let alone = parsed(&BillingConfig { lookup: None, ..rows() });
    let full = [("planVersion", number(2)), ("period", number(3))];
    assert!(alone.admit(&stated(1, 100, &full)).is_ok());
    for missing in ["amount", "userWallet", "tokenAddress", "planVersion", "period"] {
        let mut entry = stated(1, 100, &full);
        entry.fields.remove(missing);
        let bad = alone.admit(&entry).unwrap_err();
        assert_eq!(bad.to_string(), format!("{missing} is missing"));
        let admitted = with_lookup.admit(&entry).unwrap();
        let refused = alone.complete(admitted, None).unwrap_err();
        assert_eq!(refused.reason(), format!("Invalid entry: {missing} is missing"));
    }
}

#[test]
fn a_field_that_is_there_must_be_readable_even_if_the_chain_supplies_it() {
    let profile = parsed(&rows());
    let two_to_128 = "340282366920938463463374607431768211456";
    let amount = "amount must be a whole number from 0 to 2^128 - 1";
    let table = [
        ("amount", number(-1), amount),
        ("amount", number("1.5"), amount),
        ("amount", number("1e3"), amount),
        ("amount", number(two_to_128), amount),
        ("amount", text("0x10"), amount),
        ("amount", text(""), amount),
        ("amount", Scalar::Bool(true), amount),
        ("amount", Scalar::Nested, amount),
        ("userWallet", text("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"), "userWallet is a TRON address"),
        ("userWallet", number(1), "userWallet has a type that cannot be read as address"),
        ("period", number(1_u64 << 32), "period must be a whole number from 0 to 2^32 - 1"),
        ("planVersion", Scalar::Nested, "planVersion must be a whole number from 0 to 2^32 - 1"),
    ];
    for (field, value, wanted) in table {
        let bad = profile.admit(&entry(1, &[(field, value)])).unwrap_err();
        assert!(bad.to_string().starts_with(wanted), "{bad}");
    }
}

#[test]
fn an_entry_that_differs_from_the_chain_is_never_charged() {
    let profile = parsed(&rows());
    let table = [
        ("amount", number(99), "amount is 100 on chain, but the entry says 99".to_owned()),
        ("planVersion", text(1), "planVersion is 2 on chain, but the entry says 1".to_owned()),
        ("period", number(4), "period is 3 on chain, but the entry says 4".to_owned()),
        (
            "userWallet",
            text(TOKEN),
            format!("userWallet is {WALLET} on chain, but the entry says {TOKEN}"),
        ),
    ];
    for (field, value, detail) in table {
        let entry = entry(1, &[(field, value)]);
        let refused = refused(&entry);
        assert_eq!((refused.code, refused.detail), (FailCode::TermsMismatch, Some(detail)));
    }
    let agreeing = stated(1, 100, &[("period", text(3)), ("planVersion", number(2))]);
    assert!(complete(&profile, &agreeing, looked(&profile, on_chain(100)).as_ref()).is_ok());
}

#[test]
fn a_subscription_that_the_contract_does_not_know_is_not_charged() {
    let profile = parsed(&rows());
    assert_eq!(looked(&profile, [U256::ZERO; 5]), None);
    let refused = complete(&profile, &stated(1, 100, &[]), None).unwrap_err();
    assert_eq!(refused.code, FailCode::SubscriptionNotFound);
    assert_eq!(refused.amount, Some(U256::from(100)));
}

#[test]
fn an_answer_with_bits_that_its_types_do_not_have_is_not_read() {
    let profile = parsed(&rows());
    for (index, bits) in [(0, 161), (1, 256), (2, 129), (3, 33), (4, 33)] {
        let mut words = on_chain(100);
        words[index] |= U256::ONE << (bits - 1);
        assert_eq!(looked(&profile, words), None, "{index}");
    }
    let longer = [&on_chain(100)[..], &[U256::MAX]].concat();
    let longer = longer.into_iter().map(B256::from).collect::<Vec<_>>().concat();
    assert_eq!(profile.read_lookup(&longer), looked(&profile, on_chain(100)));
    assert_eq!(profile.read_lookup(&longer[..159]), None);
    assert_eq!(profile.read_lookup(&[]), None);
}

#[test]
fn what_the_chain_says_must_fit_the_call() {
    let mut config = rows();
    config.lookup = config.lookup.map(|lookup| lookup.replace("uint128", "uint256"));
    let profile = parsed(&config);
    let mut words = on_chain(100);
    words[2] = U256::MAX;
    let refused = complete(&profile, &entry(1, &[]), looked(&profile, words).as_ref()).unwrap_err();
    assert_eq!(refused.code, FailCode::TermsMismatch);
    assert!(refused.reason().contains("amount must be a whole number from 0 to 2^128 - 1"));
}

#[test]
fn a_constant_term_is_charged_and_an_entry_must_agree_with_it() {
    let constants = [("amount", "5"), ("tokenAddress", &TOKEN.to_string())];
    let profile = parsed(&BillingConfig { constants: texts(&constants), ..arrays() });
    let wallet = ("userWallet", text(WALLET));
    let lean = entry(1, std::slice::from_ref(&wallet));

    let charge = complete(&profile, &lean, None).unwrap();
    assert_eq!((charge.amount, charge.token), (U256::from(5), TOKEN));
    let other = entry(1, &[wallet, ("amount", number(6))]);
    let refused = complete(&profile, &other, None).unwrap_err();
    let words = "Terms mismatch: amount is 5 in the Signer's configuration, but the entry says 6";
    assert_eq!(refused.reason(), words);
}

#[test]
fn a_lookup_for_another_merchant_is_no_reason_to_charge() {
    let mut config = rows();
    config.lookup = Some(
        "subscribeOf(address merKey, bytes32 userHash) returns (address merKey, \
         address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, \
         uint32 period)"
            .to_owned(),
    );
    let profile = parsed(&config);
    let answer = |merchant| {
        let words = [&[address_word(merchant)], &on_chain(100)[..]].concat();
        profile.read_lookup(&words.into_iter().map(B256::from).collect::<Vec<_>>().concat())
    };
    assert!(complete(&profile, &entry(1, &[]), answer(MERCHANT).as_ref()).is_ok());
    let refused = complete(&profile, &entry(1, &[]), answer(TOKEN).as_ref()).unwrap_err();
    assert_eq!(refused.code, FailCode::TermsMismatch);
}

#[test]
fn the_period_is_known_early_only_if_the_entry_states_it() {
    let three = stated(1, 5, &[("period", text(3)), ("cycle", number(4))]);
    let early =
        |profile: &Profile, entry: &Entry| profile.stated_period(&profile.admit(entry).unwrap());
    assert_eq!(early(&parsed(&rows()), &three), Some(third()));
    assert_eq!(early(&parsed(&rows()), &entry(1, &[])), None);
    assert_eq!(early(&parsed(&arrays()), &three), Some(Period::Guarded));
    let cycles = parsed(&BillingConfig { period: Some("cycle".to_owned()), ..arrays() });
    let four = Period::Numbered(U256::from(4));
    assert_eq!(early(&cycles, &three), Some(four));
    assert_eq!(cycles.admit(&stated(1, 5, &[])).unwrap_err().field, "cycle");
    let charge = complete(&cycles, &stated(1, 5, &[("cycle", text(4))]), None).unwrap();
    assert_eq!(charge.key().period, four);
}

#[test]
fn tron_entries_and_answers_are_spelt_as_tron_spells_them() {
    let mut config = rows();
    config.constants = texts(&[("merKey", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t")]);
    assert!(Profile::parse(&config, Family::Evm).is_err());
    let profile = Profile::parse(&config, Family::Tvm).unwrap();
    let looked = looked(&profile, on_chain(100));
    let charge = complete(&profile, &entry(1, &[]), looked.as_ref()).unwrap();
    assert_eq!(charge.wallet, WALLET);
    assert_eq!(charge.entry.value("userWallet"), Some(&DynSolValue::Address(WALLET)));
    let other = entry(1, &[("userWallet", text("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"))]);
    let words = complete(&profile, &other, looked.as_ref()).unwrap_err().reason();
    let spelt = spell_address(Family::Tvm, WALLET);
    assert!(words.contains(&format!("userWallet is {spelt} on chain, but")), "{words}");
    assert!(words.ends_with("the entry says TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"), "{words}");
    let data = profile.encode(&[charge], &NOW).unwrap();
    let merchant = DynSolValue::Address(address!("0xa614f803b6fd780986a42c78ec9c7f77e6ded13c"));
    assert_eq!(data[4..36], merchant.as_word().unwrap());
}

#[test]
fn a_field_of_several_widths_fits_all_of_them_and_stays_the_same_number() {
    let call = "charge(uint64 planVersion, (bytes32 userHash, int128 amount, uint256 planVersion, \
                int24 shift)[] items)";
    let profile = parsed(&BillingConfig { call: call.to_owned(), ..blank() });
    let with = |amount: &str, version: &str, shift: &str| {
        stated(1, amount, &[("planVersion", text(version)), ("shift", number(shift))])
    };
    let largest = ["170141183460469231731687303715884105727", "18446744073709551615"];
    let charge = complete(&profile, &with(largest[0], largest[1], "-8388608"), None).unwrap();
    assert_eq!(charge.amount.to_string(), largest[0]);
    let data = profile.encode(&[charge], &NOW).unwrap();
    let words: Vec<U256> = data[4..].chunks(32).map(U256::from_be_slice).collect();
    let shift = U256::MAX - U256::from(8_388_607);
    let row = [largest[0], largest[1]].map(|digits| digits.parse::<U256>().unwrap());
    assert_eq!([words[0], words[4], words[5], words[6]], [row[1], row[0], row[1], shift]);
    for (amount, version, shift, field) in [
        ("170141183460469231731687303715884105728", "1", "0", "amount"),
        ("-1", "1", "0", "amount"),
        ("-0", "1", "0", "amount"),
        ("1", "18446744073709551616", "0", "planVersion"),
        ("1", "1", "-8388609", "shift"),
        ("1", "1", "8388608", "shift"),
    ] {
        assert_eq!(profile.admit(&with(amount, version, shift)).unwrap_err().field, field);
    }
}
