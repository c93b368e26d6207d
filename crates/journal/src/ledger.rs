//! The ledger: every charge that was ever signed or learnt, one after the other, read in short steps so
//! that no commit waits long for a reader.

mod look;
mod whole;

use look::StepBatches;
pub use whole::{FullLedger, LedgerLine, LedgerLines, REFUSED};

use super::record::{Billing, Line};
use super::sql::{Database, OptionalExtension as _, SqlResult};
use super::{Journal, JournalError, rows};
use alloy::primitives::Address;
use billing::{BatchId, CallerLabel, FailCode, PlanId, PlatformChainId, SubscribeId, UserHash};
use std::sync::Arc;

/// The number of batches that one step looks at: a commit waits for no more than these.
const STEP: i64 = 64;

/// The place of a charge or a refusal in the ledger. The ledger is in the order of these places, and an entry in it
/// never moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerPlace {
    /// The batch of the charge; of a refusal the newest batch when it was written down.
    pub batch: BatchId,
    /// The place within the batch, or behind it.
    pub item: PlaceInBatch,
}

/// Charges are in a batch, and refusals behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceInBatch {
    /// The charge's place in the contract call, from 0.
    Charge(usize),
    /// The number of a refusal, which rises through the whole ledger.
    Refusal(i64),
}

impl LedgerPlace {
    /// The place behind everything of a batch.
    fn behind(batch: i64) -> Self {
        Self { batch: BatchId(batch), item: PlaceInBatch::Refusal(i64::MAX) }
    }

    /// The place of a batch's first charge.
    fn first_of(batch: i64) -> Self {
        Self { batch: BatchId(batch), item: PlaceInBatch::Charge(0) }
    }
}

/// In which direction the ledger is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerOrder {
    /// From the first charge on.
    Oldest,
    /// From the last charge back.
    #[default]
    Newest,
}

/// Which charges are wanted: all that fit everything that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerFilter {
    /// Of this subscription.
    pub subscribe: Option<SubscribeId>,
    /// Of this plan.
    pub plan: Option<PlanId>,
    /// Of this user.
    pub user: Option<UserHash>,
    /// Paid from this wallet.
    pub wallet: Option<Address>,
    /// On this chain.
    pub chain: Option<PlatformChainId>,
    /// On one of these chains; none where it may be on any.
    pub chains: Option<Vec<PlatformChainId>>,
    /// Asked for by the caller of this label.
    pub caller: Option<CallerLabel>,
    /// In this state, in the word of [`Line::state`]; refusals are in the state `refused`.
    pub state: Option<String>,
    /// Refused, or failed on chain, for this reason.
    pub reason: Option<FailCode>,
    /// Accepted at this time or later, Unix ms.
    pub from_ms: Option<i64>,
    /// Accepted before this time, Unix ms.
    pub until_ms: Option<i64>,
    /// Decided by a block of this time or later, Unix seconds. No refusal is.
    pub block_from_s: Option<i64>,
    /// Decided by a block before this time, Unix seconds.
    pub block_until_s: Option<i64>,
}

impl LedgerFilter {
    fn wants(&self, billing: &Billing, line: &Line) -> bool {
        let (key, chain) = (line.item.key, billing.origin.lane.chain);
        self.chains.as_ref().is_none_or(|chains| chains.contains(&chain))
            && self.subscribe.is_none_or(|wanted| wanted == line.item.subscribe)
            && self.plan.is_none_or(|wanted| wanted == key.plan)
            && self.user.is_none_or(|wanted| wanted == key.user)
            && self.wallet.is_none_or(|wanted| line.is_of(wanted))
            && self.state.as_deref().is_none_or(|wanted| wanted == line.state(billing.state))
            && self
                .reason
                .is_none_or(|wanted| line.failure().is_some_and(|(code, _)| code == wanted))
    }
}

/// A charge, with the batch that it is part of.
#[derive(Clone, Debug)]
pub struct LedgerEntry {
    /// The batch.
    pub billing: Arc<Billing>,
    /// Which of its charges.
    pub item: usize,
}

impl LedgerEntry {
    /// Returns the entry's place in the ledger.
    pub fn place(&self) -> LedgerPlace {
        LedgerPlace { batch: self.billing.batch, item: PlaceInBatch::Charge(self.item) }
    }
}

/// The findings of one step.
#[derive(Clone, Debug)]
pub(super) struct LedgerStep {
    /// The charges, in the order that was asked for.
    pub(super) found: Vec<LedgerEntry>,
    /// After which place the next step begins; none when the ledger is at its end.
    pub(super) next: Option<LedgerPlace>,
    /// The journal's newest batch; 0 when it has none.
    pub(super) newest: BatchId,
}

impl Journal {
    /// One step through the charges of the ledger: see [`LedgerStep`]. `limit` is 1 or more.
    pub(super) async fn ledger_step(
        &self,
        filter: LedgerFilter,
        order: LedgerOrder,
        after: Option<LedgerPlace>,
        limit: usize,
    ) -> Result<LedgerStep, JournalError> {
        self.read(move |conn| step(conn, &filter, order, after, limit)).await
    }

    /// The newest batch; 0 when there is none.
    pub async fn newest_batch(&self) -> Result<BatchId, JournalError> {
        self.read(newest).await
    }

    /// Returns the name of this journal among all others: the id of the first start on it.
    pub async fn name(&self) -> Result<Option<[u8; 16]>, JournalError> {
        self.read(name).await
    }
}

fn newest(conn: &dyn Database) -> SqlResult<BatchId> {
    let sql = "SELECT coalesce(max(id), 0) FROM batch";
    conn.prepare_cached(sql)?.query_row([], |row| Ok(BatchId(row.get(0)?)))
}

/// Looks at the batches after `after` (from the ledger's end without it), and finds at most `limit`
/// charges, which is 1 or more.
pub(super) fn step(
    conn: &dyn Database,
    filter: &LedgerFilter,
    order: LedgerOrder,
    after: Option<LedgerPlace>,
    limit: usize,
) -> SqlResult<LedgerStep> {
    let newest = newest(conn)?.0;
    let start = after.map(|place| place.batch.0);
    let StepBatches { batches, next } = look::look(conn, filter, order, start, newest)?;
    let mut found = Vec::new();
    for batch in batches {
        let Some(billing) = rows::billing(conn, batch)?.map(Arc::new) else { continue };
        let wanted =
            billing.items.iter().enumerate().filter(|(_, line)| filter.wants(&billing, line));
        let mut entries: Vec<_> = wanted
            .map(|(item, _)| LedgerEntry { billing: Arc::clone(&billing), item })
            .filter(|entry| after.is_none_or(|after| order.is_later(entry.place(), after)))
            .collect();
        if order == LedgerOrder::Newest {
            entries.reverse();
        }
        found.extend(entries);
        if found.len() >= limit {
            found.truncate(limit);
            let next = found.last().map(LedgerEntry::place);
            return Ok(LedgerStep { found, next, newest: BatchId(newest) });
        }
    }
    Ok(LedgerStep { found, next, newest: BatchId(newest) })
}

impl LedgerOrder {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Oldest => "oldest",
            Self::Newest => "newest",
        }
    }

    /// The word for it in SQL.
    pub(super) fn sql(self) -> &'static str {
        match self {
            Self::Oldest => "ASC",
            Self::Newest => "DESC",
        }
    }

    /// The place behind everything of a batch that was looked at.
    fn behind(self, batch: i64) -> LedgerPlace {
        match self {
            Self::Oldest => LedgerPlace::behind(batch),
            Self::Newest => LedgerPlace::first_of(batch),
        }
    }

    /// The place before everything of a batch that was not.
    fn before(self, batch: i64) -> LedgerPlace {
        match self {
            Self::Oldest => LedgerPlace::behind(batch.saturating_sub(1)),
            Self::Newest => LedgerPlace::first_of(batch.saturating_add(1)),
        }
    }

    /// Returns true if `place` comes after `after`.
    fn is_later(self, place: LedgerPlace, after: LedgerPlace) -> bool {
        match self {
            Self::Oldest => place > after,
            Self::Newest => place < after,
        }
    }
}

/// Returns the name of this journal among all others: the id of the first start on it. None before there was one.
pub(super) fn name(conn: &dyn Database) -> SqlResult<Option<[u8; 16]>> {
    conn.query_row("SELECT id FROM boot ORDER BY seq LIMIT 1", [], |row| row.get(0)).optional()
}
