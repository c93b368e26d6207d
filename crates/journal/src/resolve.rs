//! A person's finding on a charge that the chain does not tell of.

use super::columns::LineOutcome;
use super::record::{Billing, Line};
use super::sql::{Database, SqlError, SqlResult, params};
use super::{history, passing, requests, rows};
use alloy::primitives::B256;
use billing::{BatchId, BatchState, ItemOutcome, SubscribeId};
use serde_json::json;
use strum::{EnumIter, EnumString, IntoStaticStr};

/// The outcome of the charge after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumIter, IntoStaticStr, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Resolution {
    /// It was charged: it is never charged again.
    Charged,
    /// It was not: it can be charged.
    Free,
}

impl Resolution {
    /// The word for it in commands and answers.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The resolution that `word` names, if it names one.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }

    /// The word for it in the table of claims.
    pub(super) fn column(self) -> &'static str {
        match self {
            Self::Charged => "charged",
            Self::Free => "released",
        }
    }
}

/// A person's statement on one charge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonsWord {
    /// The billing: its number, any hash, or the request id.
    pub billing: String,
    /// The subscription.
    pub subscribe: SubscribeId,
    /// Its outcome is known.
    pub resolution: Resolution,
    /// The source of the statement.
    pub by: String,
    /// And why.
    pub why: String,
    /// Now, Unix ms.
    pub at_ms: i64,
}

/// The result of a resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The batch, as it is now.
    pub billing: Billing,
    /// True if the same had been stated before. Nothing was written then.
    pub repeated: bool,
}

/// Why nothing was resolved. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// Nobody knows the billing.
    #[error("no billing has the number, transaction hash or request id {0}")]
    NoBilling(String),
    /// It does not hold the subscription.
    #[error("the billing {billing} does not hold subscription {}", .subscribe.0)]
    NotInIt {
        /// As it was named.
        billing: String,
        /// The subscription.
        subscribe: SubscribeId,
    },
    /// The name stands for several billings that hold the subscription.
    #[error(
        "{billing} names several billings that hold subscription {}: name one by its transaction hash",
        .subscribe.0
    )]
    Ambiguous {
        /// As it was named.
        billing: String,
        /// The subscription.
        subscribe: SubscribeId,
    },
    /// The chain has not decided.
    #[error("the billing is still open: the chain decides about it, and nobody else may")]
    Open,
    /// The chain has told what became of it.
    #[error("the chain has told what became of it ({0}): only what is unproven can be resolved")]
    Told(&'static str),
    /// Somebody resolved it otherwise.
    #[error("it was resolved as {0} before, and that stands")]
    Otherwise(&'static str),
    /// Nobody said why.
    #[error("say why: it is kept in the history")]
    NoReason,
}

/// Writes down what a person found out, if the chain leaves it open.
pub(super) fn resolve(
    conn: &dyn Database,
    finding: &PersonsWord,
) -> SqlResult<Result<Resolved, Unresolved>> {
    if finding.why.trim().is_empty() {
        return Ok(Err(Unresolved::NoReason));
    }
    let (billing, place) = match find(conn, finding)? {
        Ok(found) => found,
        Err(why) => return Ok(Err(why)),
    };
    let Some(line) = billing.items.get(place) else {
        return Ok(Err(Unresolved::NoBilling(finding.billing.clone())));
    };
    match state(&billing, line) {
        ClaimStanding::Open => return Ok(Err(Unresolved::Open)),
        ClaimStanding::Told(word) => return Ok(Err(Unresolved::Told(word))),
        ClaimStanding::Resolved(said) if said != finding.resolution => {
            return Ok(Err(Unresolved::Otherwise(said.word())));
        }
        ClaimStanding::Resolved(_) => return Ok(Ok(Resolved { billing, repeated: true })),
        ClaimStanding::Unproven => {}
    }
    let batch = billing.batch;
    write(conn, finding, (batch, place))?;
    let billing = rows::billing(conn, batch)?.ok_or(SqlError::NO_ROW)?;
    Ok(Ok(Resolved { billing, repeated: false }))
}

/// Frees every charge of a batch of which nobody has said yet what became of it, by a person's word on all of
/// them.
pub(super) fn free_the_rest(
    conn: &dyn Database,
    batch: BatchId,
    (by, why): (&str, &str),
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
            write(conn, &finding, (batch, place))?;
        }
    }
    Ok(())
}

fn write(
    conn: &dyn Database,
    finding: &PersonsWord,
    (batch, place): (BatchId, usize),
) -> SqlResult<()> {
    let held = finding.resolution == Resolution::Charged;
    conn.prepare_cached(
        "UPDATE claim SET resolved = ?3, resolved_by = ?4, resolved_ms = ?5, live = live * ?6
         WHERE batch = ?1 AND item = ?2",
    )?
    .execute(params![
        batch.0,
        place,
        finding.resolution.column(),
        finding.by,
        finding.at_ms,
        held
    ])?;
    let body = json!({"batch": batch.0, "item": place, "subscription": finding.subscribe.0,
                      "resolution": finding.resolution.word(), "by": finding.by,
                      "why": finding.why});
    history::append(conn, finding.at_ms, "resolved", &body)?;
    passing::pass_on(conn, batch, finding.at_ms)
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
            ClaimStanding::Told("charged")
        }
        (Some(LineOutcome::Told(ItemOutcome::Failed { .. })), _) => ClaimStanding::Told("failed"),
        (None, _) if billing.state == BatchState::Open => ClaimStanding::Open,
        (Some(LineOutcome::Released) | None, _) => ClaimStanding::Told(billing.state.word()),
    }
}

/// The batch and the place in it that are meant. Of several with the name, the one whose outcome is
/// not proven.
fn find(
    conn: &dyn Database,
    finding: &PersonsWord,
) -> SqlResult<Result<(Billing, usize), Unresolved>> {
    let billing = finding.billing.clone();
    let named = named(conn, &billing)?;
    if named.is_empty() {
        return Ok(Err(Unresolved::NoBilling(billing)));
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
    Ok(match (holding.pop(), holding.is_empty()) {
        (Some(found), true) => Ok(found),
        (Some(_), false) => Err(Unresolved::Ambiguous { billing, subscribe }),
        (None, _) => Err(Unresolved::NotInIt { billing, subscribe }),
    })
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
