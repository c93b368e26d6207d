//! `merchant events`: what people do with the inbox's store, beside an inbox that may be running.

use super::shelf::{Row, Shelf, select_ids};
use crate::store::{Store, StoreError};
use crate::time::UnixSeconds;
use rusqlite::ToSql;
use serde::Serialize;
use serde_json::value::RawValue;
use std::path::Path;

/// The store of an inbox, for people.
#[derive(Debug)]
pub struct EventDesk {
    store: Store,
}

/// Which events a person wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Those after this number, the first of them; without it the newest.
    pub after: Option<i64>,
    /// Those before this number.
    pub before: Option<i64>,
    /// At most so many.
    pub limit: u32,
    /// Only those that were given up.
    pub dead: bool,
}

/// An event, for people.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventLine {
    /// Its number, in the order of receipt.
    pub id: i64,
    /// Its place in the feed; none while the chain has not decided.
    pub position: Option<i64>,
    /// `SubscriptionBilling` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// Events of one stream keep their order.
    pub stream: String,
    /// When it came first.
    pub received_at: UnixSeconds,
    /// Of a billing event: what the chain says.
    pub outcome: Option<Box<RawValue>>,
    /// Number of deliveries of the event.
    pub deliveries: i64,
    /// Number of those deliveries that said something else than the first.
    pub conflicts: i64,
    /// `held`, `waiting`, `delivered`, `dead` or `skipped`.
    pub handed_on: String,
    /// The last answer of the merchant's address.
    pub last_answer: Option<String>,
    /// As it came first.
    pub payload: Option<Box<RawValue>>,
}

impl From<Row> for EventLine {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            position: row.position,
            kind: row.kind,
            stream: row.stream,
            received_at: UnixSeconds(row.received_at),
            outcome: row.outcome,
            deliveries: row.deliveries,
            conflicts: row.conflicts,
            handed_on: row.push.unwrap_or_else(|| "held".to_owned()),
            last_answer: row.last_push,
            payload: row.payload,
        }
    }
}

impl EventDesk {
    /// Opens the store of an inbox that may be running.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Shelf::beside(path).map(|store| Self { store })
    }

    /// The events that a filter names, in the order of receipt.
    pub fn list(&self, filter: EventFilter) -> Result<Vec<EventLine>, StoreError> {
        let (order, after) = filter.after.map_or(("DESC", i64::MIN), |after| ("ASC", after));
        let before = filter.before.unwrap_or(i64::MAX);
        let named = format!(
            "id > ?1 AND id < ?2 AND (push = 'dead' OR NOT ?3) ORDER BY id {order} LIMIT ?4"
        );
        let values: [&dyn ToSql; 4] = [&after, &before, &filter.dead, &i64::from(filter.limit)];
        let mut rows = select_ids(self.store.conn(), &named, &values)?;
        rows.sort_by_key(|row| row.id);
        Ok(rows.into_iter().map(EventLine::from).collect())
    }

    /// One event.
    pub fn show(&self, id: i64) -> Result<Option<EventLine>, StoreError> {
        let rows = select_ids(self.store.conn(), "id = ?1", &[&id])?;
        Ok(rows.into_iter().next().map(EventLine::from))
    }

    /// Has an event handed on (again), with new tries. False if there is none that may be told.
    pub fn replay(&mut self, id: i64) -> Result<bool, StoreError> {
        self.change(
            "UPDATE event SET push = 'waiting', tries = 0, next_push_ms = 0, replays = replays + 1
             WHERE id = ?1 AND position IS NOT NULL",
            id,
        )
    }

    /// Gives an event up for good, so that its stream goes on without it. False if it is not on its
    /// way.
    pub fn skip(&mut self, id: i64) -> Result<bool, StoreError> {
        self.change(
            "UPDATE event SET push = 'skipped', replays = replays + 1
             WHERE id = ?1 AND push IN ('waiting', 'dead')",
            id,
        )
    }

    fn change(&mut self, sql: &str, id: i64) -> Result<bool, StoreError> {
        self.store.write(|t| Ok(t.execute(sql, [id])? > 0))
    }
}
