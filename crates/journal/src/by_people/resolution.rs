//! A person's finding on a charge that the chain does not tell of.

use crate::commit::{requests, rows, waiting_claims};
use crate::model::{
    Billing, Line, LineOutcome, OutcomeWord, PersonsWord, Resolution, Resolved, Unresolved,
};
use crate::sql::{Database, SqlError, SqlResult, params};
use crate::{HistoryEvent, NotWritten, history};
use alloy::primitives::B256;
use billing::{BatchId, BatchState, ItemOutcome};
use serde_json::json;

/// Writes down what a person found out, if the chain leaves it open.
pub(crate) fn resolve(
    conn: &dyn Database,
    finding: &PersonsWord,
) -> Result<Resolved, NotWritten<Unresolved>> {
    let refused = |why| Err(NotWritten::Refused(why));
    if finding.why.trim().is_empty() {
        return refused(Unresolved::NoReason);
    }
    let (billing, place) = find(conn, finding)?;
    let Some(line) = billing.items.get(place) else {
        return refused(Unresolved::NoBilling(finding.billing.clone()));
    };
    match state(&billing, line) {
        ClaimStanding::Open => return refused(Unresolved::Open),
        ClaimStanding::Told(word) => return refused(Unresolved::Told(word)),
        ClaimStanding::Resolved(said) if said != finding.resolution => {
            return refused(Unresolved::Otherwise(said.word()));
        }
        ClaimStanding::Resolved(_) => return Ok(Resolved { billing, repeated: true }),
        ClaimStanding::Unproven => {}
    }
    let batch = billing.batch;
    write(conn, finding, batch, place)?;
    let billing = rows::billing(conn, batch)?.ok_or(SqlError::NO_ROW)?;
    Ok(Resolved { billing, repeated: false })
}

/// Frees every charge of a batch of which nobody has said yet what became of it, by a person's word on all of
/// them.
pub(crate) fn free_the_rest(
    conn: &dyn Database,
    batch: BatchId,
    by: &str,
    why: &str,
    at_ms: i64,
) -> SqlResult<()> {
    let Some(billing) = rows::billing(conn, batch)? else { return Ok(()) };
    for (place, line) in billing.items.iter().enumerate() {
        if matches!(state(&billing, line), ClaimStanding::Unproven) {
            let finding = PersonsWord {
                billing: batch.0.to_string(),
                subscribe: line.item.subscribe,
                resolution: Resolution::Free,
                by: by.to_owned(),
                why: why.to_owned(),
                at_ms,
            };
            write(conn, &finding, batch, place)?;
        }
    }
    Ok(())
}

fn write(
    conn: &dyn Database,
    finding: &PersonsWord,
    batch: BatchId,
    place: usize,
) -> SqlResult<()> {
    let held = finding.resolution == Resolution::Charged;
    conn.prepare_cached(
        "UPDATE claim SET resolved = ?3, resolved_by = ?4, resolved_ms = ?5, live = live * ?6
         WHERE batch = ?1 AND item = ?2",
    )?
    .execute(params![
        batch.0,
        place,
        finding.resolution.column().word(),
        finding.by,
        finding.at_ms,
        held
    ])?;
    let body = json!({"batch": batch.0, "item": place, "subscription": finding.subscribe.0,
                      "resolution": finding.resolution.word(), "by": finding.by,
                      "why": finding.why});
    history::append(conn, finding.at_ms, HistoryEvent::Resolved, &body)?;
    waiting_claims::pass_on(conn, batch, finding.at_ms)
}

/// The standing of one charge.
enum ClaimStanding {
    Open,
    Told(&'static str),
    Resolved(Resolution),
    Unproven,
}

fn state(billing: &Billing, line: &Line) -> ClaimStanding {
    match (&line.outcome, line.resolved) {
        (Some(LineOutcome::Told(ItemOutcome::Unproven)), Some(said)) => {
            ClaimStanding::Resolved(said)
        }
        (Some(LineOutcome::Told(ItemOutcome::Unproven)), None) => ClaimStanding::Unproven,
        (Some(LineOutcome::Told(ItemOutcome::Charged | ItemOutcome::ChargedAsTold(_))), _) => {
            ClaimStanding::Told(OutcomeWord::Charged.word())
        }
        (Some(LineOutcome::Told(ItemOutcome::Failed { .. })), _) => {
            ClaimStanding::Told(OutcomeWord::Failed.word())
        }
        (None, _) if billing.state == BatchState::Open => ClaimStanding::Open,
        (Some(LineOutcome::Released) | None, _) => ClaimStanding::Told(billing.state.word()),
    }
}

/// The batch and the place in it that are meant. Of several with the name, the one whose outcome is
/// not proven.
fn find(
    conn: &dyn Database,
    finding: &PersonsWord,
) -> Result<(Billing, usize), NotWritten<Unresolved>> {
    let billing = finding.billing.clone();
    let named = named(conn, &billing)?;
    if named.is_empty() {
        return Err(NotWritten::Refused(Unresolved::NoBilling(billing)));
    }
    let subscribe = finding.subscribe;
    let mut holding: Vec<(Billing, usize)> = Vec::new();
    for one in named {
        if let Some(place) = one.items.iter().position(|line| line.item.subscribe == subscribe) {
            holding.push((one, place));
        }
    }
    if holding.len() > 1 {
        let unclear = |(billing, place): &(Billing, usize)| {
            let line = billing.items.get(*place);
            line.is_some_and(|line| {
                matches!(state(billing, line), ClaimStanding::Unproven | ClaimStanding::Resolved(_))
            })
        };
        holding.retain(unclear);
    }
    Err(NotWritten::Refused(match (holding.pop(), holding.is_empty()) {
        (Some(found), true) => return Ok(found),
        (Some(_), false) => Unresolved::Ambiguous { billing, subscribe },
        (None, _) => Unresolved::NotInIt { billing, subscribe },
    }))
}

/// Every batch that people may mean by a name.
fn named(conn: &dyn Database, name: &str) -> SqlResult<Vec<Billing>> {
    let mut hash = [0; 32];
    if hex::decode_to_slice(name.strip_prefix("0x").unwrap_or(name), &mut hash).is_ok()
        && let Some(found) = rows::billing_by_hash(conn, B256::from(hash))?
    {
        return Ok(vec![found]);
    }
    let mut found = requests::billings(conn, name)?;
    if let Ok(number) = name.parse()
        && let Some(numbered) = rows::billing(conn, BatchId(number))?
        && found.iter().all(|one| one.batch != numbered.batch)
    {
        found.push(numbered);
    }
    Ok(found)
}
