//! What is written before anything is sent, each in one transaction: a lane opened, a batch accepted,
//! another attempt added to it.

use super::rows::{self, kind_word, period_text, place, to_i64, to_u64};
use super::{AcceptError, Durable, history, pause, spend};
use crate::billing::{
    Attempt, AttemptKind, Attempts, BatchId, Item, Period, PlatformChainId, RequestId, Signed, Slot,
};
use crate::policy::{Count, Refusal};
use alloy::primitives::{Address, B256};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use serde_json::json;
use std::fmt;

/// Signs for the position that the commit assigns, and for exactly the charges that it claims.
pub type Seal = Box<dyn FnOnce(u64, &[Item]) -> Result<Signed, SealError> + Send>;

/// Why a transaction was not signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The policy does not let its bytes be signed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be made or signed.
    #[error("the transaction could not be signed: {0}")]
    Failed(String),
}

impl From<String> for SealError {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<&str> for SealError {
    fn from(why: &str) -> Self {
        Self::Failed(why.to_owned())
    }
}

/// One signing account on one chain, and the contract that it bills through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId {
    /// The chain.
    pub chain: PlatformChainId,
    /// The billing contract.
    pub contract: Address,
    /// The account that signs.
    pub signer: Address,
}

/// A batch that has passed every check and lacks its position, its signature and its claims.
pub struct Proposal {
    /// Whose batch it is.
    pub lane: LaneId,
    /// The caller's name for the request.
    pub request_id: Option<RequestId>,
    /// What is charged, in the order of the contract call.
    pub items: Vec<Item>,
    /// Positions below this are in a block; none where the chain counts none.
    pub taken: Option<u64>,
    /// How many positions beyond that may wait for one. Where the chain counts none: how many
    /// batches may be undecided.
    pub window: u64,
    /// What it adds to the sums of the day.
    pub counts: Vec<Count>,
    /// The timestamp of the chain's newest block, Unix seconds.
    pub chain_time: u64,
    /// Now, Unix ms.
    pub at_ms: i64,
    /// Signs, once the position is known.
    pub seal: Seal,
}

impl fmt::Debug for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proposal({} items on chain {})", self.items.len(), self.lane.chain)
    }
}

/// Takes the next position, the claims and the signature; nothing of it when anything fails.
pub(super) fn accept(
    conn: &Connection,
    proposal: Proposal,
) -> Result<Slot<Durable<Attempt>>, AcceptError> {
    let lane = proposal.lane;
    if let Some(pause) = pause::read(conn, lane.chain)? {
        return Err(Refusal::paused(lane.chain, &pause.to_string()).into());
    }
    let position = next_position(conn, lane.chain, lane.signer)?.ok_or(AcceptError::NoLane)?;
    let waiting = match proposal.taken {
        Some(taken) => position.checked_sub(taken).ok_or(AcceptError::Behind)?,
        None => undecided(conn, lane.chain, lane.signer)?,
    };
    if waiting >= proposal.window {
        return Err(AcceptError::LaneFull);
    }
    let request = proposal.request_id.as_ref();
    let batch = insert_batch(conn, &lane, position, request, proposal.at_ms)?;
    insert_claims(conn, &proposal, batch)?;
    spend::count(conn, &lane, batch, &proposal.counts, proposal.at_ms)?;
    let signed = (proposal.seal)(position, &proposal.items)?;
    let attempt = Attempt { batch, seq: 0, kind: AttemptKind::Bill, signed };
    insert_attempt(conn, &attempt, proposal.at_ms)?;
    advance(conn, lane.chain, lane.signer)?;
    let transaction = history::bytes_digest(&attempt.signed.raw);
    let place = place(&lane, position);
    let body = history::accepted_body(batch, &place, &proposal.items, &transaction);
    history::append(conn, proposal.at_ms, "accepted", &body)?;
    let (accepted_ms, items) = (proposal.at_ms, proposal.items);
    Ok(Slot { batch, position, accepted_ms, items, attempts: Attempts::new(Durable(attempt)) })
}

/// Another attempt for a batch, which lacks its signature.
pub struct Addition {
    /// The batch.
    pub batch: BatchId,
    /// The number that it gets. A batch that has come further meanwhile gets none.
    pub seq: u32,
    /// What it does when it lands.
    pub kind: AttemptKind,
    /// What it may cost, for the sum of the day.
    pub fee: Count,
    /// Now, Unix ms.
    pub at_ms: i64,
    /// Signs, once the position is known.
    pub seal: Seal,
}

impl fmt::Debug for Addition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Addition(attempt {} of batch {})", self.seq, self.batch.0)
    }
}

/// Adds an attempt in the batch's own place. None when the batch has ended or has this attempt.
pub(super) fn add_attempt(
    conn: &Connection,
    addition: Addition,
) -> Result<Option<Durable<Attempt>>, AcceptError> {
    let sql = "SELECT position FROM batch WHERE id = ?1 AND state = 'open'
               AND (SELECT max(seq) FROM attempt WHERE batch = ?1) + 1 = ?2";
    let position = conn
        .prepare_cached(sql)?
        .query_row(params![addition.batch.0, addition.seq], |row| row.get(0).map(to_u64))
        .optional()?;
    let Some(position) = position else { return Ok(None) };
    spend::count_again(conn, addition.batch, &addition.fee, addition.at_ms)?;
    let items = rows::items(conn, addition.batch)?;
    let signed = (addition.seal)(position, &items)?;
    let Addition { batch, seq, kind, .. } = addition;
    let attempt = Attempt { batch, seq, kind, signed };
    insert_attempt(conn, &attempt, addition.at_ms)?;
    history::append(conn, addition.at_ms, "signed again", &history::attempt_body(&attempt))?;
    Ok(Some(Durable(attempt)))
}

fn insert_attempt(conn: &Connection, attempt: &Attempt, at_ms: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO attempt VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
        .execute(params![
            attempt.signed.hash.as_slice(),
            attempt.batch.0,
            attempt.seq,
            kind_word(attempt.kind),
            attempt.signed.raw,
            to_i64(attempt.signed.gas_required),
            at_ms
        ])
        .map(drop)
}

/// A billing transaction of an adopted batch. Only its hash is known.
pub(super) fn insert_learnt(
    conn: &Connection,
    batch: BatchId,
    hash: B256,
    at_ms: i64,
) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO attempt VALUES (?1, ?2, 0, ?3, NULL, NULL, ?4)")?
        .execute(params![hash.as_slice(), batch.0, kind_word(AttemptKind::Bill), at_ms])
        .map(drop)
}

/// Moves the lane to its next position.
pub(super) fn advance(
    conn: &Connection,
    chain: PlatformChainId,
    signer: Address,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE lane SET next_position = next_position + 1 WHERE chain = ?1 AND signer = ?2",
    )?
    .execute(params![chain.0, signer.as_slice()])
    .map(drop)
}

fn undecided(conn: &Connection, chain: PlatformChainId, signer: Address) -> rusqlite::Result<u64> {
    conn.prepare_cached(
        "SELECT count(*) FROM batch WHERE state = 'open' AND chain = ?1 AND signer = ?2",
    )?
    .query_row(params![chain.0, signer.as_slice()], |row| row.get(0).map(to_u64))
}

/// The position that the lane's next batch gets; none when the lane was never opened.
pub(super) fn next_position(
    conn: &Connection,
    chain: PlatformChainId,
    signer: Address,
) -> rusqlite::Result<Option<u64>> {
    conn.prepare_cached("SELECT next_position FROM lane WHERE chain = ?1 AND signer = ?2")?
        .query_row(params![chain.0, signer.as_slice()], |row| row.get::<_, i64>(0))
        .optional()
        .map(|found| found.and_then(|n| u64::try_from(n).ok()))
}

/// Opens a lane at `first`, unless it is open; tells where it stands.
pub(super) fn open_lane(
    conn: &Connection,
    (chain, signer): (PlatformChainId, Address),
    first: u64,
    at_ms: i64,
) -> rusqlite::Result<u64> {
    if let Some(next) = next_position(conn, chain, signer)? {
        return Ok(next);
    }
    conn.prepare_cached("INSERT INTO lane VALUES (?1, ?2, ?3)")?.execute(params![
        chain.0,
        signer.as_slice(),
        to_i64(first)
    ])?;
    let body = json!({"chain": chain.0, "signer": signer, "first": first});
    history::append(conn, at_ms, "lane opened", &body)?;
    Ok(first)
}

pub(super) fn insert_batch(
    conn: &Connection,
    lane: &LaneId,
    position: u64,
    request_id: Option<&RequestId>,
    at_ms: i64,
) -> rusqlite::Result<BatchId> {
    conn.prepare_cached(
        "INSERT INTO batch (chain, contract, signer, position, request_id, state, accepted_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6)",
    )?
    .execute(params![
        lane.chain.0,
        lane.contract.as_slice(),
        lane.signer.as_slice(),
        to_i64(position),
        request_id.map(RequestId::as_str),
        at_ms
    ])?;
    Ok(BatchId(conn.last_insert_rowid()))
}

fn insert_claims(
    conn: &Connection,
    proposal: &Proposal,
    batch: BatchId,
) -> Result<(), AcceptError> {
    let lane = &proposal.lane;
    let (chain, contract) = (lane.chain.0, lane.contract.as_slice());
    let expired = "UPDATE claim SET live = 0 WHERE live = 1 AND period = '' AND guard_chain_s <= ?1
                   AND chain = ?2 AND contract = ?3";
    let mut expire_id = conn.prepare_cached(&format!("{expired} AND subscribe_id = ?4"))?;
    let mut expire_key =
        conn.prepare_cached(&format!("{expired} AND plan_id = ?4 AND user_hash = ?5"))?;
    for (index, item) in proposal.items.iter().enumerate() {
        let (id, plan, user) = (item.subscribe.0, item.key.plan.0, item.key.user.0.as_slice());
        if item.key.period == Period::Guarded {
            let now = to_i64(proposal.chain_time);
            expire_id.execute(params![now, chain, contract, id])?;
            expire_key.execute(params![now, chain, contract, plan, user])?;
        }
        if !insert_claim(conn, lane, (batch, index), item, true)? {
            return Err(AcceptError::Claimed);
        }
    }
    Ok(())
}

/// Inserts one claim; tells whether it could be. One that is live excludes all others.
pub(super) fn insert_claim(
    conn: &Connection,
    lane: &LaneId,
    (batch, index): (BatchId, usize),
    item: &Item,
    live: bool,
) -> rusqlite::Result<bool> {
    let inserted = conn
        .prepare_cached(
            "INSERT INTO claim (batch, item, chain, contract, subscribe_id, plan_id, user_hash,
                                period, amount, live)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(params![
            batch.0,
            i64::try_from(index).unwrap_or(i64::MAX),
            lane.chain.0,
            lane.contract.as_slice(),
            item.subscribe.0,
            item.key.plan.0,
            item.key.user.0.as_slice(),
            period_text(item.key.period),
            item.amount.to_string(),
            live
        ]);
    match inserted {
        Ok(_) => Ok(true),
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => Ok(false),
        Err(e) => Err(e),
    }
}
