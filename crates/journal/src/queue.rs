//! The work that a handle of the journal gives away: it is put in a queue, and answered by the thread that does it.

use crate::sql::{Database, SqlResult};
use crate::sqlite::writer::{Job, RanWrite};
use crate::{Journal, JournalError};
use tokio::sync::oneshot;

impl Journal {
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (tell, told) = oneshot::channel();
        let job = Job::Read(Box::new(move |conn| {
            let found = query(conn);
            Box::new(move || tell_if_heard(tell, found))
        }));
        self.reads.send(job).await.map_err(|_| self.lost())?;
        Ok(told.await.map_err(|_| self.lost())??)
    }

    pub(crate) async fn write<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Database) -> Result<T, E> + Send + 'static,
    ) -> Result<Result<T, E>, JournalError> {
        self.begin_write(work).await?.await.map_err(|_| self.lost())
    }

    /// Why nothing was done.
    pub(crate) fn lost(&self) -> JournalError {
        let trouble = self.link.as_ref().and_then(|link| link.trouble());
        trouble.map_or(JournalError::Lost, JournalError::Away)
    }

    /// Ends when the write has its place in the queue.
    pub(crate) async fn begin_write<T: Send + 'static, E: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Database) -> Result<T, E> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T, E>>, JournalError> {
        let (tell, told) = oneshot::channel();
        let job = Job::Write(Box::new(move |conn| {
            let result = work(conn);
            RanWrite { keep: result.is_ok(), reply: Box::new(move || tell_if_heard(tell, result)) }
        }));
        self.jobs.send(job).await.map_err(|_| self.lost())?;
        Ok(told)
    }
}

/// A caller that went away has no use for the answer; what was committed stays committed.
pub(crate) fn tell_if_heard<T>(tell: oneshot::Sender<T>, value: T) {
    drop(tell.send(value));
}
