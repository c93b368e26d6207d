//! The room that a journal in a file has on its disk.

use crate::JournalError;
use host::disk::{Space, space};
use parking_lot::Mutex;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// Time for which room that was found is not looked for again. The commit fails where there is none.
const FOUND: Duration = Duration::from_secs(1);

/// A file that is open. Another one may come to stand at its path.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile {
    path: PathBuf,
    /// Device and inode. None: the disk does not tell files apart.
    id: Option<(u64, u64)>,
}

impl OpenFile {
    pub(crate) fn new(path: &Path, id: Option<(u64, u64)>) -> Self {
        Self { path: path.to_owned(), id }
    }

    /// Returns true if the file is still the one at its path. A file that was removed or replaced while it is open takes
    /// every write, and nobody will ever read it.
    pub(crate) fn is_in_place(&self) -> bool {
        let found = || std::fs::metadata(&self.path).map(|found| (found.dev(), found.ino()));
        self.id.is_none_or(|open| found().is_ok_and(|found| found == open))
    }
}

/// The room for a journal.
#[derive(Debug, Default)]
pub struct FreeSpace {
    /// None: a server has a disk of its own, and says so when it is full.
    file: Option<OpenFile>,
    min_free_bytes: u64,
    /// The last time that there was room.
    found: Mutex<Option<Instant>>,
}

impl FreeSpace {
    pub(crate) fn around(file: OpenFile, min_free_bytes: u64) -> Self {
        Self { file: Some(file), min_free_bytes, found: Mutex::default() }
    }

    /// The path of the file. None: the journal is on a server.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|file| file.path.as_path())
    }

    /// Makes sure that a commit would find room.
    pub(crate) fn ready(&self) -> Result<(), JournalError> {
        let Some(file) = &self.file else { return Ok(()) };
        if !file.is_in_place() {
            return Err(JournalError::NotInPlace);
        }
        let mut found = self.found.lock();
        if found.is_some_and(|found| found.elapsed() < FOUND) {
            return Ok(());
        }
        *found = None;
        match space(&file.path).map_err(|_| JournalError::Lost)? {
            Space::ReadOnly => Err(JournalError::ReadOnly),
            Space::Free(free) if free < self.min_free_bytes => {
                Err(JournalError::DiskFull { free, wanted: self.min_free_bytes })
            }
            Space::Free(_) => {
                *found = Some(Instant::now());
                Ok(())
            }
        }
    }

    /// Returns the free room on the file's disk, bytes: 0 if nothing can be written. None if the room cannot be
    /// told.
    pub fn free_bytes(&self) -> Option<u64> {
        match space(self.path()?).ok()? {
            Space::ReadOnly => Some(0),
            Space::Free(free) => Some(free),
        }
    }

    /// The number of free bytes below which nothing new is taken.
    pub fn min_free_bytes(&self) -> u64 {
        self.min_free_bytes
    }
}
