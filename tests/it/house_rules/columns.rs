//! Statements name their columns: tables on a server may be one version newer than the program, and then have columns
//! that it has never heard of.

use super::none;
use super::tree::{product, shown, text};

#[test]
fn every_statement_names_its_columns() {
    let (mut faults, mut inserts) = (Vec::new(), 0);
    for path in product() {
        let parts = path.iter().map(|part| part.to_string_lossy());
        if parts.into_iter().any(|part| part.starts_with("tests")) {
            continue;
        }
        // A statement may go over several lines.
        let code = text(&path);
        let words: Vec<&str> = code.split_whitespace().collect();
        for four in words.windows(4) {
            let [one, two, three, four] = four else { continue };
            if one.ends_with("SELECT") && *two == "*" {
                faults.push(format!("{}: SELECT * {three}", shown(&path)));
            }
            if one.ends_with("INSERT") && *two == "INTO" {
                inserts += 1;
                if !four.starts_with('(') {
                    faults.push(format!("{}: INSERT INTO {three} {four}", shown(&path)));
                }
            }
        }
    }
    assert!(inserts > 20, "{inserts}");
    none(&faults);
}
