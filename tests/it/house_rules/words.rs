//! Names in the configuration that stand for something outside it.

use super::tree::{root, text};
use crate::production::packages;

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
