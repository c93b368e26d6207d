//! The ledger: every charge that was ever signed or learnt, one after the other, read in short steps so
//! that no commit waits long for a reader.

use super::record::{Billing, Line};
use super::sql::{Database, OptionalExtension as _, SqlResult, params};
use super::{Journal, JournalError, rows};
use crate::billing::{BatchId, PlanId, PlatformChainId, SubscribeId, UserHash};
use alloy::primitives::Address;
use std::sync::Arc;

/// How many batches one step looks at: a commit waits for no more than these.
const STEP: i64 = 64;

/// Where a charge stands in the ledger: its batch, and its place in the contract call. The ledger is in
/// the order of these, and a charge never moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LedgerPlace {
    /// The batch.
    pub batch: BatchId,
    /// The place in it, from 0.
    pub item: usize,
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
    /// Who pays from this wallet.
    pub wallet: Option<Address>,
    /// On this chain.
    pub chain: Option<PlatformChainId>,
    /// On one of these chains; none where it may be on any.
    pub chains: Option<Vec<PlatformChainId>>,
    /// Asked for with this API key.
    pub caller: Option<String>,
    /// In this state, in the word of [`Line::state`].
    pub state: Option<String>,
    /// Accepted at this time or later, Unix ms.
    pub from_ms: Option<i64>,
    /// Accepted before this time, Unix ms.
    pub until_ms: Option<i64>,
}

impl LedgerFilter {
    fn wants(&self, billing: &Billing, line: &Line) -> bool {
        let (key, chain) = (line.item.key, billing.origin.lane.chain);
        self.chains.as_ref().is_none_or(|chains| chains.contains(&chain))
            && self.subscribe.is_none_or(|wanted| wanted == line.item.subscribe)
            && self.plan.is_none_or(|wanted| wanted == key.plan)
            && self.user.is_none_or(|wanted| wanted == key.user)
            && self.wallet.is_none_or(|wanted| Some(wanted) == line.item.terms.wallet)
            && self.state.as_deref().is_none_or(|wanted| wanted == line.state(billing.state))
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
    /// Where it stands in the ledger.
    pub fn place(&self) -> LedgerPlace {
        LedgerPlace { batch: self.billing.batch, item: self.item }
    }
}

/// What one step found.
#[derive(Clone, Debug)]
pub struct LedgerStep {
    /// The charges, in the order that was asked for.
    pub found: Vec<LedgerEntry>,
    /// After which place the next step begins; none when the ledger is at its end.
    pub next: Option<LedgerPlace>,
    /// The journal's newest batch; 0 when it has none.
    pub newest: BatchId,
}

impl Journal {
    /// One step through the ledger: see [`LedgerStep`]. `limit` is 1 or more.
    pub async fn ledger_step(
        &self,
        filter: LedgerFilter,
        order: LedgerOrder,
        after: Option<LedgerPlace>,
        limit: usize,
    ) -> Result<LedgerStep, JournalError> {
        self.read(move |conn| step(conn, &filter, order, after, limit)).await
    }

    /// What names this journal among all others: the id of the first start on it.
    pub async fn name(&self) -> Result<Option<[u8; 16]>, JournalError> {
        self.read(name).await
    }
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
    let newest: i64 =
        conn.query_row("SELECT coalesce(max(id), 0) FROM batch", [], |row| row.get(0))?;
    let start = after.map(|place| place.batch.0);
    let (low, high) = match order {
        LedgerOrder::Oldest => {
            let low = start.unwrap_or(1);
            (low, low.saturating_add(STEP))
        }
        LedgerOrder::Newest => {
            let high = start.unwrap_or(newest);
            (high.saturating_sub(STEP), high)
        }
    };
    let mut found = Vec::new();
    for batch in batches(conn, filter, order, (low, high))? {
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
    // Everything in the range is looked at: the next step begins with the batch beyond it.
    let next = match order {
        LedgerOrder::Oldest => {
            (high < newest).then_some(LedgerPlace { batch: BatchId(high), item: usize::MAX })
        }
        LedgerOrder::Newest => (low > 1).then_some(LedgerPlace { batch: BatchId(low), item: 0 }),
    };
    Ok(LedgerStep { found, next, newest: BatchId(newest) })
}

impl LedgerOrder {
    /// Whether `place` comes after `after`.
    fn is_later(self, place: LedgerPlace, after: LedgerPlace) -> bool {
        match self {
            Self::Oldest => place > after,
            Self::Newest => place < after,
        }
    }
}

/// The batches from `low` to `high` in which some charge may be wanted, in order.
fn batches(
    conn: &dyn Database,
    filter: &LedgerFilter,
    order: LedgerOrder,
    (low, high): (i64, i64),
) -> SqlResult<Vec<BatchId>> {
    let direction = match order {
        LedgerOrder::Oldest => "ASC",
        LedgerOrder::Newest => "DESC",
    };
    let sql = format!(
        "SELECT id FROM batch WHERE id BETWEEN ?1 AND ?2
             AND (?3 IS NULL OR chain = ?3) AND (?4 IS NULL OR caller = ?4)
             AND (?5 IS NULL OR accepted_ms >= ?5) AND (?6 IS NULL OR accepted_ms < ?6)
             AND EXISTS (SELECT 1 FROM claim WHERE claim.batch = batch.id
                 AND (?7 IS NULL OR subscribe_id = ?7) AND (?8 IS NULL OR plan_id = ?8)
                 AND (?9 IS NULL OR user_hash = ?9) AND (?10 IS NULL OR wallet = ?10))
         ORDER BY id {direction}"
    );
    let wanted = params![
        low,
        high,
        filter.chain.map(|chain| chain.0),
        filter.caller,
        filter.from_ms,
        filter.until_ms,
        filter.subscribe.map(|subscribe| subscribe.0),
        filter.plan.map(|plan| plan.0),
        filter.user.as_ref().map(|user| user.0.as_slice()),
        filter.wallet.as_ref().map(|wallet| wallet.as_slice()),
    ];
    conn.prepare_cached(&sql)?.query_map(wanted, |row| Ok(BatchId(row.get(0)?)))?.collect()
}

/// What names this journal among all others: the id of the first start on it. None before there was one.
pub(super) fn name(conn: &dyn Database) -> SqlResult<Option<[u8; 16]>> {
    conn.query_row("SELECT id FROM boot ORDER BY seq LIMIT 1", [], |row| row.get(0)).optional()
}
