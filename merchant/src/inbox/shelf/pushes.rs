//! Events on their way to the merchant's own address.

use super::{Row, Shelf, ShelfFailed, feed};
use crate::inbox::onward::{LONGEST_PAUSE_MS, Push};
use rusqlite::params;

/// An event to hand on now: the first of its stream that has not arrived.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) row: Row,
    pub(crate) tries: u32,
}

impl Shelf {
    /// The events to hand on now, at most one of each stream. A dead event holds its stream up.
    pub(crate) async fn parcels(&self, now_ms: i64, most: u32) -> Result<Vec<Parcel>, ShelfFailed> {
        self.run(move |t| {
            // No pause is as long: the clock was ahead for a while, and is not any more.
            t.prepare_cached(
                "UPDATE event SET next_push_ms = 0 WHERE push = 'waiting' AND next_push_ms > ?1",
            )?
            .execute([now_ms.saturating_add(LONGEST_PAUSE_MS)])?;
            let mut statement = t.prepare_cached(&format!(
                "SELECT {}, tries FROM event AS e WHERE push = 'waiting' AND next_push_ms <= ?1
                 AND NOT EXISTS (SELECT 1 FROM event AS before WHERE before.stream = e.stream
                     AND before.position < e.position AND before.push IN ('waiting', 'dead'))
                 ORDER BY next_push_ms, position LIMIT ?2",
                feed::COLUMNS
            ))?;
            let rows = statement.query_map([now_ms, i64::from(most)], |row| {
                Ok(Parcel { row: feed::row(row)?, tries: row.get("tries")? })
            })?;
            rows.collect()
        })
        .await
    }

    /// Stores the result of a try.
    pub(crate) async fn pushed(
        &self,
        parcel: &Parcel,
        next: Push,
        said: String,
        now_ms: i64,
    ) -> Result<(), ShelfFailed> {
        let (id, replays) = (parcel.row.id, parcel.row.replays);
        let (push, pause_ms) = match next {
            Push::Delivered => ("delivered", 0),
            Push::Again(pause_ms) => ("waiting", pause_ms),
            Push::Dead => ("dead", 0),
        };
        self.run(move |t| {
            // A replay that was asked for meanwhile is not undone.
            t.prepare_cached(
                "UPDATE event SET push = ?2, tries = tries + 1, next_push_ms = ?3, last_push = ?4
                 WHERE id = ?1 AND replays = ?5 AND push = 'waiting'",
            )?
            .execute(params![id, push, now_ms.saturating_add(pause_ms), said, replays])
            .map(drop)
        })
        .await
    }
}
