//! A database that one process has for itself, while others may read it.
//!
//! The mode of SQLite that locks everybody out would lock out backups too. So its connections share the file, and
//! whoever works on a journal holds a lock of the system on the file besides, which those who only copy leave
//! alone. The lock is the file's, not the name's, and ends with the process.

use crate::open_error::{OpenError, unwritable};
use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// The number of tries, and the wait between them, for a process that is just ending.
const TRIES: (u32, Duration) = (100, Duration::from_millis(50));

/// A connection to a database that no other process works on.
#[derive(Debug)]
pub(crate) struct HeldFile {
    conn: Connection,
    /// Let go after the connection is closed, since fields are dropped in this order: closing any descriptor of a
    /// file takes away the locks that SQLite has on it in this process.
    _lock: Lock,
}

impl HeldFile {
    pub(crate) fn new(conn: Connection, lock: Lock) -> Self {
        Self { conn, _lock: lock }
    }

    /// Closes the database, and lets go of it.
    pub(crate) fn close(self) -> rusqlite::Result<()> {
        let Self { conn, .. } = self;
        conn.close().map_err(|(_, problem)| problem)
    }
}

impl Deref for HeldFile {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.conn
    }
}

/// The lock of a database.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the database at `path`, or says who has it.
    pub(crate) fn take(path: &Path) -> Result<Self, OpenError> {
        let problem = |e: std::io::Error| unwritable(path, &e);
        let (most, pause) = TRIES;
        for _ in 0..most {
            let file = File::open(path).map_err(problem)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Another file may have been put in its place since it was opened.
                Ok(()) if stands_at(&file, path).map_err(problem)? => {
                    return Ok(Self { _file: file });
                }
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => sleep(pause),
                Err(other) => return Err(problem(other.into())),
            }
        }
        Err(OpenError::Held(path.to_owned()))
    }
}

/// Returns true if an open file is the one that has this name.
fn stands_at(file: &File, path: &Path) -> std::io::Result<bool> {
    let (open, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that waited for the old file would have a lock on a file that nobody will ever read.
    #[test]
    fn the_lock_is_of_the_file_that_has_the_name_when_it_is_taken() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("journal.db");
        std::fs::write(&path, "old").unwrap();
        let held = Lock::take(&path).unwrap();
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || Lock::take(&path).unwrap()
        });
        // It waits for the old file, which another one takes the place of before it ends.
        sleep(Duration::from_millis(200));
        let new = room.path().join("new");
        std::fs::write(&new, "new").unwrap();
        std::fs::rename(new, &path).unwrap();
        drop(held);
        let _got = waiting.join().unwrap();
        let named = File::open(&path).unwrap();
        let told = flock(&named, FlockOperation::NonBlockingLockExclusive);
        assert_eq!(told, Err(Errno::WOULDBLOCK), "it has the new one");
    }
}
