//! The page of each crate: its table has every module and nothing else, and the tests that prove it are there.

use super::none;
use super::tree::{everything, root, shown, text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The head of the table of modules.
const HEAD: &str = "| module | content |";

/// The title above the tests.
const PROOFS: &str = "## Proved by";

#[test]
fn the_table_of_a_crate_has_its_modules() {
    let mut faults = vec![];
    for page in pages() {
        let document = text(&page);
        let code = text(&page.with_file_name("src/lib.rs"));
        let (listed, there) = (listed(&document), modules(&code));
        if listed.is_empty() {
            continue;
        }
        let missing = there.difference(&listed).map(|name| format!("lacks {name}"));
        let foreign = listed.difference(&there).map(|name| format!("has {name}, which is none"));
        faults.extend(missing.chain(foreign).map(|fault| format!("{}: {fault}", shown(&page))));
    }
    none(&faults);
}

#[test]
fn every_test_that_proves_a_crate_is_there() {
    let code: Vec<String> = everything().iter().map(|path| text(path)).collect();
    let mut read = 0_usize;
    let mut faults = vec![];
    for page in pages() {
        let document = text(&page);
        let named = proofs(&document);
        read = read.saturating_add(named.len());
        let gone = named.iter().filter(|name| {
            let declared = format!("fn {name}(");
            !code.iter().any(|code| code.contains(&declared))
        });
        faults.extend(gone.map(|name| format!("{}: no test is {name}", shown(&page))));
    }
    assert!(read > 40, "{read} tests are named");
    none(&faults);
}

/// The pages of the crates.
fn pages() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(root().join("crates")).into_iter().flatten().flatten();
    let mut pages: Vec<PathBuf> = crates.map(|found| found.path().join("README.md")).collect();
    pages.retain(|page| Path::exists(page));
    pages.sort();
    pages
}

/// The modules in the first cells of the table.
fn listed(document: &str) -> BTreeSet<&str> {
    let rows = document.lines().skip_while(|line| *line != HEAD).skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.split('|').nth(1)).flat_map(quoted).collect()
}

/// The modules that are there, but for those that serve tests alone.
fn modules(code: &str) -> BTreeSet<&str> {
    let lines: Vec<&str> = code.lines().collect();
    let mut found = BTreeSet::new();
    for (line, before) in lines.iter().zip(std::iter::once(&"").chain(&lines)) {
        let line = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        let name = line.strip_prefix("mod ").and_then(|name| name.strip_suffix(';'));
        found.extend(name.filter(|_| !(before.starts_with("#[cfg(") && before.contains("test"))));
    }
    found
}

/// The names of tests below the title. Paths and commands are none.
fn proofs(document: &str) -> Vec<&str> {
    let section = document.split_once(PROOFS).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or(section);
    let is_name = |quoted: &&str| quoted.chars().all(|c| c.is_alphanumeric() || c == '_');
    quoted(section).filter(is_name).filter(|name| name.matches('_').count() > 2).collect()
}

/// The texts in backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn the_pages_are_read() {
    let page = "# c\n\n| module | content |\n| --- | --- |\n| [`a`], `b` | `c` |\n\n| `d` | e |\n\n\
                ## Proved by\n\n* `src/a.rs`: `what_is_so_is_so`\n\n## Next\n\n`no_one_of_them`";
    assert_eq!(listed(page), BTreeSet::from(["a", "b"]));
    assert_eq!(proofs(page), ["what_is_so_is_so"]);
    let code = "mod a;\npub mod b;\npub(crate) mod c;\n#[cfg(test)]\nmod tests;\nmod d {\n}\n";
    assert_eq!(modules(code), BTreeSet::from(["a", "b", "c"]));
}
