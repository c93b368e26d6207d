//! The canonical blocks of both chains, and how a stored branch gives way to another.

use super::{Error, Store, int, uint};
use crate::chain::{Point, Recorded};
use alloy::primitives::B256;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

fn point(row: &Row<'_>) -> Result<Point, Error> {
    let id: Vec<u8> = row.get(1)?;
    Ok(Point {
        number: uint(row.get(0)?),
        id: B256::try_from(id.as_slice()).unwrap_or_default(),
        time_ms: uint(row.get(2)?),
    })
}

impl Store {
    /// The newest stored block of a chain.
    pub(crate) fn newest(&self, chain: u32) -> Result<Option<Point>, Error> {
        let select =
            "SELECT number, id, time_ms FROM blocks WHERE chain = ?1 ORDER BY number DESC LIMIT 1";
        self.lock().prepare_cached(select)?.query_row([chain], point).optional()
    }

    /// The stored block of a chain at a height.
    pub(crate) fn stored(&self, chain: u32, number: u64) -> Result<Option<Point>, Error> {
        let select = "SELECT number, id, time_ms FROM blocks WHERE chain = ?1 AND number = ?2";
        self.lock().prepare_cached(select)?.query_row(params![chain, int(number)], point).optional()
    }

    /// The stored blocks of a chain above a height, up to `most` of them, oldest first.
    pub(crate) fn above(&self, chain: u32, number: u64, most: u32) -> Result<Vec<Recorded>, Error> {
        let connection = self.lock();
        let select = "SELECT number, id, time_ms, forks, price FROM blocks WHERE chain = ?1 AND number > ?2 ORDER BY number LIMIT ?3";
        let mut blocks = connection.prepare_cached(select)?;
        let rows = blocks.query_map(params![chain, int(number), most], |row| {
            let (forks, price) = (uint(row.get(3)?), uint(row.get(4)?));
            Ok(Recorded { point: point(row)?, forks, price, txs: vec![] })
        })?;
        let mut found = rows.collect::<Result<Vec<_>, _>>()?;
        let mut txs = connection.prepare_cached(
            "SELECT raw FROM txs WHERE chain = ?1 AND number = ?2 ORDER BY place",
        )?;
        for block in &mut found {
            let raw = txs.query_map(params![chain, int(block.point.number)], |row| row.get(0))?;
            block.txs = raw.collect::<Result<_, _>>()?;
        }
        Ok(found)
    }
}

/// Stores a block.
pub(crate) fn put(connection: &Connection, chain: u32, block: &Recorded) -> Result<(), Error> {
    let Point { number, id, time_ms } = block.point;
    let insert = "INSERT INTO blocks (chain, number, id, time_ms, forks, price) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let row = params![
        chain,
        int(number),
        id.as_slice(),
        int(time_ms),
        int(block.forks),
        int(block.price)
    ];
    connection.prepare_cached(insert)?.execute(row)?;
    for (place, raw) in (0_i64..).zip(&block.txs) {
        connection
            .prepare_cached("INSERT INTO txs (chain, number, place, raw) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![chain, int(number), place, raw])?;
    }
    Ok(())
}

/// Forgets the blocks from a height on, and what they told. Deposits in them are pending again, in no block.
pub(crate) fn forget_from(connection: &Connection, chain: u32, number: u64) -> Result<(), Error> {
    for delete in [
        "DELETE FROM txs WHERE chain = ?1 AND number >= ?2",
        "DELETE FROM blocks WHERE chain = ?1 AND number >= ?2",
        "DELETE FROM events WHERE chain = ?1 AND block >= ?2",
        "UPDATE recharges SET block = NULL WHERE chain = ?1 AND block >= ?2",
    ] {
        connection.prepare_cached(delete)?.execute(params![chain, int(number)])?;
    }
    Ok(())
}
