//! The list of reasons for a refusal that is written by hand has every reason, in the order of precedence.

use super::none;
use super::tree::{root, text};
use billing::FailCode;
use strum::IntoEnumIterator as _;

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
