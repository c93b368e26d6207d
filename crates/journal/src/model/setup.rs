//! The parts of a configuration that money depends on. A journal on a server is served by one machine after the
//! other: each reports its setup, and none takes over a chain that the journal knows otherwise.

use crate::model::Binding;
use std::collections::BTreeMap;

/// The setup of a process.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Its chains, as the journal has to know them.
    pub bindings: Vec<Binding>,
    /// The values that others compare, by name. Holds nothing secret.
    pub facts: BTreeMap<String, String>,
}

impl Setup {
    /// The facts, as the roll has them.
    pub fn text(&self) -> String {
        serde_json::to_string(&self.facts).unwrap_or_default()
    }
}

/// The names of what differs between two setups, as the roll has them.
pub fn differences(one: &str, other: &str) -> Vec<String> {
    let read =
        |text: &str| -> BTreeMap<String, String> { serde_json::from_str(text).unwrap_or_default() };
    let (one, other) = (read(one), read(other));
    let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| one.get(*name) != other.get(*name)).cloned().collect()
}
