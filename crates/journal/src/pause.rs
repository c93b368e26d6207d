//! Which chains are paused: on disk, so that a restart changes nothing, and looked at in the commit,
//! so that nothing slips through that was on its way.

use super::history;
use super::sql::{Database, OptionalExtension as _, SqlResult, params};
use billing::PlatformChainId;
use jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;

/// The pause of a chain: its author, its start and its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pause {
    /// The caller's key.
    pub by: String,
    /// Unix ms.
    pub since_ms: i64,
    /// Why, in the words of whoever paused it.
    pub why: Option<String>,
}

impl Pause {
    /// Since when and why, in words.
    pub fn since(&self) -> String {
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        match Timestamp::from_millisecond(self.since_ms) {
            Ok(since) => format!("since {since:.0}{why}"),
            Err(_) => format!("since {}, Unix time{why}", self.since_ms.div_euclid(1000)),
        }
    }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by {} {}", self.by, self.since())
    }
}

/// Returns the pause of a chain, if somebody paused it.
pub(super) fn read(conn: &dyn Database, chain: PlatformChainId) -> SqlResult<Option<Pause>> {
    conn.prepare_cached("SELECT by, since_ms, why FROM pause WHERE chain = ?1")?
        .query_row([chain.0], |row| {
            Ok(Pause { by: row.get(0)?, since_ms: row.get(1)?, why: row.get(2)? })
        })
        .optional()
}

/// Every paused chain.
pub(super) fn all(conn: &dyn Database) -> SqlResult<BTreeMap<PlatformChainId, Pause>> {
    conn.prepare("SELECT chain, by, since_ms, why FROM pause")?
        .query_map([], |row| {
            let pause = Pause { by: row.get(1)?, since_ms: row.get(2)?, why: row.get(3)? };
            Ok((PlatformChainId(row.get(0)?), pause))
        })?
        .collect()
}

/// A change to the pauses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Pause these, where they are not paused already.
    Pause(Vec<PlatformChainId>),
    /// End these pauses, each named by its chain and since when it is (Unix ms): all of them, or none
    /// where one of them is over or another one by now.
    Resume(BTreeMap<PlatformChainId, i64>),
}

/// A pause that was to be ended is not the one that there is. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "chain {0} has not been paused since then, by a caller: nothing was resumed. GET /PayTool/control tells \
     which pauses there are"
)]
pub struct OtherPause(pub PlatformChainId);

/// Pauses or resumes; tells which chains are paused then.
pub(super) fn set(
    conn: &dyn Database,
    switch: &Switch,
    now: &Pause,
) -> SqlResult<Result<BTreeMap<PlatformChainId, Pause>, OtherPause>> {
    match switch {
        Switch::Pause(chains) => {
            for chain in chains {
                if read(conn, *chain)?.is_none() {
                    let sql =
                        "INSERT INTO pause (chain, by, since_ms, why) VALUES (?1, ?2, ?3, ?4)";
                    conn.execute(sql, params![chain.0, now.by, now.since_ms, now.why])?;
                    note(conn, "paused", *chain, now)?;
                }
            }
        }
        Switch::Resume(pauses) => {
            for (chain, since_ms) in pauses {
                if read(conn, *chain)?.is_none_or(|pause| pause.since_ms != *since_ms) {
                    return Ok(Err(OtherPause(*chain)));
                }
            }
            for chain in pauses.keys() {
                conn.execute("DELETE FROM pause WHERE chain = ?1", [chain.0])?;
                note(conn, "resumed", *chain, now)?;
            }
        }
    }
    all(conn).map(Ok)
}

fn note(
    conn: &dyn Database,
    event: &str,
    chain: PlatformChainId,
    Pause { by, since_ms, why }: &Pause,
) -> SqlResult<()> {
    history::append(conn, *since_ms, event, &json!({"chain": chain.0, "by": by, "why": why}))
}
