//! Counters of the journal's work.

use crate::model::HistoryHead;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tokio::sync::watch;
use tokio::time::Instant;

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
    /// When the newest backup in `journal.backup_dir` was begun, Unix ms; the first row of the journal where there is
    /// none, the start until the directory was read, 0 where none is to be made.
    pub backed_up_ms: AtomicI64,
    /// Time from the newest backup to the next one, ms; 0 if none is to be made.
    pub backup_every_ms: AtomicI64,
}

impl Figures {
    /// A transaction with so many writes, which began at `begun` and were run at `written`, is durable.
    pub fn committed(&self, begun: Instant, written: Instant, writes: usize) {
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
