//! The lists of reasons for a refusal that are written by hand: each has every reason, in the order of precedence.

use super::none;
use super::tree::{root, text};
use billing::FailCode;
use strum::IntoEnumIterator as _;

#[test]
fn the_ledgers_filter_has_every_reason() {
    let script = text(&root().join("src/http/page/ledger.js"));
    let list = script.split("const REASONS = [").nth(1).and_then(|rest| rest.split(']').next());
    let words = list.expect("the list of reasons").split(',');
    let words: Vec<&str> = words.map(|word| word.trim().trim_matches('\'')).collect();
    let all: Vec<&str> = std::iter::once("").chain(FailCode::iter().map(FailCode::token)).collect();
    assert_eq!(words, all);
}

#[test]
fn the_document_of_the_interface_has_every_reason_with_its_advice() {
    let page = text(&root().join("docs/api.md"));
    let lines: Vec<&str> = page.lines().collect();
    let row = |(place, code): (usize, FailCode)| {
        format!("{}. {}: {}", place.saturating_add(1), code.token(), code.retry().token())
    };
    let rows = FailCode::iter().enumerate().map(row);
    none(&rows.filter(|row| !lines.contains(&row.as_str())).collect::<Vec<_>>());
}
