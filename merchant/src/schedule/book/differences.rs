//! Where the three books differ, as the tables tell it.

use super::{Book, outbox, standings};
use crate::schedule::reconcile::{Change, Difference, Kind, Known, compare};
use crate::schedule::rules::Rules;
use crate::store::StoreError;
use rusqlite::{Connection, params};
use serde::Serialize;
use std::collections::BTreeMap;

/// For each kind, the query that finds (subject, since when).
fn query(kind: Kind) -> &'static str {
    match kind {
        Kind::ChargedWithoutCallback => {
            "SELECT chain || '/' || id || ' in ' || tx_hash, settled_ms FROM charge
             WHERE state = 'charged' AND callback IS NULL"
        }
        Kind::CallbackWithoutCharge => {
            "SELECT 'event ' || position || ' names ' || tx_hash, heard_ms FROM callback
             WHERE matched = 0"
        }
        Kind::OpenTooLong => "SELECT tx_hash, since_ms FROM flight WHERE unknown_ms IS NULL",
        Kind::UnknownToTheSigner => {
            "SELECT tx_hash, unknown_ms FROM flight WHERE unknown_ms IS NOT NULL"
        }
        Kind::NoVerdict => "SELECT request_id, planned_ms FROM batch WHERE state = 'planned'",
        Kind::ListedButNotPosted => {
            "SELECT chain || '/' || id, listed_ms FROM subscription
             WHERE word = 'free' AND listed = 1"
        }
        Kind::ChargedButListed => {
            "SELECT chain || '/' || id, max(listed_ms, json_extract(standing, '$.since_ms'))
             FROM subscription WHERE word = 'charged' AND listed = 1 AND posted_terms = terms"
        }
        Kind::EndedButListed => {
            "SELECT chain || '/' || id, max(listed_ms, json_extract(standing, '$.since_ms'))
             FROM subscription WHERE word = 'stopped' AND listed = 1"
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
        has_inbox: bool,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<(Vec<Change>, BTreeMap<Kind, u64>), StoreError> {
        self.store.write(|t| {
            let mut now = BTreeMap::new();
            let kinds = Kind::ALL.into_iter();
            for kind in kinds.filter(|kind| has_inbox || *kind != Kind::ChargedWithoutCallback) {
                now.extend(find(t, kind)?);
            }
            let changes = compare(&now, &known(t)?, now_ms, &rules.patience);
            for change in &changes {
                apply(t, change, now_ms)?;
            }
            Ok((changes, names(t)?))
        })
    }

    /// Every difference that has a name: (what, since when).
    pub(crate) fn named(&self) -> Result<Vec<(Difference, i64)>, StoreError> {
        let known = known(self.store.conn())?;
        let named = known.into_iter().filter(|(_, known)| known.named_ms.is_some());
        Ok(named.map(|(difference, known)| (difference, known.since_ms)).collect())
    }
}

fn find(conn: &Connection, kind: Kind) -> rusqlite::Result<Vec<(Difference, i64)>> {
    let mut statement = conn.prepare_cached(query(kind))?;
    let rows = statement
        .query_map([], |row| Ok((Difference { kind, subject: row.get(0)? }, row.get(1)?)))?;
    rows.collect()
}

fn known(conn: &Connection) -> rusqlite::Result<BTreeMap<Difference, Known>> {
    let sql = "SELECT kind, subject, since_ms, named_ms FROM difference";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        let kind = Kind::of_word(row.get_ref(0)?.as_str()?);
        let known = Known { since_ms: row.get(2)?, named_ms: row.get(3)? };
        let subject: String = row.get(1)?;
        Ok(kind.map(|kind| (Difference { kind, subject }, known)))
    })?;
    rows.filter_map(Result::transpose).collect()
}

fn names(conn: &Connection) -> rusqlite::Result<BTreeMap<Kind, u64>> {
    let mut names: BTreeMap<Kind, u64> = Kind::ALL.into_iter().map(|kind| (kind, 0)).collect();
    for (difference, _) in known(conn)?.into_iter().filter(|(_, known)| known.named_ms.is_some()) {
        let count = names.entry(difference.kind).or_default();
        *count = count.saturating_add(1);
    }
    Ok(names)
}

fn apply(conn: &Connection, change: &Change, now_ms: i64) -> rusqlite::Result<()> {
    match change {
        Change::Began { difference, since_ms } => conn
            .prepare_cached("INSERT INTO difference VALUES (?1, ?2, ?3, NULL)")?
            .execute(params![difference.kind.word(), difference.subject, since_ms])
            .map(drop),
        Change::Named { difference, since_ms } => {
            conn.prepare_cached(
                "UPDATE difference SET named_ms = ?3 WHERE kind = ?1 AND subject = ?2",
            )?
            .execute(params![difference.kind.word(), difference.subject, now_ms])?;
            let (kind, subject) = (difference.kind.word(), difference.subject.as_str());
            tell(conn, &Told::BooksDiffer { kind, subject, since_ms: *since_ms })
        }
        Change::Agreed { difference, named } => {
            conn.prepare_cached("DELETE FROM difference WHERE kind = ?1 AND subject = ?2")?
                .execute(params![difference.kind.word(), difference.subject])?;
            let (kind, subject) = (difference.kind.word(), difference.subject.as_str());
            if *named { tell(conn, &Told::BooksAgree { kind, subject }) } else { Ok(()) }
        }
    }
}

fn tell(conn: &Connection, told: &Told<'_>) -> rusqlite::Result<()> {
    outbox::add(conn, "books", &standings::json(told)?)
}
