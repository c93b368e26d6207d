//! The Signer's book: transactions followed until a final block has decided about everybody in them.

use super::standings::{Key, News, hear, standing, tell};
use super::{Book, callbacks};
use crate::schedule::entry::plain;
use crate::schedule::rules::{Rules, step};
use crate::schedule::standing::{Followed, Heard, Notice, Standing};
use crate::store::StoreError;
use rusqlite::{Connection, OptionalExtension as _, params};
use std::collections::HashMap;

/// A transaction that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// As the book spells it: lower case without `0x`, which the Signer understands.
    pub(crate) tx_hash: String,
    pub(crate) chain: i64,
    pub(crate) looks: u32,
}

/// The result of a look at the Signer's status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Not final. With every hash that the transaction has had.
    Open { hashes: Vec<String> },
    /// The Signer does not know it.
    Unknown,
    /// Final: what became of each subscription.
    Final { hashes: Vec<String>, outcomes: Vec<(i64, Heard)> },
}

/// Writes down that the Signer holds a transaction for a subscription, and follows it.
pub(super) fn follow(
    conn: &Connection,
    key: Key,
    tx_hash: &str,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let hash = kept_under(conn, tx_hash)?;
    watch(conn, key.0, &hash, now_ms)?;
    charge(conn, key, &hash, now_ms)
}

/// Follows a transaction of a chain, if nobody does yet.
pub(super) fn watch(
    conn: &Connection,
    chain: i64,
    hash: &str,
    now_ms: i64,
) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO flight (tx_hash, chain, since_ms, next_ms) VALUES (?1, ?2, ?3, ?3)",
    )?
    .execute(params![hash, chain, now_ms])
    .map(drop)
}

/// The hash that a transaction is kept under, whichever of its hashes is given.
pub(super) fn kept_under(conn: &Connection, hash: &str) -> rusqlite::Result<String> {
    let hash = plain(hash);
    let known = conn
        .prepare_cached("SELECT tx_hash FROM alias WHERE hash = ?1")?
        .query_row([&hash], |row| row.get(0))
        .optional()?;
    Ok(known.unwrap_or(hash))
}

/// Writes a charge, if there is none yet. Under a former id of its chain it may be there, and have its callback.
fn charge(conn: &Connection, key: Key, hash: &str, now_ms: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT OR IGNORE INTO charge
             (tx_hash, chain, id, plan, wallet, trade_no, state, since_ms, callback)
         SELECT ?1, ?2, ?3, s.plan, s.wallet, s.trade_no, 'open', ?4,
             (SELECT max(callback) FROM charge WHERE tx_hash = ?1 AND id = ?3)
         FROM (SELECT 1) LEFT JOIN subscription s ON s.chain = ?2 AND s.id = ?3",
    )?
    .execute(params![hash, key.0, key.1, now_ms])
    .map(drop)
}

impl Book {
    /// Transactions that are due for a look, longest waiting first.
    pub(crate) fn flights(&self, now_ms: i64, most: u32) -> Result<Vec<Flight>, StoreError> {
        let sql = "SELECT tx_hash, chain, looks FROM flight WHERE next_ms <= ?1
                   ORDER BY next_ms LIMIT ?2";
        let mut statement = self.store.conn().prepare_cached(sql)?;
        let rows = statement.query_map([now_ms, i64::from(most)], |row| {
            Ok(Flight { tx_hash: row.get(0)?, chain: row.get(1)?, looks: row.get(2)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the number of transactions that are followed, and the time when the next is due for a look.
    pub(crate) fn open_flights(&self) -> Result<(i64, Option<i64>), StoreError> {
        let sql = "SELECT count(*), min(next_ms) FROM flight";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        Ok(self.store.conn().prepare_cached(sql)?.query_row([], read)?)
    }

    /// Takes in what a look showed.
    pub(crate) fn looked(
        &mut self,
        flight: &Flight,
        look: Look,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<(), StoreError> {
        self.store.write(|t| match look {
            Look::Open { hashes } => {
                rename(t, flight, &hashes)?;
                look_again(t, flight, Answered::Known, now_ms, rules)
            }
            Look::Unknown => unknown(t, flight, now_ms, rules),
            Look::Final { hashes, outcomes } => {
                rename(t, flight, &hashes)?;
                let mut chains = chains(t, &flight.tx_hash)?;
                for (id, heard) in outcomes {
                    for chain in chains.remove(&id).unwrap_or_else(|| vec![flight.chain]) {
                        let (key, heard) = ((chain, id), heard.clone());
                        let is_told = is_settled(t, id, &flight.tx_hash, &heard)?;
                        settle(t, flight, News { key, heard, is_told, now_ms, rules })?;
                    }
                }
                t.execute("DELETE FROM flight WHERE tx_hash = ?1", [&flight.tx_hash])?;
                callbacks::match_all(t, &flight.tx_hash)
            }
        })
    }

    /// A look that nobody answered: another one after a pause.
    pub(crate) fn not_looked(
        &mut self,
        flight: &Flight,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<(), StoreError> {
        self.store.write(|t| look_again(t, flight, Answered::Nothing, now_ms, rules))
    }
}

/// An answer to a look that leaves a transaction undecided.
#[derive(Clone, Copy, Debug)]
enum Answered {
    Known,
    Unknown,
    /// Silence changes nothing about what was said before.
    Nothing,
}

/// The followed transactions, by every hash that they have had, each with the time since when the Signer does not know
/// it.
#[derive(Debug)]
pub(super) struct Flights(HashMap<String, Option<i64>>);

impl Flights {
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let sql = "SELECT tx_hash, unknown_ms FROM flight UNION ALL
                   SELECT alias.hash, unknown_ms FROM flight JOIN alias USING (tx_hash)";
        let mut statement = conn.prepare_cached(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<Result<_, _>>().map(Self)
    }

    /// The transaction that a subscription waits for.
    pub(super) fn of(&self, standing: &Standing) -> Followed {
        let flight = match standing {
            Standing::Billing { tx_hash, .. } => self.0.get(&plain(tx_hash)),
            Standing::Free
            | Standing::Planned { .. }
            | Standing::Paused(_)
            | Standing::Charged { .. }
            | Standing::Stopped { .. }
            | Standing::Unproven { .. } => None,
        };
        match flight {
            Some(Some(unknown_ms)) => Followed::UnknownSince(*unknown_ms),
            Some(None) => Followed::Known,
            None => Followed::Lost,
        }
    }
}

/// Callbacks may name any of the hashes.
fn rename(conn: &Connection, flight: &Flight, hashes: &[String]) -> rusqlite::Result<()> {
    let mut statement = conn.prepare_cached("INSERT OR IGNORE INTO alias VALUES (?1, ?2)")?;
    for hash in hashes.iter().map(|hash| plain(hash)).filter(|hash| *hash != flight.tx_hash) {
        statement.execute(params![hash, flight.tx_hash])?;
    }
    Ok(())
}

fn look_again(
    conn: &Connection,
    flight: &Flight,
    answered: Answered,
    now_ms: i64,
    rules: &Rules,
) -> rusqlite::Result<()> {
    let looks = flight.looks.saturating_add(1);
    let next_ms = now_ms.saturating_add(step(&rules.look_ms, looks));
    let answered = match answered {
        Answered::Known => "known",
        Answered::Unknown => "unknown",
        Answered::Nothing => "",
    };
    // A clock that was ahead may have written a time that is still to come.
    conn.prepare_cached(
        "UPDATE flight SET looks = ?2, next_ms = ?3, unknown_ms = CASE ?4
             WHEN 'known' THEN NULL
             WHEN 'unknown' THEN min(coalesce(unknown_ms, ?5), ?5)
             ELSE unknown_ms END
         WHERE tx_hash = ?1",
    )?
    .execute(params![flight.tx_hash, looks, next_ms, answered, now_ms])
    .map(drop)
}

/// A transaction that the Signer itself named stays followed: not known is not failed. One that only
/// a callback named is given up; the callback remains as a difference.
fn unknown(conn: &Connection, flight: &Flight, now_ms: i64, rules: &Rules) -> rusqlite::Result<()> {
    let named: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM charge WHERE tx_hash = ?1)")?
        .query_row([&flight.tx_hash], |row| row.get(0))?;
    if named {
        return look_again(conn, flight, Answered::Unknown, now_ms, rules);
    }
    conn.execute("DELETE FROM flight WHERE tx_hash = ?1", [&flight.tx_hash]).map(drop)
}

/// The chains that the book has each subscription of a transaction on, the newest first: a chain may have got another
/// id since the transaction was accepted.
fn chains(conn: &Connection, hash: &str) -> rusqlite::Result<HashMap<i64, Vec<i64>>> {
    let sql = "SELECT id, chain FROM charge WHERE tx_hash = ?1 ORDER BY since_ms DESC";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([hash], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut chains: HashMap<i64, Vec<i64>> = HashMap::new();
    for row in rows {
        let (id, chain) = row?;
        chains.entry(id).or_default().push(chain);
    }
    Ok(chains)
}

/// Returns true if the book has this outcome of this charge already, under any id of the chain. The Signer names a
/// transaction again when a subscription that the list still has is posted again.
fn is_settled(conn: &Connection, id: i64, hash: &str, heard: &Heard) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM charge WHERE tx_hash = ?1 AND id = ?2 AND state = ?3)";
    conn.prepare_cached(sql)?.query_row(params![hash, id, state_of(heard)], |row| row.get(0))
}

/// The word for an outcome in the book.
fn state_of(heard: &Heard) -> &'static str {
    match heard {
        Heard::Charged { .. } => "charged",
        Heard::Failed(_) | Heard::Refused(_) => "failed",
        Heard::Freed { .. } => "freed",
        Heard::Unproven { .. } => "unproven",
        Heard::Accepted { .. } => "open",
    }
}

/// Writes an outcome into the book, and moves the subscription if this transaction is what it
/// waited for. A charge that was waited for once, before the subscription was posted again, is told.
fn settle(conn: &Connection, flight: &Flight, news: News<'_>) -> rusqlite::Result<()> {
    let (chain, id) = news.key;
    let sql = "SELECT EXISTS (SELECT 1 FROM charge
               WHERE tx_hash = ?1 AND chain = ?2 AND id = ?3 AND state = 'open')";
    let was_open: bool = conn
        .prepare_cached(sql)?
        .query_row(params![flight.tx_hash, chain, id], |row| row.get(0))?;
    charge(conn, news.key, &flight.tx_hash, news.now_ms)?;
    conn.prepare_cached(
        "UPDATE charge SET state = ?4, settled_ms = coalesce(settled_ms, ?5)
         WHERE tx_hash = ?1 AND chain = ?2 AND id = ?3",
    )?
    .execute(params![flight.tx_hash, chain, id, state_of(&news.heard), news.now_ms])?;
    let waits = match standing(conn, news.key)? {
        Some(Standing::Billing { tx_hash, .. }) => kept_under(conn, &tx_hash)? == flight.tx_hash,
        Some(_) | None => false,
    };
    match &news.heard {
        _ if waits => hear(conn, news),
        Heard::Charged { tx_hash } if was_open && !news.is_told => {
            tell(conn, news.key, &Notice::Charged { tx_hash: tx_hash.clone() })
        }
        Heard::Charged { .. }
        | Heard::Accepted { .. }
        | Heard::Refused(_)
        | Heard::Failed(_)
        | Heard::Freed { .. }
        | Heard::Unproven { .. } => Ok(()),
    }
}
