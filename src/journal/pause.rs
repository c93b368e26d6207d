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

/// Who paused a chain, if somebody did.
pub(super) fn read(conn: &Connection, chain: PlatformChainId) -> rusqlite::Result<Option<Pause>> {
    conn.prepare_cached("SELECT by, since_ms FROM pause WHERE chain = ?1")?
        .query_row([chain.0], |row| Ok(Pause { by: row.get(0)?, since_ms: row.get(1)? }))
        .optional()
}

/// Every paused chain.
pub(super) fn all(conn: &Connection) -> rusqlite::Result<BTreeMap<PlatformChainId, Pause>> {
    conn.prepare("SELECT chain, by, since_ms FROM pause")?
        .query_map([], |row| {
            let pause = Pause { by: row.get(1)?, since_ms: row.get(2)? };
            Ok((PlatformChainId(row.get(0)?), pause))
        })?
        .collect()
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
        if paused {
            let sql = "INSERT INTO pause (chain, by, since_ms) VALUES (?1, ?2, ?3)";
            conn.execute(sql, params![chain.0, by, since_ms])?;
        } else {
            conn.execute("DELETE FROM pause WHERE chain = ?1", [chain.0])?;
        }
        let event = if paused { "paused" } else { "resumed" };
        history::append(conn, *since_ms, event, &json!({"chain": chain.0, "by": by}))?;
    }
    all(conn)
}
