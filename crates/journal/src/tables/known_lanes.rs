//! The accounts that have signed here, whatever is configured, and what they have left to do: so that
//! nothing is open that nobody follows, and nothing forgotten by an old copy that nobody looks for.

use crate::sql::columns::address;
use crate::sql::{Database, SqlResult, params};
use crate::tables::networks;
use crate::{Binding, Journal, JournalError, LaneId, Misbound, Network};
use billing::PlatformChainId;

/// A lane that the journal knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownLane {
    /// The lane.
    pub lane: LaneId,
    /// The network that the lane's chain stands for.
    pub network: Network,
    /// The number of its batches that the chain has not decided.
    pub open: u64,
    /// The number of the lane's charges without a period that are still guarded, by this machine's clock.
    pub guarded: u64,
    /// True if acts of the lane may be forgotten: the journal is an old copy.
    pub in_doubt: bool,
}

impl KnownLane {
    /// Returns true if the lane has nothing left to do.
    pub fn is_done(&self) -> bool {
        self.open == 0 && self.guarded == 0 && !self.in_doubt
    }
}

impl Journal {
    /// Every lane of every chain that there ever was.
    pub async fn known_lanes(&self) -> Result<Vec<KnownLane>, JournalError> {
        let now_s = self.now_ms().div_euclid(1000);
        self.queue.read(move |conn| known_lanes(conn, now_s)).await
    }

    /// Why a chain cannot be what the configuration says; none where nothing contradicts.
    pub async fn misbound(&self, binding: Binding) -> Result<Option<Misbound>, JournalError> {
        self.queue.read(move |conn| networks::contradiction(conn, &binding)).await
    }
}

/// The question for all of them. A server finds guarded charges by an index that has them alone.
pub(crate) const KNOWN_LANES: &str =
    "SELECT chain, signer, sum(open), sum(guarded), sum(doubted) FROM (
         SELECT chain, signer, 1 AS open, 0 AS guarded, 0 AS doubted
             FROM batch WHERE state = 'open'
         UNION ALL SELECT batch.chain, batch.signer, 0, 1, 0
             FROM claim JOIN batch ON batch.id = claim.batch
             WHERE claim.live = 1 AND claim.period = '' AND claim.guard_until_s > ?1
         UNION ALL SELECT chain, signer, 0, 0, 1
             FROM doubt WHERE chain IN (SELECT id FROM chain)
         UNION ALL SELECT chain, signer, 0, 0, 0 FROM lane) AS every
     GROUP BY chain, signer ORDER BY chain, signer";

fn known_lanes(conn: &dyn Database, now_s: i64) -> SqlResult<Vec<KnownLane>> {
    conn.prepare(KNOWN_LANES)?
        .query_map(params![now_s], |row| {
            let lane = LaneId { chain: PlatformChainId(row.get(0)?), signer: address(row, 1)? };
            Ok(KnownLane {
                lane,
                network: networks::of(conn, lane.chain)?,
                open: row.get(2)?,
                guarded: row.get(3)?,
                in_doubt: row.get::<u64>(4)? > 0,
            })
        })?
        .collect()
}
