//! The journal's account of a lane's past when a process begins.

use crate::LaneId;
use crate::found_at_start::FoundAtStart;
use crate::model::{FailedBilling, Past};
use crate::sql::columns::{ending, hash, number};
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};
use crate::tables::profiles;
use crate::tables::renames::Renames;
use billing::BlockRef;

/// The number of the lane's newest batches that are looked at.
const NEWEST: u32 = 256;

/// When everything about a lane was last known. By the index on the rows that tell of it: see schema.sql.
pub(crate) const LEARNT: &str = "SELECT max(at_ms) FROM history
    WHERE event IN ('lane opened', 'learnt what was forgotten') AND seq > ?3 AND seq < ?4
    AND CAST(json_extract(body, '$.chain') AS BIGINT) = ?1 AND json_extract(body, '$.signer') = ?2";

/// Until when the journal knows for sure what the lane's account did, Unix ms: by the time of the newest
/// block that holds a transaction of it, and by this machine's clock when the lane was opened or
/// everything was learnt, less what clocks may differ. None before the lane is opened.
pub(crate) fn known_until(
    conn: &dyn Database,
    lane: LaneId,
    found: &FoundAtStart,
) -> SqlResult<Option<i64>> {
    let (chain, signer) = (lane.chain.0, lane.signer.as_slice());
    let block_s: Option<i64> = conn.query_row(
        "SELECT max(block_s) FROM (
             SELECT block_s FROM batch WHERE chain = ?1 AND signer = ?2 AND lost = 0
             AND winner IS NOT NULL ORDER BY position DESC LIMIT ?3) AS newest",
        params![chain, signer, NEWEST],
        |row| row.get(0),
    )?;
    let learnt_ms = learnt(conn, lane)?.map(|ms| found.by_blocks(ms));
    Ok(block_s.map(|s| s.saturating_mul(1000)).max(learnt_ms))
}

/// When everything about the lane was last known, Unix ms, whatever its chain was called then.
fn learnt(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<i64>> {
    let (signer, mut select) = (format!("{:#x}", lane.signer), conn.prepare_cached(LEARNT)?);
    let mut newest: Option<i64> = None;
    for id in Renames::read(conn)?.ids_of(lane.chain) {
        let of = params![id.chain, signer, id.after, id.before];
        newest = newest.max(select.query_row(of, |row| row.get(0))?);
    }
    Ok(newest)
}

/// Those of the lane's newest batches that ended in this state. A lane of which none ever did is not read from
/// end to end.
const ENDED: &str = "FROM (
        SELECT id, position, state, winner, settled_ms, ending, fee, hash, raw FROM batch
        WHERE chain = ?1 AND signer = ?2 AND lost = 0 ORDER BY position DESC LIMIT 4096) AS newest
    WHERE state = ?3 ORDER BY position DESC LIMIT ?4";

/// Reads the ends of the lane's newest batches, as far back as `since_ms` (Unix ms of this machine).
pub(crate) fn past(conn: &dyn Database, lane: LaneId, since_ms: i64) -> SqlResult<Past> {
    let (chain, signer) = (lane.chain.0, lane.signer.as_slice());
    let sql = format!(
        "SELECT winner, raw, settled_ms,
                (SELECT count(*) FROM claim WHERE claim.batch = ended.id), ending, fee
         FROM (SELECT id, winner, settled_ms, ending, fee, CASE WHEN hash = winner THEN raw ELSE
                   (SELECT raw FROM later_attempt AS later
                    WHERE later.batch = newest.id AND later.hash = winner) END AS raw {ENDED}) AS ended
         WHERE settled_ms >= ?5 AND raw IS NOT NULL ORDER BY settled_ms"
    );
    let failed = conn
        .prepare(&sql)?
        .query_map(params![chain, signer, "reverted", NEWEST, since_ms], |row| {
            let told = row.get::<Option<String>>(4)?.is_some();
            Ok(FailedBilling {
                hash: hash(row, 0)?,
                raw: row.get(1)?,
                settled_ms: row.get(2)?,
                charges: row.get(3)?,
                ending: told.then(|| ending(row, 4)).transpose()?,
                fee: told.then(|| number(row, 5)).transpose()?,
            })
        })?
        .collect::<Result<_, _>>()?;
    let newest = format!("SELECT max(settled_ms) FROM (SELECT settled_ms {ENDED}) AS ended");
    let charged_ms =
        conn.query_row(&newest, params![chain, signer, "charged", NEWEST], |row| row.get(0))?;
    let accepted = "SELECT max(accepted_ms) FROM (SELECT accepted_ms FROM batch
        WHERE chain = ?1 AND signer = ?2 AND lost = 0 ORDER BY position DESC LIMIT 1) AS newest";
    let accepted_ms = conn.query_row(accepted, params![chain, signer], |row| row.get(0))?;
    let decided = newest_decided(conn, lane)?;
    let profiles = profiles::all(conn, lane.chain)?;
    Ok(Past { failed, charged_ms, accepted_ms, decided, profiles })
}

/// Returns the newest block by which one of the lane's newest batches was decided, of those whose hash is known.
fn newest_decided(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<BlockRef>> {
    let sql = "SELECT block, block_s, block_hash FROM (
                   SELECT block, block_s, block_hash FROM batch WHERE chain = ?1 AND signer = ?2
                   ORDER BY position DESC LIMIT ?3) AS newest
               WHERE block_hash IS NOT NULL ORDER BY block DESC LIMIT 1";
    let found = conn.query_row(sql, params![lane.chain.0, lane.signer.as_slice(), NEWEST], |row| {
        Ok(BlockRef { number: row.get(0)?, time: row.get(1)?, hash: Some(hash(row, 2)?) })
    });
    found.optional()
}
