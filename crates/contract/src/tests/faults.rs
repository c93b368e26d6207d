//! What a profile that cannot work is told when it is loaded.

use super::*;

/// The faults of the reference contract with a change, as `key problem`.
fn faults(change: impl FnOnce(&mut BillingConfig)) -> Vec<String> {
    let mut config = rows();
    change(&mut config);
    match Profile::parse(&config, Family::Evm) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

fn edit(text: &mut String, from: &str, to: &str) {
    assert!(text.contains(from), "{from}");
    *text = text.replace(from, to);
}

type Change = Box<dyn FnOnce(&mut BillingConfig)>;

fn call(from: &'static str, to: &'static str) -> Change {
    Box::new(move |config| edit(&mut config.call, from, to))
}

fn lookup(from: &'static str, to: &'static str) -> Change {
    Box::new(move |config| edit(config.lookup.as_mut().unwrap(), from, to))
}

fn skipped(from: &'static str, to: &'static str) -> Change {
    Box::new(move |config| edit(config.skipped.as_mut().unwrap(), from, to))
}

fn constant(name: &'static str, value: &'static str) -> Change {
    Box::new(move |config| config.constants.extend(texts(&[(name, value)])))
}

fn reason(key: &'static str, token: &'static str) -> Change {
    Box::new(move |config| config.reasons.extend(texts(&[(key, token)])))
}

fn period(name: &'static str) -> Change {
    Box::new(move |config| config.period = Some(name.to_owned()))
}

fn each_names_itself(table: Vec<(Change, &str)>) {
    for (change, wanted) in table {
        let told = faults(change);
        assert_eq!(told.len(), 1, "{wanted}: {told:#?}");
        assert!(told[0].starts_with(wanted), "{wanted}: {told:#?}");
    }
}

#[test]
fn the_three_contracts_load_without_a_fault() {
    assert_eq!(faults(|_| {}), Vec::<String>::new());
    for config in [arrays(), one()] {
        for family in [Family::Evm, Family::Tvm] {
            Profile::parse(&config, family).unwrap();
        }
    }
}

#[test]
fn a_call_that_cannot_be_made_is_named() {
    each_names_itself(vec![
        (call("processSubscribePlan", ""), "call has no function name"),
        (call(") returns (uint8[] reasons)", ""), "call lacks `,` or `)` at the end"),
        (call("uint256 deadline", "uint256"), "call has a parameter of type uint256 without a"),
        (call("uint64 planId,", "uint64,"), "call has a parameter of type uint64 without a name"),
        (call("uint64 planId", "uint63 planId"), "call has `uint63` where a supported ABI type"),
        (call("uint64 planId", "uint64[] planId"), "call has `planId` of type uint64[], which is"),
        (call("[] items", "[][] items"), "call has `items` of type (uint64"),
        (call("[] items", "[3] items"), "call has `items` of type (uint64"),
        (call("uint256 deadline", "bytes32 deadline"), "call has `deadline` as bytes32"),
        (call("uint256 deadline", "uint16 deadline"), "call has `deadline` as uint16"),
        (call("uint256 deadline", "uint256 signer"), "call has `signer` as uint256"),
        (call("bytes32 userHash", "uint256 userHash"), "call has `userHash` as uint256"),
        (call("uint128 amount", "address amount"), "call has `amount` as address"),
        (call("uint256 deadline", "address payee"), "constants.payee is missing"),
        (call("uint8[] reasons", "uint8 reasons"), "call must return one integer[] or bool[]"),
        (call("uint8[] reasons", "bytes32[] reasons"), "call must return one integer[]"),
        (call(" returns", " anyhow returns"), "call has `anyhow` where `returns` could be"),
        (call("uint8[] reasons)", "uint8[] reasons) x"), "call goes on where it should end"),
    ]);
}

#[test]
fn a_call_that_tells_nobody_apart_is_refused() {
    let config = BillingConfig { call: "chargeAll(uint64 planId)".to_owned(), ..one() };
    let faults = Profile::parse(&config, Family::Evm).unwrap_err();
    assert!(faults[0].problem.contains("tells subscriptions apart"), "{faults:?}");
    let config =
        BillingConfig { call: "f(bytes32 userHash, uint256[] amount)".to_owned(), ..one() };
    assert!(Profile::parse(&config, Family::Evm).is_err());
}

#[test]
fn a_lookup_that_cannot_be_asked_or_read_is_named() {
    each_names_itself(vec![
        (lookup("uint64 planId", "uint64 shop"), "lookup takes `shop`, which nothing supplies"),
        (lookup("uint64 planId", "uint64 deadline"), "lookup takes `deadline`, which exists only"),
        (lookup(", bytes32 userHash", ""), "lookup must take subscribeId or userHash"),
        (lookup("uint32 period", "uint32"), "lookup has a parameter of type uint32 without a name"),
        (lookup("uint32 period", "uint32 deadline"), "lookup returns `deadline`, which the Signer"),
        (lookup("uint32 period", "uint32 amount"), "lookup returns `amount` twice"),
        (lookup("uint32 period", "uint32[] period"), "lookup has `period` of type uint32[]"),
        (lookup("uint32 period", "bytes4 period"), "lookup has `period` as bytes4"),
        (lookup("subscribeOf(", "subscribeOf"), "lookup lacks `(` before"),
    ]);
    let told = faults(|config| config.lookup = Some("f(bytes32 userHash)".to_owned()));
    assert_eq!(told, ["lookup returns nothing: say which entry fields it returns"]);
}

#[test]
fn an_event_that_proves_nothing_is_named() {
    each_names_itself(vec![
        (skipped("uint64 planId", "uint64"), "skipped has a parameter of type uint64 without"),
        (skipped("uint64 planId", "address planId"), "skipped has `planId` as address"),
        (skipped("bytes32 userHash", "bytes31 userHash"), "skipped has `userHash` as bytes31"),
        (skipped("SubscriptionBillingFailed(", "F"), "skipped lacks `(`"),
        (Box::new(|c| c.skipped.clone_from(&c.charged)), "skipped is the same event as charged"),
    ]);
    let told = faults(|c| c.skipped = Some("event F(uint64 planId, uint8 reason)".to_owned()));
    assert_eq!(told, ["skipped must name subscribeId or userHash, to tell whom it is about"]);
    let told = faults(|config| (config.charged, config.skipped) = (None, None));
    assert!(told[0].starts_with("charged is missing: a call that returns codes"), "{told:?}");
    let crowd = "event F(uint64 indexed planId, bytes32 indexed userHash, uint8 indexed reason, \
                 uint8 indexed more)";
    let told = faults(|config| config.skipped = Some(crowd.to_owned()));
    assert_eq!(told, ["skipped has more than three indexed parameters"]);
}

#[test]
fn a_constant_that_cannot_be_used_is_named() {
    each_names_itself(vec![
        (constant("merKey", "0x12"), "constants.merKey must be an address: 0x and 40 hex digits"),
        (
            constant("merKey", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD"),
            "constants.merKey has a",
        ),
        (constant("shop", "1"), "constants.shop is used by neither call nor lookup"),
        (constant("chainId", "1"), "constants.chainId is used by neither"),
        (constant("deadline", "1"), "constants.deadline is computed by the Signer"),
        (constant("userHash", "0x00"), "constants.userHash differs from one charge to the next"),
        (constant("period", "1"), "constants.period differs from one charge to the next"),
        (constant("planVersion", "4294967296"), "constants.planVersion must be a whole number"),
        (constant("planId", "seven"), "constants.planId must be a whole number"),
    ]);
}

#[test]
fn a_reason_that_cannot_come_true_is_named() {
    each_names_itself(vec![
        (reason("3", "NO_MONEY"), "reasons.3 `NO_MONEY` is no fail code: use one of INVALID_ENTRY"),
        (reason("0", "NOT_DUE_YET"), "reasons.0 cannot fail: 0 means that the subscription is"),
        (reason("300", "NOT_DUE_YET"), "reasons.300 is no number that the contract's codes can be"),
        (reason("03", "NOT_DUE_YET"), "reasons.03 is no number"),
        (reason("-1", "NOT_DUE_YET"), "reasons.-1 is no number"),
        (reason("", "NOT_DUE_YET"), "reasons. is no number"),
        (reason("NotDue()", "NOT_DUE_YET"), "reasons.NotDue() names an error that is in the table"),
        (reason("Late(unit8)", "NOT_DUE_YET"), "reasons.Late(unit8) has `unit8` where"),
    ]);
    let config = BillingConfig { reasons: texts(&[("1", "NOT_DUE_YET")]), ..one() };
    let faults = Profile::parse(&config, Family::Evm).unwrap_err();
    assert!(faults[0].problem.starts_with("is used by nothing"), "{faults:?}");
}

#[test]
fn a_field_that_cannot_number_periods_is_named() {
    each_names_itself(vec![
        (period(""), "period `` cannot number the billing period"),
        (period("amount"), "period `amount` cannot number the billing period"),
        (period("deadline"), "period `deadline` cannot number the billing period"),
    ]);
    let told = faults(period("merKey"));
    assert_eq!(told[0], "period has `merKey` as uint256, but elsewhere it is address");
}

#[test]
fn all_faults_are_told_at_once_and_none_that_only_follows_from_another() {
    let told = faults(|config| {
        edit(&mut config.call, "address merKey", "address");
        edit(config.lookup.as_mut().unwrap(), "address merKey, uint64 planId", "uint64 shop");
        edit(config.charged.as_mut().unwrap(), "bytes32 userHash", "uint8 userHash");
        config.constants.extend(texts(&[("signer", "0x00")]));
        config.reasons.extend(texts(&[("9", "NOPE"), ("8", "NOT_DUE_YET")]));
    });
    let keys: Vec<_> = told.iter().map(|fault| fault.split(' ').next().unwrap()).collect();
    assert_eq!(keys, ["call", "constants.signer", "lookup", "charged", "reasons.9"]);
}
