//! Calldata read back: what was encoded comes out, and nothing else is understood.

use super::*;
use billing::{Carried, ChargeTerms, Undecodable};
use proptest::prelude::*;
use proptest::sample::Index;

const LATER: Computed = Computed { deadline: 1_790_009_999, signer: WALLET };

/// Without what only some calls carry.
fn bare(item: Item) -> Item {
    Item { terms: ChargeTerms { wallet: None, token: None, ..item.terms }, ..item }
}

/// Which words of the calls below the Signer computes.
const COMPUTED: [&[usize]; 3] = [&[2], &[1, 5], &[4]];

/// Parallel arrays that carry whole charges, a deadline and the signer.
fn parallel() -> BillingConfig {
    BillingConfig {
        call: "charge(uint64[] subscribeId, uint40 deadline, uint64 planId, bytes32[] userHash, \
               uint32[] period, address signer, int256[] amount, string note)"
            .to_owned(),
        ..blank()
    }
}

/// One charge at a time, half of it in a struct, with a plan that the configuration fixes.
fn alone() -> BillingConfig {
    BillingConfig {
        call: "collect((uint64 subscribeId, bytes32 userHash, uint256 amount) item, uint64 month, \
               uint256 deadline, uint16 planId)"
            .to_owned(),
        period: Some("month".to_owned()),
        constants: texts(&[("planId", "7")]),
        ..blank()
    }
}

fn shapes() -> [Profile; 3] {
    [BillingConfig { lookup: None, ..rows() }, parallel(), alone()].map(|config| parsed(&config))
}

/// Charges with ids, users, periods and amounts of any size that fits every shape.
fn any_charges(profile: &Profile, seeds: &[(i64, [u8; 32], u32, u128)]) -> Vec<Charge> {
    let most = if profile.single() { 1 } else { seeds.len() };
    let charge = |(id, user, period, amount): &(i64, [u8; 32], u32, u128)| {
        let fields = [
            ("subscribeId", number(id)),
            ("planId", number(7)),
            ("userHash", text(hex::encode(user))),
            ("planVersion", number(2)),
            ("period", number(period)),
            ("month", number(period)),
            ("amount", number(amount)),
            ("note", text("the same")),
        ];
        let fields = fields.into_iter().chain(wallet_and_token());
        let fields = fields.map(|(name, value)| (name.into(), value)).collect();
        complete(profile, &Entry::parse(fields).unwrap(), None).unwrap()
    };
    seeds.iter().take(most).map(charge).collect()
}

fn seeds() -> impl Strategy<Value = Vec<(i64, [u8; 32], u32, u128)>> {
    prop::collection::vec((0..=i64::MAX, any::<[u8; 32]>(), any::<u32>(), any::<u128>()), 1..6)
}

/// The places of the words in which two calls differ.
fn changed(one: &[u8], other: &[u8]) -> Vec<usize> {
    assert_eq!(one.len(), other.len());
    let words = one[4..].chunks(32).zip(other[4..].chunks(32)).enumerate();
    words.filter(|(_, (one, other))| one != other).map(|(at, _)| at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_encoded_is_read_back(seeds in seeds()) {
        for profile in shapes() {
            let charges = any_charges(&profile, &seeds);
            let data = profile.encode(&charges, &NOW).unwrap();
            let items: Vec<Item> = charges.iter().map(|charge| bare(charge.item())).collect();
            let read: Vec<Item> = profile.decode(&data).unwrap().into_iter().map(bare).collect();
            prop_assert_eq!(read, items);
        }
    }

    #[test]
    fn a_renewed_call_differs_in_what_the_signer_computes_and_in_nothing_else(seeds in seeds()) {
        for (profile, words) in shapes().into_iter().zip(COMPUTED) {
            let charges = any_charges(&profile, &seeds);
            let data = profile.encode(&charges, &NOW).unwrap();
            let renewed = profile.renew(&data, &LATER).unwrap();
            prop_assert_eq!(changed(&data, &renewed), words.to_vec());
            prop_assert_eq!(&renewed[..], &profile.encode(&charges, &LATER).unwrap()[..]);
            prop_assert_eq!(profile.decode(&renewed), profile.decode(&data));
            prop_assert_eq!(&profile.renew(&renewed, &NOW).unwrap()[..], &data[..]);
        }
    }

    #[test]
    fn a_changed_byte_is_told_or_refused(seeds in seeds(), at: Index, flip in 1..=255_u8) {
        for (profile, computed) in shapes().into_iter().zip(COMPUTED) {
            let data = profile.encode(&any_charges(&profile, &seeds), &NOW).unwrap();
            let mut other = data.clone();
            other[at.index(data.len())] ^= flip;
            let computed = changed(&data, &other).iter().any(|word| computed.contains(word));
            if let Ok(carried) = profile.carried(&other).and_then(|told| {
                profile.renew(&other, &NOW).map(|renewed| (told, renewed))
            }) {
                let meant = (profile.carried(&data).unwrap(), data.clone().into());
                prop_assert_eq!(carried == meant, computed, "{:?}", changed(&data, &other));
            }
        }
    }

    #[test]
    fn no_bytes_are_too_strange(bytes: Vec<u8>, seeds in seeds(), cut: Index) {
        for profile in shapes() {
            prop_assert!(profile.decode(&bytes).is_err());
            let data = profile.encode(&any_charges(&profile, &seeds), &NOW).unwrap();
            let called = [&data[..4], &bytes].concat();
            let _nothing_panics = (profile.decode(&called), profile.renew(&called, &NOW));
            prop_assert!(profile.decode(&data[..cut.index(data.len())]).is_err());
            let longer = [&data[..], &[0; 32]].concat();
            prop_assert_eq!(profile.decode(&longer), Err(Undecodable::Layout));
        }
    }
}

/// The reference call for subscription 1, with one word replaced.
fn tampered(word: usize, value: U256) -> Result<Vec<Item>, Undecodable> {
    let profile = parsed(&BillingConfig { lookup: None, ..rows() });
    let mut data = profile.encode(&any_charges(&profile, &[(1, [1; 32], 3, 100)]), &NOW).unwrap();
    let place = data[4..].chunks_mut(32).nth(word).unwrap();
    place.copy_from_slice(&value.to_be_bytes::<32>());
    profile.decode(&data)
}

#[test]
fn what_a_contract_could_read_otherwise_is_not_read_at_all() {
    let bit = |n: usize| U256::from(1) << n;
    // Words: merKey, offset, deadline, length, and from 4 on the row.
    assert_eq!(tampered(0, U256::from(1)), Err(Undecodable::Constant("merKey".to_owned())));
    assert_eq!(tampered(0, bit(160)), Err(Undecodable::Layout), "more than an address");
    assert_eq!(tampered(1, U256::from(0x80)), Err(Undecodable::Layout), "another offset");
    assert_eq!(tampered(3, U256::from(2)), Err(Undecodable::Layout), "a row more");
    assert_eq!(tampered(3, U256::ZERO), Err(Undecodable::Layout), "a row less");
    assert_eq!(tampered(4, bit(63)), Err(Undecodable::Range("subscribeId".to_owned())));
    assert_eq!(tampered(4, bit(64)), Err(Undecodable::Layout), "more than a uint64");
    assert_eq!(tampered(9, bit(128)), Err(Undecodable::Layout), "more than a uint128");
    assert_eq!(tampered(9, bit(127)).unwrap()[0].amount, bit(127));
    let profile = parsed(&rows());
    assert_eq!(profile.decode(&[0xDE, 0xAD]), Err(Undecodable::Selector));
}

#[test]
fn what_the_call_does_not_carry_is_named() {
    let (arrays, one) = (parsed(&arrays()), parsed(&one()));
    let charge = |profile: &Profile, n| complete(profile, &stated(n, 5, &[]), None).unwrap();
    let data = arrays.encode(&[charge(&arrays, 1), charge(&arrays, 2)], &NOW).unwrap();
    let told = |n| Carried {
        user: Some(UserHash(user(n))),
        period: Some(Period::Guarded),
        amount: Some(U256::from(5)),
        ..Carried::default()
    };
    assert_eq!(arrays.carried(&data), Ok(vec![told(1), told(2)]));
    assert_eq!(arrays.decode(&data), Err(Undecodable::NotCarried("planId".to_owned())));
    let data = one.encode(&[charge(&one, 1)], &NOW).unwrap();
    assert_eq!(one.decode(&data), Err(Undecodable::NotCarried("subscribeId".to_owned())));
    assert_eq!(one.renew(&data, &LATER).unwrap(), data, "there is nothing to renew");
    let month = BillingConfig {
        call: "collect(uint64 subscribeId, uint64 planId, bytes32 userHash)".to_owned(),
        period: Some("month".to_owned()),
        ..super::one()
    };
    let month = parsed(&month);
    let charge = complete(&month, &stated(1, 5, &[("month", number(3))]), None).unwrap();
    let data = month.encode(&[charge], &NOW).unwrap();
    assert_eq!(month.decode(&data), Err(Undecodable::NotCarried("month".to_owned())));
}

#[test]
fn arrays_that_do_not_end_together_charge_nobody_knows_whom() {
    let profile = parsed(&arrays());
    let three = complete(&profile, &stated(1, 5, &[]), None).unwrap();
    let args = |users: usize, amounts: usize| {
        let user = DynSolValue::FixedBytes(user(1), 32);
        let amount = DynSolValue::Uint(three.amount, 256);
        profile.call.calldata(&DynSolValue::Tuple(vec![
            DynSolValue::Array(vec![user; users]),
            DynSolValue::Array(vec![amount; amounts]),
        ]))
    };
    assert!(profile.carried(&args(2, 2)).is_ok());
    assert_eq!(profile.carried(&args(2, 1)), Err(Undecodable::Lengths));
    assert_eq!(profile.carried(&args(0, 0)), Ok(vec![]));
}

#[test]
fn a_value_that_is_stated_twice_is_stated_alike() {
    let call = "charge(uint64 planId, (uint64 planId, uint64 subscribeId, bytes32 userHash, \
                uint256 amount)[] items)";
    let profile = parsed(&BillingConfig { call: call.to_owned(), ..blank() });
    let charge = complete(&profile, &stated(1, 5, &[]), None).unwrap();
    let mut data = profile.encode(std::slice::from_ref(&charge), &NOW).unwrap();
    let terms = ChargeTerms::default();
    assert_eq!(profile.decode(&data), Ok(vec![Item { terms, ..charge.item() }]));
    data[35] = 8;
    assert_eq!(profile.decode(&data), Err(Undecodable::Contradiction("planId".to_owned())));
}

#[test]
fn a_deadline_that_does_not_fit_is_not_cut() {
    let profile = parsed(&BillingConfig {
        call: "collect(uint64 subscribeId, uint32 deadline)".to_owned(),
        ..blank()
    });
    let charge = complete(&profile, &stated(1, 5, &[]), None).unwrap();
    let data = profile.encode(&[charge], &NOW).unwrap();
    let late = Computed { deadline: 1 << 32, ..NOW };
    assert_eq!(profile.renew(&data, &late), Err(Undecodable::Range("deadline".to_owned())));
}
