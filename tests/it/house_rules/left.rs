//! Faults that the tree still has: `left/CRATE` has a line for each, `RULE: PLACE`, and is compared whole. A fault that
//! has no line fails the rule, and so does a line that has no fault any more. A file that is empty goes.

use super::none;
use super::tree::{root, shown, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder of the lists.
const LISTS: &str = "tests/it/house_rules/left";

/// The crate that a file belongs to: the name of its list.
fn home(path: &Path) -> String {
    let shown = shown(path);
    let mut parts = shown.split('/');
    let first = parts.next().unwrap_or_default();
    if first == "crates" { parts.next().unwrap_or_default() } else { first }.to_owned()
}

/// Compares the faults of one rule, each with its file, with the lists. Equal lines count.
pub(super) fn compare(rule: &str, faults: &[(PathBuf, String)]) {
    let prefix = format!("{rule}: ");
    let mut wrong = vec![];
    let mut listed: BTreeMap<(String, String), usize> = BTreeMap::new();
    for list in std::fs::read_dir(root().join(LISTS)).into_iter().flatten().flatten() {
        let name = list.file_name().to_string_lossy().into_owned();
        let lines = text(&list.path());
        if lines.is_empty() {
            wrong.push(format!("{LISTS}/{name} is empty"));
        }
        for line in lines.lines().filter_map(|line| line.strip_prefix(&prefix)) {
            let count = listed.entry((name.clone(), line.to_owned())).or_default();
            *count = count.saturating_add(1);
        }
    }
    for (path, fault) in faults {
        match listed.get_mut(&(home(path), fault.clone())).filter(|count| **count > 0) {
            Some(count) => *count = count.saturating_sub(1),
            None => wrong.push(format!("{}: {rule}: {fault}", shown(path))),
        }
    }
    let gone = listed.into_iter().filter(|(_, count)| *count > 0);
    wrong.extend(gone.map(|((name, line), _)| {
        format!("no longer there, so that {LISTS}/{name} loses a line: {prefix}{line}")
    }));
    none(&wrong);
}
