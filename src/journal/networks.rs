//! What the platform's ids of chains stand for. Claims are kept by those ids, so an id stands for one
//! network for ever, and a network for one id: otherwise a renumbered chain would forget its claims.

use super::columns::{address, family, family_word};
use super::history;
use super::sql::{Database, OptionalExtension as _, Row, SqlResult, params};
use crate::billing::{Family, PlatformChainId};
use alloy::primitives::Address;
use serde_json::json;
use std::fmt;

/// A network, whatever the platform calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its family.
    pub family: Family,
    /// Its EIP-155 id; on TRON, the last four bytes of its genesis block's id.
    pub id: u64,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family {
            Family::Evm => write!(f, "the EVM chain with the id {} of EIP-155", self.id),
            Family::Tvm => write!(f, "the TRON chain {:#010x}", self.id),
        }
    }
}

/// Why a chain of the configuration is not one that the journal knows. Nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misbound {
    /// The id stands for another network.
    #[error(
        "the journal keeps claims of {before} under [chains.{chain}], which is now {now}: give the \
         new network an id of its own, or a journal of its own"
    )]
    Network {
        /// The platform's id.
        chain: PlatformChainId,
        /// What the journal knows.
        before: Network,
        /// What the configuration says.
        now: Network,
    },
    /// The network has another id.
    #[error(
        "the journal keeps the claims of {network} under [chains.{before}], and the configuration \
         calls it [chains.{chain}]: charges would be forgotten. Use the id {before} again, or move \
         all of them: `merchant-signer networks rename {before} {chain} --why \"…\"`"
    )]
    Chain {
        /// The network.
        network: Network,
        /// The id in the journal.
        before: PlatformChainId,
        /// The id in the configuration.
        chain: PlatformChainId,
    },
}

/// Has `chain` stand for `network`, and be billed through `contract`, from now on, if nothing
/// contradicts the network.
pub(super) fn bind(
    conn: &dyn Database,
    chain: PlatformChainId,
    network: Network,
    contract: Address,
    at_ms: i64,
) -> SqlResult<Result<(), Misbound>> {
    if let Some(misbound) = contradiction(conn, chain, network)? {
        return Ok(Err(misbound));
    }
    let word = family_word(network.family);
    let by_id = "SELECT contract FROM chain WHERE id = ?1";
    let event = match conn.query_row(by_id, [chain.0], |row| address(row, 0)).optional()? {
        Some(before) if before == contract => return Ok(Ok(())),
        Some(_) => {
            let sql = "UPDATE chain SET contract = ?2 WHERE id = ?1";
            conn.execute(sql, params![chain.0, contract.as_slice()])?;
            "contract changed"
        }
        None => {
            conn.execute(
                "INSERT INTO chain (id, family, network, contract, bound_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![chain.0, word, network.id, contract.as_slice(), at_ms],
            )?;
            "chain bound"
        }
    };
    let body =
        json!({"chain": chain.0, "family": word, "network": network.id, "contract": contract});
    history::append(conn, at_ms, event, &body)?;
    Ok(Ok(()))
}

/// Why `chain` cannot stand for `network`; none where nothing contradicts.
pub(super) fn contradiction(
    conn: &dyn Database,
    chain: PlatformChainId,
    network: Network,
) -> SqlResult<Option<Misbound>> {
    let by_id = "SELECT family, network FROM chain WHERE id = ?1";
    match conn.query_row(by_id, [chain.0], read).optional()? {
        Some(before) if before == network => return Ok(None),
        Some(before) => return Ok(Some(Misbound::Network { chain, before, now: network })),
        None => {}
    }
    let sql = "SELECT id FROM chain WHERE family = ?1 AND network = ?2";
    let known = params![family_word(network.family), network.id];
    let other = conn.query_row(sql, known, |row| row.get(0)).optional()?.map(PlatformChainId);
    Ok(other.map(|before| Misbound::Chain { network, before, chain }))
}

fn read(row: &Row<'_>) -> SqlResult<Network> {
    Ok(Network { family: family(row, 0)?, id: row.get(1)? })
}

/// What `chain` stands for.
pub(super) fn of(conn: &dyn Database, chain: PlatformChainId) -> SqlResult<Network> {
    let by_id = "SELECT family, network FROM chain WHERE id = ?1";
    conn.prepare_cached(by_id)?.query_row([chain.0], read)
}

/// Whether binding would change nothing.
pub(super) fn is_bound(
    conn: &dyn Database,
    chain: PlatformChainId,
    network: Network,
    contract: Address,
) -> SqlResult<bool> {
    let by_id = "SELECT family, network, contract FROM chain WHERE id = ?1";
    let known = conn.query_row(by_id, [chain.0], |row| Ok((read(row)?, address(row, 2)?)));
    Ok(known.optional()? == Some((network, contract)))
}

/// Every id of the platform that is known, and the contract that is billed through now.
pub(super) fn all(conn: &dyn Database) -> SqlResult<Vec<(PlatformChainId, Address)>> {
    conn.prepare_cached("SELECT id, contract FROM chain ORDER BY id")?
        .query_map([], |row| Ok((PlatformChainId(row.get(0)?), address(row, 1)?)))?
        .collect()
}
