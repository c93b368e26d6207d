//! The records that are written before anything is sent, each in one transaction: a lane opened, a batch accepted,
//! another attempt added to it.

use crate::commit::newest_day::NewestDay;
use crate::commit::state_before::StateBefore;
use crate::commit::{day_sums, requests, rows};
use crate::history::ClaimPlace;
use crate::model::{Added, Addition, LaneId, Origin, Proposal};
use crate::sql::columns::period_text;
use crate::sql::{
    ColumnType, Constraint, Database, NewRows, OptionalExtension as _, Row, SqlResult, Statement,
    params,
};
use crate::tables::{batch_hours, profiles, scopes};
use crate::{AcceptError, Durable, HistoryEvent, Sealed, history};
use alloy::primitives::B256;
use billing::{
    AskedBy, Attempt, AttemptKind, Attempts, BatchId, Item, Period, RequestId, Signed, Slot,
};
use policy::utc_day;
use rusqlite::types::ToSql;
use serde_json::json;
use smol_str::ToSmolStr as _;
use std::sync::LazyLock;

/// Takes the position that was signed for, the claims and the signature; nothing of it when anything
/// fails, or when the lane is at another position.
pub(crate) fn accept(
    conn: &dyn Database,
    proposal: Proposal,
) -> Result<Slot<Durable<Attempt>>, AcceptError> {
    let (origin, lane, at_ms) = (proposal.origin, proposal.origin.lane, proposal.at_ms);
    let before = StateBefore::of(conn, &proposal)?;
    before.admits(&proposal)?;
    let (profile, newest) = if let Some(number) = before.profile {
        (number, before.newest)
    } else {
        let number = profiles::add(conn, &origin, &proposal.profile, at_ms)?;
        (number, history::newest(conn)?)
    };
    let Sealed { position, items, signed } = &proposal.sealed;
    let (batch, request) = (before.batch, proposal.request.as_ref());
    let scope = before.scope.map_or_else(|| scopes::of(conn, &origin), Ok)?;
    let counts = day_sums::count(&proposal, before.sums);
    let mut newest_day = before.newest_day;
    for (unit, sum) in counts.iter().flat_map(|counts| &counts.sums) {
        newest_day.set(conn, lane, utc_day(at_ms), unit, *sum)?;
    }
    let new = NewBatch {
        batch,
        origin,
        profile: Some(profile),
        position: *position,
        request_id: request.map(|named| &named.id),
        caller: proposal.caller.as_ref(),
        counted: counts.as_ref().map(|counts| counts.added.as_slice()).unwrap_or_default(),
        hash: signed.hash,
        signed: Some(signed),
    };
    // First of all: a signature for another position is refused for that reason.
    advance_and_count(conn, lane, *position, &newest_day)?;
    insert_batch(conn, &new, at_ms)?;
    if let Some(request) = request {
        let named: Vec<BatchId> = proposal.earlier.iter().copied().chain([batch]).collect();
        requests::write(conn, request, &named)?;
    }
    let freed = insert_claims(conn, &proposal, batch, scope)?;
    if counts.is_err() {
        // A subscription charged by another batch is refused for that reason, and not because the day's sum is
        // full: that batch is in the sum.
        conn.flush()?;
    }
    let counts = counts?;
    let attempt = Attempt { batch, seq: 0, kind: AttemptKind::Bill, signed: signed.clone() };
    let accepted = history::Accepted {
        batch,
        origin,
        profile: Some(profile),
        position: *position,
        request: request.map(|named| (named.id.as_str(), named.digest)),
        caller: proposal.caller.as_ref(),
        transaction: history::transaction_digest(&attempt.signed),
        counted: &counts.added,
        elsewhere: Vec::new(),
        freed,
    };
    history::append_to(conn, &newest, at_ms, HistoryEvent::Accepted, &accepted.body(items)?)?;
    conn.flush()?;
    let Proposal { sealed: Sealed { position, items, .. }, profile, .. } = proposal;
    let (contract, attempts) = (origin.contract, Attempts::new(Durable(attempt)));
    Ok(Slot { batch, position, contract, profile, accepted_ms: at_ms, items, attempts })
}

/// Adds an attempt in the batch's own place. None when the batch has ended or has this attempt.
pub(crate) fn add_attempt(
    conn: &dyn Database,
    addition: Addition,
) -> Result<Option<Durable<Attempt>>, AcceptError> {
    let sql = "SELECT position FROM batch WHERE id = ?1 AND state = 'open'
               AND coalesce((SELECT max(seq) FROM later_attempt WHERE batch = ?1), 0) + 1 = ?2";
    let position: Option<u64> = conn
        .prepare_cached(sql)?
        .query_row(params![addition.batch.0, addition.seq], |row| row.get(0))
        .optional()?;
    let Some(position) = position else { return Ok(None) };
    let Sealed { position: signed_for, items, signed } = addition.sealed;
    if signed_for != position || items != rows::items(conn, addition.batch)? {
        return Err(AcceptError::OtherBatch);
    }
    let counted = day_sums::count_again(conn, addition.batch, &addition.fee, addition.at_ms)?;
    let Addition { batch, seq, kind, .. } = addition;
    let attempt = Attempt { batch, seq, kind, signed };
    insert_later(conn, &attempt, addition.at_ms)?;
    let body = history::attempt_body(&attempt, &counted);
    history::append(conn, addition.at_ms, HistoryEvent::SignedAgain, &body)?;
    Ok(Some(Durable(attempt)))
}

/// Lets a hash stand for a batch, for ever.
fn insert_tx(conn: &dyn Database, hash: B256, batch: BatchId) -> SqlResult<()> {
    let sql = "INSERT INTO tx (hash, batch) VALUES (?1, ?2)";
    conn.prepare_cached(sql)?.queue(params![hash.as_slice(), batch.0])
}

/// Inserts an attempt in the place of an earlier one.
fn insert_later(conn: &dyn Database, attempt: &Attempt, at_ms: i64) -> SqlResult<()> {
    insert_tx(conn, attempt.signed.hash, attempt.batch)?;
    let sql = "INSERT INTO later_attempt (batch, seq, hash, kind, raw, gas_required, signed_ms)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    conn.prepare_cached(sql)?.queue(params![
        attempt.batch.0,
        attempt.seq,
        attempt.signed.hash.as_slice(),
        attempt.kind.word(),
        attempt.signed.raw,
        attempt.signed.gas_required,
        at_ms
    ])
}

/// Moves a lane on as [`advance`] does, and writes the sums of its newest day in the same statement.
fn advance_and_count(
    conn: &dyn Database,
    lane: LaneId,
    position: u64,
    newest: &NewestDay,
) -> SqlResult<()> {
    let (chain, signer) = (lane.chain.0, lane.signer.as_slice());
    conn.prepare_cached(
        "UPDATE lane SET next_position = next_position + 1, day = ?4, sums = ?5
         WHERE chain = ?1 AND signer = ?2 AND next_position = ?3",
    )?
    .queue_expecting(
        Constraint::Place,
        params![chain, signer, position, newest.day, newest.column()?],
    )
}

/// Moves the lane on from `position`, if it is there; returns true if it was. One comparison and one change in one
/// statement: a signature holds for one position, and no two transactions get past it.
pub(crate) fn advance(conn: &dyn Database, lane: LaneId, position: u64) -> SqlResult<bool> {
    let sql = "UPDATE lane SET next_position = next_position + 1
               WHERE chain = ?1 AND signer = ?2 AND next_position = ?3";
    let values = params![lane.chain.0, lane.signer.as_slice(), position];
    conn.prepare_cached(sql)?.execute(values).map(|moved| moved == 1)
}

/// Returns true if a batch has this position for good, or hopes for it.
pub(crate) fn is_taken(conn: &dyn Database, lane: LaneId, position: u64) -> SqlResult<bool> {
    conn.prepare_cached(
        "SELECT 1 FROM batch WHERE chain = ?1 AND signer = ?2 AND position = ?3 AND lost = 0",
    )?
    .exists(params![lane.chain.0, lane.signer.as_slice(), position])
}

/// The position that the lane's next batch gets; none when the lane was never opened.
pub(crate) fn next_position(conn: &dyn Database, lane: LaneId) -> SqlResult<Option<u64>> {
    conn.prepare_cached("SELECT next_position FROM lane WHERE chain = ?1 AND signer = ?2")?
        .query_row(params![lane.chain.0, lane.signer.as_slice()], |row| row.get(0))
        .optional()
}

/// Opens a lane at `first`, unless it is open; tells where it stands.
pub(crate) fn open_lane(
    conn: &dyn Database,
    lane: LaneId,
    first: u64,
    at_ms: i64,
) -> SqlResult<u64> {
    if let Some(next) = next_position(conn, lane)? {
        return Ok(next);
    }
    conn.prepare_cached("INSERT INTO lane (chain, signer, next_position) VALUES (?1, ?2, ?3)")?
        .queue(params![lane.chain.0, lane.signer.as_slice(), first])?;
    let body = json!({"chain": lane.chain.0, "signer": lane.signer, "first": first});
    history::append(conn, at_ms, HistoryEvent::LaneOpened, &body)?;
    Ok(first)
}

/// A batch that has its position.
pub(crate) struct NewBatch<'a> {
    pub(crate) batch: BatchId,
    pub(crate) origin: Origin,
    /// None for what is learnt.
    pub(crate) profile: Option<i64>,
    pub(crate) position: u64,
    pub(crate) request_id: Option<&'a RequestId>,
    pub(crate) caller: Option<&'a AskedBy>,
    /// The amounts that it adds to the sums of the day.
    pub(crate) counted: &'a [Added],
    /// The hash of its first transaction.
    pub(crate) hash: B256,
    /// That transaction, if it was signed here.
    pub(crate) signed: Option<&'a Signed>,
}

/// The number that the next batch gets.
pub(crate) fn next_batch(conn: &dyn Database) -> SqlResult<BatchId> {
    let sql = "SELECT coalesce(max(id), 0) + 1 FROM batch";
    conn.prepare_cached(sql)?.query_row([], |row| row.get(0).map(BatchId))
}

pub(crate) fn insert_batch(conn: &dyn Database, new: &NewBatch<'_>, at_ms: i64) -> SqlResult<()> {
    let Origin { lane, contract } = new.origin;
    insert_tx(conn, new.hash, new.batch)?;
    conn.prepare_cached(
        "INSERT INTO batch (id, chain, contract, profile, signer, position, request_id, caller_label,
                            caller_key, state, accepted_ms, counted, hash, raw, gas_required)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'open', ?10, ?11, ?12, ?13, ?14)",
    )?
    .queue_expecting(
        Constraint::Place,
        params![
            new.batch.0,
            lane.chain.0,
            contract.as_slice(),
            new.profile,
            lane.signer.as_slice(),
            new.position,
            new.request_id.map(RequestId::as_str),
            new.caller.map(|caller| caller.label.as_str()),
            new.caller.map(|caller| caller.key.as_str()),
            at_ms,
            day_sums::column(at_ms, new.counted)?,
            new.hash.as_slice(),
            new.signed.map(|signed| signed.raw.as_slice()),
            new.signed.map(|signed| signed.gas_required)
        ],
    )?;
    batch_hours::list(conn, new.batch, at_ms)
}

/// Inserts the claims of a batch; tells which older ones that freed.
fn insert_claims(
    conn: &dyn Database,
    proposal: &Proposal,
    batch: BatchId,
    scope: i64,
) -> SqlResult<Vec<ClaimPlace>> {
    let items = &proposal.sealed.items;
    let freed = release_expired_guards(conn, scope, items, proposal.chain_time)?;
    let new =
        (0..).zip(items).map(|(index, item)| NewClaim { batch, index, scope, item, live: true });
    CLAIMS.queue(conn, Some(Constraint::Claim), new, |claim, put| claim.bind(put))?;
    keep_payers(conn, items)?;
    Ok(freed)
}

/// Frees the claims on charges without a period whose guards have run out by `chain_time`, and tells which.
pub(crate) fn release_expired_guards(
    conn: &dyn Database,
    scope: i64,
    items: &[Item],
    chain_time: u64,
) -> SqlResult<Vec<ClaimPlace>> {
    let guarded = || items.iter().filter(|item| item.key.period == Period::Guarded);
    let expired = |which: &str| {
        format!(
            "UPDATE claim SET live = 0 WHERE live = 1 AND period = '' AND guard_until_s <= ?1
             AND scope = ?2 AND {which} RETURNING batch, item"
        )
    };
    let place = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    if guarded().next().is_none() {
        return Ok(Vec::new());
    }
    let by_id = conn.prepare_cached(&expired("subscribe_id = ?3"))?.query_each(
        guarded(),
        |item, ask| ask(params![chain_time, scope, item.subscribe.0]),
        place,
    )?;
    let by_key = conn.prepare_cached(&expired("plan_id = ?3 AND user_hash = ?4"))?.query_each(
        guarded(),
        |item, ask| {
            let (plan, user) = (item.key.plan.0, item.key.user.0.as_slice());
            ask(params![chain_time, scope, plan, user])
        },
        place,
    )?;
    Ok(by_id.into_iter().chain(by_key).flatten().collect())
}

/// A claim that is not there yet.
pub(crate) struct NewClaim<'a> {
    pub(crate) batch: BatchId,
    /// Its place in the batch.
    pub(crate) index: usize,
    /// The number of the contract on its chain.
    pub(crate) scope: i64,
    pub(crate) item: &'a Item,
    /// One that is live excludes all others.
    pub(crate) live: bool,
}

/// The claims. One that another claim excludes is not inserted.
static CLAIMS: LazyLock<NewRows> = LazyLock::new(|| {
    use ColumnType::{Bytes, Number, Text};
    let columns = [
        ("batch", Number),
        ("item", Number),
        ("scope", Number),
        ("subscribe_id", Number),
        ("plan_id", Number),
        ("user_hash", Bytes),
        ("period", Text),
        ("amount", Text),
        ("plan_version", Text),
        ("wallet", Bytes),
        ("token", Bytes),
        ("live", Number),
    ];
    NewRows::of("claim", &columns)
});

/// The users of each wallet.
static PAYERS: LazyLock<NewRows> = LazyLock::new(|| {
    NewRows::of("payer", &[("wallet", ColumnType::Bytes), ("user_hash", ColumnType::Bytes)])
});

/// Keeps who pays these charges, where that is known.
pub(crate) fn keep_payers(conn: &dyn Database, items: &[Item]) -> SqlResult<()> {
    let known = items.iter().filter_map(|item| Some((item.terms.wallet?, item.key.user)));
    PAYERS.queue(conn, None, known, |(wallet, user), put| {
        put(params![wallet.as_slice(), user.0.as_slice()])
    })
}

impl NewClaim<'_> {
    /// The statement that inserts a claim. If another claim excludes it, no row is inserted.
    pub(crate) fn inserting(conn: &dyn Database) -> SqlResult<Statement<'_>> {
        CLAIMS.row(conn)
    }

    /// Has the claim's values inserted by `run`.
    pub(crate) fn bind<T>(&self, run: impl FnOnce(&[&dyn ToSql]) -> SqlResult<T>) -> SqlResult<T> {
        let item = self.item;
        run(params![
            self.batch.0,
            self.index,
            self.scope,
            item.subscribe.0,
            item.key.plan.0,
            item.key.user.0.as_slice(),
            period_text(item.key.period).as_str(),
            item.amount.to_smolstr().as_str(),
            item.terms.plan_version.map(|version| version.to_smolstr()).as_deref(),
            item.terms.wallet.as_ref().map(|wallet| wallet.as_slice()),
            item.terms.token.as_ref().map(|token| token.as_slice()),
            self.live
        ])
    }
}
