//! The one thread that owns the database file, and the one commit point.
//!
//! Writers that wait together share a commit, and so one fsync. Nobody hears of a write before its
//! COMMIT has returned; an error from COMMIT is neither yes nor no, so the process ends there and
//! the next one reads what is on disk.

use super::mark::Mark;
use rusqlite::Connection;
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

/// Work for the thread. A job that is dropped unrun has changed nothing.
pub(crate) enum Job {
    /// Sees committed data only, and answers by itself.
    Read(Box<dyn FnOnce(&Connection) + Send>),
    /// Runs inside a transaction shared with others, in a savepoint of its own.
    Write(Box<dyn FnOnce(&Connection) -> Ran + Send>),
    /// Nothing comes after this.
    Close(Closed),
}

/// Told when the file is closed.
pub(super) type Closed = oneshot::Sender<()>;

/// What the thread has done since the start.
#[derive(Debug, Default)]
pub struct Figures {
    /// Commits, each of which is one fsync (checkpoints add a few).
    pub commits: AtomicU64,
    /// Writes that those commits made durable.
    pub writes: AtomicU64,
}

/// Runs jobs until it is told to close, or the last sender is gone.
pub(super) fn run(
    conn: &Connection,
    mut jobs: mpsc::Receiver<Job>,
    figures: &Arc<Figures>,
    mut mark: Mark,
) -> Option<Closed> {
    let mut group = Vec::with_capacity(GROUP);
    while jobs.blocking_recv_many(&mut group, GROUP) > 0 {
        let (mut writes, mut closed) = (Vec::new(), None);
        for job in group.drain(..) {
            match job {
                Job::Read(read) => read(conn),
                Job::Write(write) => writes.push(write),
                Job::Close(close) => closed = Some(close),
            }
        }
        if !writes.is_empty() {
            commit(conn, writes, figures);
            mark.follow(conn);
        }
        if closed.is_some() {
            mark.finish(conn);
            return closed;
        }
    }
    mark.finish(conn);
    None
}

pub(crate) type Write = Box<dyn FnOnce(&Connection) -> Ran + Send>;

fn commit(conn: &Connection, writes: Vec<Write>, figures: &Figures) {
    let Some(ran) = run_in_transaction(conn, writes) else { return };
    let kept = ran.iter().filter(|ran| ran.keep).count();
    if kept > 0 {
        if let Err(failure) = conn.execute_batch("COMMIT") {
            error!(%failure, "COMMIT failed: nobody knows what is on disk. Ending the process; restart it");
            std::process::abort();
        }
        figures.commits.fetch_add(1, Ordering::Relaxed);
        figures.writes.fetch_add(u64::try_from(kept).unwrap_or(u64::MAX), Ordering::Relaxed);
    } else {
        roll_back(conn);
    }
    for Ran { reply, .. } in ran {
        reply();
    }
}

/// None when the transaction was lost: then nothing of it is on disk, and every waiter hears that
/// its write did not happen, because its reply is dropped.
pub(super) fn run_in_transaction(conn: &Connection, writes: Vec<Write>) -> Option<Vec<Ran>> {
    if let Err(failure) = conn.execute_batch("BEGIN IMMEDIATE") {
        error!(%failure, "the journal cannot be written");
        return None;
    }
    let mut done = Vec::with_capacity(writes.len());
    for write in writes {
        match run_in_savepoint(conn, write) {
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

fn roll_back(conn: &Connection) {
    if !conn.is_autocommit()
        && let Err(failure) = conn.execute_batch("ROLLBACK")
    {
        error!(%failure, "ROLLBACK failed. Ending the process; restart it");
        std::process::abort();
    }
}
