//! Claims that pass to a charge which was learnt from the chain while another batch held it. The learnt one
//! waits until no claim on the same charge outlasts its own, and then holds it: in the commit that frees it.

use crate::HistoryEvent;
use crate::history::{self, ClaimPlace};
use crate::sql::{Database, Row, SqlResult, params};
use billing::BatchId;
use serde_json::json;

/// A claim that waits: learnt while another batch held the charge, and charged as far as is known.
struct WaitingClaim {
    place: ClaimPlace,
    guard_until_s: Option<i64>,
    scope: i64,
    period: String,
    subscribe_id: i64,
    plan_id: i64,
    user_hash: Vec<u8>,
}

/// A claim that keeps another one waiting.
struct HeldClaim {
    place: ClaimPlace,
    guard_until_s: Option<i64>,
}

/// Passes on what `batch` does not hold any more, or holds for a shorter time than another claim on the same
/// charge: to the one that is guarded longest, and of those to one that is known to have charged.
pub(crate) fn pass_on(conn: &dyn Database, batch: BatchId, at_ms: i64) -> SqlResult<()> {
    let (mut held, mut freed) = (Vec::new(), Vec::new());
    for claim in waiting(conn, batch)? {
        let holders = holders(conn, &claim)?;
        let outlasts = |holder: &HeldClaim| match (holder.guard_until_s, claim.guard_until_s) {
            (Some(until), Some(later)) => until >= later,
            (None, _) | (_, None) => true,
        };
        if holders.iter().any(outlasts) {
            continue;
        }
        for holder in holders {
            run_on(conn, FREE, holder.place)?;
            freed.push(holder.place);
        }
        run_on(conn, HOLD, claim.place)?;
        held.push(claim.place);
    }
    if held.is_empty() {
        return Ok(());
    }
    history::append(
        conn,
        at_ms,
        HistoryEvent::ClaimsPassedOn,
        &json!({"held": held, "freed": freed}),
    )
}

/// The claims that wait for a charge of the batch, or are the batch's own and wait.
fn waiting(conn: &dyn Database, batch: BatchId) -> SqlResult<Vec<WaitingClaim>> {
    // Most charges have a period and are held once they are made: nothing can wait for those to end.
    let of = |same: &str| {
        format!(
            "SELECT waiting.batch, waiting.item, waiting.guard_until_s, waiting.scope,
                    waiting.period, waiting.subscribe_id, waiting.plan_id,
                    waiting.user_hash, waiting.outcome
             FROM claim AS ended JOIN claim AS waiting ON {same}
                 AND waiting.scope = ended.scope
                 AND waiting.period = ended.period
             WHERE ended.batch = ?1 AND (ended.live = 0 OR ended.period = '')
                 AND waiting.live = 0 AND waiting.elsewhere = 1
                 AND waiting.outcome IN ('charged', 'unproven')
                 AND waiting.resolved IS DISTINCT FROM 'released'"
        )
    };
    let sql = format!(
        "{} UNION {} ORDER BY 3 DESC, 9, 1, 2",
        of("waiting.subscribe_id = ended.subscribe_id"),
        of("waiting.user_hash = ended.user_hash AND waiting.plan_id = ended.plan_id")
    );
    let read = |row: &Row<'_>| {
        Ok(WaitingClaim {
            place: (row.get(0)?, row.get(1)?),
            guard_until_s: row.get(2)?,
            scope: row.get(3)?,
            period: row.get(4)?,
            subscribe_id: row.get(5)?,
            plan_id: row.get(6)?,
            user_hash: row.get(7)?,
        })
    };
    conn.prepare_cached(&sql)?.query_map([batch.0], read)?.collect()
}

/// Returns true if a transaction that was learnt from the chain has made a charge that this batch holds. One without
/// a period counts as long as it is guarded at `now_s`.
pub(crate) fn is_charged_elsewhere(
    conn: &dyn Database,
    batch: BatchId,
    now_s: i64,
) -> SqlResult<bool> {
    let of = |same: &str| {
        format!(
            "SELECT 1 FROM claim AS held JOIN claim AS learnt ON {same}
                 AND learnt.scope = held.scope
                 AND learnt.period = held.period
             WHERE held.batch = ?1 AND held.live = 1
                 AND learnt.live = 0 AND learnt.elsewhere = 1
                 AND learnt.outcome IN ('charged', 'unproven')
                 AND learnt.resolved IS DISTINCT FROM 'released'
                 AND (learnt.period <> '' OR learnt.guard_until_s > ?2)"
        )
    };
    let sql = format!(
        "{} UNION {}",
        of("learnt.subscribe_id = held.subscribe_id"),
        of("learnt.user_hash = held.user_hash AND learnt.plan_id = held.plan_id")
    );
    conn.prepare_cached(&sql)?.exists(params![batch.0, now_s])
}

/// The live claims on the same charge: at most one by its user, and one by its subscription.
fn holders(conn: &dyn Database, claim: &WaitingClaim) -> SqlResult<Vec<HeldClaim>> {
    let of = |same: &str| {
        format!(
            "SELECT batch, item, guard_until_s FROM claim
             WHERE live = 1 AND period = ?1 AND scope = ?2 AND {same}"
        )
    };
    let sql =
        format!("{} UNION {}", of("subscribe_id = ?3"), of("plan_id = ?4 AND user_hash = ?5"));
    let read = |row: &Row<'_>| {
        Ok(HeldClaim { place: (row.get(0)?, row.get(1)?), guard_until_s: row.get(2)? })
    };
    let values =
        params![claim.period, claim.scope, claim.subscribe_id, claim.plan_id, claim.user_hash];
    conn.prepare_cached(&sql)?.query_map(values, read)?.collect()
}

/// Has a claim exclude all others.
const HOLD: &str = "UPDATE claim SET live = 1 WHERE batch = ?1 AND item = ?2";

/// Has a claim exclude no other.
const FREE: &str = "UPDATE claim SET live = 0 WHERE batch = ?1 AND item = ?2";

fn run_on(conn: &dyn Database, update: &str, place: ClaimPlace) -> SqlResult<()> {
    let (batch, item) = place;
    conn.prepare_cached(update)?.queue(params![batch, item])
}
