//! Which batches a step of the ledger looks at: one after the other, unless an index tells where the next one
//! is in which something may be wanted.

use crate::charges::STEP;
use crate::filter::{LedgerFilter, LedgerOrder, LedgerPlace, OPEN};
use alloy::primitives::Address;
use billing::{BatchId, CallerLabel, SubscribeId, TakenAsTold, UserHash};
use journal::Reading;
use journal::sql::columns::hash;
use journal::sql::{SqlResult, params};
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

/// The most periods that are looked up for one subscription, or plans of periods and users for a user or a wallet.
/// If there are more, batches are looked at one after the other.
const MOST_LOOKUPS: usize = 2_000;

/// The batches that one step looks at.
pub(crate) struct StepBatches {
    /// In the order that was asked for.
    pub(crate) batches: Vec<BatchId>,
    /// After which place the next step begins; none when the ledger is at its end.
    pub(crate) next: Option<LedgerPlace>,
}

/// The next batches from `start` on, which counts as looked at in part; from the ledger's end without it.
pub(crate) fn look(
    tables: Reading<'_>,
    filter: &LedgerFilter,
    order: LedgerOrder,
    start: Option<i64>,
    newest: i64,
) -> SqlResult<StepBatches> {
    match known(tables, filter)? {
        Some(known) => {
            let StepBatches { batches, next } = pick(known, order, start);
            let ranges = batches.into_iter().map(|batch| batch.0..=batch.0);
            let some = ranges.map(|range| wanted(tables, filter, order, range));
            let some: Vec<Vec<BatchId>> = some.collect::<Result<_, _>>()?;
            Ok(StepBatches { batches: some.concat(), next })
        }
        None => walk(tables, filter, order, start, newest),
    }
}

/// All batches in which something may be wanted, where an index tells them.
fn known(tables: Reading<'_>, filter: &LedgerFilter) -> SqlResult<Option<BTreeSet<i64>>> {
    if filter.state.as_deref() == Some(OPEN) {
        let sql = "SELECT id FROM batch WHERE state = 'open'";
        return tables
            .select(sql)?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()
            .map(Some);
    }
    match (filter.subscribe, filter.user, filter.wallet) {
        (Some(subscribe), ..) => batches_of(tables, subscribe),
        (None, Some(user), _) => batches_of_users(tables, &[user]),
        (None, None, Some(wallet)) => batches_of_users(tables, &users_of(tables, wallet)?),
        (None, None, None) => Ok(None),
    }
}

/// Returns every batch with a charge of a subscription. Claimed charges are found by period and subscription, one
/// period after the other; charges that are no longer claimed have an index of their own.
fn batches_of(
    tables: Reading<'_>,
    SubscribeId(subscribe): SubscribeId,
) -> SqlResult<Option<BTreeSet<i64>>> {
    let gone = "SELECT batch FROM claim WHERE live = 0 AND subscribe_id = ?1";
    let mut found: BTreeSet<i64> =
        tables.select(gone)?.query_map([subscribe], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let (from, beyond) = (
        "SELECT min(period) FROM claim WHERE live = 1",
        "SELECT min(period) FROM claim WHERE live = 1 AND period > ?1",
    );
    let held = "SELECT batch FROM claim WHERE live = 1 AND period = ?1 AND subscribe_id = ?2";
    let (mut beyond, mut held) = (tables.select(beyond)?, tables.select(held)?);
    let mut period: Option<String> = tables.select(from)?.query_row([], |row| row.get(0))?;
    for _ in 0..MOST_LOOKUPS {
        let Some(one) = period else { return Ok(Some(found)) };
        let batches = held.query_map(params![one, subscribe], |row| row.get(0))?;
        for batch in batches {
            found.insert(batch?);
        }
        period = beyond.query_row([one], |row| row.get(0))?;
    }
    Ok(None)
}

/// Returns the users that a wallet has paid for; if they are too many to be looked up, only enough of them to tell
/// that.
fn users_of(tables: Reading<'_>, wallet: Address) -> SqlResult<Vec<UserHash>> {
    let sql = "SELECT user_hash FROM payer WHERE wallet = ?1 LIMIT ?2";
    tables
        .select(sql)?
        .query_map(params![wallet.as_slice(), MOST_LOOKUPS.saturating_add(1)], |row| {
            Ok(UserHash(hash(row, 0)?))
        })?
        .collect()
}

/// Returns every batch with a charge of one of these users. Claimed charges are found by period, plan and user, one
/// plan of a period after the other; charges that are no longer claimed have an index of their own.
fn batches_of_users(tables: Reading<'_>, users: &[UserHash]) -> SqlResult<Option<BTreeSet<i64>>> {
    let most = MOST_LOOKUPS.checked_div(users.len().max(1)).unwrap_or_default();
    if most == 0 {
        return Ok(None);
    }
    let Some(plans) = plans_of_periods(tables, most)? else { return Ok(None) };
    let gone = "SELECT batch FROM claim WHERE live = 0 AND user_hash = ?1";
    let held = "SELECT batch FROM claim
                WHERE live = 1 AND period = ?1 AND plan_id = ?2 AND user_hash = ?3";
    let (mut gone, mut held) = (tables.select(gone)?, tables.select(held)?);
    let mut found = BTreeSet::new();
    for user in users.iter().map(|user| user.0.as_slice()) {
        for batch in gone.query_map([user], |row| row.get::<i64>(0))? {
            found.insert(batch?);
        }
        for (period, plan) in &plans {
            for batch in held.query_map(params![period, plan, user], |row| row.get::<i64>(0))? {
                found.insert(batch?);
            }
        }
    }
    Ok(Some(found))
}

/// Every plan of every period that something is claimed of; none where these are more than `most`. Each is one
/// seek: two columns that are compared as one would read all claims of a plan.
fn plans_of_periods(tables: Reading<'_>, most: usize) -> SqlResult<Option<Vec<(String, i64)>>> {
    let (from, beyond) = (
        "SELECT min(period) FROM claim WHERE live = 1",
        "SELECT min(period) FROM claim WHERE live = 1 AND period > ?1",
    );
    let plan = "SELECT min(plan_id) FROM claim WHERE live = 1 AND period = ?1 AND plan_id > ?2";
    let (mut beyond, mut plan) = (tables.select(beyond)?, tables.select(plan)?);
    let mut found = Vec::new();
    let mut period: Option<String> = tables.select(from)?.query_row([], |row| row.get(0))?;
    while let Some(one) = period {
        let mut after = i64::MIN;
        while let Some(next) = plan.query_row(params![one, after], |row| row.get(0))? {
            if found.len() == most {
                return Ok(None);
            }
            found.push((one.clone(), next));
            after = next;
        }
        period = beyond.query_row([one], |row| row.get(0))?;
    }
    Ok(Some(found))
}

fn pick(known: BTreeSet<i64>, order: LedgerOrder, start: Option<i64>) -> StepBatches {
    let wanted = |batch: &i64| {
        start.is_none_or(|start| match order {
            LedgerOrder::Oldest => *batch >= start,
            LedgerOrder::Newest => *batch <= start,
        })
    };
    let mut batches: Vec<i64> = known.into_iter().filter(wanted).collect();
    if order == LedgerOrder::Newest {
        batches.reverse();
    }
    let most = usize::try_from(STEP).unwrap_or(usize::MAX);
    let more = batches.len() > most;
    batches.truncate(most);
    let next = batches.last().filter(|_| more).map(|last| order.behind(*last));
    StepBatches { batches: batches.into_iter().map(BatchId).collect(), next }
}

/// One after the other; where none of them is of the time that is asked for, the next step begins with one
/// that is.
fn walk(
    tables: Reading<'_>,
    filter: &LedgerFilter,
    order: LedgerOrder,
    start: Option<i64>,
    newest: i64,
) -> SqlResult<StepBatches> {
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
    let batches = wanted(tables, filter, order, low..=high)?;
    let (last, over) = match order {
        LedgerOrder::Oldest => (high, high >= newest),
        LedgerOrder::Newest => (low, low <= 1),
    };
    let far = !over && batches.is_empty() && !is_any_in_time(tables, filter, low..=high)?;
    let next = if far {
        let next = match order {
            LedgerOrder::Oldest => tables.first_in(&time(filter), last)?,
            LedgerOrder::Newest => tables.last_in(&time(filter), last)?,
        };
        next.map(|batch| order.before(batch))
    } else {
        (!over).then(|| order.behind(last))
    };
    Ok(StepBatches { batches, next })
}

/// The batches in `range` in which some charge may be wanted, in order.
fn wanted(
    tables: Reading<'_>,
    filter: &LedgerFilter,
    order: LedgerOrder,
    range: RangeInclusive<i64>,
) -> SqlResult<Vec<BatchId>> {
    let direction = order.sql();
    // Compared first: that tells a server of what type each of these is.
    let sql = format!(
        "SELECT id FROM batch WHERE id BETWEEN ?1 AND ?2
             AND (chain = ?3 OR ?3 IS NULL) AND (caller_label = ?4 OR ?4 IS NULL)
             AND (accepted_ms >= ?5 OR ?5 IS NULL) AND (accepted_ms < ?6 OR ?6 IS NULL)
             AND (block_s >= ?11 OR ?11 IS NULL) AND (block_s < ?12 OR ?12 IS NULL)
             AND EXISTS (SELECT 1 FROM claim WHERE claim.batch = batch.id
                 AND (subscribe_id = ?7 OR ?7 IS NULL) AND (plan_id = ?8 OR ?8 IS NULL)
                 AND (user_hash = ?9 OR ?9 IS NULL)
                 AND (wallet = ?10 OR ?10 IS NULL OR code IS NULL AND detail LIKE ?13))
         ORDER BY id {direction}"
    );
    let asked = params![
        range.start(),
        range.end(),
        filter.chain.map(|chain| chain.0),
        filter.caller.as_ref().map(CallerLabel::as_str),
        filter.from_ms,
        filter.until_ms,
        filter.subscribe.map(|subscribe| subscribe.0),
        filter.plan.map(|plan| plan.0),
        filter.user.as_ref().map(|user| user.0.as_slice()),
        filter.wallet.as_ref().map(|wallet| wallet.as_slice()),
        filter.block_from_s,
        filter.block_until_s,
        filter.wallet.map(|wallet| format!("%{}%", TakenAsTold::of_wallet(wallet))),
    ];
    tables.select(&sql)?.query_map(asked, |row| Ok(BatchId(row.get(0)?)))?.collect()
}

/// Returns true if one of the batches in `range` is of the time that is asked for.
fn is_any_in_time(
    tables: Reading<'_>,
    filter: &LedgerFilter,
    range: RangeInclusive<i64>,
) -> SqlResult<bool> {
    let sql = "SELECT 1 FROM batch WHERE id BETWEEN ?1 AND ?2
                   AND accepted_ms >= ?3 AND accepted_ms < ?4 LIMIT 1";
    let time = time(filter);
    tables.select(sql)?.exists(params![range.start(), range.end(), time.start, time.end])
}

/// The time that is asked for, Unix ms.
fn time(filter: &LedgerFilter) -> Range<i64> {
    filter.from_ms.unwrap_or(i64::MIN)..filter.until_ms.unwrap_or(i64::MAX)
}
