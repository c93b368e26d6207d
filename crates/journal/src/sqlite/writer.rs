//! The one owner of the database file, and the one commit point. The program gives it a thread.
//!
//! Writers that wait together share a commit, and so one fsync. Nobody hears of a write before its
//! COMMIT has returned; an error from COMMIT is neither yes nor no, so the process ends there and
//! the next one reads what is on disk.

use crate::figures::Figures;
use crate::job::{ClosedSignal, GROUP, Job, RanWrite, Served, Write};
use crate::sql::SqlResult;
use crate::sqlite::disk::Disk;
use crate::sqlite::log_start;
use crate::sqlite::shared_file::OwnedFile;
use crate::sqlite::start::Start;
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::error;

/// Owns the file of a journal, and does what its handles ask for.
pub struct Writer {
    pub(crate) file: OwnedFile,
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) start: Start,
    pub(crate) disk: Box<dyn Disk>,
    /// Dropped, and so told, after the file: fields are dropped in this order.
    pub(crate) closed: Option<ClosedSignal>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("disk", &self.disk).finish_non_exhaustive()
    }
}

impl Writer {
    /// Works until it is told to close, or the last handle is gone. Blocks the thread.
    pub(crate) fn run(mut self) {
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let count = self.jobs.blocking_recv_many(&mut group, GROUP);
            match self.serve(count, &mut group) {
                Served::Going => {}
                Served::Closed => return,
                Served::Unknown => std::process::abort(),
            }
        }
    }

    /// Changes the file, for whoever brought the disk that it is on.
    pub fn change(&self, change: impl FnOnce(&Connection)) {
        if let Some(held) = self.file.lock().begin_work() {
            change(held);
        }
    }

    /// Waits for work and does it, where the writer has no thread of its own.
    pub async fn turn(&mut self) -> Served {
        let mut group = Vec::with_capacity(GROUP);
        let count = self.jobs.recv_many(&mut group, GROUP).await;
        self.serve(count, &mut group)
    }

    fn serve(&mut self, count: usize, group: &mut Vec<Job>) -> Served {
        let (mut writes, mut closed) = (Vec::new(), None);
        let mut file = self.file.lock();
        let Some(conn) = file.begin_work() else { return Served::Closed };
        for job in group.drain(..) {
            match job {
                Job::Read(read) => read(&**conn)(),
                Job::Write(write) => writes.push(write),
                Job::Close(close) => closed = Some(close),
            }
        }
        // A dropped write has changed nothing, and its waiter learns so.
        let is_written = self.start.is_written(conn, self.disk.as_ref());
        if is_written && !writes.is_empty() {
            if commit(conn, self.disk.as_ref(), &self.figures, writes) == Served::Unknown {
                return Served::Unknown;
            }
            self.start.committed(conn);
        }
        self.start.catch_up(conn);
        if count > 0 && closed.is_none() {
            if is_written {
                file.rest();
            }
            return Served::Going;
        }
        self.start.finish(conn);
        self.closed = closed;
        Served::Closed
    }
}

fn commit(conn: &Connection, disk: &dyn Disk, figures: &Figures, writes: Vec<Write>) -> Served {
    let begun = Instant::now();
    let Some(ran) = run_in_transaction(conn, writes, disk) else { return Served::Going };
    let kept = ran.iter().filter(|ran| ran.keep).count();
    if kept > 0 {
        let written = Instant::now();
        if let Err(failure) = disk.commit(conn) {
            error!(%failure, "COMMIT failed: nobody knows what is on disk. Ending the process; restart it");
            // A reply that is dropped says that its write did not happen. Nobody may hear that
            // in the moment before the process ends, so the replies are never dropped.
            std::mem::forget(ran);
            return Served::Unknown;
        }
        figures.committed(begun, written, kept);
    } else {
        roll_back(conn);
    }
    for RanWrite { reply, .. } in ran {
        reply();
    }
    Served::Going
}

/// None when the transaction was lost: then nothing of it is on disk, and every waiter hears that
/// its write did not happen, because its reply is dropped.
pub(crate) fn run_in_transaction(
    conn: &Connection,
    writes: Vec<Write>,
    disk: &dyn Disk,
) -> Option<Vec<RanWrite>> {
    if let Err(failure) = begin(conn, disk) {
        error!(%failure, "the journal cannot be written");
        roll_back(conn);
        return None;
    }
    let mut done = Vec::with_capacity(writes.len());
    // A write that has the transaction for itself is undone with it.
    let alone = writes.len() == 1;
    for write in writes {
        let ran = if alone { run(conn, write) } else { run_in_savepoint(conn, write) };
        match ran {
            Ok(ran) => done.push(ran),
            Err(failure) => {
                error!(%failure, "the journal cannot be written; nothing of this group was");
                roll_back(conn);
                return None;
            }
        }
    }
    Some(done)
}

fn begin(conn: &Connection, disk: &dyn Disk) -> SqlResult<()> {
    let begins = log_start::log_begins(conn)?;
    disk.begin(conn)?;
    if begins { log_start::begin_log(conn) } else { Ok(()) }
}

fn run_in_savepoint(conn: &Connection, write: Write) -> rusqlite::Result<RanWrite> {
    run_cached(conn, "SAVEPOINT write")?;
    let ran = run(conn, write)?;
    if !ran.keep {
        run_cached(conn, "ROLLBACK TO write")?;
    }
    run_cached(conn, "RELEASE write")?;
    Ok(ran)
}

fn run(conn: &Connection, write: Write) -> rusqlite::Result<RanWrite> {
    let ran = write(conn);
    // A full disk or an I/O error can end the whole transaction behind our back; the next
    // statement would then run outside of one.
    if conn.is_autocommit() { Err(rusqlite::Error::InvalidQuery) } else { Ok(ran) }
}

fn run_cached(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}

fn roll_back(conn: &Connection) {
    if !conn.is_autocommit()
        && let Err(failure) = conn.execute_batch("ROLLBACK")
    {
        error!(%failure, "ROLLBACK failed. Ending the process; restart it");
        std::process::abort();
    }
}
