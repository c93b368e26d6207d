//! The queue in which a handle of the journal puts its work: the thread that does the work answers.

use crate::JournalError;
use crate::job::{FileAtRest, Job, RanWrite};
use crate::server_link::ServerLink;
use crate::sql::{Database, SqlResult};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The queue. Cheap to clone; its threads end when the last clone is dropped.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    writes: mpsc::Sender<Job>,
    /// To the thread that writes, or to another one with a session of its own on a server.
    reads: mpsc::Sender<Job>,
    place: Place,
}

/// The place of the tables.
#[derive(Clone, Debug)]
enum Place {
    File(Arc<dyn FileAtRest>),
    Server(Arc<ServerLink>),
}

impl WorkQueue {
    /// To the one thread that has a file.
    pub(crate) fn of_a_file(jobs: mpsc::Sender<Job>, file: Arc<dyn FileAtRest>) -> Self {
        Self { reads: jobs.clone(), writes: jobs, place: Place::File(file) }
    }

    /// To the two threads that have sessions on a server.
    pub fn of_a_server(
        writes: mpsc::Sender<Job>,
        reads: mpsc::Sender<Job>,
        link: Arc<ServerLink>,
    ) -> Self {
        Self { writes, reads, place: Place::Server(link) }
    }

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

    /// Answers a short look-up on this thread where the file is at rest, and has the journal's thread answer it
    /// otherwise.
    pub(crate) async fn look_up<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (mut query, mut found) = (Some(query), None);
        if let Place::File(file) = &self.place {
            file.read(&mut |conn| found = query.take().map(|query| query(conn)));
        }
        match (found, query) {
            (Some(found), _) => Ok(found?),
            (None, Some(query)) => self.read(query).await,
            (None, None) => Err(self.lost()),
        }
    }

    /// Ends when the write is durable, or did not happen.
    pub(crate) async fn write<T, S, E>(
        &self,
        work: impl FnOnce(&dyn Database) -> Result<T, S> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        S: Send + 'static,
        E: From<S> + From<JournalError>,
    {
        let told = self.begin_write(work).await?;
        Ok(told.await.map_err(|_| self.lost())??)
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
        self.put(job).await?;
        Ok(told)
    }

    /// Ends when a job has its place among the writes.
    pub(crate) async fn put(&self, job: Job) -> Result<(), JournalError> {
        self.writes.send(job).await.map_err(|_| self.lost())
    }

    /// The same for a thread that may wait. Returns true if the job has its place.
    pub(crate) fn put_blocking(&self, job: Job) -> bool {
        self.writes.blocking_send(job).is_ok()
    }

    /// Has the threads finish what is in the queue and end.
    pub(crate) async fn close(&self) {
        let apart = matches!(self.place, Place::Server(_)).then_some(&self.reads);
        for thread in apart.into_iter().chain([&self.writes]) {
            let (closed, waits) = oneshot::channel();
            if thread.send(Job::Close(closed)).await.is_ok() {
                // An error means that it is closed already.
                waits.await.ok();
            }
        }
    }

    /// Why nothing was done.
    pub(crate) fn lost(&self) -> JournalError {
        self.trouble().map_or(JournalError::Lost, JournalError::Away)
    }

    /// Makes sure that work would be done now.
    pub(crate) fn ready(&self) -> Result<(), JournalError> {
        if let Some(trouble) = self.trouble() {
            return Err(JournalError::Away(trouble));
        }
        if self.writes.is_closed() { Err(JournalError::Lost) } else { Ok(()) }
    }

    fn trouble(&self) -> Option<String> {
        match &self.place {
            Place::File(_) => None,
            Place::Server(link) => link.trouble(),
        }
    }
}

/// A caller that went away has no use for the answer; what was committed stays committed.
pub(crate) fn tell_if_heard<T>(tell: oneshot::Sender<T>, value: T) {
    drop(tell.send(value));
}
