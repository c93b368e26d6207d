//! Billing events that wait for the chain's word.

use super::keep::release;
use super::{Shelf, ShelfFailed};
use crate::inbox::outcome::{About, Billed, Doubt};
use rusqlite::{Connection, OptionalExtension as _, params};

/// The longest pause between two looks at one event, milliseconds.
pub(crate) const LONGEST_PAUSE_MS: i64 = 120_000;

/// A billing event of which it is not known what the chain says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unchecked {
    pub(crate) id: i64,
    pub(crate) stream: String,
    pub(crate) tx_hash: String,
    pub(crate) about: About,
    pub(crate) doubt: Doubt,
    pub(crate) looks: u32,
}

/// The result of a look at one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The chain's answer about a transaction, as the Signer names it.
    Told { billed: Billed, tx_hash: String },
    /// Nothing is decided: look again then (Unix milliseconds).
    LookAt { next_ms: i64, doubt: Doubt },
}

fn told(
    conn: &Connection,
    one: &Unchecked,
    billed: &Billed,
    tx_hash: &str,
) -> rusqlite::Result<Billed> {
    let billed = proven(conn, one, billed, tx_hash)?;
    let unwritable = |error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
    let outcome = serde_json::to_string(&billed).map_err(unwritable)?;
    conn.prepare_cached("UPDATE event SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL")?
        .execute(params![one.id, outcome])?;
    release(conn, &one.stream)?;
    Ok(billed)
}

/// One charge proves one event, so that it is granted for once, however many events name it.
fn proven(
    conn: &Connection,
    one: &Unchecked,
    billed: &Billed,
    tx_hash: &str,
) -> rusqlite::Result<Billed> {
    let (Billed::Charged, Some(subscription)) = (billed, one.about.subscription) else {
        return Ok(billed.clone());
    };
    let hash = tx_hash.to_ascii_lowercase();
    let charge = params![hash.trim_start_matches("0x"), subscription, one.id];
    conn.prepare_cached("INSERT OR IGNORE INTO proof VALUES (?1, ?2, ?3)")?.execute(charge)?;
    let event: i64 = conn
        .prepare_cached("SELECT event FROM proof WHERE tx_hash = ?1 AND subscription = ?2")?
        .query_row(params![hash.trim_start_matches("0x"), subscription], |row| row.get(0))?;
    if event == one.id {
        return Ok(Billed::Charged);
    }
    Ok(Billed::Unproven { reason: format!("event {event} tells of this charge already") })
}

fn again(conn: &Connection, id: i64, next_ms: i64, doubt: Doubt) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "UPDATE event SET looks = looks + 1, next_look_ms = ?2, missing_ms = ?3, unnamed_ms = ?4
         WHERE id = ?1",
    )?
    .execute(params![id, next_ms, doubt.missing_ms, doubt.unnamed_ms])
    .map(drop)
}

impl Shelf {
    /// Billing events that are due for a look, those of one transaction together.
    pub(crate) async fn unchecked(&self, now_ms: i64) -> Result<Vec<Unchecked>, ShelfFailed> {
        self.run(move |t| {
            // No pause is as long: the clock was ahead for a while, and is not any more.
            t.prepare_cached(
                "UPDATE event SET next_look_ms = 0
                 WHERE tx_hash IS NOT NULL AND outcome IS NULL AND next_look_ms > ?1",
            )?
            .execute([now_ms.saturating_add(LONGEST_PAUSE_MS)])?;
            let mut statement = t.prepare_cached(
                "SELECT id, stream, tx_hash, body, looks, missing_ms, unnamed_ms FROM event
                 WHERE tx_hash IS NOT NULL AND outcome IS NULL AND next_look_ms <= ?1
                 ORDER BY next_look_ms, tx_hash LIMIT 1000",
            )?;
            let rows = statement.query_map([now_ms], |row| {
                let about = About::read(row.get_ref(3)?.as_str()?);
                let (id, stream, tx_hash) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let (looks, missing_ms, unnamed_ms) = (row.get(4)?, row.get(5)?, row.get(6)?);
                let doubt = Doubt { missing_ms, unnamed_ms };
                Ok(Unchecked { id, stream, tx_hash, about, doubt, looks })
            })?;
            let mut found: Vec<Unchecked> = rows.collect::<Result<_, _>>()?;
            for one in &mut found {
                let listed: Option<i64> = t
                    .prepare_cached("SELECT id FROM subscription WHERE trade_no = ?1")?
                    .query_row([&one.about.trade_no], |row| row.get(0))
                    .optional()?;
                one.about.subscription = listed.or(one.about.subscription);
            }
            Ok(found)
        })
        .await
    }

    /// Stores the results of the looks at events of one transaction, in one commit: an event that the chain has
    /// decided about may be told, with the events that wait behind it; the others are looked at again. Answers what
    /// is told.
    pub(crate) async fn looked(
        &self,
        looks: Vec<(Unchecked, Verdict)>,
    ) -> Result<Vec<Billed>, ShelfFailed> {
        self.run(move |t| {
            let mut all = vec![];
            for (one, verdict) in &looks {
                match verdict {
                    Verdict::Told { billed, tx_hash } => all.push(told(t, one, billed, tx_hash)?),
                    Verdict::LookAt { next_ms, doubt } => again(t, one.id, *next_ms, *doubt)?,
                }
            }
            Ok(all)
        })
        .await
    }

    /// Which subscription each order is. Events that wait for that are due for a look.
    pub(crate) async fn orders(&self, orders: Vec<(String, i64)>) -> Result<(), ShelfFailed> {
        self.run(move |t| {
            let mut store = t.prepare_cached(
                "INSERT INTO subscription VALUES (?1, ?2)
                 ON CONFLICT (trade_no) DO UPDATE SET id = excluded.id WHERE id <> excluded.id",
            )?;
            let mut wake = t.prepare_cached(
                "UPDATE event SET next_look_ms = 0 WHERE stream = 'order/' || ?1
                 AND position IS NULL AND tx_hash IS NOT NULL AND outcome IS NULL",
            )?;
            for (trade_no, id) in &orders {
                if store.execute(params![trade_no, id])? > 0 {
                    wake.execute([trade_no])?;
                }
            }
            Ok(())
        })
        .await
    }
}
