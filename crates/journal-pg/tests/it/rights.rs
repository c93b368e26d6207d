//! The Signer's role may do what the journal's statements do: a right that is missing stops a lane on the day that its
//! statement is run for the first time.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A change that a statement makes: of a column of a table, or of rows that are taken away.
type Change = (String, Option<String>);

/// Renaming a network is for files alone (docs/postgres.md).
const FILES_ALONE: &str = "renames.rs";

/// The source of the journal, without its tests.
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "tests" {
            sources(&path)
        } else if path.extension().is_some_and(|kind| kind == "rs")
            && name != "tests.rs"
            && name != FILES_ALONE
        {
            let text = fs::read_to_string(&path).unwrap();
            vec![text.split("#[cfg(test)]").next().unwrap().to_owned()]
        } else {
            vec![]
        }
    });
    found.collect()
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_lowercase() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// The columns that a list of assignments sets.
fn columns(assignments: &str) -> Vec<String> {
    let mut inside = Vec::new();
    let outside = assignments.chars().map(|c| {
        match c {
            '(' => inside.push(c),
            ')' => drop(inside.pop()),
            _ => {}
        }
        if c == ',' && !inside.is_empty() { ' ' } else { c }
    });
    let outside: String = outside.collect();
    outside.split(',').map(|one| word(one.trim_start()).to_owned()).collect()
}

/// The changes that statements in this text make.
fn changes(text: &str) -> BTreeSet<Change> {
    let mut found = BTreeSet::new();
    let ended = |rest: &str| rest.find(" WHERE").into_iter().chain(rest.find('"')).min();
    let mut before = text;
    while let Some((earlier, rest)) = before.rsplit_once("UPDATE ") {
        before = earlier;
        let inserted = || earlier.rsplit_once("INSERT INTO ").map(|(_, insert)| word(insert));
        let set = match rest.strip_prefix("SET ") {
            Some(sets) => inserted().map(|table| (table, sets)),
            None => rest.split_once(" SET ").filter(|(table, _)| word(table) == *table),
        };
        let Some((table, sets)) = set else { continue };
        for column in columns(&sets[..ended(sets).unwrap_or(sets.len())]) {
            found.insert((table.to_owned(), Some(column)));
        }
    }
    for rest in text.split("DELETE FROM ").skip(1) {
        found.insert((word(rest).to_owned(), None));
    }
    found
}

/// The changes that the role may make.
fn granted() -> BTreeSet<Change> {
    let mut found = BTreeSet::new();
    for grant in include_str!("../../src/roles.sql").split("GRANT ") {
        if let Some((columns, rest)) =
            grant.strip_prefix("UPDATE (").and_then(|g| g.split_once(')'))
        {
            let table = word(rest.split_once("ON ").unwrap().1);
            let column = |one: &str| (table.to_owned(), Some(one.trim().to_owned()));
            found.extend(columns.split(',').map(column));
        } else if let Some(tables) = grant.strip_prefix("DELETE ON ") {
            let tables = tables.split_once(" TO").unwrap().0;
            found.extend(tables.split(',').map(|table| (table.trim().to_owned(), None)));
        }
    }
    found
}

#[test]
fn the_role_may_make_every_change_that_the_journal_makes() {
    let journal = Path::new(env!("CARGO_MANIFEST_DIR")).join("../journal/src");
    let made: BTreeSet<Change> = sources(&journal).iter().flat_map(|text| changes(text)).collect();
    assert!(made.contains(&("doubt".into(), Some("read_number".into()))), "{made:?}");
    assert!(made.contains(&("spend".into(), Some("amount".into()))), "{made:?}");
    let missing: Vec<Change> = made.difference(&granted()).cloned().collect();
    assert_eq!(missing, [], "roles.sql grants too little");
}
