//! Charges and refusals in one order: a refusal stands behind the batch that was the newest when it was
//! written down.

use crate::charges::{self, LedgerEntry, LedgerStep, newest_batch};
use crate::filter::{LedgerFilter, LedgerOrder, LedgerPlace};
use crate::refusals::{KeptRefusal, LedgerSpan, Refusals};
use billing::BatchId;
use journal::sql::SqlError;
use journal::{Journal, JournalError};

/// The state of a refusal, beside those of charges.
pub const REFUSED: &str = "refused";

/// The ledger: the journal's charges, and the refusals beside them, where these are kept.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The journal with the charges.
    pub journal: Journal,
    /// The refusals, if they are kept.
    pub refusals: Option<Refusals>,
}

/// One line of the ledger.
#[derive(Clone, Debug)]
pub enum LedgerLine {
    /// A charge that was signed or learnt.
    Charge(LedgerEntry),
    /// A refusal.
    Refusal(Box<KeptRefusal>),
}

impl LedgerLine {
    /// Returns the line's place in the ledger.
    pub fn place(&self) -> LedgerPlace {
        match self {
            Self::Charge(entry) => entry.place(),
            Self::Refusal(refusal) => refusal.place,
        }
    }
}

/// The findings of one step.
#[derive(Clone, Debug)]
pub struct LedgerLines {
    /// In the order that was asked for.
    pub found: Vec<LedgerLine>,
    /// After which place the next step begins; none when the ledger is at its end.
    pub next: Option<LedgerPlace>,
    /// The journal's newest batch; 0 when it has none.
    pub newest: BatchId,
}

/// Why the ledger was not read.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The journal does not answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The refusals beside it cannot be read.
    #[error(
        "the file of refusals beside the journal could not be used: {0}. Move it elsewhere, or ask for \
         charges in one state"
    )]
    Refusals(SqlError),
}

impl Ledger {
    /// One step through the ledger. `limit` is 1 or more.
    pub async fn step(
        &self,
        filter: LedgerFilter,
        order: LedgerOrder,
        after: Option<LedgerPlace>,
        limit: usize,
    ) -> Result<LedgerLines, LedgerError> {
        let state = filter.state.as_deref();
        let in_blocks = filter.block_from_s.or(filter.block_until_s).is_some();
        let charges = state != Some(REFUSED);
        let refusals = state.is_none_or(|one| one == REFUSED) && !in_blocks;
        let LedgerStep { found, next, newest } = if charges {
            charges::step_of(&self.journal, filter.clone(), order, after, limit).await?
        } else {
            LedgerStep { found: vec![], next: None, newest: newest_batch(&self.journal).await? }
        };
        let mut found: Vec<LedgerLine> = found.into_iter().map(LedgerLine::Charge).collect();
        if let Some(kept) = self.refusals.clone().filter(|_| refusals) {
            kept.seen(newest);
            let span = match order {
                LedgerOrder::Oldest => LedgerSpan { after, before: next },
                LedgerOrder::Newest => LedgerSpan { after: next, before: after },
            };
            let read = move || kept.read(&filter, order, span, limit);
            let read = tokio::task::spawn_blocking(read).await.map_err(|_| JournalError::Lost)?;
            let read = read.map_err(LedgerError::Refusals)?;
            found.extend(read.into_iter().map(|refusal| LedgerLine::Refusal(Box::new(refusal))));
            found.sort_by_key(LedgerLine::place);
            if order == LedgerOrder::Newest {
                found.reverse();
            }
        }
        if found.len() < limit {
            return Ok(LedgerLines { found, next, newest });
        }
        found.truncate(limit);
        let next = found.last().map(LedgerLine::place);
        Ok(LedgerLines { found, next, newest })
    }
}
