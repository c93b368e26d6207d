//! Work for the thread that has the journal, in a file or on a server: a handle puts it in a queue, and the thread
//! answers.

use crate::sql::Database;
use std::fmt;
use tokio::sync::oneshot;

/// Number of writes that may share one commit.
pub const GROUP: usize = 64;

/// Tells a waiter: of a write what happened, after its COMMIT only; of a read what is there, once nobody can
/// find that it is not. One that is dropped says that nothing was done.
pub type JobReply = Box<dyn FnOnce() + Send>;

/// A write that ran inside the open transaction.
pub struct RanWrite {
    /// True if its changes shall be part of the commit.
    pub keep: bool,
    /// Tells its waiter.
    pub reply: JobReply,
}

impl fmt::Debug for RanWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RanWrite").field("keep", &self.keep).finish_non_exhaustive()
    }
}

/// Work for the thread. A job that is dropped unrun has changed nothing.
pub enum Job {
    /// Sees committed data only.
    Read(Look),
    /// Runs inside a transaction shared with others, in a savepoint of its own.
    Write(Write),
    /// Nothing comes after this.
    Close(ClosedSignal),
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read(_) => "Read",
            Self::Write(_) => "Write",
            Self::Close(_) => "Close",
        })
    }
}

/// Dropped when the journal is closed.
pub type ClosedSignal = oneshot::Sender<()>;

/// A read that waits for its turn.
pub type Look = Box<dyn FnOnce(&dyn Database) -> JobReply + Send>;

/// A write that waits for its transaction.
pub type Write = Box<dyn FnOnce(&dyn Database) -> RanWrite + Send>;

/// The file of a journal, for a look-up that does not wait for its turn.
pub(crate) trait FileAtRest: fmt::Debug + Send + Sync {
    /// Has `look` see committed data, unless the thread is at work on the file.
    fn read(&self, look: &mut dyn FnMut(&dyn Database));
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
