//! The check that a commit would find room for the journal.

use crate::sqlite::files::{Files, Space};
use crate::{Journal, JournalError};

impl Journal {
    /// Checks that a commit would find room; called before anything is signed.
    pub fn ready(&self) -> Result<(), JournalError> {
        if self.files.as_ref().is_some_and(|files| !files.is_in_place()) {
            return Err(JournalError::NotInPlace);
        }
        let space = self.files.as_ref().map(Files::space).transpose();
        match space.map_err(|_| JournalError::Lost)? {
            Some(Space::ReadOnly) => return Err(JournalError::ReadOnly),
            Some(Space::Free(free)) if free < self.min_free_bytes => {
                return Err(JournalError::DiskFull { free, wanted: self.min_free_bytes });
            }
            // A server has a disk of its own, and says so when it is full.
            Some(Space::Free(_)) | None => {}
        }
        if !self.begun.is_written() {
            return Err(JournalError::NoRoom);
        }
        if let Some(trouble) = self.link.as_ref().and_then(|link| link.trouble()) {
            return Err(JournalError::Away(trouble));
        }
        if self.jobs.is_closed() { Err(JournalError::Lost) } else { Ok(()) }
    }

    /// Returns the free room on the file's disk, bytes: 0 if nothing can be written. None if the room cannot be
    /// told.
    pub fn free_bytes(&self) -> Option<u64> {
        match self.files.as_ref()?.space().ok()? {
            Space::ReadOnly => Some(0),
            Space::Free(free) => Some(free),
        }
    }

    /// Below how many free bytes nothing new is taken.
    pub fn min_free_bytes(&self) -> u64 {
        self.min_free_bytes
    }
}
