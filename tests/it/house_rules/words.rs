//! Names in the configuration that stand for something outside it, and the first words of comments.

use super::none;
use super::tree::{everything, root, shown, text};
use crate::production::packages;

/// Words that begin a clause without a subject: a comment names its subject first.
const CLAUSES: [&str; 6] = ["What", "Who", "Whose", "How", "Where", "Whether"];

/// The sentences of each block of comment lines in a source.
fn sentences(source: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in source.lines() {
        match line.trim_start().strip_prefix("//") {
            Some(words) => {
                let words = words.trim_start_matches(['/', '!']).trim();
                let block = blocks.last_mut().expect("there is one");
                block.push_str(if words.is_empty() { ". " } else { " " });
                block.push_str(words);
            }
            None => blocks.push(String::new()),
        }
    }
    let sentences = blocks.iter().flat_map(|block| block.split(". "));
    sentences.map(|one| one.trim().to_owned()).filter(|one| !one.is_empty()).collect()
}

/// Returns true if a sentence begins with a clause, and is no question.
fn begins_with_a_clause(sentence: &str) -> bool {
    let first = sentence.split(' ').next().unwrap_or_default();
    CLAUSES.contains(&first) && !sentence.ends_with('?')
}

#[test]
fn a_comment_names_its_subject_first() {
    let is_test = |path: &str| path.starts_with("tests/") || path.contains("/tests");
    let mut faults = vec![];
    for path in everything() {
        let name = shown(&path);
        if is_test(&name) {
            continue;
        }
        let clauses = sentences(&text(&path)).into_iter().filter(|one| begins_with_a_clause(one));
        faults.extend(clauses.map(|one| format!("{name}: {one}")));
    }
    none(&faults);
    let told = sentences("/// A key. Whose is\n/// not told.\nfn f() {}\n// Why?\n");
    assert_eq!(told, ["A key", "Whose is not told.", "Why?"]);
    assert!(begins_with_a_clause(&told[1]) && !begins_with_a_clause(&told[0]));
}

/// The targets of the log filters that a configuration sets.
fn targets(configuration: &str) -> Vec<String> {
    let filters = configuration
        .lines()
        .filter_map(|line| line.trim_start_matches("#: ").strip_prefix("filter = "));
    let directives = filters.flat_map(|filter| filter.trim().trim_matches('"').split(','));
    directives.filter_map(|directive| Some(directive.split_once('=')?.0.to_owned())).collect()
}

#[test]
fn every_target_of_the_log_filter_is_a_crate_of_the_program() {
    let crates: Vec<String> = packages().iter().map(|name| name.replace('-', "_")).collect();
    let named = targets(&text(&root().join("config/default.toml")));
    assert!(!named.is_empty());
    for target in named {
        let first = target.split("::").next().unwrap_or_default();
        assert!(crates.iter().any(|name| name == first), "log.filter names {target}");
    }
    assert_eq!(targets("filter = \"info,a::b=warn,c=off\""), ["a::b", "c"]);
}
