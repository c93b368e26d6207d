//! The webhook's progress through the feed, and the events that its receiver did not take: in a small file of its
//! own, `<journal>.webhook`, so that the journal's commits have nothing to do with it.

use config::JournalPlace;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

/// An event that the receiver did not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntakenEvent {
    /// Its place in the feed.
    pub cursor: String,
    /// The body that was posted.
    pub body: String,
    /// When it was set aside, Unix ms.
    pub at_ms: i64,
    /// The last answer.
    pub why: String,
}

/// The file.
#[derive(Clone, Debug)]
pub struct Outbox(Arc<Mutex<Connection>>);

impl Outbox {
    /// Opens it, and makes it where there is none.
    pub fn open(journal: &JournalPlace) -> rusqlite::Result<Self> {
        let path = journal.beside(".webhook");
        make(&path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.execute_batch(
            "PRAGMA synchronous = FULL;
             CREATE TABLE IF NOT EXISTS told (id INTEGER PRIMARY KEY CHECK (id = 1), cursor TEXT NOT NULL) STRICT;
             CREATE TABLE IF NOT EXISTS set_aside (
                 seq INTEGER PRIMARY KEY, cursor TEXT NOT NULL UNIQUE, body TEXT NOT NULL,
                 at_ms INTEGER NOT NULL, why TEXT NOT NULL, again INTEGER NOT NULL DEFAULT 0
             ) STRICT;",
        )?;
        Ok(Self(Arc::new(Mutex::new(conn))))
    }

    /// The place of the last event that is done with; none where none ever was.
    pub fn place(&self) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT cursor FROM told";
        self.0.lock().query_row(sql, [], |row| row.get(0)).optional()
    }

    /// Everything up to `cursor` is done with.
    pub fn move_to(&self, cursor: &str) -> rusqlite::Result<()> {
        move_to(&self.0.lock(), cursor)
    }

    /// An event is set aside, and so done with for now.
    pub fn set_aside(&self, event: &UntakenEvent) -> rusqlite::Result<()> {
        let mut conn = self.0.lock();
        let both = conn.transaction()?;
        both.execute(
            "INSERT OR REPLACE INTO set_aside (cursor, body, at_ms, why) VALUES (?1, ?2, ?3, ?4)",
            params![event.cursor, event.body, event.at_ms, event.why],
        )?;
        move_to(&both, &event.cursor)?;
        both.commit()
    }

    /// Returns the events that are set aside, oldest first.
    pub fn all_set_aside(&self) -> rusqlite::Result<Vec<UntakenEvent>> {
        events(&self.0.lock(), "SELECT cursor, body, at_ms, why FROM set_aside ORDER BY seq")
    }

    /// Has what was set aside sent again: one event, or all. Tells how many.
    pub fn replay(&self, cursor: Option<&str>) -> rusqlite::Result<usize> {
        let sql = "UPDATE set_aside SET again = 1 WHERE ?1 IS NULL OR cursor = ?1";
        self.0.lock().execute(sql, [cursor])
    }

    /// The oldest event that is to be sent again.
    pub fn to_replay(&self) -> rusqlite::Result<Option<UntakenEvent>> {
        let sql =
            "SELECT cursor, body, at_ms, why FROM set_aside WHERE again = 1 ORDER BY seq LIMIT 1";
        Ok(events(&self.0.lock(), sql)?.pop())
    }

    /// It was taken.
    pub fn taken(&self, cursor: &str) -> rusqlite::Result<()> {
        self.0.lock().execute("DELETE FROM set_aside WHERE cursor = ?1", [cursor]).map(drop)
    }

    /// It was not taken this time either.
    pub fn still_aside(&self, cursor: &str, why: &str) -> rusqlite::Result<()> {
        let sql = "UPDATE set_aside SET again = 0, why = ?2 WHERE cursor = ?1";
        self.0.lock().execute(sql, [cursor, why]).map(drop)
    }
}

fn move_to(conn: &Connection, cursor: &str) -> rusqlite::Result<()> {
    conn.execute("INSERT OR REPLACE INTO told (id, cursor) VALUES (1, ?1)", [cursor]).map(drop)
}

fn events(conn: &Connection, sql: &str) -> rusqlite::Result<Vec<UntakenEvent>> {
    let mut select = conn.prepare_cached(sql)?;
    let read = select.query_map([], |row| {
        Ok(UntakenEvent {
            cursor: row.get(0)?,
            body: row.get(1)?,
            at_ms: row.get(2)?,
            why: row.get(3)?,
        })
    })?;
    read.collect()
}

/// Its owner's alone, before anything is in it.
fn make(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    // One that is there already is opened as it is.
    options.write(true).create_new(true).mode(0o600).open(path).ok();
}
