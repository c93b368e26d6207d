//! Taking in: each event once, each delivery counted, and a place in the feed for what may be told.

use super::Shelf;
use super::ShelfFailed;
use super::feed::Place;
use crate::inbox::incoming::{Incoming, same};
use rusqlite::{Connection, OptionalExtension as _, params};

/// The result of keeping something that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// It is new.
    New,
    /// It is known.
    Repeat,
    /// It is known, but says something else than the first time.
    Conflict,
}

impl Shelf {
    /// Keeps what came in. When this returns, it is on disk.
    pub(crate) async fn keep(
        &self,
        incoming: Vec<Incoming>,
        now_ms: i64,
    ) -> Result<Vec<Kept>, ShelfFailed> {
        self.run(move |t| incoming.iter().map(|one| keep(t, one, now_ms)).collect()).await
    }
}

fn keep(conn: &Connection, one: &Incoming, now_ms: i64) -> rusqlite::Result<Kept> {
    let known: Option<(i64, String)> = conn
        .prepare_cached("SELECT id, body FROM event WHERE key = ?1")?
        .query_row([&one.key], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, body)) = known else {
        conn.prepare_cached(
            "INSERT INTO event (key, stream, kind, body, received_s, stored_ms, tx_hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            one.key,
            one.stream,
            one.kind,
            one.body,
            one.received_s,
            now_ms,
            one.tx_hash
        ])?;
        release(conn, &one.stream)?;
        return Ok(Kept::New);
    };
    let conflict = !same(&body, &one.body);
    conn.prepare_cached("INSERT INTO delivery (event, stored_ms, body) VALUES (?1, ?2, ?3)")?
        .execute(params![id, now_ms, conflict.then_some(&one.body)])?;
    conn.prepare_cached(
        "UPDATE event SET deliveries = deliveries + 1, conflicts = conflicts + ?2 WHERE id = ?1",
    )?
    .execute(params![id, conflict])?;
    Ok(if conflict { Kept::Conflict } else { Kept::Repeat })
}

/// Gives the events of a stream their places in the feed, up to the first that has to wait for the
/// chain: what is behind it waits, too, so that the order is kept.
pub(super) fn release(conn: &Connection, stream: &str) -> rusqlite::Result<()> {
    // Left to itself the database walks through everything that waits, of every stream.
    let waiting: Vec<(i64, String, bool)> = conn
        .prepare_cached(
            "SELECT id, key, tx_hash IS NULL OR outcome IS NOT NULL FROM event INDEXED BY event_unreleased
             WHERE stream = ?1 AND position IS NULL ORDER BY id",
        )?
        .query_map([stream], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut place = Place::newest(conn)?;
    for (id, key, _) in waiting.into_iter().take_while(|(_, _, ready)| *ready) {
        place = place.next(&key);
        conn.prepare_cached(
            "UPDATE event SET push = 'waiting', position = ?2, place = ?3 WHERE id = ?1",
        )?
        .execute(params![id, place.position, place.digest])?;
    }
    Ok(())
}
