//! Standings as rows: read, moved by the transition table, written together with what the merchant
//! is told about them.

use super::outbox;
use crate::schedule::rules::Rules;
use crate::schedule::standing::{Heard, Next, Notice, Standing, next};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

/// Which subscription: the platform's chain id and the subscription's.
pub(super) type Key = (i64, i64);

/// The news about one subscription at one time.
#[derive(Debug)]
pub(super) struct News<'a> {
    pub(super) key: Key,
    pub(super) heard: Heard,
    /// True if the merchant was told of this very outcome of this charge before.
    pub(super) is_told: bool,
    pub(super) now_ms: i64,
    pub(super) rules: &'a Rules,
}

/// Moves one subscription by what was heard. One that the list never named is moved from `Free`.
pub(super) fn hear(conn: &Connection, news: News<'_>) -> rusqlite::Result<()> {
    let before = standing(conn, news.key)?.unwrap_or(Standing::Free);
    let mut next = next(&before, news.heard, news.now_ms, news.rules);
    if news.is_told {
        let is_outcome =
            |notice: &Notice| matches!(notice, Notice::Charged { .. } | Notice::Unproven { .. });
        next.notices.retain(|notice| !is_outcome(notice));
    }
    let standing = next.standing.jittered(news.key, news.now_ms);
    store(conn, news.key, &Next { standing, ..next })
}

/// Writes what is next.
pub(super) fn store(conn: &Connection, key: Key, next: &Next) -> rusqlite::Result<()> {
    put(conn, key, &next.standing)?;
    for notice in &next.notices {
        tell(conn, key, notice)?;
    }
    Ok(())
}

/// Writes a standing.
pub(super) fn put(conn: &Connection, key: Key, standing: &Standing) -> rusqlite::Result<()> {
    let sql = "UPDATE subscription SET word = ?3, standing = ?4 WHERE chain = ?1 AND id = ?2";
    conn.prepare_cached(sql)?
        .execute(params![key.0, key.1, standing.word(), json(standing)?])
        .map(drop)
}

/// Reads a standing.
pub(super) fn standing(conn: &Connection, key: Key) -> rusqlite::Result<Option<Standing>> {
    conn.prepare_cached("SELECT standing FROM subscription WHERE chain = ?1 AND id = ?2")?
        .query_row(params![key.0, key.1], |row| parse(&row.get::<_, String>(0)?))
        .optional()
}

/// A standing out of its column.
pub(super) fn parse(text: &str) -> rusqlite::Result<Standing> {
    serde_json::from_str(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(error)))
}

/// A value for a column of JSON.
pub(super) fn json<T: Serialize>(value: &T) -> rusqlite::Result<String> {
    serde_json::to_string(value)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    chain_id: i64,
    subscribe_id: i64,
    #[serde(flatten)]
    notice: &'a Notice,
}

/// Adds a notice for the merchant.
pub(super) fn tell(conn: &Connection, key: Key, notice: &Notice) -> rusqlite::Result<()> {
    let (chain_id, subscribe_id) = key;
    let body = json(&Told { chain_id, subscribe_id, notice })?;
    outbox::add(conn, &format!("subscription/{chain_id}/{subscribe_id}"), &body)
}
