//! The open file of a journal. Its writer works on it, and between two transactions a short look-up is answered on
//! the thread that asks: it sees what is committed and nothing else, as it would on the writer's thread.

use crate::job::FileAtRest;
use crate::sql::Database;
use crate::sqlite::held_file::HeldFile;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;

/// The file, and whether look-ups may read it.
#[derive(Debug)]
pub(crate) struct OpenedFile {
    /// None once the writer is gone: the file is closed.
    held: Option<HeldFile>,
    /// False while a transaction may be open, or nobody knows what is on disk.
    at_rest: bool,
}

impl OpenedFile {
    /// The file, from now on for its writer alone.
    pub(crate) fn begin_work(&mut self) -> Option<&HeldFile> {
        self.at_rest = false;
        self.held.as_ref()
    }

    /// Lets look-ups read the file.
    pub(crate) fn rest(&mut self) {
        self.at_rest = true;
    }
}

/// The file as its writer has it: closed when this is dropped.
#[derive(Debug)]
pub(crate) struct OwnedFile(Arc<Mutex<OpenedFile>>);

impl OwnedFile {
    /// A file that no look-up reads yet.
    pub(crate) fn new(held: HeldFile) -> Self {
        Self(Arc::new(Mutex::new(OpenedFile { held: Some(held), at_rest: false })))
    }

    /// Waits for look-ups that read it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, OpenedFile> {
        self.0.lock()
    }

    /// The same file for look-ups.
    pub(crate) fn for_look_ups(&self) -> Arc<dyn FileAtRest> {
        Arc::<Mutex<OpenedFile>>::clone(&self.0)
    }
}

impl Drop for OwnedFile {
    fn drop(&mut self) {
        drop(self.0.lock().held.take());
    }
}

impl FileAtRest for Mutex<OpenedFile> {
    fn read(&self, look: &mut dyn FnMut(&dyn Database)) {
        if let Some(file) = self.try_lock()
            && let Some(held) = file.held.as_ref().filter(|_| file.at_rest)
        {
            look(&**held);
        }
    }
}
