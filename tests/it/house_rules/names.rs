//! One name is one thing: no two exported types of one crate share it.

use super::none;
use super::rust::{types, without_tests};
use super::tree::{product, shown};
use std::collections::BTreeMap;

#[test]
fn no_two_exported_types_of_a_crate_share_a_name() {
    let mut homes: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
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
            let home = shown(&path);
            let own = home.split("src/").next().unwrap_or_default().to_owned();
            homes.entry((own, name)).or_default().push(home);
        }
    }
    let shared = homes.into_iter().filter(|(_, homes)| homes.len() > 1);
    let faults: Vec<_> =
        shared.map(|((_, name), homes)| format!("{name}: {}", homes.join(", "))).collect();
    none(&faults);
}
