//! Opening the journal: an existing database, held by this process alone, of the version that this
//! program writes.

use crate::Journal;
use crate::found_at_start::Findings;
use crate::free_space::FreeSpace;
use crate::job::Job;
use crate::open_error::{OpenError, refused, unanswered, unwritable};
use crate::opened::{Opened, TablesAtStart};
use crate::queue::WorkQueue;
use crate::sql::SqlError;
use crate::sqlite::disk::{Disk, Real};
use crate::sqlite::file_mark::{self, HighWaterMark};
use crate::sqlite::files::Files;
use crate::sqlite::held_file::HeldFile;
use crate::sqlite::log_at_close::{LogAtClose, when_closed};
use crate::sqlite::migrations::Migration;
use crate::sqlite::shared_file::OwnedFile;
use crate::sqlite::start::Start;
use crate::sqlite::writer::Writer;
use crate::sqlite::{file_check, migrations, schema_check};
use crate::tables::doubts;
use config::JournalConfig;
use host::clock::Clock;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Marks the file as a journal of ours: "SIGN".
const APPLICATION_ID: i64 = 0x5349_474E;

impl Journal {
    /// Opens an existing journal for this process alone, on the machine's own clock.
    pub fn open(config: &JournalConfig) -> Result<Self, OpenError> {
        let (journal, writer) = Self::with_writer(config, Clock::MACHINE, Box::new(Real))?;
        let thread = std::thread::Builder::new().name("journal".to_owned());
        let started = thread.spawn(move || writer.run());
        started.map_err(|e| OpenError::Unsuitable(e.to_string()))?;
        Ok(journal)
    }

    /// Opens an existing journal for this process alone, on the time that `clock` tells. Nothing is
    /// read or written until the writer is run.
    pub fn with_writer(
        config: &JournalConfig,
        clock: Clock,
        disk: Box<dyn Disk>,
    ) -> Result<(Self, Writer), OpenError> {
        let files = Files::of(config);
        files.find_mark()?;
        let FoundFile { conn, was_closed } = open(&files)?;
        let files = if disk.tells_files_apart() { files.opened()? } else { files };
        // A long log is written to the file between commits, and never by one.
        conn.pragma_update(None, "wal_autocheckpoint", 0).map_err(|e| refused(&config.path, &e))?;
        let problem = |e: SqlError| unanswered(&config.path, &e);
        let left_ms = doubts::left_ms(&*conn).map_err(problem)?;
        let mark = HighWaterMark::of(files.clone(), clock);
        let old_copy = mark.is_contradicted_by(&*conn).map_err(problem)?;
        let mut start = Start::new(mark, old_copy, disk.as_ref()).map_err(problem)?;
        start.write(&conn, disk.as_ref()).map_err(problem)?;
        let (jobs, work) = mpsc::channel::<Job>(config.queue_length);
        let found = Findings { old_copy, was_closed, left_ms, begun: start.begun() };
        let tables = TablesAtStart::read(&*conn).map_err(problem)?;
        let file = OwnedFile::new(conn);
        let journal = Self::of(Opened {
            queue: WorkQueue::of_a_file(jobs, file.for_look_ups()),
            figures: Arc::default(),
            found,
            tables,
            space: FreeSpace::around(files.open_file(), config.min_free_bytes),
            instance: None,
            clock,
        });
        let (figures, closed) = (Arc::clone(&journal.figures), None);
        let writer = Writer { file, jobs: work, figures, start, disk, closed };
        Ok((journal, writer))
    }

    /// Makes a new, empty journal where there is none, with its mark beside it.
    pub fn initialise(path: &Path) -> Result<(), OpenError> {
        Self::make(&Files::at(path))
    }

    /// The same where the configuration wants it.
    pub fn create(config: &JournalConfig) -> Result<(), OpenError> {
        let files = Files::of(config);
        files.find_mark()?;
        Self::make(&files)
    }

    fn make(files: &Files) -> Result<(), OpenError> {
        files.refuse_left_mark()?;
        files.refuse_left_log()?;
        files.create()?;
        let path = files.path();
        let problem = |e: &dyn std::fmt::Display| unwritable(path, e);
        let conn = oldest(files)?;
        migrations::migrate(&conn, migrations::STEPS).map_err(|e| problem(&e))?;
        file_mark::first(&*conn, files, &Real, Clock::MACHINE.unix_ms())
            .map_err(|e| problem(&e))?;
        when_closed(&conn, LogAtClose::Merged).map_err(|e| problem(&e))
    }
}

/// Makes the tables of the oldest version in an empty file.
fn oldest(files: &Files) -> Result<HeldFile, OpenError> {
    let conn = files.connect()?;
    files.hold(&conn)?;
    conn.execute_batch(&format!(
        "BEGIN; {} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}; COMMIT;",
        include_str!("../schema.sql"),
        migrations::OLDEST
    ))
    .map_err(|e| unwritable(files.path(), &e))?;
    Ok(conn)
}

/// Makes the tables of this version in an empty file, for a history that comes from elsewhere.
pub(crate) fn empty(files: &Files) -> Result<HeldFile, OpenError> {
    let conn = oldest(files)?;
    for step in migrations::STEPS {
        conn.execute_batch(step.in_file)
            .and_then(|()| conn.pragma_update(None, "user_version", step.to))
            .map_err(|e| unwritable(files.path(), &e))?;
    }
    Ok(conn)
}

/// An existing journal of this process alone, in this program's version.
pub(crate) struct FoundFile {
    pub(crate) conn: HeldFile,
    /// True if the process before this one closed it.
    pub(crate) was_closed: bool,
}

/// Opens an existing journal for this process alone, and brings it to the version of this program. A file that is
/// no journal, or is of a version that this program cannot read, is left as it is.
pub(crate) fn open(files: &Files) -> Result<FoundFile, OpenError> {
    let path = files.path();
    let problem = |e: rusqlite::Error| refused(path, &e);
    let conn = files.connect()?;
    // The lock is held: the process before this one has closed the file by now, or never will.
    let was_closed = !files.is_unclosed();
    let found = version(path, &conn)?;
    files.hold(&conn)?;
    if !was_closed {
        refuse_what_is_not_whole(files, &conn, found)?;
    }
    if let Some(problem) = schema_check::fault(&conn, found).map_err(problem)? {
        return Err(OpenError::Altered { path: path.to_owned(), problem });
    }
    // A start that fails from here on, or is refused, leaves the file as unclosed as it was.
    let log = if was_closed { LogAtClose::Merged } else { LogAtClose::Kept };
    when_closed(&conn, log).map_err(problem)?;
    bring_up(&conn, path, found, migrations::STEPS)?;
    Ok(FoundFile { conn, was_closed })
}

fn refuse_what_is_not_whole(files: &Files, conn: &Connection, found: i64) -> Result<(), OpenError> {
    let fault = file_check::fault(files, conn, found).map_err(|e| unanswered(files.path(), &e))?;
    fault.map_or(Ok(()), |problem| {
        Err(OpenError::NotWhole { path: files.path().to_owned(), problem })
    })
}

/// Brings a journal of version `found` to the one that `steps` make.
pub(crate) fn bring_up(
    conn: &Connection,
    path: &Path,
    found: i64,
    steps: &[Migration],
) -> Result<(), OpenError> {
    migrations::migrate(conn, steps).map_err(|error| {
        if error.is_full() {
            let (path, known) = (path.to_owned(), migrations::newest(steps));
            OpenError::NoRoomToMigrate { path, found, known }
        } else {
            unanswered(path, &error)
        }
    })
}

/// Opens a journal that no process has open, to look at it. Nothing is changed, whatever it is.
pub(crate) fn read(files: &Files) -> Result<HeldFile, OpenError> {
    let path = files.path();
    let unclosed = files.is_unclosed();
    let conn = files.connect_to_read()?;
    let (found, known) = (version(path, &conn)?, migrations::newest(migrations::STEPS));
    if found < known {
        return Err(OpenError::Older { path: path.to_owned(), found, known });
    }
    if unclosed {
        refuse_what_is_not_whole(files, &conn, found)?;
    }
    Ok(conn)
}

/// Connects to a journal that is only to be copied, whoever works on it meanwhile. Nothing is changed, whatever it
/// is.
pub(crate) fn beside(files: &Files) -> Result<Connection, OpenError> {
    let conn = files.connect_beside()?;
    version(files.path(), &conn)?;
    Ok(conn)
}

/// The version of a journal, if it is one that this program can bring to its own.
fn version(path: &Path, conn: &Connection) -> Result<i64, OpenError> {
    let number = |pragma: &str| {
        let read = conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        read.map_err(|e| refused(path, &e))
    };
    let (application, found) = (number("application_id")?, number("user_version")?);
    if application != APPLICATION_ID {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    let (oldest, known) = (migrations::OLDEST, migrations::newest(migrations::STEPS));
    if found < oldest {
        return Err(OpenError::Unkept { path: path.to_owned(), found, oldest });
    }
    if found > known {
        return Err(OpenError::Newer { path: path.to_owned(), found, known });
    }
    Ok(found)
}
