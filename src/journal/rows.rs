//! Rows to values and back. A row that makes no sense is an error, never a guess.

use super::{Durable, LaneId};
use crate::billing::{
    Attempt, AttemptKind, Attempts, BatchId, BatchState, ChargeKey, Claim, ClaimedBy, Item, Period,
    PlanId, PlatformChainId, Signed, Slot, Subject, SubscribeId, UserHash,
};
use alloy::primitives::{Address, B256, U256};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::{Value, json};

/// One subscription of a batch, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The charge.
    pub item: Item,
    /// Whether the claim is held.
    pub live: bool,
    /// `charged`, `unproven`, a `failCode`, or the word of the batch's end; none while open.
    pub outcome: Option<String>,
    /// More words on the outcome.
    pub detail: Option<String>,
}

/// One transaction of a batch, as the journal knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It was signed here.
    Signed(Durable<Attempt>),
    /// It was learnt from the chain by this hash. Its bytes are not known here.
    Learnt(B256),
}

impl Recorded {
    /// Its hash.
    pub fn hash(&self) -> B256 {
        match self {
            Self::Signed(attempt) => attempt.get().signed.hash,
            Self::Learnt(hash) => *hash,
        }
    }

    /// What it does when it lands. What is learnt has billed.
    pub fn kind(&self) -> AttemptKind {
        match self {
            Self::Signed(attempt) => attempt.get().kind,
            Self::Learnt(_) => AttemptKind::Bill,
        }
    }
}

/// A batch with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Billing {
    /// The journal's number of it.
    pub batch: BatchId,
    /// The chain.
    pub chain: PlatformChainId,
    /// The billing contract.
    pub contract: Address,
    /// The account that signs.
    pub signer: Address,
    /// Its place in the lane.
    pub position: u64,
    /// The caller's name for the request.
    pub request_id: Option<String>,
    /// Where it stands.
    pub state: BatchState,
    /// When it was accepted, Unix ms.
    pub accepted_ms: i64,
    /// When its end was written down, Unix ms.
    pub settled_ms: Option<i64>,
    /// The transaction that decided.
    pub winner: Option<B256>,
    /// The block of the winner.
    pub block: Option<u64>,
    /// Every attempt.
    pub attempts: Attempts<Recorded>,
    /// Every subscription, in the order of the contract call.
    pub items: Vec<Line>,
}

impl Billing {
    /// The attempt that an answer names: the winner when final, the newest while open.
    pub fn current(&self) -> &Recorded {
        let won = |attempt: &&Recorded| Some(attempt.hash()) == self.winner;
        self.attempts.iter().find(won).unwrap_or_else(|| self.attempts.newest())
    }

    /// Whose batch it is.
    pub(super) fn lane(&self) -> LaneId {
        LaneId { chain: self.chain, contract: self.contract, signer: self.signer }
    }

    /// Where the batch stands in the world, as the history records it.
    pub(super) fn place(&self) -> Value {
        place(&self.lane(), self.position)
    }
}

pub(super) fn place(lane: &LaneId, position: u64) -> Value {
    json!({"chain": lane.chain.0, "contract": lane.contract, "signer": lane.signer,
           "position": position})
}

/// What a claim of one contract on one chain is looked up in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The chain.
    pub chain: PlatformChainId,
    /// The billing contract.
    pub contract: Address,
    /// The timestamp of the chain's newest block, Unix seconds: guards are judged by it.
    pub chain_time: u64,
}

const CLAIM: &str = "
    SELECT claim.subscribe_id, claim.plan_id, claim.user_hash, claim.period, claim.amount,
           batch.id, batch.state,
           coalesce(batch.winner, (SELECT hash FROM attempt WHERE batch = batch.id ORDER BY seq DESC LIMIT 1))";
const ON: &str = "ON batch.id = claim.batch
    WHERE live = 1 AND claim.chain = ?1 AND claim.contract = ?2
      AND (guard_chain_s IS NULL OR guard_chain_s > ?3)";

/// The live claims on each subject, in order.
pub(super) fn claims(
    conn: &Connection,
    scope: Scope,
    subjects: &[Subject],
) -> rusqlite::Result<Vec<Vec<Claim>>> {
    let open = if subjects.iter().any(|subject| subject.period.is_none()) {
        open_claims(conn, scope)?
    } else {
        Vec::new()
    };
    let mut by_key = conn.prepare_cached(&format!(
        "{CLAIM} FROM claim JOIN batch {ON} AND period = ?4 AND plan_id = ?5 AND user_hash = ?6"
    ))?;
    let mut by_id = conn.prepare_cached(&format!(
        "{CLAIM} FROM claim JOIN batch {ON} AND period = ?4 AND subscribe_id = ?5"
    ))?;
    let (chain, contract) = (scope.chain.0, scope.contract.as_slice());
    let time = to_i64(scope.chain_time);
    let mut found = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let (id, plan, user) = (subject.subscribe.0, subject.plan.0, subject.user.0.as_slice());
        let mut claims: Vec<Claim> = match subject.period.map(period_text) {
            None => open.iter().filter(|claim| is_on(claim, subject)).copied().collect(),
            Some(period) => by_key
                .query_map(params![chain, contract, time, period, plan, user], claim)?
                .chain(by_id.query_map(params![chain, contract, time, period, id], claim)?)
                .collect::<Result<_, _>>()?,
        };
        claims.dedup();
        found.push(claims);
    }
    Ok(found)
}

/// Every claim of a batch that the chain has not decided. There are few of them at any time.
fn open_claims(conn: &Connection, scope: Scope) -> rusqlite::Result<Vec<Claim>> {
    let time = to_i64(scope.chain_time);
    // CROSS JOIN is how SQLite is told to begin with the open batches.
    let from = "FROM batch CROSS JOIN claim";
    conn.prepare_cached(&format!("{CLAIM} {from} {ON} AND state = 'open' AND batch.chain = ?1"))?
        .query_map(params![scope.chain.0, scope.contract.as_slice(), time], claim)?
        .collect()
}

fn is_on(claim: &Claim, subject: &Subject) -> bool {
    let same_user = (claim.key.plan, claim.key.user) == (subject.plan, subject.user);
    claim.subscribe == subject.subscribe || same_user
}

fn claim(row: &Row<'_>) -> rusqlite::Result<Claim> {
    Ok(Claim {
        subscribe: SubscribeId(row.get(0)?),
        key: key(row, 1)?,
        amount: number(row, 4)?,
        by: ClaimedBy { batch: BatchId(row.get(5)?), state: state(row, 6)?, hash: hash(row, 7)? },
    })
}

/// The batch with this number.
pub(super) fn billing(conn: &Connection, batch: BatchId) -> rusqlite::Result<Option<Billing>> {
    let sql = "SELECT id, chain, contract, signer, position, request_id, state, accepted_ms,
                      settled_ms, winner, block FROM batch WHERE id = ?1";
    let head = conn.prepare_cached(sql)?.query_row([batch.0], |row| {
        Ok(Billing {
            batch: BatchId(row.get(0)?),
            chain: PlatformChainId(row.get(1)?),
            contract: address(row, 2)?,
            signer: address(row, 3)?,
            position: to_u64(row.get(4)?),
            request_id: row.get(5)?,
            state: state(row, 6)?,
            accepted_ms: row.get(7)?,
            settled_ms: row.get(8)?,
            winner: row.get::<_, Option<Vec<u8>>>(9)?.map(|_| hash(row, 9)).transpose()?,
            block: row.get::<_, Option<i64>>(10)?.map(to_u64),
            attempts: recorded(conn, batch)?,
            items: lines(conn, batch)?,
        })
    });
    head.optional()
}

/// The batch that an attempt with this hash belongs to.
pub(super) fn billing_by_hash(conn: &Connection, hash: B256) -> rusqlite::Result<Option<Billing>> {
    let batch = conn
        .prepare_cached("SELECT batch FROM attempt WHERE hash = ?1")?
        .query_row([hash.as_slice()], |row| row.get(0))
        .optional()?;
    batch.map_or(Ok(None), |id| billing(conn, BatchId(id)))
}

/// The batches that were accepted under this request id, newest first.
pub(super) fn billings_by_request(conn: &Connection, id: &str) -> rusqlite::Result<Vec<Billing>> {
    let batches: Vec<i64> = conn
        .prepare_cached("SELECT id FROM batch WHERE request_id = ?1 ORDER BY id DESC LIMIT 100")?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    batches.into_iter().filter_map(|id| billing(conn, BatchId(id)).transpose()).collect()
}

/// Every undecided batch of a lane, in the order of its positions.
pub(super) fn open_slots(
    conn: &Connection,
    chain: PlatformChainId,
    signer: Address,
) -> rusqlite::Result<Vec<Slot<Durable<Attempt>>>> {
    let open: Vec<(i64, i64, i64)> = conn
        .prepare_cached(
            "SELECT id, position, accepted_ms FROM batch WHERE state = 'open' AND chain = ?1 AND signer = ?2
             ORDER BY position",
        )?
        .query_map(params![chain.0, signer.as_slice()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let slot = |(id, position, accepted_ms)| {
        Ok(Slot {
            batch: BatchId(id),
            position: to_u64(position),
            accepted_ms,
            items: items(conn, BatchId(id))?,
            attempts: attempts(conn, BatchId(id))?,
        })
    };
    open.into_iter().map(slot).collect()
}

/// The attempts of an undecided batch: all of them were signed here.
fn attempts(conn: &Connection, batch: BatchId) -> rusqlite::Result<Attempts<Durable<Attempt>>> {
    let recorded = recorded(conn, batch)?;
    let signed = recorded.iter().map(|attempt| match attempt {
        Recorded::Signed(attempt) => Ok(attempt.clone()),
        Recorded::Learnt(hash) => Err(garbage(0, &format!("{hash} without its bytes"))),
    });
    let signed: Vec<_> = signed.collect::<Result<_, _>>()?;
    Attempts::from_oldest(signed).ok_or_else(|| garbage(0, "no attempt"))
}

fn recorded(conn: &Connection, batch: BatchId) -> rusqlite::Result<Attempts<Recorded>> {
    let sql =
        "SELECT hash, seq, kind, raw, gas_required FROM attempt WHERE batch = ?1 ORDER BY seq";
    let mut select = conn.prepare_cached(sql)?;
    let found: Vec<_> = select
        .query_map([batch.0], |row| {
            let (hash, kind) = (hash(row, 0)?, kind(row, 2)?);
            let Some(raw) = row.get(3)? else { return Ok(Recorded::Learnt(hash)) };
            let signed = Signed { hash, raw, gas_required: to_u64(row.get(4)?) };
            let attempt = Attempt { batch, seq: row.get(1)?, kind, signed };
            Ok(Recorded::Signed(Durable(attempt)))
        })?
        .collect::<Result<_, _>>()?;
    Attempts::from_oldest(found).ok_or_else(|| garbage(0, "no attempt"))
}

/// What a batch has claimed, in the order of the contract call.
pub(super) fn items(conn: &Connection, batch: BatchId) -> rusqlite::Result<Vec<Item>> {
    Ok(lines(conn, batch)?.into_iter().map(|line| line.item).collect())
}

/// Whose batch it is.
pub(super) fn lane_of(conn: &Connection, batch: BatchId) -> rusqlite::Result<LaneId> {
    conn.prepare_cached("SELECT chain, contract, signer FROM batch WHERE id = ?1")?.query_row(
        [batch.0],
        |row| {
            let chain = PlatformChainId(row.get(0)?);
            Ok(LaneId { chain, contract: address(row, 1)?, signer: address(row, 2)? })
        },
    )
}

fn lines(conn: &Connection, batch: BatchId) -> rusqlite::Result<Vec<Line>> {
    let sql = "SELECT subscribe_id, plan_id, user_hash, period, amount, live, outcome, detail
               FROM claim WHERE batch = ?1 ORDER BY item";
    conn.prepare_cached(sql)?
        .query_map([batch.0], |row| {
            let subscribe = SubscribeId(row.get(0)?);
            let item = Item { subscribe, key: key(row, 1)?, amount: number(row, 4)? };
            Ok(Line { item, live: row.get(5)?, outcome: row.get(6)?, detail: row.get(7)? })
        })?
        .collect()
}

fn key(row: &Row<'_>, at: usize) -> rusqlite::Result<ChargeKey> {
    let (user, period) = (at.saturating_add(1), at.saturating_add(2));
    let period = match row.get_ref(period)?.as_str()? {
        "" => Period::Guarded,
        _ => Period::Numbered(number(row, period)?),
    };
    Ok(ChargeKey { plan: PlanId(row.get(at)?), user: UserHash(hash(row, user)?), period })
}

/// A period as its column holds it: digits, or nothing where the contract knows no periods.
pub(super) fn period_text(period: Period) -> String {
    match period {
        Period::Numbered(number) => number.to_string(),
        Period::Guarded => String::new(),
    }
}

pub(super) fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<U256> {
    let text = row.get_ref(at)?.as_str()?;
    U256::from_str_radix(text, 10).map_err(|_| garbage(at, text))
}

fn hash(row: &Row<'_>, at: usize) -> rusqlite::Result<B256> {
    let bytes = row.get_ref(at)?.as_blob()?;
    B256::try_from(bytes).map_err(|_| garbage(at, &hex::encode(bytes)))
}

fn address(row: &Row<'_>, at: usize) -> rusqlite::Result<Address> {
    let bytes = row.get_ref(at)?.as_blob()?;
    Address::try_from(bytes).map_err(|_| garbage(at, &hex::encode(bytes)))
}

fn state(row: &Row<'_>, at: usize) -> rusqlite::Result<BatchState> {
    let word = row.get_ref(at)?.as_str()?;
    BatchState::from_word(word).ok_or_else(|| garbage(at, word))
}

/// The word for it in the journal.
pub(super) fn kind_word(kind: AttemptKind) -> &'static str {
    match kind {
        AttemptKind::Bill => "bill",
        AttemptKind::Cancel => "cancel",
    }
}

fn kind(row: &Row<'_>, at: usize) -> rusqlite::Result<AttemptKind> {
    let word = row.get_ref(at)?.as_str()?;
    let known = [AttemptKind::Bill, AttemptKind::Cancel].into_iter();
    known.into_iter().find(|kind| kind_word(*kind) == word).ok_or_else(|| garbage(at, word))
}

fn garbage(column: usize, value: &str) -> rusqlite::Error {
    let what = format!("{value:?} makes no sense here");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into())
}

/// Positions, blocks, gas and seconds are far below 2^63; the column type is signed.
pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
