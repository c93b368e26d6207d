//! The table in the documentation names these tests, and names them all.

use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../docs/merchant.md");
const TESTS: [&str; 6] = [
    include_str!("access.rs"),
    include_str!("callbacks.rs"),
    include_str!("lists.rs"),
    include_str!("money.rs"),
    include_str!("scheduling.rs"),
    include_str!("subscribing.rs"),
];

#[test]
fn the_table_of_the_document_is_whole() {
    let written: BTreeSet<&str> = TESTS
        .iter()
        .flat_map(|text| text.split("#[tokio::test").skip(1))
        .filter_map(|part| part.split("async fn ").nth(1)?.split('(').next())
        .filter(|name| !name.is_empty())
        .collect();
    let table = DOCUMENT.split("## From the sections of the interface to their tests").nth(1);
    let named: BTreeSet<&str> = table
        .unwrap()
        .split('`')
        .filter(|word| word.starts_with("a_") || written.contains(word))
        .collect();
    let missing: Vec<_> = written.difference(&named).collect();
    let unknown: Vec<_> = named.difference(&written).collect();
    assert!(
        missing.is_empty() && unknown.is_empty(),
        "not in the table {missing:?}, not here {unknown:?}"
    );
}
