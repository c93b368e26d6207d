//! The contracts on chains that claims are kept for, by numbers that stand in every claim.

use crate::Origin;
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};

/// The number of the contract that `origin` bills through; a new one, if it never billed before.
pub(crate) fn of(conn: &dyn Database, origin: &Origin) -> SqlResult<i64> {
    let (chain, contract) = (origin.lane.chain.0, origin.contract.as_slice());
    let known = "SELECT id FROM scope WHERE chain = ?1 AND contract = ?2";
    let known = conn.prepare_cached(known)?.query_row(params![chain, contract], |row| row.get(0));
    if let Some(number) = known.optional()? {
        return Ok(number);
    }
    let new = "INSERT INTO scope (chain, contract) VALUES (?1, ?2) RETURNING id";
    conn.query_row(new, params![chain, contract], |row| row.get(0))
}
