//! One name is one thing: no two types of the program share one.

use super::none;
use super::rust::{types, without_tests};
use super::tree::{product, shown};
use std::collections::BTreeMap;

/// Names that still stand for two types. The list only gets shorter.
const LEFT: &[&str] = &[
    "Answer",
    "Asker",
    "Block",
    "Call",
    "Closed",
    "Conclusion",
    "Door",
    "Envelope",
    "Failure",
    "Fate",
    "Fault",
    "Faults",
    "Final",
    "Found",
    "Head",
    "Held",
    "Identity",
    "Kind",
    "Known",
    "Line",
    "Look",
    "Meaning",
    "Name",
    "Objection",
    "OpenError",
    "Place",
    "Ran",
    "RawRet",
    "Reached",
    "Reader",
    "Receipt",
    "Reply",
    "Report",
    "Row",
    "Said",
    "Scope",
    "Seen",
    "Sent",
    "Slot",
    "Step",
    "Terms",
    "Testimony",
    "Told",
    "Trial",
    "Unusable",
    "Walk",
];

#[test]
fn no_two_types_of_the_program_share_a_name() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in product() {
        let hidden = ["tests", "simulator"];
        let parts: Vec<_> = path
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if parts.iter().any(|part| hidden.contains(&part.as_str())) {
            continue;
        }
        for name in types(&without_tests(&path)) {
            homes.entry(name).or_default().push(shown(&path));
        }
    }
    let shared =
        homes.into_iter().filter(|(name, homes)| homes.len() > 1 && !LEFT.contains(&name.as_str()));
    let faults: Vec<_> =
        shared.map(|(name, homes)| format!("{name}: {}", homes.join(", "))).collect();
    none(&faults);
}
