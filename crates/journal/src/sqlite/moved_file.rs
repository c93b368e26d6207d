//! The file's side of a journal that moves to another store, or comes from one.

use crate::open_error::{OpenError, unwritable};
use crate::sql::SqlResult;
use crate::sqlite::disk::Real;
use crate::sqlite::file_mark::{self, HighWaterMark};
use crate::sqlite::files::Files;
use crate::sqlite::held_file::HeldFile;
use crate::sqlite::log_at_close::{LogAtClose, when_closed};
use crate::sqlite::open;
use config::JournalConfig;
use host::clock::Clock;
use rusqlite::Connection;
use std::fmt::Display;
use std::io;

/// A journal in a file that is to be copied elsewhere. No other process has it meanwhile.
#[derive(Debug)]
pub struct FileToMove {
    files: Files,
    file: HeldFile,
}

impl FileToMove {
    /// Opens the journal that is configured.
    pub fn open(from: &JournalConfig) -> Result<Self, OpenError> {
        let files = Files::of(from);
        files.find_mark()?;
        let file = open::open(&files)?.conn;
        Ok(Self { files, file })
    }

    /// Returns true if its mark contradicts it, or is missing.
    pub fn is_old_copy(&self) -> SqlResult<bool> {
        HighWaterMark::of(self.files.clone(), Clock::MACHINE).is_contradicted_by(&*self.file)
    }

    /// The file.
    pub fn connection(&self) -> &Connection {
        &self.file
    }

    /// Takes its mark away, if there is one: a process that starts on the file again takes it for an old copy.
    pub fn remove_mark(&self) -> io::Result<()> {
        self.files.remove_mark()
    }
}

/// The place of a file that a journal from elsewhere is to be copied to.
#[derive(Debug)]
pub struct PlaceForFile(Files);

impl PlaceForFile {
    /// The place that is configured, where there is no file.
    pub fn find(to: &JournalConfig) -> Result<Self, OpenError> {
        let files = Files::of(to);
        files.find_mark()?;
        if to.path.symlink_metadata().is_ok() {
            return Err(OpenError::Exists(to.path.clone()));
        }
        files.refuse_left_log()?;
        Ok(Self(files))
    }

    /// Makes the file there, with tables that hold nothing. It has no name until it is whole. A part that an earlier
    /// copy left is replaced.
    pub fn begin(self) -> Result<MovedFile, OpenError> {
        let part = self.0.unfinished();
        part.remove();
        part.create()?;
        let file = open::empty(&part)?;
        Ok(MovedFile { files: self.0, part, file })
    }
}

/// A file that is being filled with a journal from elsewhere.
#[derive(Debug)]
pub struct MovedFile {
    files: Files,
    part: Files,
    file: HeldFile,
}

impl MovedFile {
    /// The file.
    pub fn connection(&self) -> &Connection {
        &self.file
    }

    /// Writes its first start and its mark, and gives the file its name.
    pub fn finish(self) -> Result<(), OpenError> {
        let Self { files, part, file } = self;
        let problem = |e: &dyn Display| unwritable(files.path(), e);
        let now_ms = Clock::MACHINE.unix_ms();
        file_mark::first(&*file, &files, &Real, now_ms).map_err(|e| problem(&e))?;
        when_closed(&file, LogAtClose::Merged).map_err(|e| problem(&e))?;
        file.close().map_err(|e| problem(&e))?;
        files.finish(&part)
    }
}

/// The tables of a journal in a file, in the order in which they are made: none refers to a later one.
pub fn tables(file: &Connection) -> SqlResult<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
               ORDER BY rowid";
    let mut select = file.prepare(sql)?;
    let names = select.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// The columns of a table of a journal in a file.
pub fn columns(file: &Connection, table: &str) -> SqlResult<Vec<String>> {
    let mut select = file.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let names = select.query_map([table], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}
