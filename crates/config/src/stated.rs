//! The statements of a configuration, key by key, to be compared with another one. Holds no value: each may be a
//! secret.

use config_rs::{Value, ValueKind};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Sections and keys that a running process takes up anew.
const OF_THE_PROCESS: [&str; 2] = ["callers", "log.filter"];

/// The same of a chain, and of what all chains of a family have unless they say otherwise.
const OF_A_CHAIN: [&str; 11] = [
    "policy",
    "fees",
    "gas_warn_billings",
    "rpc",
    "send_only",
    "nodes",
    "full",
    "solidity",
    "jsonrpc",
    "api_key",
    "api_key_file",
];

/// Every key that is stated, by its path, with a digest of its value.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Stated(BTreeMap<String, [u8; 32]>);

impl fmt::Debug for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stated")
    }
}

impl Stated {
    /// Collects the statements of a merged tree.
    pub(super) fn of(tree: &Value) -> Self {
        let mut all = BTreeMap::new();
        walk(tree, "", &mut all);
        Self(all)
    }

    /// The keys that the two do not state alike.
    pub(super) fn differing(&self, other: &Self) -> BTreeSet<String> {
        let keys = self.0.keys().chain(other.0.keys());
        keys.filter(|key| self.0.get(*key) != other.0.get(*key)).cloned().collect()
    }
}

fn walk(at: &Value, path: &str, all: &mut BTreeMap<String, [u8; 32]>) {
    match &at.kind {
        ValueKind::Table(table) => {
            for (key, value) in table {
                let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                walk(value, &below, all);
            }
        }
        ValueKind::Array(parts) => {
            for (place, part) in parts.iter().enumerate() {
                walk(part, &format!("{path}[{place}]"), all);
            }
        }
        ValueKind::Nil
        | ValueKind::Boolean(_)
        | ValueKind::I64(_)
        | ValueKind::I128(_)
        | ValueKind::U64(_)
        | ValueKind::U128(_)
        | ValueKind::Float(_)
        | ValueKind::String(_) => {
            let digest = Sha256::digest(format!("{:?}", at.kind));
            all.insert(path.to_owned(), digest.into());
        }
    }
}

/// Returns true if a process takes up another value of this key while it runs.
pub(super) fn can_be_reloaded(key: &str) -> bool {
    let is_in = |key: &str, section: &&str| {
        key.strip_prefix(*section)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    OF_THE_PROCESS.iter().any(|section| is_in(key, section))
        || of_a_chain(key).is_some_and(|key| OF_A_CHAIN.iter().any(|section| is_in(key, section)))
}

/// The key below the section of a chain, or of all chains of a family.
fn of_a_chain(key: &str) -> Option<&str> {
    let below = key.strip_prefix("chains.").or_else(|| key.strip_prefix("chain_defaults."))?;
    below.split_once('.').map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_running_process_takes_up_is_told_from_what_it_cannot() {
        for key in [
            "callers.a.secret",
            "log.filter",
            "chains.139.policy.tokens.0xabc.max_amount",
            "chains.139.fees.max_tx_cost",
            "chains.139.rpc[1]",
            "chains.139.nodes[0].full",
            "chain_defaults.evm.fees.max_fee_per_gas",
        ] {
            assert!(can_be_reloaded(key), "{key}");
        }
        for key in [
            "http.listen",
            "journal.path",
            "log.format",
            "callersx",
            "chains.139.key",
            "chains.139.keys[1]",
            "chains.139.contract",
            "chains.139.billing.call",
            "chains.139.eip155_id",
            "chains.139.rpc_timeout",
            "allow_unauthenticated",
        ] {
            assert!(!can_be_reloaded(key), "{key}");
        }
    }
}
