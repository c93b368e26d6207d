//! The one owner of the database file, and the one commit point. The program gives it a thread.
//!
//! Writers that wait together share a commit, and so one fsync. Nobody hears of a write before its
//! COMMIT has returned; an error from COMMIT is neither yes nor no, so the process ends there and
//! the next one reads what is on disk.

use crate::HistoryHead;
use crate::sql::{Database, SqlResult};
use crate::sqlite::disk::Disk;
use crate::sqlite::held_file::HeldFile;
use crate::sqlite::log_start;
use crate::sqlite::start::Start;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use rusqlite::Connection;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;
use tracing::error;

/// Number of writes that may share one commit.
pub(crate) const GROUP: usize = 64;

/// Tells a waiter: of a write what happened, after its COMMIT only; of a read what is there, once nobody can
/// find that it is not. One that is dropped says that nothing was done.
pub(crate) type JobReply = Box<dyn FnOnce() + Send>;

/// A write that ran inside the open transaction.
pub(crate) struct RanWrite {
    /// True if its changes shall be part of the commit.
    pub(crate) keep: bool,
    /// Tells its waiter.
    pub(crate) reply: JobReply,
}

/// Work for the thread. A job that is dropped unrun has changed nothing.
pub(crate) enum Job {
    /// Sees committed data only.
    Read(Look),
    /// Runs inside a transaction shared with others, in a savepoint of its own.
    Write(Write),
    /// Nothing comes after this.
    Close(ClosedSignal),
}

/// Dropped when the file is closed.
pub(crate) type ClosedSignal = oneshot::Sender<()>;

/// Upper bounds of the durations of commits, seconds.
const SECONDS: [f64; 11] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0];

/// The figures of the thread's work since the start.
#[derive(Debug)]
pub struct Figures {
    /// Commits, each of which is one fsync (checkpoints add a few).
    pub commits: AtomicU64,
    /// Told of after every commit, for whoever waits for news.
    pub grown: watch::Sender<()>,
    /// Writes that those commits made durable.
    pub writes: AtomicU64,
    /// Number of waits of the thread for a server's answer; none if the journal is a file.
    pub trips: AtomicU64,
    /// Durations of the writes of one commit, the commit included, seconds.
    pub transaction_seconds: Histogram,
    /// Durations of the commit alone, seconds.
    pub commit_seconds: Histogram,
    /// The last row of the history when it was last told.
    pub head: Mutex<Option<HistoryHead>>,
    /// When the newest backup in `journal.backup_dir` was begun, Unix ms; the start where there is none, 0 where none
    /// is to be made.
    pub backed_up_ms: AtomicI64,
    /// Time from the newest backup to the next one, ms; 0 if none is to be made.
    pub backup_every_ms: AtomicI64,
}

impl Figures {
    /// A transaction with so many writes, which began at `begun` and were run at `written`, is durable.
    pub(crate) fn committed(&self, begun: Instant, written: Instant, writes: usize) {
        self.commit_seconds.observe(written.elapsed().as_secs_f64());
        self.transaction_seconds.observe(begun.elapsed().as_secs_f64());
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.grown.send_replace(());
        self.writes.fetch_add(u64::try_from(writes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            commits: AtomicU64::new(0),
            grown: watch::Sender::default(),
            writes: AtomicU64::new(0),
            trips: AtomicU64::new(0),
            transaction_seconds: Histogram::new(SECONDS),
            commit_seconds: Histogram::new(SECONDS),
            head: Mutex::default(),
            backed_up_ms: AtomicI64::default(),
            backup_every_ms: AtomicI64::default(),
        }
    }
}

/// The result of serving the jobs that had waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Served {
    /// It is done, and more may come.
    Going,
    /// Nothing comes any more: the file is closed when the writer is dropped.
    Closed,
    /// A COMMIT failed: nobody knows what is on disk. The process has to end before anybody acts on
    /// what it believes; the next one reads what is there.
    Unknown,
}

/// Owns the file of a journal, and does what its handles ask for.
pub struct Writer {
    pub(crate) conn: HeldFile,
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

    /// The file, for whoever brought the disk that it is on.
    pub fn connection(&self) -> &Connection {
        &self.conn
    }

    /// Waits for work and does it, where the writer has no thread of its own.
    pub async fn turn(&mut self) -> Served {
        let mut group = Vec::with_capacity(GROUP);
        let count = self.jobs.recv_many(&mut group, GROUP).await;
        self.serve(count, &mut group)
    }

    fn serve(&mut self, count: usize, group: &mut Vec<Job>) -> Served {
        let (mut writes, mut closed) = (Vec::new(), None);
        for job in group.drain(..) {
            match job {
                Job::Read(read) => read(&*self.conn)(),
                Job::Write(write) => writes.push(write),
                Job::Close(close) => closed = Some(close),
            }
        }
        // A dropped write has changed nothing, and its waiter learns so.
        if self.start.is_written(&self.conn, self.disk.as_ref()) && !writes.is_empty() {
            if self.commit(writes) == Served::Unknown {
                return Served::Unknown;
            }
            self.start.committed(&self.conn);
        }
        self.start.catch_up(&self.conn);
        if count > 0 && closed.is_none() {
            return Served::Going;
        }
        self.start.finish(&self.conn);
        self.closed = closed;
        Served::Closed
    }

    fn commit(&self, writes: Vec<Write>) -> Served {
        let (conn, disk, begun) = (&*self.conn, self.disk.as_ref(), Instant::now());
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
            self.figures.committed(begun, written, kept);
        } else {
            roll_back(conn);
        }
        for RanWrite { reply, .. } in ran {
            reply();
        }
        Served::Going
    }
}

/// A read that waits for its turn.
pub(crate) type Look = Box<dyn FnOnce(&dyn Database) -> JobReply + Send>;

/// A write that waits for its transaction.
pub(crate) type Write = Box<dyn FnOnce(&dyn Database) -> RanWrite + Send>;

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

fn begin(conn: &Connection, disk: &dyn Disk) -> SqlResult<()> {
    let begins = log_start::log_begins(conn)?;
    disk.begin(conn)?;
    if begins { log_start::begin_log(conn) } else { Ok(()) }
}

fn run_in_savepoint(conn: &Connection, write: Write) -> rusqlite::Result<RanWrite> {
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
