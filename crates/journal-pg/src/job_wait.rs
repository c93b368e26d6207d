//! The wait of a thread for work, and the care for its session when there is none.

use journal::store::Job;
use std::io;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Time without work after which a thread looks after its session.
const IDLE: Duration = Duration::from_millis(250);

/// Waits for work.
#[derive(Debug)]
pub(crate) struct JobWait(Runtime);

impl JobWait {
    pub(crate) fn new() -> io::Result<Self> {
        Builder::new_current_thread().enable_time().build().map(Self)
    }

    /// Up to `most` jobs that wait; tells how many: 0 when nothing comes any more, none when nothing came for a
    /// while.
    pub(crate) fn receive(
        &self,
        jobs: &mut mpsc::Receiver<Job>,
        some: &mut Vec<Job>,
        most: usize,
    ) -> Option<usize> {
        self.0.block_on(async { timeout(IDLE, jobs.recv_many(some, most)).await }).ok()
    }
}
