//! The directory of a journal. Every history ends as it should for a merchant: audited, backed up, and that
//! backup restored.

use super::*;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
pub(super) struct Room {
    directory: TempDir,
    forged: AtomicBool,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), forged: AtomicBool::new(false) }
    }

    /// The journal in it is changed by hand, and will not hold.
    pub(super) fn forge(&self) {
        self.forged.store(true, Ordering::Relaxed);
    }
}

impl Deref for Room {
    type Target = TempDir;

    fn deref(&self) -> &TempDir {
        &self.directory
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let path = config(self).path;
        let looked_at = path.exists() && !self.forged.load(Ordering::Relaxed);
        if looked_at && !std::thread::panicking() {
            let room = tempfile::tempdir().unwrap();
            let restored = Journal::rehearse_restore(&path, room.path()).unwrap();
            assert_eq!(restored.faults, Vec::<String>::new());
        }
    }
}
