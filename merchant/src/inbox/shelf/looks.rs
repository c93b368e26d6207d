//! Billing events that wait for the chain's word.

use super::keep::release;
use super::{Shelf, ShelfFailed};
use crate::inbox::outcome::{About, Billed};
use rusqlite::{Connection, OptionalExtension as _, params};

/// A billing event of which it is not known what the chain says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unchecked {
    pub(crate) id: i64,
    pub(crate) stream: String,
    pub(crate) tx_hash: String,
    pub(crate) about: About,
    pub(crate) stored_ms: i64,
    pub(crate) looks: u32,
}

/// The result of a look at one event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The chain's answer.
    Told(Billed),
    /// Nothing is decided: look again then (Unix milliseconds).
    LookAt(i64),
}

fn told(conn: &Connection, one: &Unchecked, billed: &Billed) -> rusqlite::Result<()> {
    let unwritable = |error| rusqlite::Error::ToSqlConversionFailure(Box::new(error));
    let outcome = serde_json::to_string(billed).map_err(unwritable)?;
    conn.prepare_cached("UPDATE event SET outcome = ?2 WHERE id = ?1 AND outcome IS NULL")?
        .execute(params![one.id, outcome])?;
    release(conn, &one.stream)
}

fn again(conn: &Connection, id: i64, next_ms: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE event SET looks = looks + 1, next_look_ms = ?2 WHERE id = ?1")?
        .execute([id, next_ms])
        .map(drop)
}

impl Shelf {
    /// Billing events that are due for a look, those of one transaction together.
    pub(crate) async fn unchecked(&self, now_ms: i64) -> Result<Vec<Unchecked>, ShelfFailed> {
        self.run(move |t| {
            let mut statement = t.prepare_cached(
                "SELECT id, stream, tx_hash, body, stored_ms, looks FROM event
                 WHERE tx_hash IS NOT NULL AND outcome IS NULL AND next_look_ms <= ?1
                 ORDER BY next_look_ms, tx_hash LIMIT 1000",
            )?;
            let rows = statement.query_map([now_ms], |row| {
                let about = About::read(row.get_ref(3)?.as_str()?);
                let (id, stream, tx_hash) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let (stored_ms, looks) = (row.get(4)?, row.get(5)?);
                Ok(Unchecked { id, stream, tx_hash, about, stored_ms, looks })
            })?;
            let mut found: Vec<Unchecked> = rows.collect::<Result<_, _>>()?;
            for one in found.iter_mut().filter(|one| one.about.subscription.is_none()) {
                one.about.subscription = t
                    .prepare_cached("SELECT id FROM subscription WHERE trade_no = ?1")?
                    .query_row([&one.about.trade_no], |row| row.get(0))
                    .optional()?;
            }
            Ok(found)
        })
        .await
    }

    /// Stores the results of the looks at events of one transaction, in one commit: an event that the chain has
    /// decided about may be told, with the events that wait behind it; the others are looked at again.
    pub(crate) async fn looked(&self, looks: Vec<(Unchecked, Verdict)>) -> Result<(), ShelfFailed> {
        self.run(move |t| {
            looks.iter().try_for_each(|(one, verdict)| match verdict {
                Verdict::Told(billed) => told(t, one, billed),
                Verdict::LookAt(next_ms) => again(t, one.id, *next_ms),
            })
        })
        .await
    }

    /// Which subscription each order is.
    pub(crate) async fn orders(&self, orders: Vec<(String, i64)>) -> Result<(), ShelfFailed> {
        self.run(move |t| {
            let sql = "INSERT OR REPLACE INTO subscription VALUES (?1, ?2)";
            let mut statement = t.prepare_cached(sql)?;
            orders
                .iter()
                .try_for_each(|order| statement.execute(params![order.0, order.1]).map(drop))
        })
        .await
    }
}
