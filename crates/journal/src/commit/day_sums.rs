//! The sums of a day: what batches charge of each token, and what transactions may cost. Kept in the
//! commit that signs, so that no crash and no crowd gets past a limit.
//!
//! Each account has sums of its own. A limit is one of the chain: it is compared with what all accounts of the
//! chain have come to together, so that no further key makes it wider.
//!
//! A batch's counts are given back when it ends, to the day of the count, as far as the batch charged nobody. Fees
//! stay counted: the fee paid is not known here, only the possible fee.

use crate::commit::rows;
use crate::model::{Added, Corrected, DayAmount};
use crate::sql::columns::number;
use crate::sql::{Database, OptionalExtension as _, SqlResult, params};
use crate::{AcceptError, LaneId, Proposal};
use alloy::primitives::U256;
use billing::{BatchId, ItemOutcome, PlatformChainId};
use policy::{Count, Unit, utc_day};
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
    /// Takes in a sum of the one account.
    pub(crate) fn take_in_own(&mut self, unit: String, amount: U256) {
        self.account.insert(unit.clone(), amount);
        self.take_in(unit, amount);
    }

    /// Takes in a sum of another account of the chain.
    pub(crate) fn take_in(&mut self, unit: String, amount: U256) {
        let all = self.chain.entry(unit).or_default();
        *all = all.saturating_add(amount);
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

/// Adds what a new batch counts to the `sums` of its day, or refuses.
pub(crate) fn count(
    conn: &dyn Database,
    proposal: &Proposal,
    batch: BatchId,
    mut sums: DaySums,
) -> Result<Vec<Added>, AcceptError> {
    let (lane, day) = (proposal.origin.lane, utc_day(proposal.at_ms));
    let mut all = Vec::with_capacity(proposal.counts.len());
    for count in &proposal.counts {
        let added = Added::of(count, count.amount);
        let sum = sums.after(count, count.amount)?;
        write(conn, lane, day, &added.unit, sum)?;
        keep(conn, batch, day, &added)?;
        all.push(added);
    }
    Ok(all)
}

/// Adds what another attempt may cost beyond the dearest one before it: only one of them lands.
pub(crate) fn count_again(
    conn: &dyn Database,
    batch: BatchId,
    count: &Count,
    at_ms: i64,
) -> Result<Vec<Added>, AcceptError> {
    let before = conn
        .prepare_cached("SELECT amount FROM counted WHERE batch = ?1 AND unit = ?2")?
        .query_map(params![batch.0, count.unit.word()], |row| number(row, 0))?
        .try_fold(U256::ZERO, |sum, one| one.map(|one| sum.saturating_add(one)))?;
    let more = count.amount.saturating_sub(before);
    if more.is_zero() {
        return Ok(Vec::new());
    }
    let lane = rows::origin_of(conn, batch)?.lane;
    add(conn, lane, count, more, at_ms)?;
    remember(conn, batch, count, more, at_ms)?;
    Ok(vec![Added::of(count, more)])
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
    let sql = "SELECT unit, amount FROM lane JOIN spend
               ON spend.chain = lane.chain AND spend.signer = lane.signer AND spend.day = ?2
               WHERE lane.chain = ?1";
    let mut select = conn.prepare_cached(sql)?;
    let mut rows = select.query(params![chain.0, day])?;
    while let Some(row) = rows.next_row()? {
        sums.take_in(row.get(0)?, number(&row, 1)?);
    }
    Ok(sums)
}

fn sum(conn: &dyn Database, lane: LaneId, unit: &str, day: i64) -> SqlResult<U256> {
    conn.prepare_cached(
        "SELECT amount FROM spend WHERE chain = ?1 AND signer = ?2 AND day = ?3 AND unit = ?4",
    )?
    .query_row(params![lane.chain.0, lane.signer.as_slice(), day, unit], |row| number(row, 0))
    .optional()
    .map(Option::unwrap_or_default)
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

fn write(conn: &dyn Database, lane: LaneId, day: i64, unit: &str, amount: U256) -> SqlResult<()> {
    conn.prepare_cached(
        "INSERT INTO spend (chain, signer, day, unit, amount) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (chain, signer, day, unit) DO UPDATE SET amount = excluded.amount",
    )?
    .queue(params![lane.chain.0, lane.signer.as_slice(), day, unit, amount.to_string()])
}

/// Keeps a batch's further count, to be given back later. Adds it to the batch's count of the same day.
fn remember(
    conn: &dyn Database,
    batch: BatchId,
    count: &Count,
    amount: U256,
    at_ms: i64,
) -> SqlResult<()> {
    let (day, unit) = (utc_day(at_ms), count.unit.word());
    let before = conn
        .prepare_cached("SELECT amount FROM counted WHERE batch = ?1 AND day = ?2 AND unit = ?3")?
        .query_row(params![batch.0, day, unit], |row| number(row, 0))
        .optional()?;
    keep(conn, batch, day, &Added::of(count, before.unwrap_or_default().saturating_add(amount)))
}

/// Keeps what a batch has counted on a day.
fn keep(conn: &dyn Database, batch: BatchId, day: i64, counted: &Added) -> SqlResult<()> {
    conn.prepare_cached(
        "INSERT INTO counted (batch, day, unit, items, amount, given_back)
         VALUES (?1, ?2, ?3, ?4, ?5, '0') ON CONFLICT (batch, day, unit)
         DO UPDATE SET items = excluded.items, amount = excluded.amount, given_back = '0'",
    )?
    .queue(params![batch.0, day, counted.unit, counted.items, counted.amount])
}

/// The places of the charges that a count is made of, as the column holds them.
fn places(count: &Count) -> String {
    let places: Vec<String> = count.items.iter().map(usize::to_string).collect();
    places.join(",")
}

/// A batch's count of one token.
struct Counted {
    day: i64,
    unit: String,
    places: Vec<String>,
}

/// Corrects the sums by what became of the batch: what it has not charged is given back, and what it
/// charged otherwise counts as it was charged. Runs once, in the commit of its end.
pub(crate) fn correct(
    conn: &dyn Database,
    batch: BatchId,
    outcomes: &[ItemOutcome],
) -> SqlResult<Corrected> {
    let counted: Vec<Counted> = conn
        .prepare_cached("SELECT day, unit, items FROM counted WHERE batch = ?1 AND items <> ''")?
        .query_map([batch.0], |row| {
            let places: String = row.get(2)?;
            let places = places.split(',').map(str::to_owned).collect();
            Ok(Counted { day: row.get(0)?, unit: row.get(1)?, places })
        })?
        .collect::<Result<_, _>>()?;
    let mut corrected = Corrected::default();
    if counted.is_empty() {
        return Ok(corrected);
    }
    let claimed = amounts(conn, batch)?;
    let lane = rows::origin_of(conn, batch)?.lane;
    for Counted { day, unit, places } in counted {
        let mut back = U256::ZERO;
        for place in places {
            let Some((amount, live)) = claimed.get(&place).copied() else { continue };
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
    write_back(conn, lane, batch, &corrected)?;
    Ok(corrected)
}

fn write_back(
    conn: &dyn Database,
    lane: LaneId,
    batch: BatchId,
    Corrected { given_back, counted }: &Corrected,
) -> SqlResult<()> {
    for DayAmount { day, unit, amount } in given_back {
        let left = sum(conn, lane, unit, *day)?.saturating_sub(decimal(amount));
        write(conn, lane, *day, unit, left)?;
        conn.prepare_cached(
            "UPDATE counted SET given_back = ?4 WHERE batch = ?1 AND day = ?2 AND unit = ?3",
        )?
        .queue(params![batch.0, day, unit, amount])?;
    }
    for DayAmount { day, unit, amount } in counted {
        let more = sum(conn, lane, unit, *day)?.saturating_add(decimal(amount));
        write(conn, lane, *day, unit, more)?;
        let before = conn
            .prepare_cached(
                "SELECT amount FROM counted WHERE batch = ?1 AND day = ?2 AND unit = ?3",
            )?
            .query_row(params![batch.0, day, unit], |row| number(row, 0))
            .optional()?;
        let all = before.unwrap_or_default().saturating_add(decimal(amount)).to_string();
        conn.prepare_cached(
            "INSERT INTO counted (batch, day, unit, items, amount, given_back)
             VALUES (?1, ?2, ?3, '', ?4, '0')
             ON CONFLICT (batch, day, unit) DO UPDATE SET amount = excluded.amount",
        )?
        .queue(params![batch.0, day, unit, all])?;
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
    let mut select = conn.prepare(
        "SELECT chain, signer, day, unit, amount, given_back
         FROM counted JOIN batch ON batch.id = counted.batch",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next_row()? {
        let net = number(&row, 4)?.saturating_sub(number(&row, 5)?);
        let sum = owed.entry((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)).or_default();
        *sum = sum.saturating_add(net);
    }
    let mut select = conn.prepare("SELECT chain, signer, day, unit, amount FROM spend")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next_row()? {
        let sum: Sum = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let due = owed.entry(sum).or_default();
        *due = if *due == number(&row, 4)? { U256::ZERO } else { U256::MAX };
    }
    let wrong = owed.into_iter().filter(|(_, left)| !left.is_zero());
    let told = wrong.map(|((chain, _, day, unit), _)| {
        format!("the sum of {unit} on chain {chain} for day {day} is not what its batches counted")
    });
    Ok(told.collect())
}
