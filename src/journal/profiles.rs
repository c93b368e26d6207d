//! How contracts were called when batches were signed. A batch names its own, so that its transaction is
//! read by what its charges and events meant then.

use super::columns::address;
use super::{Origin, history};
use crate::billing::PlatformChainId;
use alloy::primitives::Address;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::json;
use std::sync::Arc;

/// The number of this profile. One that is new is a row of the history.
pub(super) fn number(
    conn: &Connection,
    origin: &Origin,
    body: &str,
    at_ms: i64,
) -> rusqlite::Result<i64> {
    let (chain, contract) = (origin.lane.chain.0, origin.contract);
    let known = conn
        .prepare_cached("SELECT id FROM profile WHERE chain = ?1 AND contract = ?2 AND body = ?3")?
        .query_row(params![chain, contract.as_slice(), body], |row| row.get(0))
        .optional()?;
    if let Some(number) = known {
        return Ok(number);
    }
    let sql = "INSERT INTO profile (chain, contract, body) VALUES (?1, ?2, ?3)";
    conn.execute(sql, params![chain, contract.as_slice(), body])?;
    let number = conn.last_insert_rowid();
    let told = json!({"profile": number, "chain": chain, "contract": contract, "body": body});
    history::append(conn, at_ms, "profile", &told)?;
    Ok(number)
}

/// Every profile that batches on a chain were signed by, with its contract.
pub(super) fn all(
    conn: &Connection,
    chain: PlatformChainId,
) -> rusqlite::Result<Vec<(Address, Arc<str>)>> {
    conn.prepare_cached("SELECT contract, body FROM profile WHERE chain = ?1 ORDER BY id")?
        .query_map([chain.0], |row| Ok((address(row, 0)?, row.get::<_, String>(1)?.into())))?
        .collect()
}

/// A profile that is not what the history says of it, or that it does not know.
const CHANGED: &str = "
    SELECT 'profile ' || coalesce(told.id, profile.id) || ' differs from what was written down'
    FROM profile FULL JOIN (
        SELECT body ->> 'profile' AS id, body ->> 'body' AS body, body ->> 'contract' AS contract
        FROM history WHERE event = 'profile') AS told ON told.id = profile.id
    WHERE told.body IS NOT profile.body
       OR told.contract IS NOT '0x' || lower(hex(profile.contract))";

/// A batch that names another profile than it was accepted with.
const EXCHANGED: &str = "
    SELECT 'batch ' || batch.id || ' names another profile than it was signed by'
    FROM history JOIN batch ON batch.id = history.body ->> 'batch'
    WHERE event IN ('accepted', 'adopted') AND batch.profile IS NOT history.body ->> 'profile'";

/// What is wrong with them, by the history.
pub(super) fn faults(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut faults = Vec::new();
    for sql in [CHANGED, EXCHANGED] {
        let mut select = conn.prepare(sql)?;
        let found = select.query_map([], |row| row.get(0))?;
        faults.extend(found.collect::<Result<Vec<String>, _>>()?);
    }
    Ok(faults)
}
