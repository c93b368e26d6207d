//! What is written, each in one transaction: a batch accepted, batches settled, a lane opened.

use super::rows::{period_text, place, to_i64};
use super::{AcceptError, Durable, history};
use crate::billing::{
    Attempt, AttemptKind, Attempts, BatchId, BatchState, Item, ItemOutcome, Period,
    PlatformChainId, RequestId, Signed, Slot, Verdict,
};
use alloy::primitives::Address;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use serde_json::json;
use std::fmt;

/// Signs for the position that the commit assigns.
pub type Seal = Box<dyn FnOnce(u64) -> Result<Signed, String> + Send>;

/// A batch that has passed every check and lacks its position, its signature and its claims.
pub struct Proposal {
    /// The chain.
    pub chain: PlatformChainId,
    /// The billing contract.
    pub contract: Address,
    /// The account that signs.
    pub signer: Address,
    /// The caller's name for the request.
    pub request_id: Option<RequestId>,
    /// What is charged, in the order of the contract call.
    pub items: Vec<Item>,
    /// Positions below this are in a block.
    pub taken: u64,
    /// How many positions beyond that may wait for one.
    pub window: u64,
    /// The timestamp of the chain's newest block, Unix seconds.
    pub chain_time: u64,
    /// Now, Unix ms.
    pub at_ms: i64,
    /// Signs, once the position is known.
    pub seal: Seal,
}

impl fmt::Debug for Proposal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proposal({} items on chain {})", self.items.len(), self.chain)
    }
}

/// Takes the next position, the claims and the signature; nothing of it when anything fails.
pub(super) fn accept(
    conn: &Connection,
    proposal: Proposal,
) -> Result<Slot<Durable<Attempt>>, AcceptError> {
    let position =
        next_position(conn, proposal.chain, proposal.signer)?.ok_or(AcceptError::NoLane)?;
    let waiting = position.checked_sub(proposal.taken).ok_or(AcceptError::Behind)?;
    if waiting >= proposal.window {
        return Err(AcceptError::LaneFull);
    }
    let batch = insert_batch(conn, &proposal, position)?;
    insert_claims(conn, &proposal, batch)?;
    let signed = (proposal.seal)(position).map_err(AcceptError::Seal)?;
    conn.prepare_cached("INSERT INTO attempt VALUES (?1, ?2, 0, 'bill', ?3, ?4, ?5)")?.execute(
        params![
            signed.hash.as_slice(),
            batch.0,
            signed.raw,
            to_i64(signed.gas_required),
            proposal.at_ms
        ],
    )?;
    conn.prepare_cached(
        "UPDATE lane SET next_position = next_position + 1 WHERE chain = ?1 AND signer = ?2",
    )?
    .execute(params![proposal.chain.0, proposal.signer.as_slice()])?;
    let place = place(proposal.chain, proposal.contract, proposal.signer, position);
    let body = history::accepted_body(batch, &place, &proposal.items, &signed.raw);
    history::append(conn, proposal.at_ms, "accepted", &body)?;
    let attempt = Attempt { batch, seq: 0, kind: AttemptKind::Bill, signed };
    Ok(Slot { batch, position, items: proposal.items, attempts: Attempts::new(Durable(attempt)) })
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

fn insert_batch(
    conn: &Connection,
    proposal: &Proposal,
    position: u64,
) -> rusqlite::Result<BatchId> {
    conn.prepare_cached(
        "INSERT INTO batch (chain, contract, signer, position, request_id, state, accepted_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, 'open', ?6)",
    )?
    .execute(params![
        proposal.chain.0,
        proposal.contract.as_slice(),
        proposal.signer.as_slice(),
        to_i64(position),
        proposal.request_id.as_ref().map(RequestId::as_str),
        proposal.at_ms
    ])?;
    Ok(BatchId(conn.last_insert_rowid()))
}

fn insert_claims(
    conn: &Connection,
    proposal: &Proposal,
    batch: BatchId,
) -> Result<(), AcceptError> {
    let (chain, contract) = (proposal.chain.0, proposal.contract.as_slice());
    let expired = "UPDATE claim SET live = 0 WHERE live = 1 AND period = '' AND guard_chain_s <= ?1
                   AND chain = ?2 AND contract = ?3";
    let mut expire_id = conn.prepare_cached(&format!("{expired} AND subscribe_id = ?4"))?;
    let mut expire_key =
        conn.prepare_cached(&format!("{expired} AND plan_id = ?4 AND user_hash = ?5"))?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO claim (batch, item, chain, contract, subscribe_id, plan_id, user_hash, period,
                            amount, live) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1)",
    )?;
    for (index, item) in proposal.items.iter().enumerate() {
        let (id, plan, user) = (item.subscribe.0, item.key.plan.0, item.key.user.0.as_slice());
        if item.key.period == Period::Guarded {
            let now = to_i64(proposal.chain_time);
            expire_id.execute(params![now, chain, contract, id])?;
            expire_key.execute(params![now, chain, contract, plan, user])?;
        }
        let period = period_text(item.key.period);
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        insert
            .execute(params![
                batch.0,
                index,
                chain,
                contract,
                id,
                plan,
                user,
                period,
                item.amount.to_string()
            ])
            .map_err(|e| match e.sqlite_error_code() {
                Some(ErrorCode::ConstraintViolation) => AcceptError::Claimed,
                _ => e.into(),
            })?;
    }
    Ok(())
}

/// The end of a batch, to be written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Which batch.
    pub batch: BatchId,
    /// How it ended.
    pub verdict: Verdict,
    /// Until when, in chain time (Unix seconds), charges without a period stay claimed.
    pub guard_chain_s: u64,
}

/// Writes down the end of a batch. A batch that has ended already stays as it is.
pub(super) fn settle(conn: &Connection, end: &Settlement, at_ms: i64) -> rusqlite::Result<()> {
    let (state, winner) = (end.verdict.state, &end.verdict.winner);
    let changed = conn
        .prepare_cached(
            "UPDATE batch SET state = ?2, winner = ?3, block = ?4, settled_ms = ?5
             WHERE id = ?1 AND state = 'open'",
        )?
        .execute(params![
            end.batch.0,
            state.word(),
            winner.hash.as_slice(),
            to_i64(winner.block),
            at_ms
        ])?;
    if changed == 0 {
        return Ok(());
    }
    match state {
        BatchState::Charged => settle_items(conn, end)?,
        BatchState::Reverted | BatchState::Cancelled => release_all(conn, end.batch, state)?,
        BatchState::Open => return Err(rusqlite::Error::InvalidQuery),
    }
    let outcomes: Vec<_> = winner.outcomes.iter().map(|outcome| words(outcome).0).collect();
    let decided = (state, Some(winner.hash), winner.block);
    let body = history::settled_body(end.batch, decided, &json!(outcomes));
    history::append(conn, at_ms, "settled", &body)
}

fn settle_items(conn: &Connection, end: &Settlement) -> rusqlite::Result<()> {
    let mut update = conn.prepare_cached(
        "UPDATE claim SET outcome = ?3, detail = ?4, live = ?5,
                guard_chain_s = CASE WHEN period = '' THEN ?6 END
         WHERE batch = ?1 AND item = ?2",
    )?;
    for (index, outcome) in end.verdict.winner.outcomes.iter().enumerate() {
        let (word, detail) = words(outcome);
        let held = !matches!(outcome, ItemOutcome::Failed { .. });
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        let guard = to_i64(end.guard_chain_s);
        update.execute(params![end.batch.0, index, word, detail, held, guard])?;
    }
    Ok(())
}

fn words(outcome: &ItemOutcome) -> (&'static str, Option<&str>) {
    match outcome {
        ItemOutcome::Charged => ("charged", None),
        ItemOutcome::Failed { code, detail } => (code.token(), detail.as_deref()),
        ItemOutcome::Unproven => ("unproven", None),
    }
}

fn release_all(conn: &Connection, batch: BatchId, state: BatchState) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE claim SET live = 0, outcome = ?2 WHERE batch = ?1")?
        .execute(params![batch.0, state.word()])
        .map(drop)
}
