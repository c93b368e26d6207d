//! What a journal is kept on: a database, and its high-water mark. The program keeps both in files. A
//! simulated disk keeps them where it likes and fails as it likes; everything above it runs unchanged.

use super::open::{OpenError, refused, unwritable};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::StatVfsMountFlags;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// 3.7.0 to 3.51.2 can corrupt a WAL that is reset. <https://sqlite.org/wal.html>
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long to wait for a process that is just ending to let go of the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is below a journal.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Where it is, for messages.
    fn path(&self) -> &Path;

    /// Makes an empty database where there is none.
    fn create(&self) -> Result<(), OpenError>;

    /// Connects to the database without changing a byte of it.
    fn connect(&self) -> Result<Connection, OpenError>;

    /// Takes the database for this process alone, and makes its commits durable.
    fn hold(&self, conn: &Connection) -> Result<(), OpenError>;

    /// Begins the transaction that waiting writes share.
    fn begin(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("BEGIN IMMEDIATE")
    }

    /// Ends it. After an error nobody knows what is on disk, and the process ends.
    fn commit(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("COMMIT")
    }

    /// The high-water mark as it was written last; none where there is none.
    fn read_mark(&self) -> io::Result<Option<String>>;

    /// Replaces the high-water mark, whole or not at all.
    fn write_mark(&self, text: &str) -> io::Result<()>;

    /// A random name for a start of a process.
    fn boot_id(&self) -> io::Result<[u8; 16]> {
        let mut id = [0; 16];
        getrandom::getrandom(&mut id).map_err(io::Error::other)?;
        Ok(id)
    }

    /// How much room there is.
    fn space(&self) -> io::Result<Space>;
}

/// How much room a storage has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// So many bytes are free.
    Free(u64),
    /// Nothing can be written.
    ReadOnly,
}

/// A file, and its mark in another one beside it: `<journal>.mark`.
#[derive(Clone, Debug)]
pub struct FileStorage {
    path: PathBuf,
    mark: PathBuf,
}

impl FileStorage {
    /// The journal at `path`.
    pub fn at(path: &Path) -> Self {
        let mut mark = OsString::from(path);
        mark.push(".mark");
        Self { path: path.to_owned(), mark: mark.into() }
    }
}

impl Storage for FileStorage {
    fn path(&self) -> &Path {
        &self.path
    }

    fn create(&self) -> Result<(), OpenError> {
        let path = &self.path;
        let problem = |e: &dyn fmt::Display| unwritable(path, e);
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(|e| problem(&e))?;
        }
        let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match made {
            Ok(file) => drop(file),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                return Err(OpenError::Exists(path.to_owned()));
            }
            Err(e) => return Err(problem(&e)),
        }
        Ok(())
    }

    fn connect(&self) -> Result<Connection, OpenError> {
        let path = &self.path;
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(OpenError::Unsuitable(format!(
                "SQLite {} is too old",
                rusqlite::version()
            )));
        }
        if !path.exists() {
            return Err(OpenError::Missing(path.to_owned()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(|e| refused(path, &e))?;
        conn.busy_timeout(PATIENCE).map_err(|e| refused(path, &e))?;
        conn.set_prepared_statement_cache_capacity(64);
        steady_plans(&conn).map_err(|e| refused(path, &e))?;
        conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE;").map_err(|e| refused(path, &e))?;
        Ok(conn)
    }

    fn hold(&self, conn: &Connection) -> Result<(), OpenError> {
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
             PRAGMA wal_autocheckpoint = 8192; PRAGMA temp_store = MEMORY;
             BEGIN EXCLUSIVE; COMMIT;",
        )
        .map_err(|e| refused(&self.path, &e))?;
        read_back(conn)
    }

    fn read_mark(&self) -> io::Result<Option<String>> {
        match std::fs::read_to_string(&self.mark) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn write_mark(&self, text: &str) -> io::Result<()> {
        let next = self.mark.with_extension("mark.next");
        std::fs::write(&next, text)?;
        std::fs::rename(next, &self.mark)
    }

    fn space(&self) -> io::Result<Space> {
        let stat = rustix::fs::statvfs(&self.path)?;
        if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
            return Ok(Space::ReadOnly);
        }
        Ok(Space::Free(stat.f_bavail.saturating_mul(stat.f_frsize)))
    }
}

/// Plans a statement once. Otherwise the planner looks at the values that are bound to it, to see
/// whether a partial index fits them, and with our indices every lookup of a claim is planned anew.
pub(super) fn steady_plans(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
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
