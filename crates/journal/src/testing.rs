//! The door of tests to the tables: they read and spoil what the journal alone writes. No program has this feature.

use crate::commit::rows;
use crate::copies::backup;
use crate::job::Job;
use crate::queue::tell_if_heard;
use crate::sql::{Database, SqlResult};
use crate::sqlite::files::Files;
use crate::sqlite::log_start::{self, Belonging};
use crate::sqlite::{migrations, open};
use crate::store::Migration;
use crate::tables::{known_lanes, lane_past};
use crate::{Audit, Journal, JournalError, NotCopied, OpenError, Reading, Sealed};
use billing::{Item, Signed};
use rusqlite::Connection;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

/// The tables of a journal that is open.
pub trait Tables {
    /// Runs on the journal's thread, as its reads do.
    fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, JournalError>> + Send;

    /// Runs in a commit of the journal's thread.
    fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, JournalError>> + Send;

    /// Keeps the journal's thread waiting until the answer is dropped. Work that is sent from now on is in one group.
    fn hold_up(&self) -> impl Future<Output = Sender<()>> + Send;
}

impl Tables for Journal {
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.queue.read(query).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Database) -> SqlResult<T> + Send + 'static,
    ) -> Result<T, JournalError> {
        self.queue.write(work).await
    }

    async fn hold_up(&self) -> Sender<()> {
        let (release, released) = channel();
        let (arrive, arrived) = oneshot::channel();
        let wait = Job::Read(Box::new(move |_| {
            tell_if_heard(arrive, ());
            // An error: the other end is dropped.
            released.recv().ok();
            Box::new(|| ())
        }));
        // An error means that the journal is closed: then nothing has to be kept waiting.
        self.queue.put(wait).await.ok();
        arrived.await.ok();
        release
    }
}

/// A file as read models see it.
pub fn reading(conn: &Connection) -> Reading<'_> {
    Reading::of(conn)
}

/// The parts of what was signed.
#[derive(Debug)]
pub struct SealedParts<'s> {
    /// The position that it was signed for.
    pub position: &'s mut u64,
    /// Its charges.
    pub items: &'s mut Vec<Item>,
    /// The transaction.
    pub signed: &'s mut Signed,
}

impl Sealed {
    /// The parts, to be changed.
    pub fn parts(&mut self) -> SealedParts<'_> {
        let Self { position, items, signed } = self;
        SealedParts { position, items, signed }
    }
}

/// The statements that look for claims: by charge, and by subscription.
pub fn lookups() -> [String; 2] {
    rows::LOOKUPS.clone()
}

/// The question when everything about a lane was last known.
pub fn learnt() -> &'static str {
    lane_past::LEARNT
}

/// The question for all lanes that there ever were.
pub fn known_lanes() -> &'static str {
    known_lanes::KNOWN_LANES
}

/// Takes every step that the journal in a file has not taken.
pub fn migrate(conn: &Connection, steps: &[Migration]) -> SqlResult<()> {
    migrations::migrate(conn, steps)
}

/// The same as whoever opens the journal at `path`, which is of version `found`, hears of it.
pub fn bring_up(
    conn: &Connection,
    path: &Path,
    found: i64,
    steps: &[Migration],
) -> Result<(), OpenError> {
    open::bring_up(conn, path, found, steps)
}

/// Returns true if the file at `path` and the log beside it prove that they belong together.
pub fn belong_together(path: &Path) -> Result<bool, OpenError> {
    let files = Files::at(path);
    let (conn, alone) = (files.connect()?, files.connect_to_the_file_alone()?);
    Ok(log_start::belonging(&alone, &*conn).is_ok_and(|told| told == Belonging::Proven))
}

/// Makes a backup, and does `between` its steps.
pub fn back_up(
    from: &Path,
    to: &Path,
    between: &dyn Fn() -> Result<(), NotCopied>,
) -> Result<Audit, NotCopied> {
    backup::back_up_in_steps(from, to, &mut |_, _| {}, between)
}
