//! The recipes of CONTRIBUTING.md: each name of our code in them is in the code, and each command runs tests that exist.

use super::none;
use super::tree::{everything, root, text};
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
    let mut unknown: BTreeSet<String> =
        quoted(&text(&root().join(RECIPES))).iter().flat_map(|one| filtered(one)).collect();
    assert!(unknown.len() > 5, "{unknown:?}");
    for path in everything() {
        let code = text(&path);
        let words = code.split_whitespace().collect::<Vec<_>>();
        let declared = words.windows(2).filter(|pair| pair[0] == "fn" || pair[0] == "mod");
        let declared: Vec<&str> = declared.map(|pair| pair[1]).collect();
        unknown.retain(|part| !declared.iter().any(|name| name.contains(part.as_str())));
    }
    none(&unknown.iter().map(|part| format!("{RECIPES}: no test is {part}")).collect::<Vec<_>>());
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

/// The parts of the name by which a command of cargo chooses tests. A part in `<…>` is the reader's own.
fn filtered(quoted: &str) -> Vec<String> {
    let Some(options) = quoted.strip_prefix("cargo test ") else { return vec![] };
    let words: Vec<&str> = options.split(' ').collect();
    let takes_one = |word: &str| word == "-p" || word == "--test";
    let alone = words.iter().enumerate().filter(|(at, word)| {
        let behind = at.checked_sub(1).and_then(|before| words.get(before));
        !word.starts_with('-') && !behind.is_some_and(|word| takes_one(word))
    });
    let parts = alone.flat_map(|(_, filter)| filter.split("::"));
    parts.filter(|part| !part.starts_with('<')).map(str::to_owned).collect()
}

#[test]
fn the_recipes_are_read() {
    let document = "A `Town` in `src/A.rs`, `Founding::on(family)`, `cargo test --test it\na::<b>`, `cargo test -p c --lib d`.";
    let quoted = quoted(document);
    let all =
        |of: fn(&str) -> Vec<String>| quoted.iter().flat_map(|one| of(one)).collect::<Vec<_>>();
    assert_eq!(all(names), ["Town", "Founding"]);
    assert_eq!(all(filtered), ["a", "d"]);
}
