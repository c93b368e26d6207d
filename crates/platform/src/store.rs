//! The platform's state, in one SQLite database: in memory, or in a file that outlives the process.
//!
//! Blocks are in it too, so that both chains can be made again. Everything that a chain told is in `events` and
//! goes away with the block that told it; the platform reads from there each time it concludes anything about a
//! subscription.

pub(crate) mod blocks;
pub(crate) mod callbacks;
pub(crate) mod events;
pub(crate) mod plans;
pub(crate) mod recharges;
pub(crate) mod subscriptions;
pub(crate) mod users;
pub(crate) mod withdrawals;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OptionalExtension as _, params};
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the file in the state's directory.
const FILE: &str = "platform.sqlite";

/// The name of the file that says by its lock that somebody works on the directory.
const LOCK: &str = "platform.lock";
/// Longest time that the previous user of the directory may take to end.
const PATIENCE: Duration = Duration::from_secs(3);

/// The tables, of version 1.
const SCHEMA: &str = include_str!("store/schema.sql");

/// An error of the database.
pub(crate) type Error = rusqlite::Error;

/// Takes a directory, which is made if it is not there, for this process alone: two platforms that made blocks on one state would
/// leave neither's. The lock is the kernel's, and ends with the process however that ends. None if another process has it.
pub(crate) fn take(directory: &Path) -> std::io::Result<Option<File>> {
    std::fs::create_dir_all(directory)?;
    let file =
        File::options().write(true).create(true).truncate(false).open(directory.join(LOCK))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if began.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(why)) => return Err(why),
        }
    }
}

/// The database.
#[derive(Debug)]
pub(crate) struct Store {
    connection: Mutex<Connection>,
}

impl Store {
    /// Opens the database of a directory; without one, a database in memory.
    pub(crate) fn open(directory: Option<&Path>) -> Result<Self, Error> {
        let connection = match directory {
            Some(directory) => Connection::open(directory.join(FILE))?,
            None => Connection::open_in_memory()?,
        };
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
        )?;
        connection.set_prepared_statement_cache_capacity(128);
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        if version == 0 {
            connection.execute_batch(SCHEMA)?;
        }
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// The connection, while the guard is held. Never held across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock()
    }

    /// A value by name.
    pub(crate) fn get(&self, name: &str) -> Result<Option<String>, Error> {
        setting(&self.lock(), name)
    }

    /// Forgets a value.
    pub(crate) fn forget(&self, name: &str) -> Result<(), Error> {
        self.lock().execute("DELETE FROM settings WHERE name = ?1", [name])?;
        Ok(())
    }

    /// Sets a value by name.
    pub(crate) fn set(&self, name: &str, value: &str) -> Result<(), Error> {
        let upsert = "INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = ?2";
        self.lock().execute(upsert, params![name, value])?;
        Ok(())
    }

    /// A number by name; `usual` if nothing was set.
    pub(crate) fn number(&self, name: &str, usual: u64) -> Result<u64, Error> {
        Ok(self.get(name)?.and_then(|text| text.parse().ok()).unwrap_or(usual))
    }
}

/// Returns true if a directory holds the state of a platform.
pub fn is_founded(directory: &Path) -> bool {
    directory.join(FILE).exists()
}

/// A value by name.
pub(crate) fn setting(connection: &Connection, name: &str) -> Result<Option<String>, Error> {
    connection
        .query_row("SELECT value FROM settings WHERE name = ?1", [name], |row| row.get(0))
        .optional()
}

/// A number as SQLite keeps it.
pub(crate) fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// A number as SQLite gave it.
pub(crate) fn uint(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}
