//! What may be signed, as it is configured.

use super::*;
use alloy::primitives::{U256, address};

/// `local.toml` with a policy.
fn with(policy: &str) -> String {
    format!("{LOCAL}\n[chains.139.policy]\n{policy}")
}

fn fault(policy: &str) -> String {
    complaints(&with(policy), &[])
}

const USDT: &str = "tokens.USDT = '0x55d398326f99059fF775485246999027B3197955'\n";

#[test]
fn without_a_policy_nothing_is_limited_and_nobody_controls() {
    let config = load(LOCAL, &[]).unwrap();
    assert_eq!(config.chains[0].policy, PolicyConfig::default());
    assert!(config.chains[0].new_work == NewWork::Taken && !config.callers[0].rights.control);
    let config = load(&local("test = true", "test = true\npaused = true"), &[]).unwrap();
    assert_eq!(config.chains[0].new_work, NewWork::Paused);
    let both = "test = true\npaused = true\nretired = true\ndefault = false";
    let config = load(&local("test = true\ndefault = true", both), &[]);
    assert_eq!(config.unwrap().chains[0].new_work, NewWork::Retired);
    let control = [("SIGNER__CALLERS__LOCAL__CONTROL", "true")];
    assert!(load(LOCAL, &control).unwrap().callers[0].rights.control);
}

#[test]
fn limits_are_exact_to_256_bits_and_may_come_from_the_environment() {
    let most = U256::MAX.to_string();
    let text = with(&format!(
        "max_batch = 7\nmax_fee_per_day = '0.5 ether'\n{USDT}max_amount.USDT = 10\ndecimals.USDT = 18\n\
         max_amount_per_day.USDT = '{most}'"
    ));
    let environment = [("SIGNER__CHAINS__139__POLICY__MAX_AMOUNT__USDT", "12")];
    let policy = load(&text, &environment).unwrap().chains.remove(0).policy;
    assert_eq!(policy.max_batch, Some(7));
    assert_eq!(policy.max_fee_per_day, Some(U256::from(500_000_000_000_000_000_u64)));
    let usdt = TokenLimits {
        address: address!("0x55d398326f99059fF775485246999027B3197955"),
        max_amount: Some(U256::from(12)),
        max_amount_per_day: Some(U256::MAX),
        decimals: Some(18),
    };
    assert_eq!(policy.tokens, [("USDT".to_owned(), usdt)].into());
}

#[test]
fn a_limit_that_would_limit_nothing_is_a_fault() {
    let table = [
        ("max_batch = 0", "policy.max_batch: out of range"),
        ("decimals.USDT = 6", "decimals.USDT: names no token of policy.tokens"),
        ("max_fee_per_day = '1 usd'", "policy.max_fee_per_day: the unit is unknown"),
        ("tokens.A = '0x55d398326f99059ff775485246999027b319795'", "tokens.A: must be an address"),
        (
            "tokens.A = '0x55d398326f99059fF775485246999027B3197954'",
            "tokens.A: has a wrong checksum",
        ),
        (
            "tokens.A = '0x0000000000000000000000000000000000000000'",
            "tokens.A: is the zero address",
        ),
        ("max_amount.DAI = 1", "max_amount.DAI: names no token of policy.tokens"),
        ("max_amount_per_day.DAI = 1", "max_amount_per_day.DAI: names no token"),
    ];
    for (policy, wanted) in table {
        let found = fault(policy);
        assert!(found.contains(wanted), "{policy}: {found}");
    }
    for amount in ["0", "-1", "'1.5'", "'1 USDT'", "'0x10'", "''", "true"] {
        let found = fault(&format!("{USDT}max_amount.USDT = {amount}"));
        assert!(found.starts_with("chains.139.policy.max_amount.USDT: is"), "{amount}: {found}");
    }
    let beyond = format!("{USDT}max_amount.USDT = '{}0'", U256::MAX);
    assert!(fault(&beyond).contains("base units"));
    let twice = format!("{USDT}tokens.Tether = '0x55d398326f99059fF775485246999027B3197955'");
    let found = fault(&twice);
    assert!(
        found.contains("tokens.USDT: is the same token as Tether")
            || found.contains("tokens.Tether: is the same token as USDT"),
        "{found}"
    );
}

#[test]
fn where_money_is_somebody_has_to_say_that_nothing_is_limited() {
    let serious = |policy: &str| {
        let text = local("test = true", "test = false")
            .replace("local-example-secret-do", "a-secret-of-ours");
        load(&format!("{text}\n[chains.139.policy]\n{policy}"), &[])
    };
    let missing = serious("max_batch = 5").unwrap_err().to_string();
    assert!(missing.starts_with("chains.139.policy: missing"), "{missing}");
    assert!(missing.contains("unlimited = true"), "{missing}");
    assert!(serious("unlimited = true").unwrap().chains[0].policy.unlimited);
    assert!(serious("max_fee_per_day = '1 ether'").is_ok());
    assert!(serious(USDT).is_ok());
    let both = serious(&format!("{USDT}unlimited = true")).unwrap_err().to_string();
    assert!(both.starts_with("chains.139.policy.unlimited: is true beside limits"), "{both}");
    let environment =
        [("SIGNER__CHAINS__139__RETIRED", "true"), ("SIGNER__CHAINS__139__DEFAULT", "false")];
    let text =
        local("test = true", "test = false").replace("local-example-secret-do", "a-secret-of-ours");
    assert!(load(&text, &environment).is_ok(), "nothing is billed there");
}

#[test]
fn the_addresses_that_may_stand_in_a_field_are_listed() {
    let [one, other] = [
        "0x55d398326f99059fF775485246999027B3197955",
        "0x00000000000000000000000000000000000000b1",
    ];
    let config = load(&with(&format!("allowed.payee = '{one}  {other}'")), &[]).unwrap();
    let allowed = [one, other].map(|address| address.parse().unwrap()).to_vec();
    assert_eq!(config.chains[0].policy.allowed, [("payee".to_owned(), allowed)].into());
    for bad in ["0x12", " ", "0x55d398326f99059fF775485246999027B3197955,"] {
        let found = fault(&format!("allowed.payee = '{bad}'"));
        assert!(found.starts_with("chains.139.policy.allowed.payee: "), "{found}");
    }
}

#[test]
fn beside_a_wrong_limit_the_other_keys_are_known() {
    let told =
        fault(&format!("{USDT}max_amount.USDT = 'ten'\nunlimited = true\nallowed.USDT = 'x'"));
    assert!(told.contains("policy.max_amount.USDT: ") && told.contains("allowed.USDT"), "{told}");
    assert!(!told.contains("unknown key"), "{told}");
}
