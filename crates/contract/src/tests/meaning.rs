//! What answers, reverts and logs mean for each charge; and that no bytes at all make it panic.

use super::*;
use alloy::primitives::Address;
use alloy::sol;
use alloy::sol_types::{Panic, Revert, SolError, SolEvent, SolValue};
use proptest::prelude::*;

sol! {
    event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, uint64 planId,
        bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress);
    event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId,
        uint64 planId, bytes32 userHash, uint32 period, uint8 reason);
    error NotDue();
    error PeriodPassed(uint32 period);
    error Unheard();
    event Spoken(bytes32 userHash, string reason);
    event Bare(bytes32 indexed userHash);
}

fn refuses(code: FailCode, detail: Option<&str>) -> Opinion {
    Opinion::Refuses { code, detail: detail.map(str::to_owned) }
}

fn failed(code: FailCode, detail: Option<&str>) -> ItemOutcome {
    ItemOutcome::Failed { code, detail: detail.map(str::to_owned) }
}

fn charged(n: u8, period: u32) -> Log {
    let event = SubscriptionBilling {
        merKey: MERCHANT,
        subscribeId: u64::from(n),
        planId: 7,
        userHash: user(n),
        period,
        amount: 100,
        userWallet: Address::repeat_byte(n),
        tokenAddress: TOKEN,
    };
    Log { address: CONTRACT, data: event.encode_log_data() }
}

fn skipped(n: u8, reason: u8) -> Log {
    let event = SubscriptionBillingFailed {
        merKey: MERCHANT,
        subscribeId: u64::from(n),
        planId: 7,
        userHash: user(n),
        period: 3,
        reason,
    };
    Log { address: CONTRACT, data: event.encode_log_data() }
}

#[test]
fn each_code_is_a_verdict_on_its_own_charge() {
    let profile = parsed(&rows());
    let codes = vec![0_u16, 1, 2, 9].abi_encode();
    let opinions = profile.opinions(&codes, 4).unwrap();
    assert_eq!(
        opinions,
        [
            Opinion::Passes,
            refuses(FailCode::AllowanceInsufficient, None),
            refuses(FailCode::BalanceInsufficient, None),
            refuses(FailCode::CallReverted, Some("the contract's code 9")),
        ]
    );
    assert_eq!(profile.opinions(&codes, 3), None, "another length");
    assert_eq!(profile.opinions(&vec![256_u16].abi_encode(), 1), None, "not a uint8");
    assert_eq!(profile.opinions(&[], 1), None);
    assert_eq!(parsed(&arrays()).opinions(&[], 2), Some(vec![Opinion::Passes; 2]));
}

#[test]
fn an_endless_list_of_codes_is_not_read() {
    let profile = parsed(&rows());
    let words = [U256::from(32), U256::from(u64::MAX), U256::ZERO].map(B256::from);
    assert_eq!(profile.opinions(&words.concat(), 500), None);
}

#[test]
fn a_bool_says_whether_the_charge_passes() {
    let call = "collect(bytes32 userHash) returns (bool)".to_owned();
    let config = BillingConfig {
        call,
        charged: Some("event Bare(bytes32 indexed userHash)".to_owned()),
        reasons: texts(&[("false", "NOT_DUE_YET")]),
        ..one()
    };
    let profile = parsed(&config);
    assert_eq!(profile.opinions(&true.abi_encode(), 1), Some(vec![Opinion::Passes]));
    let no = vec![refuses(FailCode::NotDueYet, None)];
    assert_eq!(profile.opinions(&false.abi_encode(), 1), Some(no));
    assert_eq!(profile.opinions(&U256::from(2).abi_encode(), 1), None);
    assert_eq!(profile.opinions(&true.abi_encode(), 2), None);
}

#[test]
fn a_revert_is_named_by_its_error_or_its_text() {
    let profile = parsed(&rows());
    let text = |words: &str| Revert::from(words).abi_encode();
    let unheard =
        format!("the contract's error {}", alloy::hex::encode_prefixed(Unheard::SELECTOR));
    let table = [
        (NotDue {}.abi_encode(), FailCode::NotDueYet, None),
        (PeriodPassed { period: 3 }.abi_encode(), FailCode::PeriodPassed, None),
        (text("NotDue"), FailCode::NotDueYet, None),
        (text("Pausable: paused"), FailCode::TokenPaused, None),
        (text("pausable: paused"), FailCode::CallReverted, Some("pausable: paused")),
        (text("a\nb"), FailCode::CallReverted, Some("ab")),
        (text(""), FailCode::CallReverted, None),
        (
            Panic::from(0x11).abi_encode(),
            FailCode::CallReverted,
            Some("the contract panics with 0x11"),
        ),
        (Unheard {}.abi_encode(), FailCode::CallReverted, Some(unheard.as_str())),
        (vec![], FailCode::CallReverted, None),
        (vec![1, 2], FailCode::CallReverted, Some("0x0102")),
    ];
    for (data, code, detail) in table {
        assert_eq!(profile.reverted(&data), (code, detail.map(str::to_owned)));
    }
}

#[test]
fn each_item_ends_as_the_contracts_own_events_say() {
    let profile = parsed(&rows());
    let items: Vec<_> = (1..=5).map(|n| item(n, third())).collect();
    let foreign = Log { address: TOKEN, ..charged(4, 3) };
    let logs = [charged(1, 3), skipped(2, 1), skipped(3, 9), foreign, charged(5, 4)];
    let told =
        |n| TakenAsTold { amount: None, wallet: Some(Address::repeat_byte(n)), token: Some(TOKEN) };
    assert_eq!(
        profile.outcomes(CONTRACT, &logs, &items),
        [
            ItemOutcome::ChargedAsTold(told(1)),
            failed(FailCode::AllowanceInsufficient, Some("1")),
            failed(FailCode::CallReverted, Some("9")),
            ItemOutcome::Unproven,
            ItemOutcome::Unproven,
        ]
    );
    let both = [skipped(1, 1), charged(1, 3)];
    let charged = [ItemOutcome::ChargedAsTold(told(1))];
    assert_eq!(profile.outcomes(CONTRACT, &both, &items[..1]), charged);
}

#[test]
fn an_event_that_tells_of_another_charge_than_was_claimed_says_so() {
    let profile = parsed(&rows());
    let told = |terms: ChargeTerms, amount: u64| {
        let claimed = Item { terms, amount: U256::from(amount), ..item(1, third()) };
        profile.outcomes(CONTRACT, &[charged(1, 3)], &[claimed]).remove(0)
    };
    let (wallet, other) = (Some(Address::repeat_byte(1)), Some(Address::repeat_byte(9)));
    let terms = ChargeTerms { wallet, token: Some(TOKEN), ..ChargeTerms::default() };
    assert_eq!(told(terms, 100), ItemOutcome::Charged);
    let as_claimed = TakenAsTold::default();
    for (terms, amount, taken) in [
        (terms, 99, TakenAsTold { amount: Some(U256::from(100)), ..as_claimed }),
        (ChargeTerms { wallet: other, ..terms }, 100, TakenAsTold { wallet, ..as_claimed }),
        (
            ChargeTerms { token: other, ..terms },
            100,
            TakenAsTold { token: Some(TOKEN), ..as_claimed },
        ),
        (
            ChargeTerms { wallet: other, token: other, ..terms },
            1,
            TakenAsTold { amount: Some(U256::from(100)), wallet, token: Some(TOKEN) },
        ),
    ] {
        assert_eq!(told(terms, amount), ItemOutcome::ChargedAsTold(taken));
        assert_eq!(taken.to_string().parse(), Ok(taken), "{taken}");
    }
    assert_eq!("".parse::<TakenAsTold>(), Err(NoCharge));
    let nothing = ChargeTerms::default();
    let added = TakenAsTold { wallet, token: Some(TOKEN), ..as_claimed };
    assert_eq!(
        told(nothing, 100),
        ItemOutcome::ChargedAsTold(added),
        "what the claim does not say"
    );
    assert_eq!(added.beside(&nothing), as_claimed, "and nothing else than it says");
    assert_eq!(added.beside(&terms), added);
}

#[test]
fn without_a_charged_event_silence_means_charged() {
    let items = [item(1, third()), item(2, third())];
    let silent = parsed(&arrays()).outcomes(CONTRACT, &[], &items);
    assert_eq!(silent, [ItemOutcome::Charged, ItemOutcome::Charged]);
    let profile = parsed(&BillingConfig { charged: None, ..rows() });
    let outcomes = profile.outcomes(CONTRACT, &[skipped(2, 2)], &items);
    let poor = failed(FailCode::BalanceInsufficient, Some("2"));
    assert_eq!(outcomes, [ItemOutcome::Charged, poor]);
}

#[test]
fn an_event_that_fits_two_items_proves_nothing_on_either() {
    let config = BillingConfig {
        charged: Some("event Bare(bytes32 indexed userHash)".to_owned()),
        ..arrays()
    };
    let profile = parsed(&config);
    let (mut first, second) = (item(1, Period::Guarded), item(1, Period::Guarded));
    first.key.plan = PlanId(8);
    let log = Log { address: CONTRACT, data: Bare { userHash: user(1) }.encode_log_data() };
    let outcomes = profile.outcomes(CONTRACT, std::slice::from_ref(&log), &[first, second]);
    assert_eq!(outcomes, [ItemOutcome::Unproven, ItemOutcome::Unproven]);
    assert_eq!(profile.outcomes(CONTRACT, &[log], &[first]), [ItemOutcome::Charged]);
}

#[test]
fn a_spoken_reason_is_looked_up_by_its_words() {
    let config = BillingConfig {
        skipped: Some("event Spoken(bytes32 userHash, string reason)".to_owned()),
        reasons: texts(&[("too late", "PERIOD_PASSED")]),
        ..arrays()
    };
    let event = Spoken { userHash: user(1), reason: "too late".to_owned() };
    let log = Log { address: CONTRACT, data: event.encode_log_data() };
    let outcomes = parsed(&config).outcomes(CONTRACT, &[log], &[item(1, Period::Guarded)]);
    assert_eq!(outcomes, [failed(FailCode::PeriodPassed, None)]);
}

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    let words =
        prop::collection::vec(prop_oneof![0..6_u64, Just(32), Just(64), any::<u64>()], 0..9);
    let words = words.prop_map(|words| {
        words.into_iter().map(|word| B256::from(U256::from(word))).collect::<Vec<_>>().concat()
    });
    prop_oneof![words, prop::collection::vec(any::<u8>(), 0..300)]
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in some_bytes(), charges in 0..6_usize, which in 0..3_u8) {
        let profile = parsed(&rows());
        if let Some(looked) = profile.read_lookup(&bytes) {
            let charge = complete(&profile, &entry(1, &[]), Some(&looked)).unwrap();
            prop_assert!(profile.encode(&[charge], &NOW).is_ok());
        }
        if let Some(opinions) = profile.opinions(&bytes, charges) {
            prop_assert_eq!(opinions.len(), charges);
        }
        for selector in [Revert::SELECTOR, Panic::SELECTOR, PeriodPassed::SELECTOR] {
            let (code, _) = profile.reverted(&[&selector[..], &bytes].concat());
            prop_assert!(code >= FailCode::PeriodPassed);
        }
        prop_assert_eq!(profile.reverted(&bytes).0, FailCode::CallReverted);
        let mut log = charged(1, 3);
        let mut topics = log.data.topics().to_vec();
        topics.truncate(usize::from(which) + 1);
        log.data = alloy::primitives::LogData::new_unchecked(topics, bytes.into());
        let logs = [log.clone(), Log { data: alloy::primitives::LogData::default(), ..log }];
        prop_assert_eq!(profile.outcomes(CONTRACT, &logs, &[item(1, third())]).len(), 1);
    }
}
