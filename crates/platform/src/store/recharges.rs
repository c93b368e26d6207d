//! Deposits to the addresses of users.

use super::{Error, Store, int, uint};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// A deposit that is in a block.
#[derive(Clone, Debug)]
pub(crate) struct Recharge {
    pub(crate) id: u64,
    pub(crate) chain: u32,
    /// `rechargeStatus`: 0 success, 1 pending.
    pub(crate) status: u8,
    /// Base units.
    pub(crate) amount: String,
    pub(crate) tx: String,
    pub(crate) sender: String,
    /// Block time (ms).
    pub(crate) time_ms: u64,
    pub(crate) created_ms: u64,
    pub(crate) wallet: u64,
    pub(crate) address: String,
    pub(crate) user: u64,
    pub(crate) uuid: String,
}

/// A transfer to a deposit address, as it was seen in a block.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) chain: u32,
    pub(crate) wallet: u64,
    pub(crate) amount: String,
    pub(crate) tx: String,
    pub(crate) log: u64,
    pub(crate) sender: String,
    pub(crate) block: u64,
    pub(crate) time_ms: u64,
    pub(crate) now_ms: u64,
}

const SELECT: &str = "SELECT r.*, w.address, w.user, u.uuid FROM recharges r
    JOIN wallets w ON w.id = r.wallet JOIN users u ON u.id = w.user";

fn read(row: &Row<'_>) -> Result<Recharge, Error> {
    Ok(Recharge {
        id: uint(row.get("id")?),
        chain: row.get("chain")?,
        status: row.get("status")?,
        amount: row.get("amount")?,
        tx: row.get("tx")?,
        sender: row.get("sender")?,
        time_ms: uint(row.get("time_ms")?),
        created_ms: uint(row.get("created_ms")?),
        wallet: uint(row.get("wallet")?),
        address: row.get("address")?,
        user: uint(row.get("user")?),
        uuid: row.get("uuid")?,
    })
}

/// Writes down a deposit, or that one is in a block again.
pub(crate) fn put(connection: &Connection, seen: &Seen) -> Result<(), Error> {
    let upsert = "INSERT INTO recharges (chain, wallet, status, amount, tx, log, sender, block, time_ms, created_ms)
        VALUES (?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        ON CONFLICT (chain, tx, log) DO UPDATE SET block = ?7, time_ms = ?8";
    connection.prepare_cached(upsert)?.execute(params![
        seen.chain,
        int(seen.wallet),
        seen.amount,
        seen.tx,
        int(seen.log),
        seen.sender,
        int(seen.block),
        int(seen.time_ms),
        int(seen.now_ms),
    ])?;
    Ok(())
}

/// Makes the deposits final that are in blocks up to a height, and gives them.
pub(crate) fn confirm(
    connection: &Connection,
    chain: u32,
    solid: u64,
) -> Result<Vec<Recharge>, Error> {
    let select =
        format!("{SELECT} WHERE r.chain = ?1 AND r.status = 1 AND r.block <= ?2 ORDER BY r.id");
    let mut statement = connection.prepare_cached(&select)?;
    let mut found: Vec<Recharge> =
        statement.query_map(params![chain, int(solid)], read)?.collect::<Result<_, _>>()?;
    for recharge in &mut found {
        recharge.status = 0;
        connection
            .prepare_cached("UPDATE recharges SET status = 0 WHERE id = ?1")?
            .execute([int(recharge.id)])?;
    }
    Ok(found)
}

impl Store {
    /// The deposit with an id, unless a reorganisation took it away.
    pub(crate) fn recharge(&self, id: u64) -> Result<Option<Recharge>, Error> {
        let select = format!("{SELECT} WHERE r.id = ?1 AND r.block IS NOT NULL");
        self.lock().prepare_cached(&select)?.query_row([int(id)], read).optional()
    }

    /// All deposits that are in a block, newest first.
    pub(crate) fn recharges(&self) -> Result<Vec<Recharge>, Error> {
        let connection = self.lock();
        let select = format!("{SELECT} WHERE r.block IS NOT NULL ORDER BY r.id DESC LIMIT 500");
        let mut statement = connection.prepare_cached(&select)?;
        statement.query_map([], read)?.collect()
    }
}
