//! Columns to values and back. A value that makes no sense is an error, never a guess; numbers that do
//! not fit their column are an error of the database library.

use crate::Resolution;
use crate::model::{LineOutcome, OutcomeWord};
use crate::sql::{Row, SqlError, SqlResult};
use alloy::primitives::{Address, B256, U256};
use billing::{
    AttemptKind, BatchState, CallEnding, ChargeTerms, ClaimState, FailCode, Family, ItemOutcome,
    Period,
};
use rusqlite::types::{Type, ValueRef};
use serde::Serialize;
use smol_str::{SmolStr, ToSmolStr as _};
use std::borrow::Cow;
use strum::IntoEnumIterator;

/// The columns of an outcome.
pub(crate) struct OutcomeWords<'a> {
    pub(crate) outcome: OutcomeWord,
    pub(crate) code: Option<&'static str>,
    pub(crate) detail: Option<Cow<'a, str>>,
}

impl OutcomeWords<'_> {
    /// Returns the history's words for the outcome.
    pub(crate) fn told(&self) -> Cow<'static, str> {
        match (self.code, &self.detail) {
            (Some(code), _) => code.into(),
            (None, Some(detail)) => format!("{} {detail}", self.outcome.word()).into(),
            (None, None) => self.outcome.word().into(),
        }
    }
}

/// The columns that hold `outcome`.
pub(crate) fn outcome_words(outcome: &ItemOutcome) -> OutcomeWords<'_> {
    let plain = |outcome| OutcomeWords { outcome, code: None, detail: None };
    match outcome {
        ItemOutcome::Charged => plain(OutcomeWord::Charged),
        ItemOutcome::ChargedAsTold(taken) => {
            let detail = Some(taken.to_string().into());
            OutcomeWords { detail, ..plain(OutcomeWord::Charged) }
        }
        ItemOutcome::Unproven => plain(OutcomeWord::Unproven),
        ItemOutcome::Failed { code, detail } => OutcomeWords {
            outcome: OutcomeWord::Failed,
            code: Some(code.token()),
            detail: detail.as_deref().map(Cow::Borrowed),
        },
    }
}

/// Reads the columns `outcome`, `code` and `detail`, which stand side by side; none while the batch is
/// open.
pub(crate) fn outcome(row: &Row<'_>, at: usize) -> SqlResult<Option<LineOutcome>> {
    let (code_at, detail_at) = (at.saturating_add(1), at.saturating_add(2));
    let Some(word) = row.get::<Option<String>>(at)? else { return Ok(None) };
    Ok(Some(match word.parse().map_err(|_| garbage(at, &word))? {
        OutcomeWord::Charged => LineOutcome::Told(match row.get::<Option<String>>(detail_at)? {
            None => ItemOutcome::Charged,
            Some(taken) => {
                let read = taken.parse().map_err(|_| garbage(detail_at, &taken))?;
                ItemOutcome::ChargedAsTold(read)
            }
        }),
        OutcomeWord::Unproven => LineOutcome::Told(ItemOutcome::Unproven),
        OutcomeWord::Released => LineOutcome::Released,
        OutcomeWord::Failed => {
            let token = row.get_ref(code_at)?.as_str()?;
            let code = FailCode::from_token(token).ok_or_else(|| garbage(code_at, token))?;
            LineOutcome::Told(ItemOutcome::Failed { code, detail: row.get(detail_at)? })
        }
    }))
}

/// A period as its column holds it: digits, or nothing where the contract knows no periods.
pub fn period_text(period: Period) -> SmolStr {
    match period {
        Period::Numbered(number) => number.to_smolstr(),
        Period::Guarded => SmolStr::default(),
    }
}

/// A value as a column holds it, as JSON.
pub(crate) fn json_text(value: &impl Serialize) -> SqlResult<String> {
    serde_json::to_string(value).map_err(SqlError::foreign)
}

/// Reads a period.
pub fn period(row: &Row<'_>, at: usize) -> SqlResult<Period> {
    Ok(match row.get_ref(at)?.as_str()? {
        "" => Period::Guarded,
        _ => Period::Numbered(number(row, at)?),
    })
}

/// Reads a number of up to 256 bits, which is text.
pub fn number(row: &Row<'_>, at: usize) -> SqlResult<U256> {
    let text = row.get_ref(at)?.as_str()?;
    U256::from_str_radix(text, 10).map_err(|_| garbage(at, text))
}

/// Reads 32 bytes.
pub fn hash(row: &Row<'_>, at: usize) -> SqlResult<B256> {
    let bytes = row.get_ref(at)?.as_blob()?;
    B256::try_from(bytes).map_err(|_| garbage(at, &hex::encode(bytes)))
}

/// Reads an address.
pub fn address(row: &Row<'_>, at: usize) -> SqlResult<Address> {
    let bytes = row.get_ref(at)?.as_blob()?;
    Address::try_from(bytes).map_err(|_| garbage(at, &hex::encode(bytes)))
}

pub(crate) fn state(row: &Row<'_>, at: usize) -> SqlResult<BatchState> {
    let word = row.get_ref(at)?.as_str()?;
    BatchState::from_word(word).ok_or_else(|| garbage(at, word))
}

/// Reads the columns `plan_version`, `wallet` and `token`, which stand side by side.
pub(crate) fn terms(row: &Row<'_>, at: usize) -> SqlResult<ChargeTerms> {
    let told = |at: usize| Ok::<_, SqlError>(row.get_ref(at)? != ValueRef::Null);
    let (wallet_at, token_at) = (at.saturating_add(1), at.saturating_add(2));
    Ok(ChargeTerms {
        plan_version: told(at)?.then(|| number(row, at)).transpose()?,
        wallet: told(wallet_at)?.then(|| address(row, wallet_at)).transpose()?,
        token: told(token_at)?.then(|| address(row, token_at)).transpose()?,
    })
}

/// Reads the state of a batch and the outcome of one of its live claims, which stand side by side.
pub(crate) fn claim_state(row: &Row<'_>, at: usize) -> SqlResult<ClaimState> {
    let outcome_at = at.saturating_add(1);
    let outcome: Option<String> = row.get(outcome_at)?;
    let word = outcome.as_deref().and_then(|word| word.parse().ok());
    match (state(row, at)?, word) {
        (BatchState::Open, None) if outcome.is_none() => Ok(ClaimState::Open),
        // Of a place that was used up, a person has said so.
        (BatchState::Charged | BatchState::Usurped, Some(OutcomeWord::Charged)) => {
            Ok(ClaimState::Charged)
        }
        (BatchState::Charged | BatchState::Usurped, Some(OutcomeWord::Unproven)) => {
            Ok(ClaimState::Unproven)
        }
        (state, _) => {
            let value = format!(
                "{} claim of a batch that is {}",
                outcome.as_deref().unwrap_or("undecided"),
                state.word()
            );
            Err(garbage(outcome_at, &value))
        }
    }
}

pub(crate) fn ending(row: &Row<'_>, at: usize) -> SqlResult<CallEnding> {
    let word = row.get_ref(at)?.as_str()?;
    CallEnding::from_word(word).ok_or_else(|| garbage(at, word))
}

/// Reads the column `resolved`.
pub(crate) fn resolved(row: &Row<'_>, at: usize) -> SqlResult<Option<Resolution>> {
    let Some(word) = row.get::<Option<String>>(at)? else { return Ok(None) };
    let found = Resolution::iter().find(|one| one.column().word() == word);
    found.ok_or_else(|| garbage(at, &word)).map(Some)
}

pub(crate) fn kind(row: &Row<'_>, at: usize) -> SqlResult<AttemptKind> {
    let word = row.get_ref(at)?.as_str()?;
    AttemptKind::from_word(word).ok_or_else(|| garbage(at, word))
}

/// Reads a family of chains.
pub fn family(row: &Row<'_>, at: usize) -> SqlResult<Family> {
    let word = row.get_ref(at)?.as_str()?;
    Family::from_word(word).ok_or_else(|| garbage(at, word))
}

/// The error for a column whose value makes no sense.
pub fn garbage(column: usize, value: &str) -> SqlError {
    let what = format!("{value:?} makes no sense here");
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, what.into()).into()
}
