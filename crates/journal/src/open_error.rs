//! Why a journal was not opened.

use crate::sql::SqlError;
use std::path::{Path, PathBuf};

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
    /// There is no file, and no directory that it could be in.
    #[error(
        "there is no journal at {path}: the directory {directory} does not exist. Mount its disk, or correct \
         journal.path; for a new installation run `merchant-signer init` once, which makes it"
    )]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// There is no file, and the mark of one that was there.
    #[error(
        "there was a journal at {path}: its mark {mark} is still there. Mount its disk or restore it \
         (`merchant-signer restore`): a lost journal is the one way left to charge a customer twice. If a new, empty \
         one is meant all the same, take the mark away first"
    )]
    MarkLeft {
        /// The file that is gone.
        path: PathBuf,
        /// Its mark.
        mark: PathBuf,
    },
    /// There is no file, and the log of one that was there.
    #[error(
        "there was a journal at {path}: its log {log} is still there, and may hold charges that are nowhere else. Put \
         the file back beside it, or move the log away if a new, empty journal is meant all the same"
    )]
    LogLeft {
        /// The file that is gone.
        path: PathBuf,
        /// Its log.
        log: PathBuf,
    },
    /// The path is a symbolic link: the log stands beside the file that it leads to.
    #[error("{0} is a symbolic link: name the journal's file itself, beside which its log is")]
    Linked(PathBuf),
    /// The file of the mark is a database.
    #[error("{0} is a database, and no mark of a journal: correct journal.mark_path")]
    MarkIsDatabase(PathBuf),
    /// There is a file already.
    #[error("there is already a file at {0}: a journal is never replaced")]
    Exists(PathBuf),
    /// Another process has it open.
    #[error("another process holds the journal at {0}: one Signer to one journal")]
    Held(PathBuf),
    /// Everybody on this machine can change it.
    #[error(
        "everybody on this machine can write {path} (mode {mode:04o}), and so have charges forgotten: run \
         `chmod o-w` on it"
    )]
    Loose {
        /// The file or its directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file is something else.
    #[error("{0} is not a journal of the Signer")]
    Foreign(PathBuf),
    /// A newer program has written it.
    #[error(
        "the journal at {path} is of version {found}, and this program knows versions up to {known}: \
         start the newer Signer again. Nothing was changed"
    )]
    Newer {
        /// The location.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// It is from before the first version that is kept.
    #[error(
        "the journal at {path} is of version {found}, from before the first version that is kept \
         ({oldest}): let the program that wrote it run until nothing is open, put the file away, make \
         a new journal with `merchant-signer init`, and do not post a period again that the old one \
         has charged. Nothing was changed"
    )]
    Unkept {
        /// The location.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// The oldest version that can be opened.
        oldest: i64,
    },
    /// An older program has written it, and nobody may change it now.
    #[error(
        "the journal at {path} is of version {found}, and this program reads version {known}: start the \
         Signer on it first, which brings it to that version, or use the program that wrote it. Nothing \
         was changed"
    )]
    Older {
        /// The location.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// The version that this program reads.
        known: i64,
    },
    /// Somebody has changed its tables, indices or triggers.
    #[error(
        "the journal at {path} is not as the Signer makes it: it {problem}. Whoever did that could also have \
         released claims: put the newest copy back that there is, and find out who it was. Nothing was \
         changed"
    )]
    Altered {
        /// The location.
        path: PathBuf,
        /// The difference from the journal that the Signer makes.
        problem: String,
    },
    /// The file and its log do not belong together, or one of them is damaged.
    #[error(
        "the journal at {path} is not whole: {problem}. If another copy of it was put in its place, \
         delete {path}-wal and {path}-shm, which belong to the file that was there before, and start \
         again. Otherwise put the newest copy back that there is, without them. Nothing was changed"
    )]
    NotWhole {
        /// The location.
        path: PathBuf,
        /// The mismatch that was found.
        problem: String,
    },
    /// It is of an older version, and its disk is too full to bring it to this one.
    #[error(
        "the journal at {path} is of version {found}, and its disk has no room to bring it to version \
         {known}, without which this program cannot read it: make room, or start the program that wrote \
         it, which follows what is open meanwhile. Nothing was changed"
    )]
    NoRoomToMigrate {
        /// The location.
        path: PathBuf,
        /// The file's version.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// The directory of the mark is gone.
    #[error(
        "the directory of the mark {0} does not exist: mount its disk, or correct journal.mark_path"
    )]
    NoPlaceForMark(PathBuf),
    /// The database library is too old or was built without what is needed.
    #[error("the database does not offer what the journal needs: {0}")]
    Unsuitable(String),
    /// A server keeps the journal, and it cannot be used.
    #[error("the journal at {place} cannot be used: {problem}")]
    Server {
        /// The server and the database.
        place: String,
        /// Why, and what can be done.
        problem: String,
    },
    /// A server keeps the journal, and this program was built without what speaks to one.
    #[error("this build cannot use a journal on a server: it needs the feature `postgres`")]
    NotBuiltIn,
    /// A file is the journal, and this works on one on a server.
    #[error("the journal is a file, and this works on one on a PostgreSQL server: {0}")]
    InFile(&'static str),
    /// A server keeps the journal, and this works on one in a file.
    #[error("the journal is on a PostgreSQL server, and this works on one in a file: {0}")]
    OnServer(&'static str),
    /// A server keeps the journal, and somebody has to make its tables.
    #[error("the journal is on a PostgreSQL server: {0}")]
    NoOwner(&'static str),
    /// The disk is full, read-only or broken, or the permissions do not allow it.
    #[error("the journal at {path} cannot be used: {problem}")]
    Unwritable {
        /// The location.
        path: PathBuf,
        /// The system's message.
        problem: String,
    },
}

impl OpenError {
    /// Why a journal was not opened that is not there.
    pub fn not_there(path: &Path) -> Self {
        match path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() && !directory.is_dir() => {
                Self::NoDirectory { path: path.to_owned(), directory: directory.to_owned() }
            }
            Some(_) | None => Self::Missing(path.to_owned()),
        }
    }
}

/// Returns why a journal was not opened whose statements failed.
pub fn unanswered(path: &Path, error: &SqlError) -> OpenError {
    match error {
        SqlError::Sqlite(error) => refused(path, error),
        SqlError::Server(fault) => {
            OpenError::Server { place: path.display().to_string(), problem: fault.to_string() }
        }
        SqlError::Violates(constraint) => unwritable(path, constraint),
    }
}

/// Returns why a journal was not opened that SQLite refused.
pub(crate) fn refused(path: &Path, error: &rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked) => {
            OpenError::Held(path.to_owned())
        }
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::Foreign(path.to_owned()),
        Some(rusqlite::ErrorCode::DatabaseCorrupt) => {
            OpenError::NotWhole { path: path.to_owned(), problem: error.to_string() }
        }
        _ => unwritable(path, error),
    }
}

/// Returns why a journal was not opened at a place that cannot be used.
pub fn unwritable(path: &Path, problem: &dyn std::fmt::Display) -> OpenError {
    OpenError::Unwritable { path: path.to_owned(), problem: problem.to_string() }
}
