//! The differences between the three books, as the tables tell them.

use super::{Book, Inbox, outbox, standings};
use crate::schedule::reconcile::{Change, Difference, Kind, compare};
use crate::schedule::rules::Rules;
use crate::store::StoreError;
use rusqlite::{Connection, params};
use serde::Serialize;
use std::collections::BTreeMap;
use strum::IntoEnumIterator;

/// Returns, for each kind, the query that finds (subject, since when) where that is before `?1`. A difference that
/// has not lasted is not read: there may be one for everybody who is due.
pub(super) fn query(kind: Kind) -> &'static str {
    match kind {
        Kind::ChargedWithoutCallback => {
            "SELECT chain || '/' || id || ' in ' || tx_hash, settled_ms FROM charge
             WHERE state = 'charged' AND callback IS NULL AND settled_ms < ?1"
        }
        Kind::CallbackWithoutCharge => {
            "SELECT 'event ' || event || ' names ' || tx_hash, heard_ms FROM callback
             WHERE matched = 0 AND heard_ms < ?1"
        }
        Kind::OpenTooLong => {
            "SELECT tx_hash, since_ms FROM flight WHERE unknown_ms IS NULL AND since_ms < ?1"
        }
        Kind::UnknownToTheSigner => "SELECT tx_hash, unknown_ms FROM flight WHERE unknown_ms < ?1",
        Kind::NoVerdict => {
            "SELECT request_id, planned_ms FROM batch WHERE state = 'planned' AND planned_ms < ?1"
        }
        Kind::ListedButNotPosted => {
            "SELECT chain || '/' || id, listed_ms FROM subscription
             WHERE word = 'free' AND listed = 1 AND listed_ms < ?1"
        }
        Kind::ChargedButListed => {
            "SELECT chain || '/' || id, max(listed_ms, json_extract(standing, '$.since_ms')) AS since
             FROM subscription
             WHERE word = 'charged' AND listed = 1 AND listed_ms < ?1 AND since < ?1
                 AND substr(posted_terms, 1, 32) = substr(terms, 1, 32)"
        }
        Kind::EndedButListed => {
            "SELECT chain || '/' || id, max(listed_ms, json_extract(standing, '$.since_ms')) AS since
             FROM subscription
             WHERE word = 'stopped' AND listed = 1 AND listed_ms < ?1 AND since < ?1"
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
enum Told<'a> {
    BooksDiffer { kind: &'a str, subject: &'a str, since_ms: i64 },
    BooksAgree { kind: &'a str, subject: &'a str },
}

impl Book {
    /// Compares the books. Answers how many differences of each kind have a name now. Without an
    /// inbox there is no third book, and nothing is said about it.
    pub(crate) fn reconcile(
        &mut self,
        inbox: Inbox,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<(Vec<Change>, BTreeMap<Kind, u64>), StoreError> {
        self.store.write(|t| {
            let mut now = BTreeMap::new();
            let kinds = Kind::iter();
            for kind in
                kinds.filter(|kind| inbox == Inbox::Read || *kind != Kind::ChargedWithoutCallback)
            {
                now.extend(lasting(
                    t,
                    kind,
                    now_ms.saturating_sub(kind.patience_ms(&rules.patience)),
                )?);
            }
            let mut names: BTreeMap<Kind, u64> = Kind::iter().map(|kind| (kind, 0)).collect();
            for difference in now.keys() {
                let count = names.entry(difference.kind).or_default();
                *count = count.saturating_add(1);
            }
            let changes = compare(&now, &named(t)?);
            for change in &changes {
                apply(t, change, now_ms)?;
            }
            Ok((changes, names))
        })
    }

    /// Every difference that has a name: (what, since when).
    pub(crate) fn named(&self) -> Result<BTreeMap<Difference, i64>, StoreError> {
        Ok(named(self.store.conn())?)
    }
}

fn lasting(
    conn: &Connection,
    kind: Kind,
    before_ms: i64,
) -> rusqlite::Result<Vec<(Difference, i64)>> {
    let mut statement = conn.prepare_cached(query(kind))?;
    let rows = statement.query_map([before_ms], |row| {
        Ok((Difference { kind, subject: row.get(0)? }, row.get(1)?))
    })?;
    rows.collect()
}

fn named(conn: &Connection) -> rusqlite::Result<BTreeMap<Difference, i64>> {
    let sql = "SELECT kind, subject, since_ms FROM difference WHERE named_ms IS NOT NULL";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        let (kind, subject) = (Kind::of_word(row.get_ref(0)?.as_str()?), row.get(1)?);
        let since_ms: i64 = row.get(2)?;
        Ok(kind.map(|kind| (Difference { kind, subject }, since_ms)))
    })?;
    rows.filter_map(Result::transpose).collect()
}

fn apply(conn: &Connection, change: &Change, now_ms: i64) -> rusqlite::Result<()> {
    match change {
        Change::Named { difference, since_ms } => {
            let (kind, subject) = (difference.kind.word(), difference.subject.as_str());
            conn.prepare_cached("INSERT OR REPLACE INTO difference VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![kind, subject, since_ms, now_ms])?;
            tell(conn, &Told::BooksDiffer { kind, subject, since_ms: *since_ms })
        }
        Change::Agreed { difference } => {
            let (kind, subject) = (difference.kind.word(), difference.subject.as_str());
            conn.prepare_cached("DELETE FROM difference WHERE kind = ?1 AND subject = ?2")?
                .execute(params![kind, subject])?;
            tell(conn, &Told::BooksAgree { kind, subject })
        }
    }
}

fn tell(conn: &Connection, told: &Told<'_>) -> rusqlite::Result<()> {
    outbox::add(conn, "books", &standings::json(told)?)
}
