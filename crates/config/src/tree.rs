//! A walk through a tree of values from the top, in the order of the names.

use config_rs::{Value, ValueKind};

/// The part of a tree that a walk visits after an entry.
pub(super) enum Walk {
    /// The values inside the entry.
    Inside,
    /// The next entry.
    Past,
}

/// Calls `see` for each entry of every table: the path of its table, its name, its value.
pub(super) fn entries(
    at: &mut Value,
    path: &str,
    see: &mut impl FnMut(&str, &str, &mut Value) -> Walk,
) {
    if let ValueKind::Array(parts) = &mut at.kind {
        for (place, part) in parts.iter_mut().enumerate() {
            entries(part, &format!("{path}[{place}]"), see);
        }
    } else if let ValueKind::Table(table) = &mut at.kind {
        let mut rows: Vec<(&String, &mut Value)> = table.iter_mut().collect();
        rows.sort_by_key(|(name, _)| *name);
        for (name, value) in rows {
            match see(path, name, value) {
                Walk::Inside => entries(value, &below(path, name), see),
                Walk::Past => {}
            }
        }
    }
}

/// The path of an entry of the table at `path`.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Calls `change` for each text of a value: the value itself, or those in a list.
pub(super) fn texts(at: &mut Value, change: &mut impl FnMut(&mut String)) {
    if let ValueKind::Array(parts) = &mut at.kind {
        for part in parts {
            texts(part, change);
        }
    } else if let ValueKind::String(text) = &mut at.kind {
        change(text);
    }
}
