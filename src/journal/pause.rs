//! Which chains are paused: on disk, so that a restart changes nothing, and looked at in the commit,
//! so that nothing slips through that was on its way.

use super::history;
use crate::billing::PlatformChainId;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;

/// Who paused a chain, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The caller's key.
    pub by: String,
    /// Unix ms.
    pub since_ms: i64,
}

impl Pause {
    /// Since when, in words.
    pub fn since(&self) -> String {
        format!("since {}, Unix time", self.since_ms.div_euclid(1000))
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} {}", self.by, self.since())
    }
}

const PREFIX: &str = "paused ";

/// Who paused a chain, if somebody did.
pub(super) fn read(conn: &Connection, chain: PlatformChainId) -> rusqlite::Result<Option<Pause>> {
    conn.prepare_cached("SELECT value FROM meta WHERE name = ?1")?
        .query_row([format!("{PREFIX}{chain}")], |row| row.get(0).map(|text: String| parse(&text)))
        .optional()
}

/// A value that cannot be read pauses all the same.
fn parse(value: &str) -> Pause {
    let (since, by) = value.split_once(' ').unwrap_or(("0", "somebody"));
    Pause { by: by.to_owned(), since_ms: since.parse().unwrap_or(0) }
}

/// Every paused chain.
pub(super) fn all(conn: &Connection) -> rusqlite::Result<BTreeMap<PlatformChainId, Pause>> {
    let mut select =
        conn.prepare("SELECT substr(name, 8), value FROM meta WHERE name LIKE 'paused %'")?;
    let mut rows = select.query([])?;
    let mut all = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let (id, value): (String, String) = (row.get(0)?, row.get(1)?);
        let id = id.parse().map_err(|_| rusqlite::Error::InvalidQuery)?;
        all.insert(PlatformChainId(id), parse(&value));
    }
    Ok(all)
}

/// Pauses chains that are not, or resumes those that are; tells which are paused then.
pub(super) fn set(
    conn: &Connection,
    chains: &[PlatformChainId],
    paused: bool,
    Pause { by, since_ms }: &Pause,
) -> rusqlite::Result<BTreeMap<PlatformChainId, Pause>> {
    for chain in chains {
        if read(conn, *chain)?.is_some() == paused {
            continue;
        }
        let name = format!("{PREFIX}{chain}");
        if paused {
            conn.execute(
                "INSERT INTO meta VALUES (?1, ?2)",
                params![name, format!("{since_ms} {by}")],
            )?;
        } else {
            conn.execute("DELETE FROM meta WHERE name = ?1", [name])?;
        }
        let event = if paused { "paused" } else { "resumed" };
        history::append(conn, *since_ms, event, &json!({"chain": chain.0, "by": by}))?;
    }
    all(conn)
}
