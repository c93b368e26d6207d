//! The inbox on disk. One thread owns the file; writers that wait together share a commit, and so one
//! fsync. Nobody hears of a write before its COMMIT has returned.

mod feed;
mod keep;
mod looks;
mod pushes;

pub(crate) use feed::{NoPlace, Place, Row, Stand, select_ids};
pub(crate) use keep::Kept;
pub(crate) use looks::{LONGEST_PAUSE_MS, Unchecked, Verdict};
pub(crate) use pushes::Parcel;

use crate::store::{Shape, Store, StoreError};
use rusqlite::Transaction;
use std::path::Path;
use std::thread;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::error;

/// Marks the file as an inbox: "INBX".
const SHAPE: Shape = Shape {
    name: "inbox",
    application_id: 0x494E_4258,
    version: 2,
    schema: include_str!("schema.sql"),
    indexes: include_str!("indexes.sql"),
};
/// Makes what later programs have added: in every file that does not have it, new ones too. Earlier programs work on
/// such a file as before, so that the version stays.
const ADDED: &str = include_str!("added.sql");
/// Number of writes that may share one commit, and number of writes that may wait.
const GROUP: usize = 256;

/// Tells a waiter, after the commit.
type Reply = Box<dyn FnOnce() + Send>;
/// A write inside a shared transaction.
type Work = Box<dyn FnOnce(&Transaction<'_>) -> rusqlite::Result<Reply> + Send>;

/// The store does not work any more: nothing that waits is known to be on disk. The process ends, and
/// the next one reads what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the inbox's store has failed")]
pub struct ShelfFailed;

/// The inbox's store. Clones are the same store.
#[derive(Clone, Debug)]
pub(crate) struct Shelf {
    works: mpsc::Sender<Work>,
    last: watch::Receiver<i64>,
}

impl Shelf {
    /// Opens the store for this process alone. The second value resolves when it has failed.
    pub(crate) fn open(path: &Path) -> Result<(Self, oneshot::Receiver<()>), StoreError> {
        let mut store = Store::open(path, &SHAPE)?;
        store.write(add)?;
        let (works, mut queue) = mpsc::channel::<Work>(GROUP);
        let (tell, last) = watch::channel(feed::last(store.conn())?);
        let (failing, failed) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name("inbox-store".to_owned());
        let run = move || {
            let _failing = failing;
            let mut group = Vec::with_capacity(GROUP);
            while queue.blocking_recv_many(&mut group, GROUP) > 0 {
                let done = store.write(|t| {
                    let replies: Vec<Reply> =
                        group.drain(..).map(|work| work(t)).collect::<Result<_, _>>()?;
                    Ok((replies, feed::last(t)?))
                });
                match done {
                    Ok((replies, position)) => {
                        tell.send_if_modified(|known| {
                            std::mem::replace(known, position) != position
                        });
                        for reply in replies {
                            reply();
                        }
                    }
                    Err(why) => return error!(%why, "the inbox cannot be written"),
                }
            }
        };
        thread.spawn(run).map_err(|why| StoreError::File { path: path.to_owned(), why })?;
        Ok((Self { works, last }, failed))
    }

    /// Opens the store beside an inbox that may be running.
    pub(crate) fn beside(path: &Path) -> Result<Store, StoreError> {
        Store::beside(path, &SHAPE)
    }

    /// Runs `work` in a transaction that others may share. A result that this returns is on disk.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, ShelfFailed> {
        let (answer, heard) = oneshot::channel();
        let work: Work = Box::new(move |transaction| {
            let done = work(transaction)?;
            // A waiter that hung up needs no answer.
            Ok(Box::new(move || drop(answer.send(done))))
        });
        self.works.send(work).await.map_err(|_| ShelfFailed)?;
        heard.await.map_err(|_| ShelfFailed)
    }

    /// Waits until the feed reaches beyond `position`.
    pub(crate) async fn beyond(&self, position: i64) -> Result<(), ShelfFailed> {
        let mut last = self.last.clone();
        last.wait_for(|last| *last > position).await.map(drop).map_err(|_| ShelfFailed)
    }

    /// The place in the feed of the newest event, watched.
    pub(crate) fn watch(&self) -> watch::Receiver<i64> {
        self.last.clone()
    }
}

fn add(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "SELECT count(*) FROM pragma_table_info('event') WHERE name = 'missing_ms'";
    let columns: i64 = transaction.query_row(sql, [], |row| row.get(0))?;
    if columns == 0 { transaction.execute_batch(ADDED) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
