//! Batches: planned, posted until somebody gives a verdict, then answered for good.

use super::listing::take;
use super::standings::{Key, News, hear};
use super::{Book, flights};
use crate::schedule::entry::Due;
use crate::schedule::plan::{Draft, Member};
use crate::schedule::rules::{Rules, jittered};
use crate::schedule::standing::Heard;
use crate::schedule::terms::Terms;
use crate::store::StoreError;
use rusqlite::{Connection, OptionalExtension as _, params};

/// A batch without a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) row: i64,
    pub(crate) request_id: String,
    pub(crate) chain: i64,
    /// The bytes to post.
    pub(crate) body: String,
    pub(crate) tries: u32,
    pub(crate) ids: Vec<i64>,
}

/// Writes a batch as planned.
pub(super) fn insert(conn: &Connection, draft: &Draft, now_ms: i64) -> rusqlite::Result<()> {
    conn.prepare_cached(
        "INSERT INTO batch (request_id, chain, body, state, next_ms, planned_ms)
         VALUES (?1, ?2, ?3, 'planned', ?4, ?4)",
    )?
    .execute(params![draft.request_id, draft.chain, draft.body, now_ms])?;
    let row = conn.last_insert_rowid();
    let mut member = conn.prepare_cached("INSERT INTO member VALUES (?1, ?2)")?;
    for id in &draft.ids {
        member.execute(params![row, id])?;
    }
    Ok(())
}

impl Book {
    /// The chains that have batches to post (again).
    pub(crate) fn chains_to_post(
        &self,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<Vec<i64>, StoreError> {
        let sql = "SELECT DISTINCT chain FROM batch
                   WHERE state = 'planned' AND (next_ms <= ?1 OR next_ms > ?2)";
        let mut statement = self.store.conn().prepare_cached(sql)?;
        let rows = statement.query_map([now_ms, too_far(now_ms, rules)], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Batches of a chain without a verdict that are due to be posted (again), oldest first.
    pub(crate) fn unanswered(
        &self,
        chain: i64,
        now_ms: i64,
        most: usize,
        rules: &Rules,
    ) -> Result<Vec<Batch>, StoreError> {
        let conn = self.store.conn();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut statement = conn.prepare_cached(
            "SELECT id, request_id, body, tries FROM batch
             WHERE state = 'planned' AND (next_ms <= ?2 OR next_ms > ?3) AND chain = ?1
             ORDER BY id LIMIT ?4",
        )?;
        let known = [chain, now_ms, too_far(now_ms, rules), most];
        let rows = statement.query_map(known, |row| {
            let (request_id, body, tries) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(Batch { row: row.get(0)?, request_id, chain, body, tries, ids: vec![] })
        })?;
        let mut batches: Vec<Batch> = rows.collect::<Result<_, _>>()?;
        for batch in &mut batches {
            batch.ids = members(conn, batch.row)?;
        }
        Ok(batches)
    }

    /// A verdict: what was heard about each of its subscriptions.
    pub(crate) fn answered(
        &mut self,
        batch: &Batch,
        heard: Vec<(i64, Heard)>,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<(), StoreError> {
        self.store.write(|t| {
            finish(t, batch.row, "answered", "a verdict")?;
            for (id, heard) in heard {
                let key: Key = (batch.chain, id);
                if let Heard::Accepted { tx_hash } = &heard {
                    flights::follow(t, key, tx_hash, now_ms)?;
                }
                hear(t, News { key, heard, is_told: false, now_ms, rules })?;
            }
            Ok(())
        })
    }

    /// No verdict: the same bytes are posted again after a pause, of at least `pause_ms` if that is no longer than a
    /// Signer may ask for.
    pub(crate) fn unheard(
        &mut self,
        batch: &Batch,
        why: &str,
        now_ms: i64,
        pause_ms: i64,
        rules: &Rules,
    ) -> Result<(), StoreError> {
        let tries = batch.tries.saturating_add(1);
        let pause_ms = jittered(rules.silence(tries, pause_ms), batch.chain, batch.row);
        let next_ms = now_ms.saturating_add(pause_ms);
        self.store.write(|t| {
            t.prepare_cached("UPDATE batch SET tries = ?2, next_ms = ?3, last = ?4 WHERE id = ?1")?
                .execute(params![batch.row, tries, next_ms, why])
                .map(drop)
        })
    }

    /// Returns the number of batches that were posted and have no verdict still, by the last message heard.
    pub(crate) fn unheard_of(&self) -> Result<Vec<(i64, String)>, StoreError> {
        let sql = "SELECT count(*), coalesce(last, '') FROM batch
                   WHERE state = 'planned' AND tries > 0 GROUP BY last";
        let mut statement = self.store.conn().prepare_cached(sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Smaller batches take its place. With a `ceiling`, no later batch of the chain is larger, as long as it is believed.
    pub(crate) fn split(
        &mut self,
        batch: &Batch,
        parts: &[Draft],
        ceiling: Option<usize>,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<(), StoreError> {
        let ceiling = ceiling.and_then(|entries| i64::try_from(entries).ok());
        self.store.write(|t| {
            finish(t, batch.row, "split", "other batches took its place")?;
            if let Some(entries) = ceiling {
                t.prepare_cached(
                    "INSERT INTO ceiling VALUES (?1, ?2, ?3)
                     ON CONFLICT (chain) DO UPDATE SET learnt_ms = ?3,
                         entries = CASE WHEN learnt_ms > ?4 THEN min(entries, ?2) ELSE ?2 END",
                )?
                .execute([
                    batch.chain,
                    entries,
                    now_ms,
                    now_ms.saturating_sub(rules.ceiling_ms),
                ])?;
            }
            parts.iter().try_for_each(|part| {
                insert(t, part, now_ms)?;
                part.ids.iter().try_for_each(|id| take(t, (part.chain, *id)))
            })
        })
    }

    /// Returns the number of entries that a chain takes in one request, if it refused more a while ago.
    pub(crate) fn ceiling(
        &self,
        chain: i64,
        now_ms: i64,
        rules: &Rules,
    ) -> Result<Option<usize>, StoreError> {
        let sql = "SELECT entries FROM ceiling
                   WHERE chain = ?1 AND learnt_ms > ?2 AND learnt_ms <= ?3";
        let believed_ms = now_ms.saturating_sub(rules.ceiling_ms);
        let too_far_ms = now_ms.saturating_add(rules.ceiling_ms);
        let entries: Option<i64> = self
            .store
            .conn()
            .prepare_cached(sql)?
            .query_row([chain, believed_ms, too_far_ms], |row| row.get(0))
            .optional()?;
        Ok(entries.and_then(|entries| usize::try_from(entries).ok()))
    }

    /// The subscriptions of a batch, as members of other batches.
    pub(crate) fn members(&self, batch: &Batch) -> Result<Vec<Member>, StoreError> {
        let sql = "SELECT entry, terms, plans FROM subscription WHERE chain = ?1 AND id = ?2";
        let mut statement = self.store.conn().prepare_cached(sql)?;
        let mut members = vec![];
        for id in &batch.ids {
            members.push(statement.query_row(params![batch.chain, id], |row| {
                let (chain, text) = (batch.chain, row.get(0)?);
                let terms = Terms::read(row.get_ref(1)?.as_str()?);
                let (plan, wallet, trade_no) = (None, None, None);
                let due = Due { chain, id: *id, plan, wallet, trade_no, terms, text };
                Ok(Member { due, plans: row.get(2)? })
            })?);
        }
        Ok(members)
    }
}

/// The time after which a batch that is to be posted then was written down while the clock was wrong.
fn too_far(now_ms: i64, rules: &Rules) -> i64 {
    now_ms.saturating_add(rules.longest_silence())
}

fn finish(conn: &Connection, row: i64, state: &str, last: &str) -> rusqlite::Result<()> {
    conn.prepare_cached("UPDATE batch SET state = ?2, last = ?3, body = '' WHERE id = ?1")?
        .execute(params![row, state, last])
        .map(drop)
}

fn members(conn: &Connection, row: i64) -> rusqlite::Result<Vec<i64>> {
    let mut statement =
        conn.prepare_cached("SELECT id FROM member WHERE batch = ?1 ORDER BY id")?;
    statement.query_map([row], |row| row.get(0))?.collect()
}
