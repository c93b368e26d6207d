//! Whether the limits of a chain hold: one over what nobody but the caller states limits nothing.

use crate::config::ChainConfig;
use crate::contract::Profile;

/// What is wrong with the limits of a chain, each with its key path, and what to do.
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
