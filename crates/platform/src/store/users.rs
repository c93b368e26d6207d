//! Users of the merchant and their deposit addresses.

use super::{Error, Store, int, uint};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// A user with a deposit address on every chain.
#[derive(Clone, Debug)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) uuid: String,
    /// 0 is a recharge user.
    pub(crate) kind: u8,
    pub(crate) created_ms: u64,
    pub(crate) wallets: Vec<Wallet>,
}

/// A deposit address.
#[derive(Clone, Debug)]
pub(crate) struct Wallet {
    pub(crate) id: u64,
    pub(crate) chain: u32,
    /// As people write it.
    pub(crate) address: String,
}

fn wallet(row: &Row<'_>) -> Result<Wallet, Error> {
    Ok(Wallet { id: uint(row.get("id")?), chain: row.get("chain")?, address: row.get("address")? })
}

fn wallets(connection: &Connection, user: u64) -> Result<Vec<Wallet>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT * FROM wallets WHERE user = ?1 ORDER BY chain")?;
    statement.query_map([int(user)], wallet)?.collect()
}

fn user(connection: &Connection, row: &Row<'_>) -> Result<User, Error> {
    let id = uint(row.get("id")?);
    Ok(User {
        id,
        uuid: row.get("uuid")?,
        kind: row.get("user_type")?,
        created_ms: uint(row.get("created_ms")?),
        wallets: wallets(connection, id)?,
    })
}

/// Returns the wallet whose deposit address this is.
pub(crate) fn at(
    connection: &Connection,
    chain: u32,
    address: &str,
) -> Result<Option<Wallet>, Error> {
    connection
        .prepare_cached("SELECT * FROM wallets WHERE chain = ?1 AND address = ?2")?
        .query_row(params![chain, address], wallet)
        .optional()
}

impl Store {
    /// The user with a uuid, who is made if there is none; `address` gives the deposit address of a user on a chain.
    pub(crate) fn add_user(
        &self,
        uuid: &str,
        now_ms: u64,
        chains: &[u32],
        address: impl Fn(u64, u32) -> String,
    ) -> Result<u64, Error> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        transaction.execute(
            "INSERT INTO users (id, uuid, user_type, created_ms)
             SELECT max(coalesce(max(id), 0), 50000) + 1, ?1, 0, ?2 FROM users WHERE true ON CONFLICT DO NOTHING",
            params![uuid, int(now_ms)],
        )?;
        let find = "SELECT id FROM users WHERE uuid = ?1";
        let id = transaction.query_row(find, [uuid], |row| Ok(uint(row.get(0)?)))?;
        for chain in chains {
            let insert = "INSERT INTO wallets (user, chain, address) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
            transaction.execute(insert, params![int(id), chain, address(id, *chain)])?;
        }
        transaction.commit()?;
        Ok(id)
    }

    /// The user with a uuid or an id.
    pub(crate) fn user(&self, uuid: Option<&str>, id: Option<u64>) -> Result<Option<User>, Error> {
        let connection = self.lock();
        let select =
            "SELECT * FROM users WHERE (?1 IS NULL OR uuid = ?1) AND (?2 IS NULL OR id = ?2)
            AND (?1 IS NOT NULL OR ?2 IS NOT NULL)";
        connection
            .prepare_cached(select)?
            .query_row(params![uuid, id.map(int)], |row| user(&connection, row))
            .optional()
    }

    /// All users.
    pub(crate) fn users(&self) -> Result<Vec<User>, Error> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT * FROM users ORDER BY id DESC LIMIT 500")?;
        statement.query_map([], |row| user(&connection, row))?.collect()
    }
}
