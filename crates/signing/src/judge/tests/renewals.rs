//! Another attempt on TRON differs in its deadline alone, whatever the asker says an older profile was.

use super::*;

const OLD: &str = "collect(uint64 planId, bytes32 userHash, uint32 period, uint128 amount, \
                   uint256 deadline)";

/// The same types: an amount by the name of a deadline.
const OLD_RENAMED: &str = "collect(uint64 planId, bytes32 userHash, uint32 period, uint128 deadline, \
                           uint256 deadline)";

const AT: Address = Address::repeat_byte(0x0d);

fn told_of(judge: &TransactionJudge, call: &str) {
    let text = profile(&chain(Family::Tvm, call, CONTRACT)).written().to_string();
    assert!(judge.answer(&KeyQuestion::Remember(Profiles { texts: vec![text] })).is_none());
}

/// A judge that was told of an older profile, with the clock at so many seconds.
fn knowing(call: &str, clock: Clock) -> TransactionJudge {
    let mut judge = judge(Family::Tvm);
    judge.ceiling = DayCeiling::unlimited(clock).into();
    told_of(&judge, call);
    judge
}

#[test]
fn a_batch_of_a_contract_and_a_profile_that_are_no_longer_configured_is_signed_again() {
    for family in FAMILIES {
        let old = chain(family, OLD, AT);
        let before = judge_of("09", &old);
        let good = [charge(1, 100, PAYEE)];
        let first = Made { to: AT, ..made(call(&before, &good, 1_500)) };
        let signed = first.signed(&before, &bill(&before, &first, &good).unwrap());
        let renewed = Made { to: AT, ..made(call(&before, &good, 1_800)) };
        let judge = judge(family);
        assert_eq!(rule(bill(&judge, &first, &good)), "contract", "nothing new is");
        let fresh = || judge_of("09", &chain(family, CALL, CONTRACT));
        assert_eq!(rule(again(&fresh(), &first, &signed)), "none");
        let text = before.profile.written().to_string();
        let knowing = fresh();
        let profiles = KeyQuestion::Remember(Profiles { texts: vec![text.clone()] });
        assert!(knowing.answer(&profiles).is_none());
        let (told, untold) =
            (again(&knowing, &renewed, &signed), again(&fresh(), &renewed, &signed));
        match family {
            Family::Evm => assert_eq!((rule(told), rule(untold)), ("again".into(), "again".into())),
            Family::Tvm => assert_eq!((rule(told), rule(untold)), ("none".into(), "again".into())),
        }
        // Once something was signed, nothing more is believed of what a profile says.
        assert!(judge.answer(&profiles).is_none());
        assert_eq!(rule(again(&judge, &renewed, &signed)), "again");
    }
}

#[test]
fn arguments_of_the_configured_call_are_named_by_the_configuration_alone() {
    let renamed = "charge((uint64 deadline, uint64 deadline, bytes32 userHash, uint32 deadline, \
                   uint128 deadline, address signer)[] items, uint256 deadline)";
    let judge = judge(Family::Tvm);
    told_of(&judge, renamed);
    let good = [charge(1, 100, PAYEE)];
    let first = made(call(&judge, &good, 1_500));
    let fresh = judge_of("09", &chain(Family::Tvm, CALL, CONTRACT));
    let signed = first.signed(&fresh, &bill(&fresh, &first, &good).unwrap());
    let mut other_name = charge(1, 100, PAYEE);
    other_name.entry.subscribe = billing::SubscribeId(2);
    for other in [charge(1, 1_000_000, PAYEE), charge(1, 100, CONTRACT), other_name] {
        let other = made(call(&judge, &[other], 1_500));
        assert_eq!(rule(again(&judge, &other, &signed)), "again");
    }
    assert_eq!(rule(again(&judge, &made(call(&judge, &good, 1_800)), &signed)), "none");
}

#[test]
fn a_renewal_names_the_account_that_signs() {
    let judge = judge_of("09", &chain(Family::Tvm, NAMES_SIGNER, CONTRACT));
    let good = [charge(1, 100, PAYEE)];
    let first = made(call(&judge, &good, 1_500));
    let signed = first.signed(&judge, &bill(&judge, &first, &good).unwrap());
    let by = |signer| {
        let data = judge.profile.encode(&good, &Computed { deadline: 1_600, signer }).unwrap();
        rule(again(&judge, &made(data), &signed))
    };
    assert_eq!([by(judge.address()), by(PAYEE)], ["none", "again"]);
    // Signed when the same argument was another.
    let mut old = chain(Family::Tvm, &NAMES_SIGNER.replace("signer", "owner"), CONTRACT);
    let FamilyConfig::Tvm(tvm) = &mut old.family else { panic!("it is a TRON chain") };
    let owner = billing::spell_address(Family::Tvm, PAYEE);
    Arc::make_mut(tvm).billing.constants.insert("owner".to_owned(), owner);
    let before = judge_of("09", &old);
    let first = made(call(&before, &good, 1_500));
    let signed = first.signed(&before, &bill(&before, &first, &good).unwrap());
    assert_eq!(rule(again(&judge, &made(call(&before, &good, 1_600)), &signed)), "again");
}

#[test]
fn by_an_older_profile_nothing_moves_but_one_time() {
    let before = judge_of("09", &chain(Family::Tvm, OLD, AT));
    let of = |amount, deadline| Made {
        to: AT,
        ..made(call(&before, &[charge(1, amount, PAYEE)], deadline))
    };
    let first = of(100, 1_500);
    let signed = bill(&before, &first, &[charge(1, 100, PAYEE)]).unwrap();
    let signed = first.signed(&before, &signed);
    let at = |clock, call, renewed: &Made| rule(again(&knowing(call, clock), renewed, &signed));
    let now = Clock::telling(|| 1_000_000);
    let says = |call, amount, deadline| at(now, call, &of(amount, deadline));
    for call in [OLD, OLD_RENAMED] {
        assert_eq!(says(call, 100, 1_800), "none");
        assert_eq!(says(call, 99, 1_500), "again", "an amount that was no time");
        assert_eq!(says(call, 1_800, 1_500), "again");
        assert_eq!(says(call, 99, 1_800), "again", "two differ");
        // The clock says 1,000 s; a deadline is 1,800 s ahead of the chain, which may be off; and a minute.
        assert_eq!([says(call, 100, 2_920), says(call, 100, 2_921)], ["none", "again"]);
        assert_eq!(says(call, 100, 999), "again", "before it was made");
    }
    // Two days later nothing is renewed.
    let later = |clock, deadline| at(clock, OLD, &of(100, deadline));
    assert_eq!(later(Clock::telling(|| 173_800_000), 173_900), "none");
    assert_eq!(later(Clock::telling(|| 173_801_000), 173_900), "again");
}

#[test]
fn the_times_of_a_transaction_that_lives_for_longer_than_a_chain_lets_it_are_no_proof_of_a_time() {
    let before = judge_of("09", &chain(Family::Tvm, OLD, AT));
    let charges = |amount| [charge(1, amount, PAYEE)];
    let of = |amount, deadline| Made { to: AT, ..made(call(&before, &charges(amount), deadline)) };
    let outcome = |life_ms: u64, amount, deadline| {
        let (good, first) = (charges(100), of(100, 1_500));
        let timed = |made: &Made| {
            let made = made.tron(before.address());
            TronUnsigned { expiration_ms: made.timestamp_ms + life_ms, ..made }
        };
        let (items, raw) = (good.each_ref().map(Charge::item), timed(&first).raw_data().unwrap());
        let signature = told(&before, &KeyQuestion::of(&raw, &intent(&items, &[USDT])).unwrap());
        let signed = timed(&first).complete(raw, &signature.unwrap()).unwrap();
        let judge = knowing(OLD_RENAMED, Clock::telling(|| 1_000_000));
        rule(again(&judge, &of(amount, deadline), &signed))
    };
    assert_eq!(outcome(86_400_000, 100, 1_800), "none");
    assert_eq!(outcome(86_400_001, 100, 1_800), "again");
}
