//! Opening the journal: an existing file, ours alone, as durable as we need it.

use super::Journal;
use super::mark::Mark;
use super::writer::Real;
use crate::clock::Clock;
use crate::config::JournalConfig;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Marks the file as a journal of ours: "SIGN".
const APPLICATION_ID: i64 = 0x5349_474E;
const SCHEMA_VERSION: i64 = 3;
/// 3.7.0 to 3.51.2 can corrupt a WAL that is reset. <https://sqlite.org/wal.html>
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long to wait for a process that is just ending to let go of the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the journal was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no file.
    #[error(
        "there is no journal at {0}: run `merchant-signer init` once for a new installation. If \
         this installation has billed before, restore its journal instead: a lost journal is the \
         one way left to charge a customer twice"
    )]
    Missing(PathBuf),
    /// There is a file already.
    #[error("there is already a file at {0}: a journal is never replaced")]
    Exists(PathBuf),
    /// Another process has it open.
    #[error("another process holds the journal at {0}: one Signer to one journal")]
    Held(PathBuf),
    /// The file is something else, or of another version.
    #[error("{0} is not a journal of this version of the Signer")]
    Foreign(PathBuf),
    /// The database library is too old or was built without what is needed.
    #[error("the database does not offer what the journal needs: {0}")]
    Unsuitable(String),
    /// The disk is full, read-only or broken, or the permissions do not allow it.
    #[error("the journal at {path} cannot be used: {problem}")]
    Unwritable {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
}

impl Journal {
    /// Opens an existing journal for this process alone, on the machine's own time.
    pub fn open(config: &JournalConfig) -> Result<Self, OpenError> {
        let (journal, writer) = Self::with_writer(config, Clock::MACHINE, Box::new(Real))?;
        let thread = std::thread::Builder::new().name("journal".to_owned());
        let started = thread.spawn(move || writer.run());
        started.map_err(|e| OpenError::Unsuitable(e.to_string()))?;
        Ok(journal)
    }

    /// Now by this machine's clock, Unix ms: what rows are dated by.
    pub fn now_ms(&self) -> i64 {
        self.clock.unix_ms()
    }
}

/// Makes a new, empty journal.
pub(super) fn initialise(path: &Path) -> Result<(), OpenError> {
    let problem = |e: &dyn std::fmt::Display| unwritable(path, e);
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(|e| problem(&e))?;
    }
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Ok(file) => drop(file),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(OpenError::Exists(path.to_owned()));
        }
        Err(e) => return Err(problem(&e)),
    }
    let conn = connect(path)?;
    hold(&conn, path)?;
    conn.execute_batch(&format!(
        "BEGIN; {} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};
         INSERT INTO meta VALUES ('boots', '0'); COMMIT;",
        include_str!("schema.sql")
    ))
    .map_err(|e| problem(&e))?;
    Mark::of(path).write(&conn).map_err(|e| problem(&e))
}

/// Opens an existing journal for this process alone. What is none is left as it is.
pub(super) fn open(path: &Path) -> Result<Connection, OpenError> {
    if !path.exists() {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let conn = connect(path)?;
    let number = |pragma: &str| {
        let read = conn.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
        read.map_err(|e| refused(path, &e))
    };
    if (number("application_id")?, number("user_version")?) != (APPLICATION_ID, SCHEMA_VERSION) {
        return Err(OpenError::Foreign(path.to_owned()));
    }
    hold(&conn, path)?;
    // Counting the start also proves, before anything is accepted, that the file can be written.
    conn.execute_batch("UPDATE meta SET value = value + 1 WHERE name = 'boots'")
        .map_err(|e| refused(path, &e))?;
    Ok(conn)
}

/// Connects without changing a byte.
fn connect(path: &Path) -> Result<Connection, OpenError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(OpenError::Unsuitable(format!("SQLite {} is too old", rusqlite::version())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags).map_err(|e| refused(path, &e))?;
    conn.busy_timeout(PATIENCE).map_err(|e| refused(path, &e))?;
    conn.set_prepared_statement_cache_capacity(64);
    steady_plans(&conn).map_err(|e| refused(path, &e))?;
    conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE;").map_err(|e| refused(path, &e))?;
    Ok(conn)
}

/// Plans a statement once. Otherwise the planner looks at the values that are bound to it, to see
/// whether a partial index fits them, and with our indices every lookup of a claim is planned anew.
pub(super) fn steady_plans(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Takes the file for this process alone, and makes commits durable.
fn hold(conn: &Connection, path: &Path) -> Result<(), OpenError> {
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         PRAGMA wal_autocheckpoint = 8192; PRAGMA temp_store = MEMORY;
         BEGIN EXCLUSIVE; COMMIT;",
    )
    .map_err(|e| refused(path, &e))?;
    read_back(conn)
}

/// A pragma that is not understood is ignored without a word: so ask.
fn read_back(conn: &Connection) -> Result<(), OpenError> {
    let wanted = [
        ("locking_mode", "exclusive"),
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("foreign_keys", "1"),
    ];
    for (pragma, want) in wanted {
        let got = conn.pragma_query_value(None, pragma, |row| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Integer(n) => n.to_string(),
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                rusqlite::types::ValueRef::Null
                | rusqlite::types::ValueRef::Real(_)
                | rusqlite::types::ValueRef::Blob(_) => String::new(),
            })
        });
        if got.as_deref() != Ok(want) {
            return Err(OpenError::Unsuitable(format!("{pragma} is {got:?}, not {want}")));
        }
    }
    Ok(())
}

fn refused(path: &Path, error: &rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            OpenError::Held(path.to_owned())
        }
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::Foreign(path.to_owned()),
        _ => unwritable(path, error),
    }
}

fn unwritable(path: &Path, problem: &dyn std::fmt::Display) -> OpenError {
    OpenError::Unwritable { path: path.to_owned(), problem: problem.to_string() }
}
