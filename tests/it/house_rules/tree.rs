//! The files that the rules read.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that hold Rust of ours.
const CODE: [&str; 6] = ["src", "tests", "examples", "crates", "merchant", "sandbox"];

/// The crates of the program, each after those that it depends on.
pub(super) const CRATES: [&str; 19] = [
    "billing",
    "host",
    "config",
    "policy",
    "contract",
    "node",
    "tron-node",
    "tron-testimony",
    "evm-node",
    "evm-testimony",
    "evm-blocks",
    "keys",
    "signing",
    "key-stores",
    "journal",
    "journal-pg",
    "ledger",
    "chain",
    "engine",
];

pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of the program and of its crates.
pub(super) fn product() -> Vec<PathBuf> {
    let crates =
        CRATES.iter().flat_map(|name| files(&root().join("crates").join(name).join("src"), "rs"));
    files(&root().join("src"), "rs").into_iter().chain(crates).collect()
}

/// What stands before its routes, and before those of the inbox.
pub(super) fn door() -> Vec<PathBuf> {
    files(&root().join("crates/door/src"), "rs")
}

/// Every Rust file of the workspace, tests included.
pub(super) fn everything() -> Vec<PathBuf> {
    CODE.iter().flat_map(|folder| files(&root().join(folder), "rs")).collect()
}

/// Every document that speaks of the tree.
pub(super) fn documents() -> Vec<PathBuf> {
    let mut found = files(&root().join("docs"), "md");
    found.extend(files(&root().join("crates"), "md"));
    let pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    found.extend(pages.map(|page| root().join(page)).into_iter().filter(|page| page.exists()));
    found
}

pub(super) fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| format!("{}: {error}", path.display()))
}

/// The path below the root, for people.
pub(super) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let other = ["target", "node_modules"].iter().any(|name| path.ends_with(name));
        if path.is_dir() && !other {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn the_rules_can_see_the_files() {
    assert!(
        product().len() > 30 && everything().len() > product().len() && !documents().is_empty()
    );
}
