//! The high-water mark of a journal, kept beside it: which process wrote it last, and how far it has
//! come, so that an old copy of it is noticed.
//!
//! Every start of a process has a random id, and the newest one is in the journal and in its mark. A
//! journal whose newest start the mark does not name belongs to another line of events than the mark:
//! one of the two was put back. A journal with fewer rows of history than its mark was put back, too.

use crate::model::BootId;
use crate::sql::{Database, SqlResult};
use crate::sqlite::disk::Disk;
use crate::sqlite::files::Files;
use crate::tables::starts::insert_boot;
use host::clock::Clock;
use std::fmt;

/// The greatest age of a mark while the journal is written, ms.
const EVERY_MS: u64 = 1_000;

/// The progress of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The newest start of a process.
    boot: BootId,
    /// Rows of history.
    rows: u64,
}

/// The content of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reached {
    progress: Progress,
    /// A start that may be in the journal already: the mark names it before the journal does, so that
    /// a process that ends in between leaves a journal that fits its mark.
    next: Option<BootId>,
}

impl Progress {
    /// Reads how far a journal has come.
    pub(crate) fn read(conn: &dyn Database) -> SqlResult<Self> {
        let sql = "SELECT (SELECT id FROM boot ORDER BY seq DESC LIMIT 1),
                          (SELECT coalesce(max(seq), 0) FROM history)";
        conn.query_row(sql, [], |row| Ok(Self { boot: BootId(row.get(0)?), rows: row.get(1)? }))
    }

    /// Returns true if a journal with this progress is another one than the mark was written for, or an older copy.
    fn contradicts(self, mark: Reached) -> bool {
        let known = self.boot == mark.progress.boot || Some(self.boot) == mark.next;
        !known || self.rows < mark.progress.rows
    }
}

impl Reached {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let boot = BootId::parse(words.next()?)?;
        let rows = words.next()?.parse().ok()?;
        let next = words.next().map(|word| BootId::parse(word).ok_or(())).transpose().ok()?;
        let nothing_more = words.next().is_none();
        nothing_more.then_some(Self { progress: Progress { boot, rows }, next })
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.progress.boot, self.progress.rows)?;
        match self.next {
            Some(next) => writeln!(f, " {next}"),
            None => writeln!(f),
        }
    }
}

/// Keeps the high-water mark of one journal.
#[derive(Debug)]
pub(crate) struct HighWaterMark {
    files: Files,
    clock: Clock,
    written_ms: Option<i64>,
    /// True if something was committed since the mark was moved.
    behind: bool,
}

impl HighWaterMark {
    /// The mark of the journal in `files`.
    pub(crate) fn of(files: Files, clock: Clock) -> Self {
        Self { files, clock, written_ms: None, behind: false }
    }

    /// Returns true if the journal has no mark, or one that contradicts it: then it may have forgotten claims. A
    /// mark that cannot be read counts as none.
    pub(crate) fn is_contradicted_by(&self, conn: &dyn Database) -> SqlResult<bool> {
        let now = Progress::read(conn)?;
        let mark = self.files.read_mark().ok().flatten();
        let mark = mark.and_then(|text| Reached::parse(&text));
        Ok(mark.is_none_or(|mark| now.contradicts(mark)))
    }

    /// Now, Unix ms.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.unix_ms()
    }

    /// Begins a new start in the journal, inside the current transaction. The mark of a journal that
    /// fits it names the new start first.
    pub(crate) fn begin(&self, conn: &dyn Database, next: BootId, fits: bool) -> SqlResult<()> {
        if fits {
            let _written =
                self.write(&Reached { progress: Progress::read(conn)?, next: Some(next) });
        }
        insert_boot(conn, next, self.clock.unix_ms())
    }

    /// Something was committed.
    pub(crate) fn fall_behind(&mut self) {
        self.behind = true;
    }

    /// Moves the mark if it is behind, unless it was moved a moment ago. The commit in that moment may be the last
    /// for long, so a read has the mark follow as well.
    pub(crate) fn follow(&mut self, conn: &dyn Database) {
        let now = self.clock.unix_ms();
        let moved_just_now = || self.written_ms.is_some_and(|then| now.abs_diff(then) < EVERY_MS);
        if !self.behind || moved_just_now() {
            return;
        }
        self.written_ms = Some(now);
        match Progress::read(conn) {
            Ok(progress) => self.behind = !self.write(&Reached { progress, next: None }),
            Err(problem) => tracing::warn!(%problem, "the journal's progress could not be read"),
        }
    }

    /// Moves the mark for the last time.
    pub(crate) fn finish(&mut self, conn: &dyn Database) {
        (self.written_ms, self.behind) = (None, true);
        self.follow(conn);
    }

    /// Returns true if the journal that is open is the one that its name stands for.
    pub(crate) fn is_in_place(&self) -> bool {
        self.files.open_file().is_in_place()
    }

    /// Tells whether it could be written. One that is behind is tried again, and no reason to stop. The mark of a
    /// journal that is not in its place would speak for another one.
    fn write(&self, reached: &Reached) -> bool {
        if !self.is_in_place() {
            return false;
        }
        let written = self.files.write_mark(&reached.to_string());
        if let Err(problem) = &written {
            tracing::warn!(%problem, "the mark beside the journal could not be written");
        }
        written.is_ok()
    }
}

/// Writes down the first start of a new journal, and its mark.
pub(crate) fn first(
    conn: &dyn Database,
    files: &Files,
    disk: &dyn Disk,
    at_ms: i64,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    insert_boot(conn, BootId(disk.boot_id()?), at_ms)?;
    let progress = Progress::read(conn)?;
    Ok(files.write_mark(&Reached { progress, next: None }.to_string())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn progress(boot: u8, rows: u64) -> Progress {
        Progress { boot: BootId([boot; 16]), rows }
    }

    #[test]
    fn a_journal_of_another_line_of_events_contradicts_its_mark_however_far_it_has_come() {
        let mark = Reached { progress: progress(1, 10), next: None };
        assert!(!progress(1, 10).contradicts(mark));
        assert!(!progress(1, 11).contradicts(mark), "a mark is moved once in a second");
        assert!(progress(1, 9).contradicts(mark), "rows are missing");
        assert!(progress(2, 99).contradicts(mark), "another process wrote it");
        let mark = Reached { next: Some(BootId([2; 16])), ..mark };
        assert!(!progress(2, 10).contradicts(mark), "that process was about to begin");
        assert!(progress(3, 10).contradicts(mark));
    }

    proptest! {
        #[test]
        fn a_mark_is_read_as_it_was_written(boot: [u8; 16], rows: u64, next: Option<[u8; 16]>) {
            let progress = Progress { boot: BootId(boot), rows };
            let reached = Reached { progress, next: next.map(BootId) };
            prop_assert_eq!(Reached::parse(&reached.to_string()), Some(reached));
        }
    }
}
