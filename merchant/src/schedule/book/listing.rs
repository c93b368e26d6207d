//! The platform's book: what is listed as due, and what of it is posted now.

use super::flights::Flights;
use super::standings::{self, parse};
use super::{Book, batches};
use crate::schedule::entry::{Due, plain};
use crate::schedule::plan::{Draft, Member};
use crate::schedule::rules::{Rules, place};
use crate::schedule::standing::{Admission, Fell, Standing, admit, unlisted};
use crate::schedule::terms::{Change, Terms};
use crate::store::StoreError;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, HashMap};

/// One whole reading of the list.
#[derive(Debug)]
pub(crate) struct Listed {
    pub(crate) due: Vec<Due>,
    /// True if every entry could be read: only then is a missing subscription no longer listed.
    pub(crate) whole: bool,
}

/// The subscriptions that a run may post, by chain, and the reasons for leaving out the rest.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    pub(crate) post: BTreeMap<i64, Vec<Member>>,
    pub(crate) held: HashMap<Admission, u64>,
}

struct Row {
    terms: Terms,
    posted_terms: Option<Terms>,
    plans: u32,
    standing: Standing,
    listed: bool,
    listed_ms: i64,
}

impl Row {
    /// Returns true if the entry is about another charge than the one last posted. A field that may be noise counts
    /// when it says the same twice: noise that changes with every reading would end every pause.
    fn is_changed(&self, now: &Terms) -> bool {
        match self.posted_terms.map(|posted| now.change_since(&posted)) {
            Some(Change::Named) => true,
            Some(Change::Others) => now.change_since(&self.terms) == Change::None,
            Some(Change::None) | None => false,
        }
    }

    /// The time since when the entry is listed, as far as its named terms tell.
    fn since_ms(&self, now: &Terms, now_ms: i64) -> i64 {
        let same = self.listed && now.change_since(&self.terms) != Change::Named;
        if same { self.listed_ms } else { now_ms }
    }
}

/// One reading of the list, taken in.
struct Reading<'a> {
    now_ms: i64,
    rules: &'a Rules,
    flights: Flights,
    admitted: Admitted,
}

impl Book {
    /// Takes in a reading of the list, and answers what to post. Nothing is planned yet.
    pub(crate) fn list(
        &mut self,
        listed: Listed,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<Admitted, StoreError> {
        self.store.write(|t| {
            let mut known = rows(t)?;
            let (flights, admitted) = (Flights::read(t)?, Admitted::default());
            let mut reading = Reading { now_ms, rules, flights, admitted };
            for due in listed.due {
                let key = (due.chain, due.id);
                let row = known.remove(&key);
                put(t, &due, row.as_ref(), now_ms)?;
                reading.sort_in(due, row.as_ref());
            }
            if listed.whole {
                for (key, row) in known.iter().filter(|(_, row)| row.listed) {
                    leave(t, *key, &row.standing)?;
                }
            }
            Ok(reading.admitted)
        })
    }

    /// Makes a plan durable: from here on its batches are posted until they have a verdict.
    pub(crate) fn plan(&mut self, drafts: &[Draft], now_ms: i64) -> Result<(), StoreError> {
        self.store.write(|t| {
            for draft in drafts {
                batches::insert(t, draft, now_ms)?;
                for id in &draft.ids {
                    take(t, (draft.chain, *id))?;
                }
            }
            Ok(())
        })
    }
}

impl Reading<'_> {
    fn sort_in(&mut self, due: Due, row: Option<&Row>) {
        let standing = row.map_or(&Standing::Free, |row| &row.standing);
        let since_ms = row.map_or(self.now_ms, |row| row.since_ms(&due.terms, self.now_ms));
        let fell_due = Fell {
            changed: row.is_some_and(|row| row.is_changed(&due.terms)),
            turn_ms: since_ms.saturating_add(place(self.rules.spread_ms, due.chain, due.id)),
            flight: self.flights.of(standing),
        };
        match admit(standing, fell_due, self.now_ms, self.rules) {
            Admission::Post => {
                let plans = row.map_or(0, |row| row.plans);
                self.admitted.post.entry(due.chain).or_default().push(Member { due, plans });
            }
            held @ (Admission::InFlight
            | Admission::Paused
            | Admission::JustCharged
            | Admission::NotItsTurn
            | Admission::Stopped
            | Admission::Unproven) => {
                let count = self.admitted.held.entry(held).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
}

fn rows(conn: &Connection) -> rusqlite::Result<HashMap<(i64, i64), Row>> {
    let sql = "SELECT chain, id, terms, posted_terms, plans, standing, listed, listed_ms
               FROM subscription";
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        let standing = parse(row.get_ref(5)?.as_str()?)?;
        let terms = Terms::read(row.get_ref(2)?.as_str()?);
        let posted_terms = row.get_ref(3)?.as_str_or_null()?.map(Terms::read);
        let (plans, listed, listed_ms) = (row.get(4)?, row.get(6)?, row.get(7)?);
        let known = Row { terms, posted_terms, plans, standing, listed, listed_ms };
        Ok(((row.get(0)?, row.get(1)?), known))
    })?;
    rows.collect()
}

/// Writes an entry if it is new, or its text is not what it was: parts of a batch that is split are made of it. A
/// planned entry stays as it was planned: a request that was not heard of may have charged it.
fn put(conn: &Connection, due: &Due, known: Option<&Row>, now_ms: i64) -> rusqlite::Result<()> {
    if known.is_some_and(|row| row.listed && row.terms == due.terms) {
        return Ok(());
    }
    let since_ms = known.map_or(now_ms, |row| row.since_ms(&due.terms, now_ms));
    if known.is_some_and(|row| matches!(row.standing, Standing::Planned { .. })) {
        let sql = "UPDATE subscription SET listed = 1, listed_ms = ?3 WHERE chain = ?1 AND id = ?2";
        return conn.prepare_cached(sql)?.execute(params![due.chain, due.id, since_ms]).map(drop);
    }
    let wallet = due.wallet.as_deref().map(plain);
    conn.prepare_cached(
        "INSERT INTO subscription
             (chain, id, entry, terms, plan, wallet, trade_no, word, standing, listed, listed_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'free', '{\"at\":\"free\"}', 1, ?8)
         ON CONFLICT (chain, id) DO UPDATE SET
             entry = ?3, terms = ?4, plan = ?5, wallet = ?6, trade_no = ?7, listed = 1,
             listed_ms = ?8",
    )?
    .execute(params![
        due.chain,
        due.id,
        due.text,
        due.terms.column(),
        due.plan,
        wallet,
        due.trade_no,
        since_ms
    ])
    .map(drop)
}

/// The platform lists it no longer.
fn leave(conn: &Connection, key: (i64, i64), standing: &Standing) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE subscription SET listed = 0 WHERE chain = ?1 AND id = ?2")?
        .execute(params![key.0, key.1])?;
    match unlisted(standing) {
        Some(next) => standings::store(conn, key, &next),
        None => Ok(()),
    }
}

/// It is part of a plan now.
pub(super) fn take(conn: &Connection, key: (i64, i64)) -> rusqlite::Result<()> {
    let before = standings::standing(conn, key)?.unwrap_or(Standing::Free);
    standings::put(conn, key, &before.planned())?;
    conn.prepare_cached(
        "UPDATE subscription SET plans = plans + 1, posted_terms = terms
         WHERE chain = ?1 AND id = ?2",
    )?
    .execute(params![key.0, key.1])
    .map(drop)
}
