//! Numbers to the last digit, entries with an identity, and each subscription once.

use super::*;
use crate::{Family, Fields, Ineligible, PlanId, Scalar, SubscribeId, UserHash};
use alloy::primitives::{Address, B256, U256};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MAX: &str = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
const TOO_LARGE: &str =
    "115792089237316195423570985008687907853269984665640564039457584007913129639936";

fn number(text: &str) -> Scalar {
    Scalar::Number(text.into())
}

fn text(text: &str) -> Scalar {
    Scalar::Text(text.into())
}

#[test]
fn an_amount_is_read_to_its_last_digit() {
    let zeros = "0".repeat(200);
    let table = [
        ("0", U256::ZERO),
        ("1", U256::from(1)),
        ("10000000000000000000", U256::from(10).pow(U256::from(19))),
        (MAX, U256::MAX),
        ("0007", U256::from(7)),
        (&zeros, U256::ZERO),
        (&format!("{zeros}{MAX}"), U256::MAX),
    ];
    for (digits, amount) in table {
        assert_eq!(number(digits).to_u256(), Ok(amount), "{digits}");
        assert_eq!(text(digits).to_u256(), Ok(amount), "{digits}");
    }
}

#[test]
fn an_amount_that_is_not_a_whole_number_is_not_read() {
    let table = [
        TOO_LARGE, "", "-1", "-0", "+1", "1.5", "1.0", "1e3", "1E3", "0x10", "ff", " 1", "1 ",
        "1_000", "1,000", "NaN", "Infinity", "١",
    ];
    for digits in table {
        for value in [number(digits), text(digits)] {
            assert_eq!(
                value.to_u256(),
                Err(Ineligible::Integer { max: "2^256 - 1" }),
                "{digits:?}"
            );
        }
    }
    for value in [Scalar::Bool(true), Scalar::Nested] {
        assert_eq!(value.to_u256(), Err(Ineligible::Integer { max: "2^256 - 1" }));
        assert_eq!(value.to_int64(), Err(Ineligible::Integer { max: "2^63 - 1" }));
    }
}

#[test]
fn a_subscription_number_ends_where_the_platforms_do() {
    assert_eq!(number("9223372036854775807").to_int64(), Ok(i64::MAX));
    assert_eq!(text("9223372036854775807").to_int64(), Ok(i64::MAX));
    for digits in ["9223372036854775808", "18446744073709551617", MAX, TOO_LARGE, "-1", ""] {
        let wrong = Err(Ineligible::Integer { max: "2^63 - 1" });
        assert_eq!(number(digits).to_int64(), wrong, "{digits}");
    }
}

#[test]
fn a_user_hash_is_32_bytes_in_any_case_with_or_without_0x() {
    let hash = B256::repeat_byte(0xAB);
    for spelling in ["ab", "AB", "aB"].map(|byte| byte.repeat(32)) {
        assert_eq!(text(&spelling).to_hash(), Ok(hash));
        assert_eq!(text(&format!("0x{spelling}")).to_hash(), Ok(hash));
    }
    let (short, long, wrong) = ("ab".repeat(31), "ab".repeat(33), "gg".repeat(32));
    for spelling in ["", "0x", &short, &long, &wrong, &format!("0X{}", "ab".repeat(32))] {
        assert_eq!(text(spelling).to_hash(), Err(Ineligible::Hash), "{spelling}");
    }
    for value in [number(&"1".repeat(64)), Scalar::Bool(true), Scalar::Nested] {
        assert_eq!(value.to_hash(), Err(Ineligible::Hash), "{value:?}");
    }
}

#[test]
fn only_text_is_an_address() {
    let address = format!("0x{}", "11".repeat(20));
    assert_eq!(text(&address).to_address(Family::Evm), Ok(Address::repeat_byte(0x11)));
    for value in [number("1"), Scalar::Bool(true), Scalar::Nested] {
        let wrong = Err(Ineligible::Type { wanted: "address" });
        assert_eq!(value.to_address(Family::Evm), wrong);
    }
}

fn fields(changes: &[(&str, Option<Scalar>)]) -> Fields {
    let mut fields = BTreeMap::from([
        ("subscribeId".into(), number("7")),
        ("planId".into(), text("3")),
        ("userHash".into(), text(&"Ab".repeat(32))),
        ("amount".into(), number(MAX)),
    ]);
    for (name, value) in changes {
        match value {
            Some(value) => drop(fields.insert((*name).into(), value.clone())),
            None => drop(fields.remove(*name)),
        }
    }
    fields
}

#[test]
fn an_entry_keeps_its_identity_its_spelling_and_every_field() {
    let entry = Entry::parse(fields(&[("memo", Some(text("hello")))])).unwrap();
    let identity = (entry.subscribe, entry.plan, entry.user);
    assert_eq!(identity, (SubscribeId(7), PlanId(3), UserHash(B256::repeat_byte(0xAB))));
    assert_eq!(entry.spelling.user, "Ab".repeat(32), "echoed as it was spelt");
    assert_eq!(entry.amount, Some(U256::MAX));
    assert_eq!(entry.fields, fields(&[("memo", Some(text("hello")))]));
    for unreadable in [None, Some(text("much")), Some(number("1.5"))] {
        let entry = Entry::parse(fields(&[("amount", unreadable)])).unwrap();
        assert_eq!(entry.amount, None);
    }
}

#[test]
fn the_older_name_of_a_subscription_is_understood_and_may_not_contradict_the_newer() {
    let older = [("subscribeId", None), ("subscriptionId", Some(text("8")))];
    let entry = Entry::parse(fields(&older)).unwrap();
    assert_eq!(entry.subscribe, SubscribeId(8));
    assert_eq!(entry.fields.get("subscribeId"), Some(&text("8")), "a profile finds it, too");
    let same = Entry::parse(fields(&[("subscriptionId", Some(text("7")))])).unwrap();
    assert_eq!(same.subscribe, SubscribeId(7));
    let faults = Entry::parse(fields(&older[1..])).unwrap_err();
    assert_eq!(faults[0].to_string(), "subscriptionId contradicts subscribeId: state one of them");
}

#[test]
fn everything_that_is_wrong_with_an_identity_is_said_at_once() {
    let said = |changes: &[(&str, Option<Scalar>)]| {
        let faults = Entry::parse(fields(changes)).unwrap_err();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let int64 =
        "must be a whole number from 0 to 2^63 - 1, as a JSON integer or as digits in a string";
    let hash = "must be 64 hex digits, with or without 0x";
    assert_eq!(said(&[("planId", None)]), "planId is missing");
    assert_eq!(said(&[("subscribeId", Some(number("-7")))]), format!("subscribeId {int64}"));
    assert_eq!(said(&[("userHash", Some(number("7")))]), format!("userHash {hash}"));
    assert_eq!(said(&[("userHash", Some(Scalar::Bool(true)))]), format!("userHash {hash}"));
    assert_eq!(
        said(&[("userHash", None), ("planId", Some(text("x"))), ("subscribeId", None)]),
        format!("subscribeId is missing; planId {int64}; userHash is missing")
    );
}

#[test]
fn a_list_or_an_object_is_no_identity() {
    for field in ["subscribeId", "planId", "userHash"] {
        let faults = Entry::parse(fields(&[(field, Some(Scalar::Nested))])).unwrap_err();
        assert_eq!(faults.iter().map(|fault| fault.field.as_str()).collect::<Vec<_>>(), [field]);
        assert_ne!(faults[0].problem, Ineligible::Missing, "it is there, but unusable");
    }
}

fn entry(subscribe: u8, plan: u8, user: u8) -> Entry {
    let identity = [
        ("subscribeId", Some(number(&subscribe.to_string()))),
        ("planId", Some(number(&plan.to_string()))),
        ("userHash", Some(text(&hex::encode([user; 32])))),
    ];
    Entry::parse(fields(&identity)).unwrap()
}

#[test]
fn a_subscription_is_admitted_once_by_its_number_and_by_its_plan_and_user() {
    let table = [
        ("another customer", entry(2, 3, 2), true),
        ("the same number", entry(1, 4, 2), false),
        ("the same plan and user", entry(2, 3, 1), false),
        ("the same user in another plan", entry(2, 4, 1), true),
        ("all the same", entry(1, 3, 1), false),
    ];
    for (what, second, admitted) in table {
        let order = Order::admit(vec![entry(1, 3, 1), second.clone()], 2).unwrap();
        assert_eq!(order.entries.len(), if admitted { 2 } else { 1 }, "{what}");
        assert_eq!(order.entries[0], entry(1, 3, 1), "the first mention stays");
        let refused: Vec<Refused> =
            (!admitted).then(|| second.refused(FailCode::DuplicateEntry)).into_iter().collect();
        assert_eq!(order.refused, refused, "{what}");
        assert_eq!((order.mode, order.dry_run, order.request_id), (Mode::All, false, None));
    }
}

#[test]
fn a_user_is_the_same_however_the_hash_is_spelt() {
    let upper = [
        ("userHash", Some(text(&format!("0x{}", "AB".repeat(32))))),
        ("subscribeId", Some(number("8"))),
    ];
    let entries = [fields(&[]), fields(&upper)].map(|fields| Entry::parse(fields).unwrap());
    let order = Order::admit(entries.to_vec(), 2).unwrap();
    assert_eq!(order.refused, [entries[1].refused(FailCode::DuplicateEntry)]);
}

#[test]
fn a_request_has_at_least_one_entry_and_at_most_the_limit() {
    let entries = |count: u8| (0..count).map(|n| entry(n, 3, n)).collect::<Vec<_>>();
    assert_eq!(Order::admit(vec![], 2), Err(NotAdmitted::Empty));
    assert_eq!(Order::admit(entries(2), 2).map(|order| order.entries), Ok(entries(2)));
    assert_eq!(Order::admit(entries(3), 2), Err(NotAdmitted::TooMany { got: 3, limit: 2 }));
    let repeated = vec![entry(1, 3, 1); 3];
    assert_eq!(Order::admit(repeated, 2), Err(NotAdmitted::TooMany { got: 3, limit: 2 }));
}

proptest! {
    #[test]
    fn every_256_bit_amount_survives(words: [u64; 4]) {
        let amount = U256::from_limbs(words);
        prop_assert_eq!(number(&amount.to_string()).to_u256(), Ok(amount));
    }

    #[test]
    fn nothing_but_digits_is_a_number(written in "[-+0-9eE._x ]{0,8}") {
        let digits = !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit());
        prop_assert_eq!(text(&written).to_u256().is_ok(), digits);
    }

    #[test]
    fn no_subscription_is_admitted_twice_and_every_entry_is_told_of(
        rows in prop::collection::vec((0..4_u8, 0..2_u8, 0..4_u8), 1..12),
    ) {
        let entries: Vec<Entry> = rows.iter().map(|(s, p, u)| entry(*s, *p, *u)).collect();
        let order = Order::admit(entries.clone(), 12).unwrap();
        prop_assert_eq!(&order.entries[0], &entries[0]);
        let told_of = order.entries.iter().map(|e| e.subscribe);
        let told_of = told_of.chain(order.refused.iter().map(|r| r.subscribe));
        prop_assert_eq!(told_of.count(), entries.len());
        for (at, one) in order.entries.iter().enumerate() {
            for other in order.entries.iter().skip(at).skip(1) {
                prop_assert_ne!(one.subscribe, other.subscribe);
                prop_assert_ne!((one.plan, one.user), (other.plan, other.user));
            }
        }
    }
}
