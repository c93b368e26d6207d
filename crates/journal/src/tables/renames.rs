//! Moving a network to another id of the platform, deliberately and with all its claims.

use crate::sql::{Database, OptionalExtension as _, SqlError, SqlResult, params};
use crate::{HistoryEvent, Journal, JournalError, history};
use billing::PlatformChainId;
use serde_json::{Value, json};

/// A network that gets another id of the platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renaming {
    /// The id that it has.
    pub from: PlatformChainId,
    /// The id that it gets.
    pub to: PlatformChainId,
    /// Why, for the history.
    pub why: String,
}

/// Why a network keeps its id. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NotRenamed {
    /// Nothing is known under the old id.
    #[error("the journal knows no chain {0}: nothing to rename")]
    Unknown(PlatformChainId),
    /// The new id stands for something already.
    #[error("the journal keeps claims of another network under the id {0}: choose another id")]
    Taken(PlatformChainId),
    /// No configuration can name the new id.
    #[error("{0} is no id of a chain: choose one from 1 to 2147483647")]
    NoId(PlatformChainId),
    /// The journal gave no answer.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl From<SqlError> for NotRenamed {
    fn from(error: SqlError) -> Self {
        Self::Journal(error.into())
    }
}

impl Journal {
    /// Moves everything that the journal knows of one id to another, in one commit. The configuration
    /// has to follow before the next start.
    pub async fn rename(&self, renaming: Renaming) -> Result<(), NotRenamed> {
        let at_ms = self.now_ms();
        self.queue.write(move |conn| rename(conn, &renaming, at_ms)).await
    }
}

fn rename(conn: &dyn Database, renaming: &Renaming, at_ms: i64) -> Result<(), NotRenamed> {
    let Renaming { from, to, why } = renaming;
    let known = |id: &PlatformChainId| {
        conn.query_row("SELECT 1 FROM chain WHERE id = ?1", [id.0], |_| Ok(())).optional()
    };
    if known(from)?.is_none() {
        return Err(NotRenamed::Unknown(*from));
    }
    if !to.can_be_configured() {
        return Err(NotRenamed::NoId(*to));
    }
    if known(to)?.is_some() {
        return Err(NotRenamed::Taken(*to));
    }
    // Rows refer to the chain until all of them are moved.
    conn.defer_references()?;
    conn.execute("UPDATE chain SET id = ?2 WHERE id = ?1", params![from.0, to.0])?;
    // Every table that names chains by their id, but for `chain` itself.
    for table in conn.tables_with("chain")? {
        let sql = format!("UPDATE {table} SET chain = ?2 WHERE chain = ?1");
        conn.execute(&sql, params![from.0, to.0])?;
    }
    let body = json!({"from": from.0, "to": to.0, "why": why});
    Ok(history::append(conn, at_ms, HistoryEvent::ChainRenamed, &body)?)
}

/// An id that a chain had, in the rows of the history between two others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FormerId {
    pub(crate) chain: u64,
    /// The row before the first.
    pub(crate) after: i64,
    /// The row behind the last.
    pub(crate) before: i64,
}

/// The present IDs of chains that had other IDs when rows of the history were written.
#[derive(Debug)]
pub struct Renames(Vec<(i64, u64, u64)>);

impl Renames {
    pub(crate) fn read(conn: &dyn Database) -> SqlResult<Self> {
        // The words stand in the question: with a parameter SQLite would not use the index on them.
        let sql = "SELECT seq, body FROM history WHERE event = 'chain renamed' ORDER BY seq";
        let mut select = conn.prepare_cached(sql)?;
        let all = select.query_map([], |row| {
            let body: Value = serde_json::from_str(&row.get::<String>(1)?).unwrap_or_default();
            let id = |key| body.get(key).and_then(Value::as_u64).unwrap_or_default();
            Ok((row.get(0)?, id("from"), id("to")))
        })?;
        Ok(Self(all.collect::<Result<_, _>>()?))
    }

    /// Returns true if no chain ever got another ID.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The body of row `seq`, which accepts a batch, with its chain by the name that it has now.
    pub(crate) fn in_terms_of_now(&self, seq: i64, body: &str) -> Value {
        let mut read: Value = serde_json::from_str(body).unwrap_or_default();
        let Some(chain) = read.pointer_mut("/place/chain") else { return read };
        if let Some(then) = chain.as_u64() {
            *chain = json!(self.name_now(seq, then));
        }
        read
    }

    /// The ids that a chain has had, the present one first.
    pub(crate) fn ids_of(&self, chain: PlatformChainId) -> Vec<FormerId> {
        let mut ids = vec![FormerId { chain: chain.0.into(), after: 0, before: i64::MAX }];
        for (seq, from, to) in self.0.iter().rev() {
            let Some(last) = ids.last_mut() else { break };
            if last.chain == *to {
                last.after = *seq;
                ids.push(FormerId { chain: *from, after: 0, before: *seq });
            } else if last.chain == *from {
                // Before, the id stood for another chain, which was moved away.
                last.after = *seq;
                break;
            }
        }
        ids
    }

    /// The id that a chain has now which was `chain` in row `seq`.
    pub fn name_now(&self, seq: i64, chain: u64) -> u64 {
        let later = self.0.iter().filter(|(renamed, ..)| *renamed > seq);
        later.fold(chain, |name, (_, from, to)| if name == *from { *to } else { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_its_own_ids_alone_also_where_another_had_one_before() {
        let renames = Renames(vec![(10, 139, 140), (20, 140, 141), (30, 7, 139)]);
        let ids = |chain| {
            let all = renames.ids_of(PlatformChainId(chain)).into_iter();
            all.map(|id| (id.chain, id.after, id.before)).collect::<Vec<_>>()
        };
        assert_eq!(ids(141), [(141, 20, i64::MAX), (140, 10, 20), (139, 0, 10)]);
        assert_eq!(ids(139), [(139, 30, i64::MAX), (7, 0, 30)]);
        assert_eq!(ids(140), [(140, 20, i64::MAX)], "a later chain of that id");
        assert_eq!(ids(8), [(8, 0, i64::MAX)]);
    }
}
