//! Each batch, against the rows of history that tell of it.

use crate::commit::{requests, rows};
use crate::history::{Accepted, ClaimPlace, HistoryRow, Settled, attempt_body, transaction_digest};
use crate::model::{
    Added, BatchEvent, Billing, Corrected, Line, LineOutcome, OutcomeWord, Recorded,
};
use crate::sql::columns::{hash, outcome_words};
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};
use crate::tables::batch_hours;
use crate::{HistoryEvent, Resolution};
use alloy::primitives::B256;
use billing::{BatchId, BatchState, Item, ItemOutcome, Period};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The history's account of batches.
#[derive(Debug, Default)]
pub(super) struct BatchAudit {
    accepted: u64,
    attempts: u64,
    settled: u64,
    resolved: u64,
    /// Claims that were freed when their guards ended, and not by a person.
    freed: u64,
    /// Claims that waited while another batch held their charge, and hold it since.
    passed_on: BTreeSet<ClaimPlace>,
}

/// A row of history that tells of a batch.
struct Telling<'a> {
    conn: &'a dyn Database,
    at_ms: i64,
    body: &'a Value,
}

/// The difference found, if there is one.
type Difference = SqlResult<Option<&'static str>>;

/// Compares a batch with a row.
type Compare<'a> = fn(&Telling<'a>, &Billing) -> Difference;

impl BatchAudit {
    /// Compares a batch with what one row says of it. `body` is the row's, in terms of now.
    pub(super) fn compare(
        &mut self,
        conn: &dyn Database,
        row: &HistoryRow<'_>,
        body: &Value,
    ) -> SqlResult<Option<String>> {
        let telling = Telling { conn, at_ms: row.at_ms, body };
        let Some(event) = row.kind() else { return Ok(None) };
        self.follow_claims(&telling, event)?;
        let Some(event) = event.of_batch() else { return Ok(None) };
        let (count, compare): (&mut u64, Compare<'_>) = match event {
            BatchEvent::Accepted | BatchEvent::Adopted => {
                self.attempts = self.attempts.saturating_add(1);
                (&mut self.accepted, Telling::was_accepted)
            }
            BatchEvent::SignedAgain => (&mut self.attempts, Telling::has_attempt),
            BatchEvent::Settled => (&mut self.settled, Telling::has_ended),
            BatchEvent::Resolved => (&mut self.resolved, Telling::was_resolved),
        };
        *count = count.saturating_add(1);
        let number = telling.batch();
        Ok(match rows::billing(conn, BatchId(number)) {
            Ok(Some(billing)) => compare(&telling, &billing)?
                .map(|difference| format!("batch {number} {difference}")),
            Ok(None) => Some(format!("batch {number} is gone")),
            Err(error) => Some(format!("batch {number} cannot be read: {error}")),
        })
    }

    /// Takes down who holds a claim from this row on.
    fn follow_claims(&mut self, telling: &Telling<'_>, event: HistoryEvent) -> SqlResult<()> {
        let frees = [HistoryEvent::Accepted, HistoryEvent::Adopted, HistoryEvent::ClaimsPassedOn];
        if frees.contains(&event) {
            self.freed = self.freed.saturating_add(telling.freed()?);
            for place in telling.told::<Vec<ClaimPlace>>("freed") {
                self.passed_on.remove(&place);
            }
        }
        if event == HistoryEvent::ClaimsPassedOn {
            self.passed_on.extend(telling.told::<Vec<ClaimPlace>>("held"));
        }
        let freed = || telling.told::<String>("resolution") == Resolution::Free.word();
        if event == HistoryEvent::Resolved && freed() {
            self.passed_on.remove(&(telling.batch(), telling.told("item")));
        }
        Ok(())
    }

    /// Returns the number of batches that were compared.
    pub(super) fn batches(&self) -> u64 {
        self.accepted
    }

    /// Rows that no history tells of.
    pub(super) fn count(&self, conn: &dyn Database) -> SqlResult<Vec<String>> {
        let claims = "SELECT count(*) FILTER (WHERE resolved IS NOT NULL),
                 count(*) FILTER (WHERE live = 0 AND period = '' AND elsewhere = 0
                     AND outcome IN ('charged', 'unproven') AND resolved IS DISTINCT FROM 'released'),
                 count(*) FILTER (WHERE scope.chain <> batch.chain OR scope.contract <> batch.contract)
             FROM claim JOIN batch ON batch.id = claim.batch JOIN scope ON scope.id = claim.scope";
        let claims: [u64; 3] =
            conn.query_row(claims, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
        let [resolved, freed, foreign] = claims;
        let batches = "SELECT count(*), count(*) FILTER (WHERE state <> 'open'),
                              (SELECT count(*) FROM attempt), (SELECT count(*) FROM tx),
                              count(*) FILTER (WHERE (state = 'usurped') <> (lost = 1)) FROM batch";
        let batches: [u64; 5] = conn.query_row(batches, [], |row| {
            Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?])
        })?;
        let [accepted, settled, attempts, hashes, misplaced] = batches;
        let table = [
            (accepted, self.accepted, "batches"),
            (attempts, self.attempts, "attempts"),
            (hashes, self.attempts, "hashes of transactions"),
            (misplaced, 0, "batches that have lost their place, or not, against their state"),
            (settled, self.settled, "ended batches"),
            (resolved, self.resolved, "resolved charges"),
            (freed, self.freed, "claims that ended with their guards"),
            (foreign, 0, "claims that are not on their batch's chain and contract"),
            (unlisted_payers(conn)?, 0, "claims whose payer is not listed"),
            (batch_hours::unlisted(conn)?, 0, "batches whose hour is not listed"),
        ];
        let differs = table.into_iter().filter(|(found, known, _)| found != known);
        let fault = |(found, known, what): (u64, u64, &str)| {
            format!("{found} {what}, but the history knows {known}")
        };
        let mut faults: Vec<String> = differs.map(fault).collect();
        let passed_on: BTreeSet<ClaimPlace> = conn
            .prepare("SELECT batch, item FROM claim WHERE elsewhere = 1 AND live = 1")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        if passed_on != self.passed_on {
            let fault = "the claims that charges made elsewhere hold are not those of the history";
            faults.push(fault.to_owned());
        }
        Ok(faults)
    }
}

/// The number of claims whose payer is not listed. Among the other counts a server would look the payer of each claim
/// up by itself, and not all at once.
fn unlisted_payers(conn: &dyn Database) -> SqlResult<u64> {
    let sql =
        "SELECT count(*) FROM claim WHERE wallet IS NOT NULL AND NOT EXISTS (SELECT 1 FROM payer
                   WHERE payer.wallet = claim.wallet AND payer.user_hash = claim.user_hash)";
    conn.query_row(sql, [], |row| row.get(0))
}

impl<'a> Telling<'a> {
    fn batch(&self) -> i64 {
        self.body.get("batch").and_then(Value::as_i64).unwrap_or_default()
    }

    /// Returns the value under `key`; an empty one if it is of another type.
    fn told<T: Deserialize<'a> + Default>(&self, key: &str) -> T {
        self.body.get(key).and_then(|told| T::deserialize(told).ok()).unwrap_or_default()
    }

    /// Returns the number of claims that this row freed and that are free for that reason alone.
    fn freed(&self) -> SqlResult<u64> {
        let sql = "SELECT 1 FROM claim WHERE batch = ?1 AND item = ?2 AND live = 0
                   AND elsewhere = 0 AND resolved IS DISTINCT FROM 'released'";
        let mut select = self.conn.prepare_cached(sql)?;
        let mut count = 0_u64;
        for (batch, item) in self.told::<Vec<ClaimPlace>>("freed") {
            count = count.saturating_add(u64::from(select.exists(params![batch, item])?));
        }
        Ok(count)
    }

    fn was_accepted(&self, billing: &Billing) -> Difference {
        let items: Vec<Item> = billing.items.iter().map(|line| line.item).collect();
        let first = billing.attempts.first();
        let transaction = match first {
            Recorded::Signed(attempt) => transaction_digest(&attempt.get().signed),
            Recorded::Learnt(hash) => hex::encode(hash),
        };
        let places = (0_usize..).zip(&billing.items);
        let request = self.request(billing)?;
        if request.is_none() && billing.request_id.is_some() {
            return Ok(Some("names a request that is not written down"));
        }
        let accepted = Accepted {
            batch: billing.batch,
            origin: billing.origin,
            profile: self.profile()?,
            position: billing.position,
            request: request.as_ref().map(|(id, digest)| (id.as_str(), *digest)),
            caller: billing.caller.as_ref(),
            transaction,
            // The sums have an audit of their own, and freed claims are counted.
            counted: &self.told::<Vec<Added>>("counted"),
            freed: self.told::<Vec<ClaimPlace>>("freed"),
            elsewhere: places.filter(|(_, line)| line.elsewhere).map(|(at, _)| at).collect(),
        };
        if accepted.body(&items)?.differs_from(self.body) {
            return Ok(Some("differs from what was accepted"));
        }
        if billing.accepted_ms != self.at_ms || self.signed_ms(first)? != Some(self.at_ms) {
            return Ok(Some("was not accepted when its rows say"));
        }
        let open = billing.state == BatchState::Open;
        if open && !billing.items.iter().all(|line| line.live && line.outcome.is_none()) {
            return Ok(Some("is undecided, but not all of its claims are held"));
        }
        Ok(None)
    }

    /// The number of the profile that the batch was signed by.
    fn profile(&self) -> SqlResult<Option<i64>> {
        let sql = "SELECT profile FROM batch WHERE id = ?1";
        self.conn.prepare_cached(sql)?.query_row([self.batch()], |row| row.get(0))
    }

    /// The name of the request, and what that stands for.
    fn request(&self, billing: &Billing) -> SqlResult<Option<(String, B256)>> {
        let Some(id) = &billing.request_id else { return Ok(None) };
        let sql = "SELECT digest FROM request WHERE id = ?1 AND caller_key = ?2 AND (batch = ?3
                   OR EXISTS (SELECT 1 FROM request_batch WHERE request = request.id
                       AND request_batch.caller_key = request.caller_key AND batch = ?3))";
        let caller = requests::caller_key(billing.caller.as_ref().map(|by| &by.key));
        let named = params![id, caller, billing.batch.0];
        let digest = self.conn.prepare_cached(sql)?.query_row(named, |row| hash(row, 0));
        Ok(digest.optional()?.map(|digest| (id.clone(), digest)))
    }

    fn signed_ms(&self, attempt: &Recorded) -> SqlResult<Option<i64>> {
        // The hash leads to its batch by itself, too.
        let sql = "SELECT signed_ms FROM attempt WHERE batch = ?1 AND hash = ?2
                   AND EXISTS (SELECT 1 FROM tx WHERE tx.hash = ?2 AND tx.batch = ?1)";
        let (batch, hash) = (self.batch(), attempt.hash());
        let named = params![batch, hash.as_slice()];
        self.conn.prepare_cached(sql)?.query_row(named, |row| row.get(0)).optional()
    }

    fn has_attempt(&self, billing: &Billing) -> Difference {
        let counted = self.told::<Vec<Added>>("counted");
        let same = |recorded: &&Recorded| match recorded {
            Recorded::Signed(attempt) => attempt_body(attempt.get(), &counted) == *self.body,
            Recorded::Learnt(_) => false,
        };
        Ok(match billing.attempts.iter().find(same) {
            Some(attempt) if self.signed_ms(attempt)? == Some(self.at_ms) => None,
            Some(_) => Some("was not signed again when its rows say"),
            None => Some("lacks an attempt"),
        })
    }

    fn has_ended(&self, billing: &Billing) -> Difference {
        let charged = billing.state == BatchState::Charged;
        let outcomes = if charged {
            let all = billing.items.iter().enumerate();
            let told = all.filter_map(|(place, line)| Some((place, word(line)?.into_owned())));
            told.filter(|(_, word)| word != OutcomeWord::Charged.word()).collect()
        } else {
            BTreeMap::new()
        };
        let Some(block) = billing.block else {
            return Ok(Some("has ended, but no block decided"));
        };
        let settled = Settled {
            batch: billing.batch,
            state: billing.state,
            winner: billing.winner,
            block,
            record: billing.record.as_ref(),
            outcomes,
            guard_until: self.told("guard_until"),
            corrected: self.told::<Corrected>("corrected"),
        };
        if settled.body() != *self.body || billing.settled_ms != Some(self.at_ms) {
            return Ok(Some("did not end as its rows say"));
        }
        // A place that no transaction took, and that is used all the same.
        let used_up = billing.state == BatchState::Usurped && billing.winner.is_none();
        let right = |line: &Line| {
            let freed = line.resolved == Some(Resolution::Free);
            let failed =
                matches!(line.outcome, Some(LineOutcome::Told(ItemOutcome::Failed { .. })));
            let untold = line.outcome == Some(LineOutcome::Told(ItemOutcome::Unproven));
            let holds = (charged && !failed || used_up && untold) && !freed;
            // Those whose guards ended are counted; those that waited are compared one by one.
            let guarded = line.item.key.period == Period::Guarded;
            line.live == holds || (holds && guarded) || line.elsewhere
        };
        if !billing.items.iter().all(right) || self.is_guarded_otherwise(billing.batch)? {
            return Ok(Some("has ended, but its claims differ"));
        }
        Ok(None)
    }

    fn is_guarded_otherwise(&self, batch: BatchId) -> SqlResult<bool> {
        let sql = "SELECT 1 FROM claim WHERE batch = ?1
                   AND guard_until_s IS DISTINCT FROM CASE WHEN period = '' THEN CAST(?2 AS BIGINT) END";
        let until: Option<u64> = self.told("guard_until");
        self.conn.prepare_cached(sql)?.exists(params![batch.0, until])
    }

    fn was_resolved(&self, billing: &Billing) -> Difference {
        let place = self.body.get("item").and_then(Value::as_u64);
        let place = place.and_then(|at| usize::try_from(at).ok());
        let Some(line) = place.and_then(|place| billing.items.get(place)) else {
            return Ok(Some("was resolved, but lacks that charge"));
        };
        let said = Resolution::from_word(&self.told::<String>("resolution"));
        let by = "SELECT 1 FROM claim WHERE batch = ?1 AND item = ?2
                  AND resolved_by = ?3 AND resolved_ms = ?4";
        let by = self.conn.prepare_cached(by)?.exists(params![
            billing.batch.0,
            place,
            self.told::<String>("by"),
            self.at_ms
        ])?;
        let same = by && said.is_some() && line.resolved == said;
        Ok((!same).then_some("was resolved otherwise than its rows say"))
    }
}

fn word(line: &Line) -> Option<Cow<'static, str>> {
    match line.outcome.as_ref()? {
        LineOutcome::Told(outcome) => Some(outcome_words(outcome).told()),
        LineOutcome::Released => Some(OutcomeWord::Released.word().into()),
    }
}
