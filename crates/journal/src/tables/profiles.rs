//! The profiles of contracts at the time when batches were signed. A batch names its own profile, so that its
//! transaction is read by the meaning that its charges and events had then.

use crate::history::HistoryRow;
use crate::sql::columns::address;
use crate::sql::{Database, SqlResult, params};
use crate::{HistoryEvent, Origin, history};
use alloy::primitives::Address;
use billing::PlatformChainId;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Gives a profile that is new its number, which is a row of the history.
pub(crate) fn add(conn: &dyn Database, origin: &Origin, body: &str, at_ms: i64) -> SqlResult<i64> {
    let (chain, contract) = (origin.lane.chain.0, origin.contract);
    let sql = "INSERT INTO profile (chain, contract, body) VALUES (?1, ?2, ?3) RETURNING id";
    let new = params![chain, contract.as_slice(), body];
    let number: i64 = conn.query_row(sql, new, |row| row.get(0))?;
    let told = json!({"profile": number, "chain": chain, "contract": contract, "body": body});
    history::append(conn, at_ms, HistoryEvent::Profile, &told)?;
    Ok(number)
}

/// Every profile that batches on a chain were signed by, with its contract.
pub(crate) fn all(
    conn: &dyn Database,
    chain: PlatformChainId,
) -> SqlResult<Vec<(Address, Arc<str>)>> {
    conn.prepare_cached("SELECT contract, body FROM profile WHERE chain = ?1 ORDER BY id")?
        .query_map([chain.0], |row| Ok((address(row, 0)?, row.get::<String>(1)?.into())))?
        .collect()
}

/// The profiles that the history has told of, as an audit walks through it.
#[derive(Debug, Default)]
pub(crate) struct ProfileAudit {
    told: BTreeSet<i64>,
}

impl ProfileAudit {
    /// Takes in one row; tells what is wrong with the profile that it tells of.
    pub(crate) fn follow(
        &mut self,
        conn: &dyn Database,
        row: &HistoryRow<'_>,
        body: &Value,
    ) -> SqlResult<Option<String>> {
        if row.kind() != Some(HistoryEvent::Profile) {
            return Ok(None);
        }
        let number = body.get("profile").and_then(Value::as_i64).unwrap_or_default();
        let text = |key| body.get(key).and_then(Value::as_str);
        let contract = text("contract").and_then(|told| told.parse::<Address>().ok());
        let contract = contract.unwrap_or_default();
        let sql = "SELECT 1 FROM profile WHERE id = ?1 AND body = ?2 AND contract = ?3";
        let kept = params![number, text("body"), contract.as_slice()];
        let same = self.told.insert(number) && conn.prepare_cached(sql)?.exists(kept)?;
        Ok((!same).then(|| changed(number)))
    }

    /// Profiles that no row tells of.
    pub(crate) fn untold(&self, conn: &dyn Database) -> SqlResult<Vec<String>> {
        let mut select = conn.prepare("SELECT id FROM profile ORDER BY id")?;
        let all: Vec<i64> = select.query_map([], |row| row.get(0))?.collect::<SqlResult<_>>()?;
        Ok(all.into_iter().filter(|id| !self.told.contains(id)).map(changed).collect())
    }
}

fn changed(number: i64) -> String {
    format!("profile {number} differs from what was written down")
}
