//! Reading: the feed by position, the list for people, and how everything stands.

use super::{Shelf, ShelfFailed};
use rusqlite::{Connection, Row as SqlRow};
use serde::Serialize;
use serde_json::value::RawValue;

/// An event as it is told: to whoever pulls, to the merchant's address, and to people.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    /// The number of the event, in the order of receipt.
    pub(crate) id: i64,
    /// Its place in the feed; none while the chain has not decided.
    pub(crate) position: Option<i64>,
    /// `SubscriptionBilling` and so on.
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Events of one stream keep their order.
    pub(crate) stream: String,
    /// Unix seconds.
    pub(crate) received_at: i64,
    /// Of a billing event: what the chain says.
    pub(crate) outcome: Option<Box<RawValue>>,
    /// How often it was delivered to the inbox.
    pub(crate) deliveries: i64,
    /// How many of those deliveries said something else.
    pub(crate) conflicts: i64,
    /// Whether it is handed on again because a person asked for it.
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

/// How many events there are of each push state, unreleased ones under `held`.
pub(crate) type Stand = Vec<(String, i64)>;

/// The columns that [`row`] reads.
pub(super) const COLUMNS: &str = "id, position, kind, stream, received_s, outcome, deliveries, \
                                  conflicts, replays, body, push, last_push";

/// Reads a row of [`COLUMNS`].
pub(super) fn row(row: &SqlRow<'_>) -> rusqlite::Result<Row> {
    let replays: i64 = row.get("replays")?;
    Ok(Row {
        id: row.get("id")?,
        position: row.get("position")?,
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

/// What is stored was JSON when it came in.
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
    /// The events after a place in the feed.
    pub(crate) async fn after(&self, position: i64, most: u32) -> Result<Vec<Row>, ShelfFailed> {
        self.run(move |t| {
            let sql = format!(
                "SELECT {COLUMNS} FROM event WHERE position > ?1 ORDER BY position LIMIT ?2"
            );
            t.prepare_cached(&sql)?.query_map([position, i64::from(most)], row)?.collect()
        })
        .await
    }

    /// How everything stands.
    pub(crate) async fn stand(&self) -> Result<Stand, ShelfFailed> {
        self.run(|t| {
            let sql = "SELECT coalesce(push, 'held'), count(*) FROM event GROUP BY push";
            let mut statement = t.prepare_cached(sql)?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .await
    }
}
