//! Rows to values.

use crate::Durable;
use crate::model::{Billing, LaneId, Line, Origin, Recorded};
use crate::sql::columns::{
    address, claim_state, ending, garbage, hash, kind, number, outcome, period, period_text,
    resolved, state, terms,
};
use crate::sql::{Database, OptionalExtension as _, Row, SqlResult, params};
use crate::tables::networks;
use alloy::primitives::{Address, B256};
use billing::{
    AskedBy, Attempt, Attempts, BatchId, BlockRef, CallerKey, CallerLabel, ChargeKey, Claim,
    ClaimedBy, Item, Period, PlanId, PlatformChainId, Signed, Slot, Subject, SubscribeId, TxRecord,
    UserHash,
};
use rusqlite::types::ValueRef;
use std::sync::LazyLock;

/// The scope in which a claim of one contract on one chain is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimScope {
    /// The chain.
    pub chain: PlatformChainId,
    /// The billing contract.
    pub contract: Address,
    /// The timestamp of the chain's newest final block, Unix seconds: guards end by it.
    pub chain_time: u64,
}

const CLAIM: &str = "
    SELECT claim.subscribe_id, claim.plan_id, claim.user_hash, claim.period, claim.amount,
           claim.plan_version, claim.wallet, claim.token,
           batch.id, batch.state, coalesce(claim.resolved, claim.outcome, nullif(batch.state, 'open')),
           coalesce(batch.winner, (SELECT later.hash FROM later_attempt AS later
                                   WHERE later.batch = batch.id AND kind = 'bill'
                                   ORDER BY seq DESC LIMIT 1), batch.hash)";
const HELD: &str = "WHERE batch.id = claim.batch
      AND live = 1
      AND claim.scope = (SELECT id FROM scope WHERE scope.chain = ?1 AND scope.contract = ?2)
      AND (guard_until_s IS NULL OR guard_until_s > ?3)";

/// The queries for the claims on a charge of a period: by its user and plan, and by its subscription.
pub(crate) static LOOKUPS: LazyLock<[String; 2]> = LazyLock::new(|| {
    ["plan_id = ?5 AND user_hash = ?6", "subscribe_id = ?5"]
        .map(|which| format!("{CLAIM} FROM claim, batch {HELD} AND period = ?4 AND {which}"))
});

/// The live claims on each subject, in order. Batches before `since` have named periods otherwise: what is open of
/// them meets every period, and so does what is charged without one, until its guard is over.
pub(crate) fn claims(
    conn: &dyn Database,
    scope: ClaimScope,
    since: i64,
    subjects: &[Subject],
) -> SqlResult<Vec<Vec<Claim>>> {
    let _snapshot = conn.snapshot()?;
    let open = if subjects.iter().any(|subject| subject.period.is_none()) {
        open_claims(conn, scope, i64::MAX)?
    } else if since > 0 {
        open_claims(conn, scope, since)?
    } else {
        Vec::new()
    };
    let of_period: Vec<(&Subject, Period)> =
        subjects.iter().filter_map(|subject| Some((subject, subject.period?))).collect();
    let mut named = looked_up(conn, scope, &of_period)?;
    if since > 0 {
        let guarded: Vec<_> =
            of_period.iter().map(|(subject, _)| (*subject, Period::Guarded)).collect();
        for (claims, more) in named.iter_mut().zip(looked_up(conn, scope, &guarded)?) {
            claims.extend(more);
        }
    }
    let mut named = named.into_iter();
    let found = subjects.iter().map(|subject| {
        if subject.period.is_none() {
            return open.iter().filter(|claim| is_on(claim, subject)).copied().collect();
        }
        let renamed = open.iter().filter(|claim| claim.by.batch.0 < since && is_on(claim, subject));
        let mut claims: Vec<Claim> = Vec::new();
        for claim in named.next().unwrap_or_default().into_iter().chain(renamed.copied()) {
            if !claims.contains(&claim) {
                claims.push(claim);
            }
        }
        claims
    });
    Ok(found.collect())
}

/// The live claims on each subject in a period.
fn looked_up(
    conn: &dyn Database,
    scope: ClaimScope,
    subjects: &[(&Subject, Period)],
) -> SqlResult<Vec<Vec<Claim>>> {
    let [by_key, by_id] = &*LOOKUPS;
    let mut by_key = conn.prepare_cached(by_key)?;
    let mut by_id = conn.prepare_cached(by_id)?;
    let (chain, contract) = (scope.chain.0, scope.contract.as_slice());
    let time = scope.chain_time;
    let by_key = by_key.query_each(
        subjects.iter(),
        |(subject, period), ask| {
            let (period, user) = (period_text(*period), subject.user.0.as_slice());
            ask(params![chain, contract, time, period.as_str(), subject.plan.0, user])
        },
        claim,
    )?;
    let by_id = by_id.query_each(
        subjects.iter(),
        |(subject, period), ask| {
            let period = period_text(*period);
            ask(params![chain, contract, time, period.as_str(), subject.subscribe.0])
        },
        claim,
    )?;
    let both = by_key.into_iter().zip(by_id);
    Ok(both.map(|(by_key, by_id)| by_key.into_iter().chain(by_id).collect()).collect())
}

/// Every claim of a batch below `before` that the chain has not decided. There are few of them at any time.
fn open_claims(conn: &dyn Database, scope: ClaimScope, before: i64) -> SqlResult<Vec<Claim>> {
    let time = scope.chain_time;
    // CROSS JOIN is how SQLite is told to begin with the open batches.
    let from = "FROM batch CROSS JOIN claim";
    conn.prepare_cached(&format!(
        "{CLAIM} {from} {HELD} AND state = 'open' AND batch.chain = ?1 AND batch.id < ?4"
    ))?
    .query_map(params![scope.chain.0, scope.contract.as_slice(), time, before], claim)?
    .collect()
}

fn is_on(claim: &Claim, subject: &Subject) -> bool {
    let same_user = (claim.key.plan, claim.key.user) == (subject.plan, subject.user);
    claim.subscribe == subject.subscribe || same_user
}

fn claim(row: &Row<'_>) -> SqlResult<Claim> {
    Ok(Claim {
        subscribe: SubscribeId(row.get(0)?),
        key: key(row, 1)?,
        amount: number(row, 4)?,
        terms: terms(row, 5)?,
        by: ClaimedBy {
            batch: BatchId(row.get(8)?),
            state: claim_state(row, 9)?,
            hash: hash(row, 11)?,
        },
    })
}

/// The batch with this number.
pub(crate) fn billing(conn: &dyn Database, batch: BatchId) -> SqlResult<Option<Billing>> {
    let sql =
        "SELECT id, chain, contract, signer, position, request_id, caller_label, state, accepted_ms,
                      settled_ms, winner, block, block_s, caller_key, ending, message, used, fee, block_hash
               FROM batch WHERE id = ?1";
    let head = conn.prepare_cached(sql)?.query_row([batch.0], |row| {
        let origin = origin(row, 1)?;
        let block = match row.get(11)? {
            Some(number) => {
                Some(BlockRef { number, time: row.get(12)?, hash: maybe_hash(row, 18)? })
            }
            None => None,
        };
        Ok(Billing {
            batch: BatchId(row.get(0)?),
            origin,
            network: networks::of(conn, origin.lane.chain)?,
            position: row.get(4)?,
            request_id: row.get(5)?,
            caller: asked_by(row, [6, 13])?,
            state: state(row, 7)?,
            accepted_ms: row.get(8)?,
            settled_ms: row.get(9)?,
            winner: maybe_hash(row, 10)?,
            block,
            record: tx_record(row, 14)?,
            attempts: recorded(conn, batch)?,
            signed_ms: signed_ms(conn, batch)?,
            items: lines(conn, batch)?,
        })
    });
    head.optional()
}

/// The hash in a column that may be NULL.
fn maybe_hash(row: &Row<'_>, at: usize) -> SqlResult<Option<B256>> {
    row.get::<Option<Vec<u8>>>(at)?.map(|_| hash(row, at)).transpose()
}

/// The columns of a caller's label and key.
fn asked_by(row: &Row<'_>, [label, key]: [usize; 2]) -> SqlResult<Option<AskedBy>> {
    let Some(said) = row.get(label)? else { return Ok(None) };
    Ok(Some(AskedBy { label: CallerLabel(said), key: CallerKey(row.get(key)?) }))
}

/// The columns `chain`, `contract` and `signer`, which stand side by side.
fn origin(row: &Row<'_>, at: usize) -> SqlResult<Origin> {
    let chain = PlatformChainId(row.get(at)?);
    let signer = address(row, at.saturating_add(2))?;
    let contract = address(row, at.saturating_add(1))?;
    Ok(Origin { lane: LaneId { chain, signer }, contract })
}

/// The batch that an attempt with this hash belongs to.
pub(crate) fn billing_by_hash(conn: &dyn Database, hash: B256) -> SqlResult<Option<Billing>> {
    let batch = conn
        .prepare_cached("SELECT batch FROM tx WHERE hash = ?1")?
        .query_row([hash.as_slice()], |row| row.get(0))
        .optional()?;
    batch.map_or(Ok(None), |id| billing(conn, BatchId(id)))
}

/// Every undecided batch of a lane, in the order of its positions.
pub(crate) fn open_slots(
    conn: &dyn Database,
    lane: LaneId,
) -> SqlResult<Vec<Slot<Durable<Attempt>>>> {
    conn.prepare_cached(
        "SELECT batch.id, position, batch.contract, body, accepted_ms
         FROM batch LEFT JOIN profile ON profile.id = batch.profile
         WHERE state = 'open' AND batch.chain = ?1 AND signer = ?2 ORDER BY position",
    )?
    .query_map(params![lane.chain.0, lane.signer.as_slice()], |row| {
        let batch = BatchId(row.get(0)?);
        Ok(Slot {
            batch,
            position: row.get(1)?,
            contract: address(row, 2)?,
            profile: row.get::<String>(3)?.into(),
            accepted_ms: row.get(4)?,
            items: items(conn, batch)?,
            attempts: attempts(conn, batch)?,
        })
    })?
    .collect()
}

/// The attempts of an undecided batch: all of them were signed here.
fn attempts(conn: &dyn Database, batch: BatchId) -> SqlResult<Attempts<Durable<Attempt>>> {
    let recorded = recorded(conn, batch)?;
    let signed = recorded.iter().map(|attempt| match attempt {
        Recorded::Signed(attempt) => Ok(attempt.clone()),
        Recorded::Learnt(hash) => Err(garbage(0, &format!("{hash} without its bytes"))),
    });
    let signed: Vec<_> = signed.collect::<Result<_, _>>()?;
    Attempts::from_oldest(signed).ok_or_else(|| garbage(0, "no attempt"))
}

fn recorded(conn: &dyn Database, batch: BatchId) -> SqlResult<Attempts<Recorded>> {
    let sql =
        "SELECT hash, seq, kind, raw, gas_required FROM attempt WHERE batch = ?1 ORDER BY seq";
    let mut select = conn.prepare_cached(sql)?;
    let found: Vec<_> = select
        .query_map([batch.0], |row| {
            let (hash, kind) = (hash(row, 0)?, kind(row, 2)?);
            let Some(raw) = row.get(3)? else { return Ok(Recorded::Learnt(hash)) };
            let signed = Signed { hash, raw, gas_required: row.get(4)? };
            let attempt = Attempt { batch, seq: row.get(1)?, kind, signed };
            Ok(Recorded::Signed(Durable(attempt)))
        })?
        .collect::<Result<_, _>>()?;
    Attempts::from_oldest(found).ok_or_else(|| garbage(0, "no attempt"))
}

fn signed_ms(conn: &dyn Database, batch: BatchId) -> SqlResult<Vec<i64>> {
    conn.prepare_cached("SELECT signed_ms FROM attempt WHERE batch = ?1 ORDER BY seq")?
        .query_map([batch.0], |row| row.get(0))?
        .collect()
}

/// The columns `ending`, `message`, `used` and `fee`, which stand side by side.
fn tx_record(row: &Row<'_>, at: usize) -> SqlResult<Option<TxRecord>> {
    let [message_at, used_at, fee_at] = [1, 2, 3].map(|behind| at.saturating_add(behind));
    if row.get_ref(at)? == ValueRef::Null {
        return Ok(None);
    }
    Ok(Some(TxRecord {
        ending: ending(row, at)?,
        message: row.get(message_at)?,
        used: row.get(used_at)?,
        fee: number(row, fee_at)?,
    }))
}

/// Reads the items that a batch has claimed, in the order of the contract call.
pub(crate) fn items(conn: &dyn Database, batch: BatchId) -> SqlResult<Vec<Item>> {
    Ok(lines(conn, batch)?.into_iter().map(|line| line.item).collect())
}

/// Reads the origin of a batch.
pub(crate) fn origin_of(conn: &dyn Database, batch: BatchId) -> SqlResult<Origin> {
    conn.prepare_cached("SELECT chain, contract, signer FROM batch WHERE id = ?1")?
        .query_row([batch.0], |row| origin(row, 0))
}

fn lines(conn: &dyn Database, batch: BatchId) -> SqlResult<Vec<Line>> {
    // A claim without an outcome of its own has that of its batch.
    let sql = "SELECT subscribe_id, plan_id, user_hash, period, amount, live,
                      coalesce(outcome, nullif(state, 'open')), code, detail,
                      elsewhere, resolved, plan_version, wallet, token
               FROM claim JOIN batch ON batch.id = claim.batch WHERE claim.batch = ?1 ORDER BY item";
    conn.prepare_cached(sql)?
        .query_map([batch.0], |row| {
            let subscribe = SubscribeId(row.get(0)?);
            let (amount, terms) = (number(row, 4)?, terms(row, 11)?);
            let item = Item { subscribe, key: key(row, 1)?, amount, terms };
            let outcome = outcome(row, 6)?;
            let (live, elsewhere, resolved) = (row.get(5)?, row.get(9)?, resolved(row, 10)?);
            Ok(Line { item, live, outcome, elsewhere, resolved })
        })?
        .collect()
}

fn key(row: &Row<'_>, at: usize) -> SqlResult<ChargeKey> {
    let user = UserHash(hash(row, at.saturating_add(1))?);
    let period = period(row, at.saturating_add(2))?;
    Ok(ChargeKey { plan: PlanId(row.get(at)?), user, period })
}
