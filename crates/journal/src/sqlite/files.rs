//! The files of a journal: the database, and its high-water mark beside it.

use crate::free_space::OpenFile;
use crate::open_error::{OpenError, refused, unwritable};
use crate::sqlite::held_file::{HeldFile, Lock};
use crate::sqlite::log_at_close::{LogAtClose, when_closed};
use config::JournalConfig;
use host::owner_only::open_to_everybody;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// 3.7.0 to 3.51.2 can corrupt a WAL that is reset. <https://sqlite.org/wal.html>
const OLDEST_SQLITE: i32 = 3_051_003;
/// The first bytes of a database. <https://sqlite.org/fileformat.html>
const DATABASE: &[u8; 16] = b"SQLite format 3\0";
/// The time to wait for another connection to let go of the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// A database in a file, and its mark in another one: `<journal>.mark`, unless it is kept elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    path: PathBuf,
    mark: PathBuf,
    /// The file that is open, by device and inode: another one may come to stand at `path`.
    open: Option<(u64, u64)>,
}

impl Files {
    /// The journal at `path`.
    pub(crate) fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), mark: beside(path, ".mark"), open: None }
    }

    /// The journal that is configured.
    pub(crate) fn of(config: &JournalConfig) -> Self {
        let mark = config.mark_path.clone();
        Self {
            mark: mark.unwrap_or_else(|| Self::at(&config.path).mark),
            path: config.path.clone(),
            open: None,
        }
    }

    /// The same files, the database being open: from now on it is known which one that is.
    pub(crate) fn opened(self) -> Result<Self, OpenError> {
        let found = std::fs::metadata(&self.path).map_err(|e| unwritable(&self.path, &e))?;
        Ok(Self { open: Some((found.dev(), found.ino())), ..self })
    }

    /// The database, as it was opened.
    pub(crate) fn open_file(&self) -> OpenFile {
        OpenFile::new(&self.path, self.open)
    }

    /// Returns true if the last process did not close the database: then not all of it is in the one file.
    pub(crate) fn is_unclosed(&self) -> bool {
        std::fs::metadata(beside(&self.path, "-wal")).is_ok_and(|log| log.len() > 0)
    }

    /// Finds the place of the mark, which is there for as long as its disk is. A mark beside the journal is on the
    /// journal's disk.
    pub(crate) fn find_mark(&self) -> Result<(), OpenError> {
        if self.mark != Self::at(&self.path).mark {
            find_place_for_mark(&self.mark)?;
        }
        let mut begin = [0; DATABASE.len()];
        let read = File::open(&self.mark).and_then(|mut mark| mark.read_exact(&mut begin));
        if read.is_ok() && begin == *DATABASE {
            return Err(OpenError::MarkIsDatabase(self.mark.clone()));
        }
        Ok(())
    }

    /// Returns the path of the mark.
    pub(crate) fn mark(&self) -> &Path {
        &self.mark
    }

    /// Returns the path of the database.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Refuses a place where the mark tells of a journal that is gone.
    pub(crate) fn refuse_left_mark(&self) -> Result<(), OpenError> {
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        if is_there(&self.path) || !is_there(&self.mark) {
            return Ok(());
        }
        Err(OpenError::MarkLeft { path: self.path.clone(), mark: self.mark.clone() })
    }

    /// Refuses a place where the log of a journal that is gone is left: SQLite would take it away, or take it for the log
    /// of another.
    pub(crate) fn refuse_left_log(&self) -> Result<(), OpenError> {
        if self.path.symlink_metadata().is_ok() || !self.is_unclosed() {
            return Ok(());
        }
        Err(OpenError::LogLeft { path: self.path.clone(), log: beside(&self.path, "-wal") })
    }

    /// Makes an empty file where there is none, in a directory that is made for it where there is none either.
    pub(crate) fn create(&self) -> Result<(), OpenError> {
        let path = &self.path;
        if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
            let closed = DirBuilder::new().recursive(true).mode(0o700).create(parent);
            closed.map_err(|e| unwritable(path, &e))?;
        }
        make(path).map_err(|e| {
            let exists = e.kind() == io::ErrorKind::AlreadyExists;
            if exists { OpenError::Exists(path.to_owned()) } else { unwritable(path, &e) }
        })
    }

    /// The same journal as it is called while nobody knows whether it is whole.
    pub(crate) fn unfinished(&self) -> Self {
        Self { path: beside(&self.path, ".part"), mark: self.mark.clone(), open: None }
    }

    /// Takes the database away, with its log.
    pub(crate) fn remove(&self) {
        for path in [self.path.clone(), beside(&self.path, "-wal"), beside(&self.path, "-shm")] {
            std::fs::remove_file(path).ok();
        }
    }

    /// Gives a database that is whole and closed its name, durably. None is replaced.
    pub(crate) fn finish(&self, part: &Self) -> Result<(), OpenError> {
        let (path, problem) = (&self.path, |e: io::Error| unwritable(&self.path, &e));
        File::open(&part.path).and_then(|file| file.sync_all()).map_err(problem)?;
        match give_name(&part.path, path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                Err(OpenError::Exists(path.clone()))
            }
            named => named.map_err(problem),
        }
    }

    /// Connects to the database for this process alone, without changing a byte of it.
    pub(crate) fn connect(&self) -> Result<HeldFile, OpenError> {
        self.refuse_unfit()?;
        let lock = Lock::take(&self.path)?;
        let conn = self.shared().map_err(|e| refused(&self.path, &e))?;
        // A full disk has no room for the file (`-shm`) by which connections share a log. Without sharing none is
        // needed: then no backup can be made until the next start.
        let conn = if look(&conn).is_err_and(|e| is_without_room(&e)) {
            drop(conn);
            let alone = self.shared().and_then(|conn| {
                conn.execute_batch("PRAGMA locking_mode = EXCLUSIVE;").map(|()| conn)
            });
            alone.map_err(|e| refused(&self.path, &e))?
        } else {
            conn
        };
        Ok(HeldFile::new(conn, lock))
    }

    /// A database that is there, that not everybody can write, and a library that can be trusted with it.
    fn refuse_unfit(&self) -> Result<(), OpenError> {
        if rusqlite::version_number() < OLDEST_SQLITE {
            return Err(OpenError::Unsuitable(format!(
                "SQLite {} is too old",
                rusqlite::version()
            )));
        }
        if self.path.is_symlink() {
            return Err(OpenError::Linked(self.path.clone()));
        }
        let Ok(file) = std::fs::metadata(&self.path) else {
            return Err(OpenError::not_there(&self.path));
        };
        self.refuse_where_everybody_writes(&file)
    }

    /// A connection beside whatever others there are.
    fn shared(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(&self.path, flags)?;
        conn.busy_timeout(PATIENCE)?;
        conn.set_prepared_statement_cache_capacity(64);
        steady_plans(&conn)?;
        // Until it is known that the file and its log belong together, neither is changed.
        when_closed(&conn, LogAtClose::Kept)?;
        Ok(conn)
    }

    /// Refuses a file that everybody can write or replace: such a writer can have claims forgotten.
    fn refuse_where_everybody_writes(&self, file: &Metadata) -> Result<(), OpenError> {
        let directory = self.path.parent().filter(|directory| !directory.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let place = std::fs::metadata(directory).map_err(|e| unwritable(directory, &e))?;
        for (path, found) in [(self.path.as_path(), file), (directory, &place)] {
            if let Some(mode) = open_to_everybody(found) {
                return Err(OpenError::Loose { path: path.to_owned(), mode });
            }
        }
        Ok(())
    }

    /// Connects to a database that is only to be read, and that no other process works on. If nothing may be
    /// written beside the database, it must have been closed.
    pub(crate) fn connect_to_read(&self) -> Result<HeldFile, OpenError> {
        self.refuse_unfit()?;
        let lock = Lock::take(&self.path)?;
        let conn = self.connect_beside()?;
        self.tidy(&conn)?;
        Ok(HeldFile::new(conn, lock))
    }

    /// The same, whoever works on it meanwhile.
    pub(crate) fn connect_beside(&self) -> Result<Connection, OpenError> {
        self.refuse_unfit()?;
        let unclosed = self.is_unclosed();
        let conn = self.shared().map_err(|e| refused(&self.path, &e))?;
        match look(&conn) {
            Ok(()) => Ok(conn),
            Err(e) if !unclosed && writes_nothing(&e) => self.connect_to_the_file_alone(),
            Err(e) => Err(refused(&self.path, &e)),
        }
    }

    /// Has an empty log taken away again when the connection is closed. One that holds something stays as it is.
    pub(crate) fn tidy(&self, conn: &Connection) -> Result<(), OpenError> {
        let log = if self.is_unclosed() { LogAtClose::Kept } else { LogAtClose::Merged };
        when_closed(conn, log).map_err(|e| refused(&self.path, &e))
    }

    /// No lock is taken and no log is read: right for a closed file that nobody can write, and to see what a
    /// file holds without its log.
    pub(crate) fn connect_to_the_file_alone(&self) -> Result<Connection, OpenError> {
        let path = std::path::absolute(&self.path).map_err(|e| unwritable(&self.path, &e))?;
        let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f");
        let uri = format!("file:{}?immutable=1", path.replace('#', "%23"));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let conn = Connection::open_with_flags(uri, flags);
        conn.map_err(|e| refused(&self.path, &e))
    }

    /// Makes the commits of the database durable.
    pub(crate) fn hold(&self, conn: &Connection) -> Result<(), OpenError> {
        conn.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
             PRAGMA wal_autocheckpoint = 8192; PRAGMA temp_store = MEMORY;
             BEGIN EXCLUSIVE; COMMIT;",
        )
        .map_err(|e| refused(&self.path, &e))?;
        read_back(conn)
    }

    /// The high-water mark as it was written last; none where there is none.
    pub(crate) fn read_mark(&self) -> io::Result<Option<String>> {
        match std::fs::read_to_string(&self.mark) {
            Ok(text) => Ok(Some(text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Replaces the high-water mark, whole or not at all.
    pub(crate) fn write_mark(&self, text: &str) -> io::Result<()> {
        let next = self.mark.with_extension("mark.next");
        std::fs::write(&next, text)?;
        std::fs::rename(next, &self.mark)
    }

    /// Takes the high-water mark away, if there is one.
    pub(crate) fn remove_mark(&self) -> io::Result<()> {
        match std::fs::remove_file(&self.mark) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Reads the first page, by which a database tells that it is one.
fn look(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_query_value(None, "schema_version", |_| Ok(()))
}

/// Returns true if nothing can be written beside the file.
fn writes_nothing(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen)) || is_without_room(error)
}

fn is_without_room(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|e| e.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}

/// Makes an empty file for its owner alone, where there is none.
pub(crate) fn make(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map(drop)
}

/// Gives a file that is whole its name, durably. None is replaced.
pub(crate) fn give_name(part: &Path, to: &Path) -> io::Result<()> {
    renameat_with(CWD, part, CWD, to, RenameFlags::NOREPLACE)?;
    let directory = to.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// A mark is kept where its directory is there.
pub fn find_place_for_mark(mark: &Path) -> Result<(), OpenError> {
    match mark.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => {
            Err(OpenError::NoPlaceForMark(mark.to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

/// A file beside the database.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Plans a statement once. Otherwise the planner looks at the values that are bound to it, to see
/// whether a partial index fits them, and with our indices every lookup of a claim is planned anew.
fn steady_plans(conn: &Connection) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// A pragma that is not understood is ignored without a word: so ask.
fn read_back(conn: &Connection) -> Result<(), OpenError> {
    let wanted = [("journal_mode", "wal"), ("synchronous", "2"), ("foreign_keys", "1")];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Journal;

    /// Nothing can be written there, not even a lock: the path is part of a URI.
    #[test]
    fn what_cannot_change_is_read_under_any_name() {
        let room = tempfile::tempdir().unwrap();
        let directory = room.path().join("of 50%25, a?mode=rwc#b & c");
        std::fs::create_dir(&directory).unwrap();
        let path = directory.join("journal.db");
        Journal::initialise(&path).unwrap();
        let conn = Files::at(&path).connect_to_the_file_alone().unwrap();
        let tables: i64 =
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert!(tables > 5);
        conn.execute_batch("DELETE FROM history").unwrap_err();
        let beside: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
        drop(conn);
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), beside.len());
    }
}
