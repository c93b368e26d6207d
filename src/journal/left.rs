//! What the journal has not done with, whatever is configured: so that nothing is open that nobody
//! follows.

use super::columns::address;
use super::{Journal, JournalError, LaneId, Misbound, Network, doubt, networks};
use crate::billing::PlatformChainId;
use alloy::primitives::Address;
use rusqlite::{Connection, params};

/// A lane that the journal has not done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// The lane.
    pub lane: LaneId,
    /// What its chain stands for.
    pub network: Network,
    /// How many of its batches the chain has not decided.
    pub open: u64,
    /// How many of its charges without a period are still guarded, by this machine's clock.
    pub guarded: u64,
    /// Whether what it did may be forgotten: the journal is an old copy.
    pub in_doubt: bool,
}

impl Journal {
    /// Every lane that the journal has not done with.
    pub async fn unfinished(&self) -> Result<Vec<Unfinished>, JournalError> {
        let now_s = self.now_ms().div_euclid(1000);
        self.read(move |conn| unfinished(conn, now_s)).await
    }

    /// Another account of the lane's chain that may have forgotten what it did, if there is one.
    pub async fn another_in_doubt(&self, lane: LaneId) -> Result<Option<Address>, JournalError> {
        self.read(move |conn| doubt::another(conn, lane)).await
    }

    /// Why the platform's id `chain` cannot stand for `network`; none where nothing contradicts.
    pub async fn misbound(
        &self,
        chain: PlatformChainId,
        network: Network,
    ) -> Result<Option<Misbound>, JournalError> {
        self.read(move |conn| networks::contradiction(conn, chain, network)).await
    }
}

fn unfinished(conn: &Connection, now_s: i64) -> rusqlite::Result<Vec<Unfinished>> {
    conn.prepare(
        "SELECT chain, signer, sum(open), sum(guarded), sum(doubted) FROM (
             SELECT chain, signer, 1 AS open, 0 AS guarded, 0 AS doubted
                 FROM batch WHERE state = 'open'
             UNION ALL SELECT batch.chain, batch.signer, 0, 1, 0
                 FROM claim JOIN batch ON batch.id = claim.batch
                 WHERE claim.live = 1 AND claim.period = '' AND claim.guard_until_s > ?1
             UNION ALL SELECT chain, signer, 0, 0, 1
                 FROM doubt WHERE chain IN (SELECT id FROM chain))
         GROUP BY chain, signer ORDER BY chain, signer",
    )?
    .query_map(params![now_s], |row| {
        let lane = LaneId { chain: PlatformChainId(row.get(0)?), signer: address(row, 1)? };
        Ok(Unfinished {
            lane,
            network: networks::of(conn, lane.chain)?,
            open: row.get(2)?,
            guarded: row.get(3)?,
            in_doubt: row.get::<_, u64>(4)? > 0,
        })
    })?
    .collect()
}
