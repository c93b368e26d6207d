//! The journal without its file and its thread, for the simulator, which is both: the schema in
//! memory, the handle with its queue open at the other end, and the writer's own transaction.

use super::files::Files;
use super::history::{self, Audit};
use super::mark::BootId;
use super::rows;
use super::{Attempt, Billing, Durable, Figures, Journal, LaneId, Slot};
use crate::billing::BatchId;
use crate::clock::Clock;
use rusqlite::{Connection, OpenFlags};
use std::sync::Arc;
use tokio::sync::mpsc;

pub(crate) use super::mark::Progress;
pub(crate) use super::writer::{Job, Ran, Write};

/// An empty journal in memory.
pub(crate) fn memory() -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_in_memory_with_flags(flags).unwrap();
    conn.set_prepared_statement_cache_capacity(1024);
    super::files::steady_plans(&conn).unwrap();
    conn.execute_batch(
        "PRAGMA auto_vacuum = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
    )
    .unwrap();
    conn.execute_batch(include_str!("schema.sql")).unwrap();
    conn
}

/// A handle, and its queue.
pub(crate) fn handle(old_copy: bool, clock: Clock) -> (Journal, mpsc::Receiver<Job>) {
    let (jobs, queue) = mpsc::channel(64);
    let figures = Arc::new(Figures::default());
    let files = Files::at(&std::env::temp_dir());
    let (pauses, begun) = (Arc::default(), Arc::new(super::start::Begun::already()));
    let journal =
        Journal { jobs, figures, files, min_free_bytes: 0, old_copy, begun, clock, pauses };
    (journal, queue)
}

/// Runs writes as the writer does, up to the COMMIT. None when the transaction was lost.
pub(crate) fn run(conn: &Connection, writes: Vec<Write>) -> Option<Vec<Ran>> {
    super::writer::run_in_transaction(conn, writes, &super::writer::Real)
}

/// How far a journal has come.
pub(crate) fn progress_of(conn: &Connection) -> Progress {
    Progress::read(conn).unwrap()
}

/// Begins a start of a process, the `number`th.
pub(crate) fn boot(conn: &Connection, number: u128) {
    super::mark::insert_boot(conn, BootId::numbered(number), 0).unwrap();
}

/// Whether a journal is an old copy.
pub(crate) fn is_old(conn: &Connection, mark: Progress) -> bool {
    super::mark::is_old(progress_of(conn), mark)
}

/// What is wrong with the history.
pub(crate) fn audit(conn: &Connection) -> Audit {
    history::audit(conn).unwrap()
}

/// A batch.
pub(crate) fn billing(conn: &Connection, batch: i64) -> Option<Billing> {
    rows::billing(conn, BatchId(batch)).unwrap()
}

/// Every undecided batch.
pub(crate) fn open_slots(conn: &Connection, lane: LaneId) -> Vec<Slot<Durable<Attempt>>> {
    rows::open_slots(conn, lane).unwrap()
}
