//! Why a journal was not copied, and the care for files that are left.

use crate::copies::copy_contents::SeenCopy;
use crate::open_error::OpenError;
use crate::sqlite::files::beside;
use std::io;
use std::path::{Path, PathBuf};

/// Why a journal was not copied, or a copy not put in place. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum NotCopied {
    /// There is something in its place.
    #[error(
        "there is already a file at {0}, and no copy ever replaces one: move it elsewhere, and keep it"
    )]
    InPlace(PathBuf),
    /// The copy could not be made.
    #[error("the journal could not be copied: {0}")]
    Fault(#[from] rusqlite::Error),
    /// The process that makes it ends.
    #[error("the copy was not finished, because this process ends")]
    Stopped,
    /// The copy is not a journal that can be used.
    #[error(transparent)]
    Unusable(#[from] OpenError),
    /// The copy contradicts itself.
    #[error("the copy is not kept, because it does not hold: {}", .0.join("; "))]
    Faulty(Vec<String>),
    /// A directory was named: the journals in it, the longest first.
    #[error(
        "nothing was put in place: {} is a directory. Name the one that is meant: of one history the first, which \
         goes furthest\n{}",
        directory.display(), shown(seen)
    )]
    Listed {
        /// The directory.
        directory: PathBuf,
        /// The journals.
        seen: Vec<SeenCopy>,
    },
    /// There is none of that name.
    #[error(
        "there is no file at {0}: name a backup, or a directory (journal.backup_dir) to have the backups in it listed"
    )]
    NoCopy(PathBuf),
    /// A directory has none.
    #[error(
        "there is no backup of a journal in {0}: name the directory that they are in, or a backup"
    )]
    None(PathBuf),
    /// There is no directory for the copy.
    #[error("{to} cannot be made: there is no directory {directory}. Mount its disk, or make it")]
    NoDirectory {
        /// The copy.
        to: PathBuf,
        /// Its directory.
        directory: PathBuf,
    },
    /// The system does not allow it.
    #[error("{path}: {problem}")]
    Io {
        /// The location.
        path: PathBuf,
        /// The answer that was given.
        problem: io::Error,
    },
}

fn shown(copies: &[SeenCopy]) -> String {
    copies.iter().map(|copy| format!("  {copy}")).collect::<Vec<_>>().join("\n")
}

/// Takes away a database and what SQLite has written beside it.
pub(crate) fn remove_all(path: &Path) {
    for ending in ["", "-journal", "-wal", "-shm"] {
        remove(&beside(path, ending));
    }
}

/// Of a file that may not be there, and is in nobody's way if it stays.
pub(crate) fn remove(path: &Path) {
    std::fs::remove_file(path).ok();
}

pub(crate) fn at(path: &Path) -> impl FnOnce(io::Error) -> NotCopied {
    let path = path.to_owned();
    move |problem| NotCopied::Io { path, problem }
}
