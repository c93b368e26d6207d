//! The names that callers give to their requests: what each stands for, and the batches that answers to
//! it have named.

use crate::commit::rows::billing;
use crate::sql::{BindValues, Database, OptionalExtension as _, SqlResult, params};
use crate::{AcceptError, Billing, Journal, JournalError};
use billing::{BatchId, CallerKey, NamedRequest};

/// The standing of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStanding {
    /// Nothing has been named to it, or not all of what was asked about.
    New,
    /// It was told of these batches before.
    Known,
    /// Its caller has given the same name to other entries.
    Taken,
}

impl Journal {
    /// The batches that answers to a request id have named, newest first, at most 100: to the request of this
    /// name that `caller` has posted, and only if there is none, to those of others.
    pub async fn billings_by_request(
        &self,
        id: String,
        caller: Option<CallerKey>,
    ) -> Result<Vec<Billing>, JournalError> {
        self.queue.read(move |conn| billings_heard_by(conn, &id, caller.as_ref())).await
    }

    /// Reads the standing of a request, and if it is known to have been told of `batches`.
    pub async fn request_standing(
        &self,
        request: NamedRequest,
        batches: Vec<BatchId>,
    ) -> Result<RequestStanding, JournalError> {
        self.queue.look_up(move |conn| standing(conn, &request, &batches)).await
    }

    /// Writes down that the answer to a request names `batches`.
    pub async fn name_request(
        &self,
        request: NamedRequest,
        batches: Vec<BatchId>,
    ) -> Result<(), AcceptError> {
        self.queue.write(move |conn| name(conn, &request, &batches)).await
    }
}

/// Reads the standing of `request`, and if it is known to have been told of `batches`.
fn standing(
    conn: &dyn Database,
    request: &NamedRequest,
    batches: &[BatchId],
) -> SqlResult<RequestStanding> {
    let (id, caller) = (request.id.as_str(), caller_key(request.caller.as_ref()));
    let digest: Option<Vec<u8>> = conn
        .prepare_cached("SELECT digest FROM request WHERE id = ?1 AND caller_key = ?2")?
        .query_row(params![id, caller], |row| row.get(0))
        .optional()?;
    let Some(digest) = digest else { return Ok(RequestStanding::New) };
    if digest != request.digest.as_slice() {
        return Ok(RequestStanding::Taken);
    }
    let mut told = conn.prepare_cached(
        "SELECT 1 FROM request WHERE id = ?1 AND caller_key = ?2 AND batch = ?3
         UNION ALL SELECT 1 FROM request_batch WHERE request = ?1 AND caller_key = ?2 AND batch = ?3",
    )?;
    let ask = |batch: &BatchId, ask: BindValues<'_>| ask(params![id, caller, batch.0]);
    let told = told.query_each(batches, ask, |_| Ok(()))?;
    let all = told.iter().all(|told| !told.is_empty());
    Ok(if all { RequestStanding::Known } else { RequestStanding::New })
}

/// Writes down that an answer to `request` names `batches`.
pub(crate) fn name(
    conn: &dyn Database,
    request: &NamedRequest,
    batches: &[BatchId],
) -> Result<(), AcceptError> {
    match standing(conn, request, batches)? {
        RequestStanding::Taken => return Err(AcceptError::RequestTaken),
        RequestStanding::Known => return Ok(()),
        RequestStanding::New => {}
    }
    Ok(write(conn, request, batches)?)
}

/// Writes the name of a request down, unchecked: the caller knows that it stands for nothing else.
pub(crate) fn write(
    conn: &dyn Database,
    request: &NamedRequest,
    batches: &[BatchId],
) -> SqlResult<()> {
    let (id, caller) = (request.id.as_str(), caller_key(request.caller.as_ref()));
    conn.prepare_cached(
        "INSERT INTO request (id, caller_key, digest, batch) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO NOTHING",
    )?
    .queue(params![
        id,
        caller,
        request.digest.as_slice(),
        batches.last().map(|batch| batch.0)
    ])?;
    // The name's own row leads to one of them already.
    let sql = "INSERT INTO request_batch (request, caller_key, batch)
               SELECT id, caller_key, CAST(?3 AS BIGINT) FROM request
               WHERE id = ?1 AND caller_key = ?2 AND batch IS DISTINCT FROM ?3
               ON CONFLICT DO NOTHING";
    let mut insert = conn.prepare_cached(sql)?;
    for batch in batches {
        insert.queue(params![id, caller, batch.0])?;
    }
    Ok(())
}

/// The batches that answers to requests of this name have named, whoever asked: newest first.
pub(crate) fn billings(conn: &dyn Database, id: &str) -> SqlResult<Vec<Billing>> {
    let sql = "SELECT batch FROM request WHERE id = ?1 AND batch IS NOT NULL
               UNION SELECT batch FROM request_batch WHERE request = ?1
               ORDER BY batch DESC LIMIT 100";
    let batches: Vec<i64> =
        conn.prepare_cached(sql)?.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    batches.into_iter().filter_map(|id| billing(conn, BatchId(id)).transpose()).collect()
}

/// The batches that answers to the request of this name of `caller` have named; where it has none, of all others.
fn billings_heard_by(
    conn: &dyn Database,
    id: &str,
    caller: Option<&CallerKey>,
) -> SqlResult<Vec<Billing>> {
    let caller = caller_key(caller);
    let known = conn
        .prepare_cached("SELECT 1 FROM request WHERE id = ?1 AND caller_key = ?2")?
        .query_row(params![id, caller], |_| Ok(()))
        .optional()?;
    if known.is_none() {
        return billings(conn, id);
    }
    let sql = "SELECT batch FROM request WHERE id = ?1 AND caller_key = ?2 AND batch IS NOT NULL
               UNION SELECT batch FROM request_batch WHERE request = ?1 AND caller_key = ?2
               ORDER BY batch DESC LIMIT 100";
    let batches: Vec<i64> = conn
        .prepare_cached(sql)?
        .query_map(params![id, caller], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    batches.into_iter().filter_map(|id| billing(conn, BatchId(id)).transpose()).collect()
}

/// The key that the name is of, as its column has it. Names that nobody had to sign for are apart, too.
pub(crate) fn caller_key(caller: Option<&CallerKey>) -> &str {
    caller.map(CallerKey::as_str).unwrap_or_default()
}
