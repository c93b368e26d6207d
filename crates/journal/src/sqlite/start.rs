//! The start of a process on a journal, written into it before anything else. While the disk is full that
//! cannot be: then the journal is read, nothing is written, and the start is tried again.

use crate::found_at_start::Begun;
use crate::model::BootId;
use crate::sql::{SqlError, SqlResult};
use crate::sqlite::disk::Disk;
use crate::sqlite::file_mark::HighWaterMark;
use crate::sqlite::log_at_close::{LogAtClose, when_closed};
use crate::sqlite::log_start;
use crate::tables::{doubts, unreconciled};
use rusqlite::Connection;
use std::sync::Arc;
use tracing::{error, info, warn};

/// A start, and the mark that follows it.
#[derive(Debug)]
pub(crate) struct Start {
    mark: HighWaterMark,
    boot: BootId,
    old_copy: bool,
    begun: Arc<Begun>,
    tried_ms: i64,
    /// True if the log has said that the file is not in its place.
    gone: bool,
}

/// Wait before a start is tried again, ms.
const AGAIN_MS: u64 = 1_000;

impl Start {
    /// One that is not written yet.
    pub(crate) fn new(mark: HighWaterMark, old_copy: bool, disk: &dyn Disk) -> SqlResult<Self> {
        let boot = BootId::new(disk.boot_id().map_err(SqlError::foreign)?);
        Ok(Self { mark, boot, old_copy, begun: Arc::default(), tried_ms: i64::MIN, gone: false })
    }

    /// Returns the shared state of the start, for later checks that it is written.
    pub(crate) fn begun(&self) -> Arc<Begun> {
        Arc::clone(&self.begun)
    }

    /// Writes it down, if the disk has room for it.
    pub(crate) fn write(&mut self, conn: &Connection, disk: &dyn Disk) -> SqlResult<()> {
        self.tried_ms = self.mark.now_ms();
        match self.try_write(conn, disk) {
            Ok(()) => {
                self.begun.set_written();
                self.committed(conn);
                Ok(())
            }
            Err(full) if full.is_full() => {
                error!(
                    "the disk of the journal is full: what is open is followed, and nothing new is \
                     taken until there is room"
                );
                Ok(())
            }
            Err(other) => Err(other),
        }
    }

    /// Writes the start down, and puts in doubt on disk everything that an old copy has forgotten; only then does
    /// the mark forget it, too. Writing down the start also proves, before anything is accepted, that the file can
    /// be written.
    fn try_write(&self, conn: &Connection, disk: &dyn Disk) -> SqlResult<()> {
        log_start::write_left_log(conn)?;
        let begins = log_start::log_begins(conn)?;
        disk.start(conn)?;
        let written = self.fill(conn, begins).and_then(|()| Ok(conn.execute_batch("COMMIT")?));
        if written.is_err() && !conn.is_autocommit() {
            conn.execute_batch("ROLLBACK")?;
        }
        written
    }

    fn fill(&self, conn: &Connection, begins: bool) -> SqlResult<()> {
        if self.old_copy {
            doubts::begin(conn, self.mark.now_ms())?;
        }
        if begins {
            log_start::begin_log(conn)?;
        }
        for (lane, left) in self.begun.taken_up() {
            doubts::include(conn, lane)?;
            unreconciled::take_up(conn, lane, left, self.mark.now_ms())?;
        }
        if self.begun.is_all_taken_up() {
            doubts::all_taken_up(conn, self.mark.now_ms())?;
        }
        self.mark.begin(conn, self.boot, !self.old_copy)
    }

    /// Returns true if the journal can be written. If it could not, the write is tried again from time to time.
    pub(crate) fn is_written(&mut self, conn: &Connection, disk: &dyn Disk) -> bool {
        if !self.mark.is_in_place() {
            if !std::mem::replace(&mut self.gone, true) {
                error!(
                    "the journal's file was removed or replaced while it is open: nothing more is written, and \
                     nothing new is signed. Copy it from this process's open files in /proc before you stop it"
                );
            }
            return false;
        }
        self.gone = false;
        if self.begun.is_written() {
            return true;
        }
        if self.mark.now_ms().abs_diff(self.tried_ms) >= AGAIN_MS {
            match self.write(conn, disk) {
                Ok(()) if self.begun.is_written() => {
                    info!("the disk of the journal has room again");
                }
                Ok(()) => {}
                Err(failure) => error!(%failure, "the journal cannot be written"),
            }
        }
        self.begun.is_written()
    }

    /// Has the mark follow a commit, and the file the log.
    pub(crate) fn committed(&mut self, conn: &Connection) {
        if let Err(problem) = log_start::write_long_log(conn) {
            warn!(%problem, "the log of the journal could not be written to its file; it goes on growing");
        }
        self.mark.fall_behind();
        self.mark.follow(conn);
    }

    /// Has the mark follow what it could not follow at once.
    pub(crate) fn catch_up(&mut self, conn: &Connection) {
        if self.begun.is_written() {
            self.mark.follow(conn);
        }
    }

    /// Moves the mark for the last time, and has the journal closed if this process may.
    pub(crate) fn finish(&mut self, conn: &Connection) {
        if self.begun.is_written() {
            self.mark.finish(conn);
        }
        if self.begun.may_close() {
            // If this fails, the next process finds the journal unclosed, and looks at the chains once more.
            when_closed(conn, LogAtClose::Merged).ok();
        }
    }
}
