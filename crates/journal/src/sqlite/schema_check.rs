//! The shape of a journal: tables, indices and triggers as this program makes them, and nothing else. An
//! index that is missing is a wall against charging twice that is missing, and a planted trigger could
//! release claims in any commit.

use crate::sqlite::migrations;
use parking_lot::Mutex;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kind and name of something in a schema, and how it was made.
type Shape = BTreeMap<(String, String), Option<String>>;

/// The shapes of the versions that were asked for. SQLite takes a millisecond or two to make one.
static KNOWN: Mutex<BTreeMap<i64, Arc<Shape>>> = Mutex::new(BTreeMap::new());

/// Returns the difference between the file and a new journal of its version; none if there is none.
pub(crate) fn fault(conn: &Connection, version: i64) -> rusqlite::Result<Option<String>> {
    let (wanted, found) = (wanted(version)?, shape(conn)?);
    let missing = wanted.keys().filter(|key| !found.contains_key(*key)).map(|key| ("lacks", key));
    let foreign = found.keys().filter(|key| !wanted.contains_key(*key)).map(|key| ("holds", key));
    let changed =
        found.iter().filter(|(key, made)| wanted.get(*key).is_some_and(|want| want != *made));
    let changed = changed.map(|(key, _)| ("has another", key));
    let told: Vec<String> = missing
        .chain(foreign)
        .chain(changed)
        .map(|(verb, (kind, name))| format!("{verb} {kind} {name}"))
        .collect();
    Ok((!told.is_empty()).then(|| told.join(", ")))
}

/// The shape of a new journal of a version.
fn wanted(version: i64) -> rusqlite::Result<Arc<Shape>> {
    if let Some(known) = KNOWN.lock().get(&version) {
        return Ok(Arc::clone(known));
    }
    let fresh = Connection::open_in_memory()?;
    fresh.execute_batch(include_str!("../schema.sql"))?;
    for step in migrations::STEPS.iter().filter(|step| step.to <= version) {
        fresh.execute_batch(step.in_file)?;
    }
    let made = Arc::new(shape(&fresh)?);
    KNOWN.lock().insert(version, Arc::clone(&made));
    Ok(made)
}

fn shape(conn: &Connection) -> rusqlite::Result<Shape> {
    conn.prepare("SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")?
        .query_map([], |row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?)))?
        .collect()
}
