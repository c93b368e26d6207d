//! Lanes in doubt: the journal was restored from an old copy, so what they have sent since is
//! forgotten. That is kept in the journal itself until it is learnt, however often it is opened.

use super::history;
use crate::billing::PlatformChainId;
use alloy::primitives::{Address, B256};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::json;

/// Writes down that this journal is an old copy that knows nothing of what came after its newest
/// row. A lane that was in doubt already stays so since then.
pub(super) fn begin(conn: &Connection, at_ms: i64) -> rusqlite::Result<()> {
    let transaction = conn.unchecked_transaction()?;
    let newest = "SELECT at_ms FROM history ORDER BY seq DESC LIMIT 1";
    let since_ms: i64 = conn.query_row(newest, [], |row| row.get(0)).optional()?.unwrap_or(0);
    let text = since_ms.to_string();
    conn.execute("INSERT OR REPLACE INTO meta VALUES ('restored', ?1)", [&text])?;
    conn.execute(
        "INSERT OR IGNORE INTO meta
         SELECT 'doubt ' || chain || ' ' || lower(hex(signer)), ?1 FROM lane",
        [&text],
    )?;
    history::append(conn, at_ms, "restored", &json!({ "known_until_ms": since_ms }))?;
    transaction.commit()
}

/// Puts a lane in doubt that the old copy may not even know.
pub(super) fn include(
    conn: &Connection,
    chain: PlatformChainId,
    signer: Address,
) -> rusqlite::Result<()> {
    conn.execute(
        "INSERT OR IGNORE INTO meta
         VALUES (?1, coalesce((SELECT value FROM meta WHERE name = 'restored'), '0'))",
        [name(chain, signer)],
    )
    .map(drop)
}

/// Until when the journal knows what the lane did, Unix ms; none when it knows everything.
pub(super) fn since(
    conn: &Connection,
    chain: PlatformChainId,
    signer: Address,
) -> rusqlite::Result<Option<i64>> {
    conn.query_row("SELECT value FROM meta WHERE name = ?1", [name(chain, signer)], |row| {
        Ok(row.get_ref(0)?.as_str()?.parse().unwrap_or(0))
    })
    .optional()
}

/// Ends the doubt: everything that was forgotten is learnt.
pub(super) fn end(
    conn: &Connection,
    (chain, signer): (PlatformChainId, Address),
    at_ms: i64,
) -> rusqlite::Result<()> {
    conn.execute("DELETE FROM meta WHERE name = ?1", [name(chain, signer)])?;
    let body = json!({"chain": chain.0, "signer": signer});
    history::append(conn, at_ms, "learnt what was forgotten", &body)
}

/// Which of these transactions the journal does not know, in the same order.
pub(super) fn unknown(conn: &Connection, hashes: Vec<B256>) -> rusqlite::Result<Vec<B256>> {
    let mut select = conn.prepare_cached("SELECT 1 FROM attempt WHERE hash = ?1")?;
    let mut unknown = Vec::new();
    for hash in hashes {
        if !select.exists(params![hash.as_slice()])? {
            unknown.push(hash);
        }
    }
    Ok(unknown)
}

fn name(chain: PlatformChainId, signer: Address) -> String {
    format!("doubt {} {}", chain.0, hex::encode(signer))
}
