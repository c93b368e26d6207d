//! The mark beside the journal: how far it has come, so that an old copy of it is noticed.
//!
//! The file is `<journal>.mark`. It is never ahead of the journal that it belongs to, so a journal
//! that is behind its mark, or has none, was restored from a copy and may have forgotten claims.

use rusqlite::Connection;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// How old a mark may get while the journal is written.
const EVERY: Duration = Duration::from_secs(1);

/// How far a journal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    boots: i64,
    rows: i64,
}

impl Progress {
    /// Whether a journal that has come so far is an old copy of the one that `mark` was made for.
    pub(super) fn is_behind(self, mark: Option<Self>) -> bool {
        mark.is_none_or(|mark| self.boots < mark.boots || self.rows < mark.rows)
    }
}

/// Keeps the mark of one journal.
#[derive(Debug)]
pub(super) struct Mark {
    path: PathBuf,
    written: Option<Instant>,
}

impl Mark {
    /// The mark of the journal at `journal`.
    pub(super) fn of(journal: &Path) -> Self {
        let mut name = OsString::from(journal);
        name.push(".mark");
        Self { path: name.into(), written: None }
    }

    /// Whether the journal is behind its mark, or has none.
    pub(super) fn is_ahead(&self, conn: &Connection) -> rusqlite::Result<bool> {
        let now = progress(conn)?;
        let before = std::fs::read_to_string(&self.path).ok().and_then(|text| parse(&text));
        Ok(now.is_behind(before))
    }

    /// Moves the mark, unless that was done a moment ago. Losing a mark costs a little caution at
    /// the next start, so a failure is no reason to stop.
    pub(super) fn follow(&mut self, conn: &Connection) {
        if self.written.is_none_or(|then| then.elapsed() >= EVERY) {
            self.written = Some(Instant::now());
            if let Err(problem) = self.write(conn) {
                tracing::warn!(%problem, "the mark beside the journal could not be written");
            }
        }
    }

    /// Moves the mark for the last time.
    pub(super) fn finish(&mut self, conn: &Connection) {
        self.written = None;
        self.follow(conn);
    }

    /// Writes the mark.
    pub(super) fn write(&self, conn: &Connection) -> std::io::Result<()> {
        let Progress { boots, rows } = progress(conn).map_err(std::io::Error::other)?;
        let next = self.path.with_extension("mark.next");
        std::fs::write(&next, format!("{boots} {rows}\n"))?;
        std::fs::rename(next, &self.path)
    }
}

pub(super) fn progress(conn: &Connection) -> rusqlite::Result<Progress> {
    let sql = "SELECT (SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'boots'),
                      (SELECT coalesce(max(seq), 0) FROM history)";
    conn.query_row(sql, [], |row| Ok(Progress { boots: row.get(0)?, rows: row.get(1)? }))
}

fn parse(text: &str) -> Option<Progress> {
    let (boots, rows) = text.trim_end().split_once(' ')?;
    Some(Progress { boots: boots.parse().ok()?, rows: rows.parse().ok()? })
}
