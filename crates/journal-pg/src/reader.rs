//! The thread that reads a journal on a server, on a session of its own: what people look at stands in no
//! commit's way. Its own answers wait only until it is known what became of a COMMIT (`pending_replies`).

use crate::job_wait::JobWait;
use crate::pending_replies::PendingReplies;
use crate::server_line::ServerLine;
use journal::Figures;
use journal::store::Job;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;

/// Number of reads that are taken from the queue at one time.
const SOME: usize = 16;

/// Reads a journal that a server keeps.
#[derive(Debug)]
pub(crate) struct ServerReader {
    pub(crate) line: ServerLine,
    pub(crate) jobs: mpsc::Receiver<Job>,
    pub(crate) figures: Arc<Figures>,
    pub(crate) pending: Arc<PendingReplies>,
}

impl ServerReader {
    /// Works until it is told to close, or the last handle is gone. Blocks the thread.
    pub(crate) fn run(mut self, beat: &JobWait) {
        let mut some = Vec::with_capacity(SOME);
        loop {
            let count = beat.receive(&mut self.jobs, &mut some, SOME);
            // If the database must not be used any more, the writer ends the process.
            let usable = self.line.renew().is_ok();
            if count.is_none() {
                self.line.prove();
            }
            for job in some.drain(..) {
                match (job, self.line.session().filter(|_| usable)) {
                    (Job::Read(read), Some(session)) => {
                        let losses = self.pending.losses();
                        let reply = read(session);
                        // Before whoever hears of it can look at the count.
                        self.figures.trips.fetch_add(session.take_trips(), Ordering::Relaxed);
                        self.pending.tell(losses, reply);
                    }
                    // A dropped job was not run, and its waiter learns so. Writes have another thread.
                    (Job::Read(_) | Job::Write(_), _) => {}
                    (Job::Close(closed), _) => {
                        self.jobs.close();
                        drop(self.line);
                        drop(closed);
                        return;
                    }
                }
            }
            if count == Some(0) {
                return;
            }
        }
    }
}
