//! The recipes of CONTRIBUTING.md: each name of our code in them is in the code, and each command runs tests that exist.

use super::none;
use super::tree::{everything, root, shown, text};
use std::collections::BTreeSet;

/// The page of recipes.
const RECIPES: &str = "CONTRIBUTING.md";

#[test]
fn every_name_in_a_recipe_is_one_of_the_code() {
    let named = quoted(&text(&root().join(RECIPES))).iter().flat_map(|one| names(one)).collect();
    let mut unknown: BTreeSet<String> = named;
    assert!(unknown.len() > 15, "{unknown:?}");
    for path in everything() {
        let code = text(&path);
        let words: BTreeSet<&str> = code.split(is_no_part_of_a_name).collect();
        unknown.retain(|name| !words.contains(name.as_str()));
    }
    none(&unknown.iter().map(|name| format!("{RECIPES}: no code has {name}")).collect::<Vec<_>>());
}

#[test]
fn every_command_in_a_recipe_runs_tests() {
    let mut unknown: BTreeSet<Filter> =
        quoted(&text(&root().join(RECIPES))).iter().flat_map(|one| filtered(one)).collect();
    assert!(unknown.len() > 5, "{unknown:?}");
    for path in everything() {
        let (code, home) = (text(&path), shown(&path));
        let words = code.split_whitespace().collect::<Vec<_>>();
        let declared = words.windows(2).filter(|pair| pair[0] == "fn" || pair[0] == "mod");
        let declared: Vec<&str> = declared.map(|pair| pair[1]).collect();
        unknown.retain(|filter| {
            let is_there = home.starts_with(&filter.folder);
            !is_there || !declared.iter().any(|name| name.contains(filter.part.as_str()))
        });
    }
    let told = unknown
        .iter()
        .map(|filter| format!("{RECIPES}: no test in {filter:?}"))
        .collect::<Vec<_>>();
    none(&told);
}

/// The texts in backquotes.
fn quoted(document: &str) -> Vec<String> {
    let lines = document.split('`').skip(1).step_by(2);
    lines.map(|quoted| quoted.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn is_no_part_of_a_name(letter: char) -> bool {
    !(letter.is_alphanumeric() || letter == '_')
}

/// The names of types, variants and constants. Paths, commands and sentences have none.
fn names(quoted: &str) -> Vec<String> {
    if quoted.contains(['/', '.', ' ', '"']) {
        return vec![];
    }
    let words = quoted.split(is_no_part_of_a_name);
    words.filter(|word| word.contains(char::is_uppercase)).map(str::to_owned).collect()
}

/// A part of the name by which a command chooses tests, and the folder of the package in which it looks for them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Filter {
    folder: String,
    part: String,
}

/// The folder of a package of ours, below the root.
fn folder(package: &str) -> String {
    match package {
        "merchant-signer" => String::new(),
        "merchant" | "sandbox" => format!("{package}/"),
        "signer-config" => "crates/config/".to_owned(),
        package => format!("crates/{package}/"),
    }
}

/// The choices of tests by a command of cargo. A part in `<…>` is the reader's own.
fn filtered(quoted: &str) -> Vec<Filter> {
    let Some(options) = quoted.strip_prefix("cargo test ") else { return vec![] };
    let words: Vec<&str> = options.split(' ').collect();
    let package = words.windows(2).find(|pair| pair[0] == "-p").map(|pair| folder(pair[1]));
    let folder = package.unwrap_or_default();
    let takes_one = |word: &str| word == "-p" || word == "--test";
    let alone = words.iter().enumerate().filter(|(at, word)| {
        let behind = at.checked_sub(1).and_then(|before| words.get(before));
        !word.starts_with('-') && !behind.is_some_and(|word| takes_one(word))
    });
    let parts = alone.flat_map(|(_, filter)| filter.split("::"));
    let parts = parts.filter(|part| !part.starts_with('<')).map(str::to_owned);
    parts.map(|part| Filter { folder: folder.clone(), part }).collect()
}

#[test]
fn the_recipes_are_read() {
    let document = "A `Town` in `src/A.rs`, `Founding::on(family)`, `cargo test --test it\na::<b>`, `cargo test -p c --lib d`.";
    let quoted = quoted(document);
    let named: Vec<String> = quoted.iter().flat_map(|one| names(one)).collect();
    assert_eq!(named, ["Town", "Founding"]);
    let filter =
        |folder: &str, part: &str| Filter { folder: folder.to_owned(), part: part.to_owned() };
    let filtered: Vec<Filter> = quoted.iter().flat_map(|one| filtered(one)).collect();
    assert_eq!(filtered, [filter("", "a"), filter("crates/c/", "d")]);
}
