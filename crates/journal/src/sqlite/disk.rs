//! The disk of a journal in a file, which a simulation swaps.

use rusqlite::Connection;
use std::{fmt, io};

/// The begin and the end of a transaction on disk. The program's disk uses the database's own; a simulated disk may
/// be full, or end a commit with neither yes nor no.
pub trait Disk: fmt::Debug + Send {
    /// Begins a transaction. An error means that nothing will be written.
    fn begin(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("BEGIN IMMEDIATE")
    }

    /// Makes a transaction durable. After an error nobody knows what is on disk.
    fn commit(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("COMMIT")
    }

    /// Begins the transaction of a process's start, the first of all.
    fn start(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.execute_batch("BEGIN")
    }

    /// Returns true if another file in the place of the open one is recognized as another.
    fn tells_files_apart(&self) -> bool {
        true
    }

    /// A random id for a start of a process.
    fn boot_id(&self) -> io::Result<[u8; 16]> {
        let mut id = [0; 16];
        getrandom::getrandom(&mut id).map_err(io::Error::other)?;
        Ok(id)
    }
}

/// The machine's disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Real;

impl Disk for Real {}
