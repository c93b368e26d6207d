//! Checks that the limits of a chain hold: a limit on a value that only the caller states limits nothing.

use config::ChainConfig;
use contract::Profile;
use engine::Lane;
use tracing::{info, warn};

/// Says what may be signed, and louder where an amount or a fee has no limit.
pub(super) fn report(lane: &Lane) {
    let (chain, policy) = (&lane.chain.facts().name, lane.chain.policy());
    match policy.describe() {
        (limits, false) => info!(chain, "policy: {limits}"),
        (limits, true) => {
            let section = policy.key("");
            let section = section.trim_end_matches('.');
            warn!(chain, "policy: {limits}. Not everything is limited: see [{section}]");
        }
    }
    if let Some(why) = lane.paused() {
        warn!(chain, "paused {why}: nothing new is signed");
    }
}

/// Returns the faults in the limits of a chain, each with its key path and the remedy.
pub(super) fn faults(config: &ChainConfig, profile: &Profile) -> Vec<String> {
    let (policy, mut faults) = (&config.policy, Vec::new());
    let path = format!("chains.{}.policy", config.platform_id);
    let mut unpinned = |key: &str, field: &str| {
        faults.push(format!(
            "{path}.{key}: limits nothing: whoever posts an entry says what its {field} is, and neither \
             billing.call, billing.lookup nor billing.constants has {field} to hold the contract to \
             it; add a lookup that returns {field}, or take the limit out and write unlimited = true"
        ));
    };
    if !policy.tokens.is_empty() && !profile.pins("tokenAddress") {
        unpinned("tokens", "tokenAddress");
    }
    let amounts = policy.tokens.values();
    let limited = |one: Option<_>, day: Option<_>| one.is_some() || day.is_some();
    if amounts.clone().any(|of| limited(of.max_amount, of.max_amount_per_day))
        && !profile.pins("amount")
    {
        unpinned("max_amount", "amount");
    }
    let free = profile.free_addresses();
    for name in &free {
        if !policy.allowed.contains_key(*name) && !config.test && !policy.unlimited {
            faults.push(format!(
                "{path}.allowed.{name}: missing: whoever posts an entry says what its {name} is; list \
                 the addresses that may stand there, or write unlimited = true"
            ));
        }
    }
    for name in policy.allowed.keys().filter(|name| !free.contains(&name.as_str())) {
        faults.push(format!(
            "{path}.allowed.{name}: no address of billing.call that entries state has this name"
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config;

    const REFERENCE: &str = "profile = \"reference\"\n\
        constants.merKey = \"0x00000000000000000000000000000000000000a1\"\n";
    const COLLECT: &str = "call = \"collect(uint64 planId, bytes32 userHash)\"\n\
        charged = \"event Collected(uint64 indexed planId, bytes32 indexed userHash)\"\n";
    const PAYEES: &str = "call = \"charge(bytes32[] userHash, uint256[] amount, address[] tokenAddress, \
        address[] payee)\"\ncharged = \"event Charged(bytes32 indexed userHash)\"\n";
    const USDT: &str = "tokens.USDT = \"0x55d398326f99059fF775485246999027B3197955\"\n";

    /// A chain where no money is, and one where money is.
    const TEST: &str = "test = true";
    const REAL: &str = "test = false";

    fn found(kind: &str, billing: &str, policy: &str) -> Vec<String> {
        let text = format!(
            "callers.a = {{ key = \"a\", secret = \"a secret of the tests\" }}\n[chains.139]\nname = \"a\"\nfamily = \"evm\"\n{kind}\n\
             eip155_id = 31337\nrpc = \"http://127.0.0.1:8545\"\nkey = \"keystore:a\"\n\
             contract = \"0x5FbDB2315678afecb367f032d93F642f64180aa3\"\n\
             fees = {{ max_fee_per_gas = \"1 gwei\", max_priority_fee_per_gas = \"1 gwei\", \
             max_tx_cost = \"1 ether\" }}\n\
             [chains.139.billing]\n{billing}\n[chains.139.policy]\n{policy}\n"
        );
        let config = Config::from_toml(&text, &[]).unwrap().chains.remove(0);
        let profile = Profile::parse(config.family.billing(), config.family.family()).unwrap();
        faults(&config, &profile)
    }

    fn only(found: &[String]) -> &str {
        let [fault] = found else { panic!("{found:?}") };
        fault
    }

    #[test]
    fn a_limit_over_what_only_the_caller_states_is_a_fault_that_says_what_lifts_it() {
        let blind = format!("{REFERENCE}lookup = \"none\"");
        let fault = found(TEST, &blind, USDT);
        assert!(only(&fault).starts_with("chains.139.policy.tokens: limits nothing"), "{fault:?}");
        assert!(only(&fault).contains("add a lookup that returns tokenAddress"), "{fault:?}");
        assert!(found(TEST, REFERENCE, USDT).is_empty(), "the lookup says which token it is");
        let amounts = format!("{USDT}max_amount_per_day.USDT = 5");
        assert_eq!(found(TEST, &blind, &amounts).len(), 1, "the call carries the amount");
        let fault = found(TEST, COLLECT, &amounts);
        assert_eq!(fault.len(), 2);
        assert!(fault[1].starts_with("chains.139.policy.max_amount: limits nothing"), "{fault:?}");
        let constants = "constants.tokenAddress = \"0x55d398326f99059fF775485246999027B3197955\"\n";
        let named = COLLECT.replace("uint64 planId, ", "address tokenAddress, uint256 amount, ");
        let named = named.replacen("(address", "(uint64 planId, address", 1);
        let named = format!("{named}{constants}").replace("(uint64 indexed planId, ", "(");
        assert!(found(TEST, &named, &amounts).is_empty(), "the configuration says so");
        assert!(found(TEST, COLLECT, "max_fee_per_day = \"1 ether\"").is_empty());
    }

    #[test]
    fn an_address_that_entries_state_needs_a_list_where_money_is() {
        let limits = format!("{USDT}max_amount.USDT = 5\n");
        let fault = found(REAL, PAYEES, &limits);
        assert!(only(&fault).starts_with("chains.139.policy.allowed.payee: missing"), "{fault:?}");
        assert!(found(TEST, PAYEES, &limits).is_empty(), "a test chain may do without");
        assert!(found(REAL, PAYEES, "unlimited = true").is_empty(), "it was said in words");
        let allowed = "allowed.payee = \"0x00000000000000000000000000000000000000b1\"\n";
        assert!(found(REAL, PAYEES, &format!("{limits}{allowed}")).is_empty());
        let fault = found(REAL, REFERENCE, &format!("{limits}{allowed}"));
        assert!(only(&fault).contains("has this name"), "{fault:?}");
    }
}
