//! The environment file of the Signer that the platform ships, taken as it is: `MER_API_KEY`, `MER_API_SECRET`,
//! and `EVM_PRIVATE_KEY`, `TVM_PRIVATE_KEY` as maps from platform chain id to key.
//!
//! These variables count only if the configuration file is silent: a file that describes a caller has all callers,
//! and one that describes a chain has all chains. Settings that the variables cannot express (nodes, contract,
//! limits) are reported as missing.

use config_rs::{Map, Value, ValueKind};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The variables of the caller: the key and the secret that the platform gave to the merchant, and their names
/// here.
const CALLER: [(&str, &str); 2] = [("MER_API_KEY", "key"), ("MER_API_SECRET", "secret")];

/// The label of that caller.
const LABEL: &str = "merchant";

/// The variables that `key = "env"` means.
const KEY_VARIABLES: [&str; 2] = [EVM_KEYS, TVM_KEYS];
/// On EVM.
pub(super) const EVM_KEYS: &str = "EVM_PRIVATE_KEY";
/// On TRON.
pub(super) const TVM_KEYS: &str = "TVM_PRIVATE_KEY";

/// The families of the variables in [`KEY_VARIABLES`].
const FAMILIES: [&str; 2] = ["evm", "tvm"];

/// Returns true if an environment variable is one of these.
pub(super) fn is_ours(name: &str) -> bool {
    CALLER.iter().any(|(ours, _)| *ours == name) || KEY_VARIABLES.contains(&name)
}

/// Adds to the tree what these variables say and it does not.
pub(super) fn fill_in(tree: &mut Value, environment: &[(String, String)]) {
    let ValueKind::Table(root) = &mut tree.kind else { return };
    let callers = caller(environment);
    let chains = chains(environment);
    for (section, found) in [("callers", callers), ("chains", chains)] {
        if !found.is_empty() && !is_described(root, section) {
            root.insert(section.to_owned(), Value::new(None, found));
        }
    }
}

fn is_described(root: &Map<String, Value>, section: &str) -> bool {
    let is_nothing =
        |value: &Value| matches!(&value.kind, ValueKind::Table(table) if table.is_empty());
    root.get(section).is_some_and(|value| !is_nothing(value))
}

fn value_of<'a>(environment: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = environment.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

fn caller(environment: &[(String, String)]) -> Map<String, Value> {
    let said = CALLER.into_iter().filter_map(|(name, key)| {
        let value = Value::new(Some(&name.to_owned()), value_of(environment, name)?);
        Some((key.to_owned(), value))
    });
    let said: Map<String, Value> = said.collect();
    let known = (!said.is_empty()).then(|| (LABEL.to_owned(), Value::new(None, said)));
    known.into_iter().collect()
}

/// A section for each chain that there is a key for. A lone key names no chain.
fn chains(environment: &[(String, String)]) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, family) in KEY_VARIABLES.into_iter().zip(FAMILIES) {
        let keys = value_of(environment, name).map(serde_json::from_str);
        let Some(Ok(keys)) = keys else { continue };
        let keys: BTreeMap<String, &RawValue> = keys;
        for id in keys.into_keys() {
            let origin = Some(&name.to_owned());
            let section = [("family", family), ("key", "env")];
            let section: Map<String, Value> = section
                .into_iter()
                .map(|(key, text)| (key.to_owned(), Value::new(origin, text)))
                .chain([("name".to_owned(), Value::new(origin, format!("{family}-{id}")))])
                .collect();
            all.insert(id, Value::new(None, section));
        }
    }
    all
}
