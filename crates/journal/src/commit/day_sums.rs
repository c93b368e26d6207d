//! The sums of a day: what batches charge of each token, and what transactions may cost. Kept in the
//! commit that signs, so that no crash and no crowd gets past a limit.
//!
//! Each account has sums of its own. A limit is one of the chain: it is compared with what all accounts of the
//! chain have come to together, so that no further key makes it wider.
//!
//! A batch's counts are given back when it ends, to the day of the count, as far as the batch charged nobody. Fees
//! stay counted: the fee paid is not known here, only the possible fee.

use crate::commit::newest_day::{self, sum, write};
use crate::commit::rows;
use crate::model::{Added, Corrected, DayAmount, DayCount};
use crate::sql::columns::{garbage, json_text, number};
use crate::sql::{Database, Row, SqlResult, params};
use crate::{AcceptError, LaneId, Proposal};
use alloy::primitives::U256;
use billing::{BatchId, ItemOutcome, PlatformChainId};
use policy::{Count, Unit, utc_day};
use smol_str::ToSmolStr as _;
use std::collections::BTreeMap;

/// One sum, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// A token's address, or `fee`.
    pub unit: String,
    /// Base units, wei or sun.
    pub amount: U256,
}

impl Added {
    fn of(count: &Count, amount: U256) -> Self {
        Self { unit: count.unit.word(), items: places(count), amount: amount.to_string() }
    }
}

/// Sums of one day, by their units.
#[derive(Clone, Debug, Default)]
pub(crate) struct DaySums {
    /// Of one account.
    account: BTreeMap<String, U256>,
    /// Of all accounts of its chain.
    chain: BTreeMap<String, U256>,
}

impl DaySums {
    /// Takes in sums of the one account.
    pub(crate) fn take_in_own(&mut self, sums: impl IntoIterator<Item = (String, U256)>) {
        for (unit, amount) in sums {
            self.account.insert(unit.clone(), amount);
            self.take_in([(unit, amount)]);
        }
    }

    /// Takes in sums of another account of the chain.
    pub(crate) fn take_in(&mut self, sums: impl IntoIterator<Item = (String, U256)>) {
        for (unit, amount) in sums {
            let all = self.chain.entry(unit).or_default();
            *all = all.saturating_add(amount);
        }
    }

    /// Adds `amount` to the sums and returns the account's new sum, if the chain's limit allows.
    fn after(&mut self, count: &Count, amount: U256) -> Result<U256, AcceptError> {
        let unit = count.unit.word();
        let all = self.chain.entry(unit.clone()).or_default();
        *all = count.after(*all, amount)?;
        let own = self.account.entry(unit).or_default();
        *own = own.saturating_add(amount);
        Ok(*own)
    }
}

/// A new batch's part in the sums of its day.
pub(crate) struct NewCounts {
    pub(crate) added: Vec<Added>,
    /// The sums of its account that this makes, by units.
    pub(crate) sums: BTreeMap<String, U256>,
}

/// Adds what a new batch counts to the `sums` of its day, or refuses. Writes nothing.
pub(crate) fn count(proposal: &Proposal, mut sums: DaySums) -> Result<NewCounts, AcceptError> {
    let mut counts = NewCounts { added: Vec::new(), sums: BTreeMap::new() };
    for count in &proposal.counts {
        let sum = sums.after(count, count.amount)?;
        counts.sums.insert(count.unit.word(), sum);
        counts.added.push(Added::of(count, count.amount));
    }
    Ok(counts)
}

/// Adds what another attempt may cost beyond the dearest one before it: only one of them lands.
pub(crate) fn count_again(
    conn: &dyn Database,
    batch: BatchId,
    count: &Count,
    at_ms: i64,
) -> Result<Vec<Added>, AcceptError> {
    let mut counted = counted(conn, batch)?;
    let unit = count.unit.word();
    let before = counted.iter().filter(|one| one.unit == unit).map(|one| decimal(&one.amount));
    let before = before.fold(U256::ZERO, U256::saturating_add);
    let more = count.amount.saturating_sub(before);
    if more.is_zero() {
        return Ok(Vec::new());
    }
    let lane = rows::origin_of(conn, batch)?.lane;
    add(conn, lane, count, more, at_ms)?;
    let added = Added::of(count, more);
    include(&mut counted, DayCount::of(utc_day(at_ms), added.clone()));
    keep(conn, batch, &counted)?;
    Ok(vec![added])
}

/// Checks that there is room for these counts today. Adds nothing.
pub(crate) fn room(
    conn: &dyn Database,
    chain: PlatformChainId,
    counts: &[Count],
    at_ms: i64,
) -> Result<(), AcceptError> {
    let mut sums = of_chain(conn, chain, utc_day(at_ms))?;
    counts.iter().try_for_each(|count| sums.after(count, count.amount).map(drop))
}

/// The sums of all accounts of a chain on the day of `at_ms`.
pub(crate) fn spent(
    conn: &dyn Database,
    chain: PlatformChainId,
    at_ms: i64,
) -> SqlResult<Vec<Spent>> {
    let sums = of_chain(conn, chain, utc_day(at_ms))?.chain.into_iter();
    Ok(sums.map(|(unit, amount)| Spent { unit, amount }).collect())
}

/// The sums of a chain, and of none of its accounts.
fn of_chain(conn: &dyn Database, chain: PlatformChainId, day: i64) -> SqlResult<DaySums> {
    let mut sums = DaySums::default();
    // By the accounts of the chain, which are few: its days are many.
    let sql = "SELECT CASE WHEN lane.day = ?2 THEN sums END, unit, amount
               FROM lane LEFT JOIN spend
               ON spend.chain = lane.chain AND spend.signer = lane.signer AND spend.day = ?2
               WHERE lane.chain = ?1";
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params![chain.0, day])?;
    while let Some(row) = rows.next_row()? {
        sums.take_in(newest_day::sums(&row, 0)?);
        if let Some(unit) = row.get(1)? {
            sums.take_in([(unit, number(&row, 2)?)]);
        }
    }
    Ok(sums)
}

fn add(
    conn: &dyn Database,
    lane: LaneId,
    count: &Count,
    amount: U256,
    at_ms: i64,
) -> Result<(), AcceptError> {
    let (day, unit) = (utc_day(at_ms), count.unit.word());
    of_chain(conn, lane.chain, day)?.after(count, amount)?;
    let after = sum(conn, lane, &unit, day)?.saturating_add(amount);
    Ok(write(conn, lane, day, &unit, after)?)
}

/// The counts of a batch.
pub(crate) fn counted(conn: &dyn Database, batch: BatchId) -> SqlResult<Vec<DayCount>> {
    conn.prepare_cached("SELECT counted FROM batch WHERE id = ?1")?
        .query_row([batch.0], |row| read(row, 0))
}

fn read(row: &Row<'_>, at: usize) -> SqlResult<Vec<DayCount>> {
    let text = row.get_ref(at)?.as_str()?;
    serde_json::from_str(text).map_err(|_| garbage(at, text))
}

/// The counts of a batch that accepts `added`, as its row holds them.
pub(crate) fn column(at_ms: i64, added: &[Added]) -> SqlResult<String> {
    let day = utc_day(at_ms);
    let counts: Vec<DayCount> = added.iter().map(|one| DayCount::of(day, one.clone())).collect();
    json_text(&counts)
}

/// Adds a further count to those of a batch.
fn include(counted: &mut Vec<DayCount>, more: DayCount) {
    match counted.iter_mut().find(|one| (one.day, &one.unit) == (more.day, &more.unit)) {
        Some(one) => {
            one.amount = decimal(&one.amount).saturating_add(decimal(&more.amount)).to_string();
        }
        None => counted.push(more),
    }
}

/// Keeps the counts of a batch, to be given back later.
fn keep(conn: &dyn Database, batch: BatchId, counted: &[DayCount]) -> SqlResult<()> {
    conn.prepare_cached("UPDATE batch SET counted = ?2 WHERE id = ?1")?
        .queue(params![batch.0, json_text(&counted)?])
}

/// The places of the charges that a count is made of, as the column holds them.
fn places(count: &Count) -> String {
    let mut places = String::new();
    for place in &count.items {
        if !places.is_empty() {
            places.push(',');
        }
        places.push_str(&place.to_smolstr());
    }
    places
}

/// Corrects the sums by what became of the batch: what it has not charged is given back, and what it
/// charged otherwise counts as it was charged. Runs once, in the commit of its end.
pub(crate) fn correct(
    conn: &dyn Database,
    batch: BatchId,
    outcomes: &[ItemOutcome],
) -> SqlResult<Corrected> {
    let mut counted = counted(conn, batch)?;
    let mut corrected = Corrected::default();
    if counted.iter().all(|one| one.items.is_empty()) {
        return Ok(corrected);
    }
    let claimed = amounts(conn, batch)?;
    let lane = rows::origin_of(conn, batch)?.lane;
    for DayCount { day, unit, items, .. } in &counted {
        let (day, unit) = (*day, unit.clone());
        let mut back = U256::ZERO;
        for place in items.split(',') {
            let Some((amount, live)) = claimed.get(place).copied() else { continue };
            let taken = place.parse::<usize>().ok().and_then(|place| outcomes.get(place));
            match taken {
                Some(ItemOutcome::ChargedAsTold(taken))
                    if taken.amount.is_some() || taken.token.is_some() =>
                {
                    back = back.saturating_add(amount);
                    let now =
                        taken.token.map_or_else(|| unit.clone(), |token| Unit::Token(token).word());
                    let amount = taken.amount.unwrap_or(amount).to_string();
                    corrected.counted.push(DayAmount { day, unit: now, amount });
                }
                Some(_) | None if live => {}
                Some(_) | None => back = back.saturating_add(amount),
            }
        }
        if !back.is_zero() {
            corrected.given_back.push(DayAmount { day, unit, amount: back.to_string() });
        }
    }
    if corrected != Corrected::default() {
        write_back(conn, lane, &corrected, &mut counted)?;
        keep(conn, batch, &counted)?;
    }
    Ok(corrected)
}

/// Writes the corrected sums, and puts what they came to into the batch's counts.
fn write_back(
    conn: &dyn Database,
    lane: LaneId,
    Corrected { given_back, counted: taken }: &Corrected,
    counted: &mut Vec<DayCount>,
) -> SqlResult<()> {
    for DayAmount { day, unit, amount } in given_back {
        let left = sum(conn, lane, unit, *day)?.saturating_sub(decimal(amount));
        write(conn, lane, *day, unit, left)?;
        let same = |one: &&mut DayCount| (one.day, &one.unit) == (*day, unit);
        if let Some(one) = counted.iter_mut().find(same) {
            one.given_back.clone_from(amount);
        }
    }
    for DayAmount { day, unit, amount } in taken {
        let more = sum(conn, lane, unit, *day)?.saturating_add(decimal(amount));
        write(conn, lane, *day, unit, more)?;
        let (unit, amount) = (unit.clone(), amount.clone());
        let added = Added { unit, items: String::new(), amount };
        include(counted, DayCount::of(*day, added));
    }
    Ok(())
}

/// An amount as the columns and the history hold it.
pub(crate) fn decimal(text: &str) -> U256 {
    U256::from_str_radix(text, 10).unwrap_or(U256::MAX)
}

/// Reads the amounts that a batch claimed, by place, each with true if the claim is still held.
fn amounts(conn: &dyn Database, batch: BatchId) -> SqlResult<BTreeMap<String, (U256, bool)>> {
    conn.prepare_cached("SELECT item, amount, live FROM claim WHERE batch = ?1")?
        .query_map([batch.0], |row| {
            Ok((row.get::<i64>(0)?.to_string(), (number(row, 1)?, row.get(2)?)))
        })?
        .collect()
}

/// Sums that are not what their batches make them.
pub(crate) fn faults(conn: &dyn Database) -> SqlResult<Vec<String>> {
    type Sum = (u32, Vec<u8>, i64, String);
    let mut owed = BTreeMap::<Sum, U256>::new();
    let mut select = conn.prepare("SELECT chain, signer, counted FROM batch")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next_row()? {
        for one in read(&row, 2)? {
            let net = decimal(&one.amount).saturating_sub(decimal(&one.given_back));
            let sum = owed.entry((row.get(0)?, row.get(1)?, one.day, one.unit)).or_default();
            *sum = sum.saturating_add(net);
        }
    }
    let mut found = Vec::<(Sum, U256)>::new();
    let mut select = conn.prepare("SELECT chain, signer, day, unit, amount FROM spend")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next_row()? {
        found.push(((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?), number(&row, 4)?));
    }
    let mut select =
        conn.prepare("SELECT chain, signer, day, sums FROM lane WHERE day IS NOT NULL")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next_row()? {
        for (unit, amount) in newest_day::sums(&row, 3)? {
            found.push(((row.get(0)?, row.get(1)?, row.get(2)?, unit), amount));
        }
    }
    // A sum that stands twice is a fault too.
    for (sum, amount) in found {
        let due = owed.entry(sum).or_default();
        *due = if *due == amount { U256::ZERO } else { U256::MAX };
    }
    let wrong = owed.into_iter().filter(|(_, left)| !left.is_zero());
    let told = wrong.map(|((chain, _, day, unit), _)| {
        format!("the sum of {unit} on chain {chain} for day {day} is not what its batches counted")
    });
    Ok(told.collect())
}
