//! Which chains are paused: on disk, so that a restart changes nothing, and looked at in the commit,
//! so that nothing slips through that was on its way.

use crate::model::{OtherPause, Pause, Switch};
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};
use crate::{HistoryEvent, NotWritten, history};
use billing::PlatformChainId;
use serde_json::json;
use std::collections::BTreeMap;

/// Returns the pause of a chain, if somebody paused it.
pub(crate) fn read(conn: &dyn Database, chain: PlatformChainId) -> SqlResult<Option<Pause>> {
    conn.prepare_cached("SELECT by, since_ms, why FROM pause WHERE chain = ?1")?
        .query_row([chain.0], |row| {
            Ok(Pause { by: row.get(0)?, since_ms: row.get(1)?, why: row.get(2)? })
        })
        .optional()
}

/// Every paused chain.
pub(crate) fn all(conn: &dyn Database) -> SqlResult<BTreeMap<PlatformChainId, Pause>> {
    conn.prepare("SELECT chain, by, since_ms, why FROM pause")?
        .query_map([], |row| {
            let pause = Pause { by: row.get(1)?, since_ms: row.get(2)?, why: row.get(3)? };
            Ok((PlatformChainId(row.get(0)?), pause))
        })?
        .collect()
}

/// Pauses or resumes; tells which chains are paused then.
pub(crate) fn set(
    conn: &dyn Database,
    switch: &Switch,
    now: &Pause,
) -> Result<BTreeMap<PlatformChainId, Pause>, NotWritten<OtherPause>> {
    match switch {
        Switch::Pause(chains) => {
            for chain in chains {
                if read(conn, *chain)?.is_none() {
                    let sql =
                        "INSERT INTO pause (chain, by, since_ms, why) VALUES (?1, ?2, ?3, ?4)";
                    conn.execute(sql, params![chain.0, now.by, now.since_ms, now.why])?;
                    note(conn, HistoryEvent::Paused, *chain, now)?;
                }
            }
        }
        Switch::Resume(pauses) => {
            for (chain, since_ms) in pauses {
                if read(conn, *chain)?.is_none_or(|pause| pause.since_ms != *since_ms) {
                    return Err(NotWritten::Refused(OtherPause(*chain)));
                }
            }
            for chain in pauses.keys() {
                conn.execute("DELETE FROM pause WHERE chain = ?1", [chain.0])?;
                note(conn, HistoryEvent::Resumed, *chain, now)?;
            }
        }
    }
    Ok(all(conn)?)
}

fn note(
    conn: &dyn Database,
    event: HistoryEvent,
    chain: PlatformChainId,
    now: &Pause,
) -> SqlResult<()> {
    let Pause { by, since_ms, why } = now;
    history::append(conn, *since_ms, event, &json!({"chain": chain.0, "by": by, "why": why}))
}
