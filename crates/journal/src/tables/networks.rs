//! The networks that the platform's ids of chains stand for, and the terms by which claims on them are kept. An id
//! stands for one network for ever, and a network for one id; the contract, and the naming of its periods, change
//! by a person's word alone: otherwise claims would be forgotten.

use crate::model::{Binding, Misbound, Network};
use crate::sql::columns::{address, family};
use crate::sql::{Database, OptionalExtension as _, Row, SqlResult, params};
use crate::{HistoryEvent, JournalError, history};
use alloy::primitives::Address;
use billing::{PeriodNaming, PlatformChainId};
use serde_json::json;
use std::collections::BTreeMap;

/// Has the journal know a chain as the configuration has it, from now on, if nothing contradicts.
pub(crate) fn bind(conn: &dyn Database, binding: &Binding, at_ms: i64) -> Result<(), JournalError> {
    if let Some(misbound) = contradiction(conn, binding)? {
        return Err(misbound.into());
    }
    if is_bound(conn, binding)? {
        return Ok(());
    }
    let Binding { chain, network, contract, naming } = binding;
    let word = network.family.word();
    conn.execute(
        "INSERT INTO chain (id, family, network, contract, bound_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![chain.0, word, network.id, contract.as_slice(), at_ms],
    )?;
    name_periods(conn, binding.key(), naming, 0)?;
    let body = json!({"chain": chain.0, "family": word, "network": network.id, "contract": contract,
                      "period": naming_text(naming), "since": 0});
    Ok(history::append(conn, at_ms, HistoryEvent::ChainBound, &body)?)
}

impl Binding {
    fn key(&self) -> ContractKey {
        ContractKey { chain: self.chain, contract: self.contract }
    }
}

/// A contract on a chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContractKey {
    pub(crate) chain: PlatformChainId,
    pub(crate) contract: Address,
}

/// Writes down what names the periods of a contract's charges, from the batch `since` on.
pub(crate) fn name_periods(
    conn: &dyn Database,
    ContractKey { chain, contract }: ContractKey,
    naming: &PeriodNaming,
    since: i64,
) -> SqlResult<()> {
    let sql = "INSERT INTO contract (chain, address, period, since) VALUES (?1, ?2, ?3, ?4)
               ON CONFLICT (chain, address) DO UPDATE SET period = EXCLUDED.period, since = EXCLUDED.since";
    let row = params![chain.0, contract.as_slice(), naming_text(naming), since];
    conn.execute(sql, row).map(drop)
}

/// Returns the naming of the periods of a contract's charges, and the batch from which it holds; none if the
/// contract is new.
pub(crate) fn named(
    conn: &dyn Database,
    ContractKey { chain, contract }: ContractKey,
) -> SqlResult<Option<(PeriodNaming, i64)>> {
    let sql = "SELECT period, since FROM contract WHERE chain = ?1 AND address = ?2";
    let read = |row: &Row<'_>| Ok((naming(row.get(0)?), row.get(1)?));
    conn.prepare_cached(sql)?.query_row(params![chain.0, contract.as_slice()], read).optional()
}

/// The contracts whose periods were named otherwise before, as of when the journal was opened: they change between
/// two processes alone.
#[derive(Debug)]
pub(crate) struct Renamed(BTreeMap<(PlatformChainId, Address), i64>);

impl Renamed {
    pub(crate) fn read(conn: &dyn Database) -> SqlResult<Self> {
        let sql = "SELECT chain, address, since FROM contract WHERE since > 0";
        let mut select = conn.prepare(sql)?;
        let all = select.query_map([], |row| {
            Ok(((PlatformChainId(row.get(0)?), address(row, 1)?), row.get(2)?))
        })?;
        all.collect::<SqlResult<_>>().map(Self)
    }

    /// The first batch whose periods are named as they are now; 0 where they always were.
    pub(crate) fn since(&self, chain: PlatformChainId, contract: Address) -> i64 {
        self.0.get(&(chain, contract)).copied().unwrap_or(0)
    }
}

/// As its column has it. No field has an empty name.
pub(crate) fn naming_text(naming: &PeriodNaming) -> &str {
    match naming {
        PeriodNaming::Field(name) => name,
        PeriodNaming::Guard => "",
    }
}

fn naming(text: String) -> PeriodNaming {
    if text.is_empty() { PeriodNaming::Guard } else { PeriodNaming::Field(text) }
}

/// Why a chain cannot be what the configuration says; none where nothing contradicts.
pub fn contradiction(conn: &dyn Database, binding: &Binding) -> SqlResult<Option<Misbound>> {
    let (chain, network) = (binding.chain, binding.network);
    let by_id = "SELECT family, network, contract FROM chain WHERE id = ?1";
    let known = |row: &Row<'_>| Ok((read(row)?, address(row, 2)?));
    match conn.query_row(by_id, [chain.0], known).optional()? {
        Some((before, contract)) if before == network => {
            return changed(conn, binding, contract);
        }
        Some((before, _)) => {
            return Ok(Some(Misbound::Network { chain, before, now: network }));
        }
        None => {}
    }
    let sql = "SELECT id FROM chain WHERE family = ?1 AND network = ?2";
    let known = params![network.family.word(), network.id];
    let other = conn.query_row(sql, known, |row| row.get(0)).optional()?.map(PlatformChainId);
    Ok(other.map(|before| Misbound::Chain { network, before, chain }))
}

/// Returns the difference in the binding of a chain that is billed through `before`.
fn changed(conn: &dyn Database, binding: &Binding, before: Address) -> SqlResult<Option<Misbound>> {
    let Binding { chain, network, contract: now, naming } = binding;
    if before != *now {
        let family = network.family;
        return Ok(Some(Misbound::Contract { chain: *chain, family, before, now: *now }));
    }
    let named = named(conn, binding.key())?.map(|(before, _)| before);
    let other = named.filter(|before| before != naming);
    Ok(other.map(|before| Misbound::Naming { chain: *chain, before, now: naming.clone() }))
}

fn read(row: &Row<'_>) -> SqlResult<Network> {
    Ok(Network { family: family(row, 0)?, id: row.get(1)? })
}

/// Returns the network that `chain` stands for.
pub(crate) fn of(conn: &dyn Database, chain: PlatformChainId) -> SqlResult<Network> {
    let by_id = "SELECT family, network FROM chain WHERE id = ?1";
    conn.prepare_cached(by_id)?.query_row([chain.0], read)
}

/// Returns true if binding would change nothing.
pub(crate) fn is_bound(conn: &dyn Database, binding: &Binding) -> SqlResult<bool> {
    let known = "SELECT 1 FROM chain WHERE id = ?1";
    Ok(conn.prepare_cached(known)?.exists([binding.chain.0])?
        && contradiction(conn, binding)?.is_none())
}

/// Every id of the platform that is known, and the contract that is billed through now.
pub(crate) fn all(conn: &dyn Database) -> SqlResult<Vec<ContractKey>> {
    conn.prepare_cached("SELECT id, contract FROM chain ORDER BY id")?
        .query_map([], |row| {
            Ok(ContractKey { chain: PlatformChainId(row.get(0)?), contract: address(row, 1)? })
        })?
        .collect()
}
