//! Reading: the feed by position, the list for people, and how everything stands.

use super::{Shelf, ShelfFailed};
use crate::digest::{short, short_of};
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow};
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// The place that a reader has reached. The digest covers every event up to the position and the file that they are
/// in, so that the place of another file, or of a copy that has parted from this one, is recognised. As text:
/// `17-9f86d081884c7d659a2feaa0c55ad015`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Of the last event that was read; 0 before the first.
    pub(crate) position: i64,
    pub(crate) digest: String,
}

impl Place {
    /// The place of the newest event that may be told.
    pub(super) fn newest(conn: &Connection) -> rusqlite::Result<Self> {
        conn.prepare_cached(
            "SELECT position, place FROM (SELECT position, place FROM event WHERE position IS NOT NULL
                 UNION ALL SELECT 0, place FROM beginning)
             ORDER BY position DESC LIMIT 1",
        )?
        .query_row([], |row| Ok(Self { position: row.get(0)?, digest: row.get(1)? }))
    }

    /// The place behind this one, of the event with this key.
    pub(super) fn next(&self, key: &str) -> Self {
        let mut digest = Sha256::new();
        digest.update(&self.digest);
        digest.update(key);
        Self { position: self.position.saturating_add(1), digest: short(digest) }
    }

    /// Returns true if this is a place of this feed.
    fn is_of(&self, conn: &Connection) -> rusqlite::Result<bool> {
        let known: Option<String> = conn
            .prepare_cached("SELECT place FROM event WHERE position = ?1")?
            .query_row([self.position], |row| row.get(0))
            .optional()?;
        Ok(known.is_some_and(|digest| digest == self.digest))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.position, self.digest)
    }
}

/// The text is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoPlace;

impl FromStr for Place {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (position, digest) = text.split_once('-').ok_or(NoPlace)?;
        let position = position.parse().map_err(|_| NoPlace)?;
        Ok(Self { position, digest: digest.to_owned() })
    }
}

/// An event as it is told: to whoever pulls, to the merchant's address, and to people.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The number of the event in this file, in the order of receipt.
    pub(crate) id: i64,
    /// The name of the event in every file: `evt_` and a digest of what its deliveries have in common.
    pub(crate) event_id: String,
    /// Its place in the feed; none while the chain has not decided.
    pub(crate) position: Option<i64>,
    #[serde(skip)]
    pub(crate) place: Option<String>,
    /// `SubscriptionBilling` and so on.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Events of one stream keep their order.
    pub(crate) stream: String,
    /// Unix seconds.
    pub(crate) received_at: i64,
    /// Of a billing event: what the chain says.
    pub(crate) outcome: Option<Box<RawValue>>,
    /// Number of deliveries of the event to the inbox.
    pub(crate) deliveries: i64,
    /// Number of those deliveries that said something else.
    pub(crate) conflicts: i64,
    /// True if the event is handed on again because a person asked for it.
    pub(crate) is_replay: bool,
    /// As the platform, or the scheduler, wrote it.
    pub(crate) payload: Option<Box<RawValue>>,
    /// waiting, delivered, dead or skipped.
    #[serde(skip)]
    pub(crate) push: Option<String>,
    #[serde(skip)]
    pub(crate) last_push: Option<String>,
    #[serde(skip)]
    pub(crate) replays: i64,
}

/// Number of events in each push state, unreleased ones under `held`.
pub(crate) type Stand = Vec<(String, i64)>;

/// The columns that [`row`] reads.
pub(super) const COLUMNS: &str = "id, key, position, place, kind, stream, received_s, outcome, \
                                  deliveries, conflicts, replays, body, push, last_push";

/// Reads a row of [`COLUMNS`].
pub(super) fn row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let replays: i64 = row.get("replays")?;
    Ok(Row {
        id: row.get("id")?,
        event_id: format!("evt_{}", short_of(row.get_ref("key")?.as_bytes()?)),
        position: row.get("position")?,
        place: row.get("place")?,
        kind: row.get("kind")?,
        stream: row.get("stream")?,
        received_at: row.get("received_s")?,
        outcome: row.get::<_, Option<String>>("outcome")?.and_then(raw),
        deliveries: row.get("deliveries")?,
        conflicts: row.get("conflicts")?,
        is_replay: replays > 0,
        payload: raw(row.get("body")?),
        push: row.get("push")?,
        last_push: row.get("last_push")?,
        replays,
    })
}

/// Returns the stored text as JSON, which it was when it came in.
fn raw(text: String) -> Option<Box<RawValue>> {
    RawValue::from_string(text).ok()
}

/// The place of the newest event.
pub(super) fn last(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("SELECT coalesce(max(position), 0) FROM event")?
        .query_row([], |row| row.get(0))
}

/// The events that a condition on the table names, newest last.
pub(crate) fn select_ids(
    conn: &Connection,
    condition: &str,
    bound: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<Vec<Row>> {
    let sql = format!("SELECT {COLUMNS} FROM event WHERE {condition}");
    conn.prepare(&sql)?.query_map(bound, row)?.collect()
}

impl Shelf {
    /// The events after a place in the feed, or from the first. `None`: the place is of another feed.
    pub(crate) async fn after(
        &self,
        place: Option<Place>,
        most: u32,
    ) -> Result<Option<Vec<Row>>, ShelfFailed> {
        self.run(move |t| {
            if let Some(place) = &place
                && !place.is_of(t)?
            {
                return Ok(None);
            }
            let position = place.map_or(0, |place| place.position);
            let sql = format!(
                "SELECT {COLUMNS} FROM event WHERE position > ?1 ORDER BY position LIMIT ?2"
            );
            let mut statement = t.prepare_cached(&sql)?;
            let rows = statement.query_map([position, i64::from(most)], row)?;
            rows.collect::<Result<_, _>>().map(Some)
        })
        .await
    }

    /// The present counts by state.
    pub(crate) async fn stand(&self) -> Result<Stand, ShelfFailed> {
        self.run(|t| {
            let sql = "SELECT coalesce(push, 'held'), count(*) FROM event GROUP BY push";
            let mut statement = t.prepare_cached(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .await
    }
}
