//! One name is one thing: no two types of the program share one.

use super::none;
use super::rust::{types, without_tests};
use super::tree::{product, shown};
use std::collections::BTreeMap;

#[test]
fn no_two_types_of_the_program_share_a_name() {
    let mut homes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in product() {
        let parts: Vec<_> = path
            .with_extension("")
            .iter()
            .map(|part| part.to_string_lossy().into_owned())
            .collect();
        if parts.iter().any(|part| part == "tests") {
            continue;
        }
        for name in types(&without_tests(&path)) {
            homes.entry(name).or_default().push(shown(&path));
        }
    }
    let shared = homes.into_iter().filter(|(_, homes)| homes.len() > 1);
    let faults: Vec<_> =
        shared.map(|(name, homes)| format!("{name}: {}", homes.join(", "))).collect();
    none(&faults);
}
