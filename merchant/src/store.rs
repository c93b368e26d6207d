//! A SQLite file that belongs to one process, with commits that are on disk when they return.

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error;

/// 3.7.0 to 3.51.2 can corrupt a WAL that is reset. <https://sqlite.org/wal.html>
const OLDEST_SQLITE: i32 = 3_051_003;
/// Time to wait for somebody who reads the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The kind of a file, and its schema.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Name of such a file in messages.
    pub(crate) name: &'static str,
    /// Marks the file as one of these.
    pub(crate) application_id: i64,
    /// The version of the schema.
    pub(crate) version: i64,
    /// Makes the tables.
    pub(crate) schema: &'static str,
    /// Makes the indexes that are not there. They say nothing that the tables do not, so that they may
    /// change without a new version.
    pub(crate) indexes: &'static str,
}

/// Why a store cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another process works on it.
    #[error("another process holds {0}: only one may work on it")]
    Held(PathBuf),
    /// The file is something else, or of another version.
    #[error("{path} is no {name} of this version")]
    Foreign {
        /// The location.
        path: PathBuf,
        /// The kind of file that should be there.
        name: &'static str,
    },
    /// There is no file.
    #[error("there is no {name} at {path}")]
    Missing {
        /// The expected location.
        path: PathBuf,
        /// The kind of file that should be there.
        name: &'static str,
    },
    /// The database library is too old, or does not do as it is told.
    #[error("the database does not offer what is needed: {0}")]
    Unsuitable(String),
    /// The file system refused.
    #[error("{path} cannot be used: {why}")]
    File {
        /// The location.
        path: PathBuf,
        /// The system's message.
        why: io::Error,
    },
    /// The database refused. Data that was being written may or may not be on disk: end the process, and the next
    /// one reads the data that is there.
    #[error("the database failed: {0}")]
    Database(#[from] rusqlite::Error),
}

/// An open store. Dropping it lets the next process in.
#[derive(Debug)]
pub(crate) struct Store {
    conn: Connection,
    /// The lock is the kernel's: it ends with the process, however the process ends.
    _lock: Option<File>,
}

impl Store {
    /// Opens the store for this process alone, and makes it if there is none.
    pub(crate) fn open(path: &Path, shape: &Shape) -> Result<Self, StoreError> {
        let failed = |why| StoreError::File { path: path.to_owned(), why };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let lock = lock(path)?;
        let conn = connect(path)?;
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        durable(&conn)?;
        if is_new(&conn)? {
            conn.execute_batch(&format!(
                "BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT;",
                shape.schema, shape.application_id, shape.version
            ))?;
            // The names of the new files must survive a power cut, too.
            let folder = folder.unwrap_or(Path::new("."));
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        same_shape(&conn, path, shape)?;
        conn.execute_batch(shape.indexes)?;
        Ok(Self { conn, _lock: Some(lock) })
    }

    /// Opens an existing store beside the process that works on it: to read, and for small changes
    /// that the worker expects.
    pub(crate) fn beside(path: &Path, shape: &Shape) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned(), name: shape.name });
        }
        let conn = connect(path)?;
        conn.execute_batch("PRAGMA synchronous = FULL;")?;
        same_shape(&conn, path, shape)?;
        Ok(Self { conn, _lock: None })
    }

    /// For reading.
    pub(crate) fn conn(&self) -> &Connection {
        &self.conn
    }

    /// Runs `work` in one transaction. When this returns `Ok` its changes are on disk; when `work`
    /// fails there are none.
    pub(crate) fn write<T>(
        &mut self,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let transaction = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    }
}

/// Locks the file itself, so that no stray lock file can be deleted or left behind.
fn lock(path: &Path) -> Result<File, StoreError> {
    let failed = |why| StoreError::File { path: path.to_owned(), why };
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Held(path.to_owned())),
        Err(TryLockError::Error(why)) => Err(failed(why)),
    }
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        return Err(StoreError::Unsuitable(format!("SQLite {} is too old", rusqlite::version())));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(PATIENCE)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON;")?;
    Ok(conn)
}

/// Reads back what makes a commit durable: a pragma that is not obeyed says nothing.
fn durable(conn: &Connection) -> Result<(), StoreError> {
    let mode: String = conn.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    let synchronous: i64 = conn.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if (mode.as_str(), synchronous) == ("wal", 2) {
        return Ok(());
    }
    let found = format!("journal_mode is {mode} and synchronous {synchronous}, not wal and 2");
    Err(StoreError::Unsuitable(found))
}

fn is_new(conn: &Connection) -> Result<bool, StoreError> {
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0)
}

fn same_shape(conn: &Connection, path: &Path, shape: &Shape) -> Result<(), StoreError> {
    let id: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if (id, version) == (shape.application_id, shape.version) {
        Ok(())
    } else {
        Err(StoreError::Foreign { path: path.to_owned(), name: shape.name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: Shape = Shape {
        name: "test store",
        application_id: 77,
        version: 1,
        schema: "CREATE TABLE t (x INTEGER) STRICT;",
        indexes: "CREATE INDEX IF NOT EXISTS i ON t (x);",
    };

    #[test]
    fn one_worker_and_readers_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/store.db");
        assert!(matches!(Store::beside(&path, &SHAPE), Err(StoreError::Missing { .. })));
        let mut store = Store::open(&path, &SHAPE).unwrap();
        assert!(matches!(Store::open(&path, &SHAPE), Err(StoreError::Held(_))));
        store.write(|t| t.execute("INSERT INTO t VALUES (7)", []).map(drop)).unwrap();
        let count = |store: &Store| -> i64 {
            store.conn().query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count(&Store::beside(&path, &SHAPE).unwrap()), 1);
        let refused = store.write(|t| {
            t.execute("INSERT INTO t VALUES (8)", [])?;
            t.execute("INSERT INTO nowhere VALUES (8)", []).map(drop)
        });
        assert!(refused.is_err());
        drop(store);
        let store = Store::open(&path, &SHAPE).unwrap();
        assert_eq!(count(&store), 1, "a transaction that fails leaves nothing");
        drop(store);
        let other = Shape { version: 2, ..SHAPE };
        assert!(matches!(Store::open(&path, &other), Err(StoreError::Foreign { .. })));
    }
}
