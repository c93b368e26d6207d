//! The one thread that owns the database, and the one commit point.
//!
//! Writers that wait together share a commit, and so one fsync. Nobody hears of a write before its
//! COMMIT has returned; an error from COMMIT is neither yes nor no, so the process ends there and
//! the next one reads what is on disk.

use super::Storage;
use super::mark::HighWaterMark;
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};
use tracing::error;

/// How many writes may share one commit.
const GROUP: usize = 64;

/// Tells a waiter what happened. Called after COMMIT only.
pub(crate) type Reply = Box<dyn FnOnce() + Send>;

/// A write that ran inside the open transaction.
pub(crate) struct Ran {
    /// Whether its changes shall be part of the commit.
    pub(crate) keep: bool,
    /// Tells its waiter.
    pub(crate) reply: Reply,
}

/// A write, to be run in a savepoint of its own.
pub(crate) type Write = Box<dyn FnOnce(&Connection) -> Ran + Send>;

/// Work for the thread. A job that is dropped unrun has changed nothing.
pub(crate) enum Job {
    /// Sees committed data only, and answers by itself.
    Read(Box<dyn FnOnce(&Connection) + Send>),
    /// Runs inside a transaction shared with others, in a savepoint of its own.
    Write(Write),
    /// Nothing comes after this. Dropped when the database is closed.
    Close(Closed),
}

/// Told, by being dropped, when the database is closed.
pub(super) type Closed = oneshot::Sender<()>;

/// What the thread has done since the start.
#[derive(Debug, Default)]
pub struct Figures {
    /// Commits, each of which is one fsync (checkpoints add a few).
    pub commits: AtomicU64,
    /// Writes that those commits made durable.
    pub writes: AtomicU64,
}

/// Why a process must end now.
#[derive(Debug, thiserror::Error)]
pub enum Fatal {
    /// COMMIT failed.
    #[error("COMMIT failed: nobody knows what is on disk")]
    Commit(#[source] rusqlite::Error),
    /// ROLLBACK failed.
    #[error("ROLLBACK failed")]
    Rollback(#[source] rusqlite::Error),
}

/// What came of one turn of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// There may be more to do.
    Worked,
    /// The journal is to be closed: drop the writer.
    Closed,
}

/// Owns the database of one journal, and does what its handles ask for. Dropping it closes the
/// database; what is not committed then has not happened.
pub struct Writer {
    conn: Connection,
    storage: Arc<dyn Storage>,
    jobs: mpsc::Receiver<Job>,
    figures: Arc<Figures>,
    mark: HighWaterMark,
    /// Dropped after the database, and so told.
    closed: Option<Closed>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({})", self.storage.path().display())
    }
}

impl Writer {
    pub(super) fn new(
        conn: Connection,
        storage: Arc<dyn Storage>,
        jobs: mpsc::Receiver<Job>,
        figures: Arc<Figures>,
        mark: HighWaterMark,
    ) -> Self {
        Self { conn, storage, jobs, figures, mark, closed: None }
    }

    /// Works until it is told to close, or the last handle is gone. Ends the process where nobody
    /// knows what is on disk.
    pub fn run(mut self) {
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let waiting = self.jobs.blocking_recv_many(&mut group, GROUP);
            match self.work(waiting, &mut group) {
                Ok(Turn::Worked) => {}
                Ok(Turn::Closed) => return,
                Err(fatal) => {
                    let failure = std::error::Error::source(&fatal).map(ToString::to_string);
                    error!(failure, "{fatal}. Ending the process; restart it");
                    std::process::abort();
                }
            }
        }
    }

    /// Waits for work, and does what waits together. After an error the process whose writer this is
    /// has to end: nobody who waits may be told anything.
    pub async fn turn(&mut self) -> Result<Turn, Fatal> {
        let mut group = Vec::with_capacity(GROUP);
        let waiting = self.jobs.recv_many(&mut group, GROUP).await;
        self.work(waiting, &mut group)
    }

    fn work(&mut self, waiting: usize, group: &mut Vec<Job>) -> Result<Turn, Fatal> {
        let mut writes = Vec::new();
        for job in group.drain(..) {
            match job {
                Job::Read(read) => read(&self.conn),
                Job::Write(write) => writes.push(write),
                Job::Close(close) => self.closed = Some(close),
            }
        }
        if !writes.is_empty() {
            self.commit(writes)?;
            self.mark.follow(&self.conn);
        }
        if waiting == 0 || self.closed.is_some() {
            self.mark.finish(&self.conn);
            return Ok(Turn::Closed);
        }
        Ok(Turn::Worked)
    }

    fn commit(&self, writes: Vec<Write>) -> Result<(), Fatal> {
        let (conn, storage) = (&self.conn, &*self.storage);
        let Some(ran) = run_in_transaction(conn, storage, writes)? else { return Ok(()) };
        let kept = ran.iter().filter(|ran| ran.keep).count();
        if kept > 0 {
            storage.commit(conn).map_err(Fatal::Commit)?;
            self.figures.commits.fetch_add(1, Ordering::Relaxed);
            let kept = u64::try_from(kept).unwrap_or(u64::MAX);
            self.figures.writes.fetch_add(kept, Ordering::Relaxed);
        } else {
            roll_back(conn)?;
        }
        for Ran { reply, .. } in ran {
            reply();
        }
        Ok(())
    }
}

/// None when the transaction was lost: then nothing of it is on disk, and every waiter hears that
/// its write did not happen, because its reply is dropped.
pub(super) fn run_in_transaction(
    conn: &Connection,
    storage: &dyn Storage,
    writes: Vec<Write>,
) -> Result<Option<Vec<Ran>>, Fatal> {
    if let Err(failure) = storage.begin(conn) {
        error!(%failure, "the journal cannot be written");
        return Ok(None);
    }
    let mut done = Vec::with_capacity(writes.len());
    for write in writes {
        match run_in_savepoint(conn, write) {
            Ok(ran) => done.push(ran),
            Err(failure) => {
                error!(%failure, "the journal cannot be written; nothing of this group was");
                roll_back(conn)?;
                return Ok(None);
            }
        }
    }
    Ok(Some(done))
}

fn run_in_savepoint(conn: &Connection, write: Write) -> rusqlite::Result<Ran> {
    run_cached(conn, "SAVEPOINT write")?;
    let ran = write(conn);
    // A full disk or an I/O error can end the whole transaction behind our back; the next
    // statement would then run outside of one.
    if conn.is_autocommit() {
        return Err(rusqlite::Error::InvalidQuery);
    }
    if !ran.keep {
        run_cached(conn, "ROLLBACK TO write")?;
    }
    run_cached(conn, "RELEASE write")?;
    Ok(ran)
}

fn run_cached(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}

fn roll_back(conn: &Connection) -> Result<(), Fatal> {
    if conn.is_autocommit() {
        return Ok(());
    }
    conn.execute_batch("ROLLBACK").map_err(Fatal::Rollback)
}
