//! The directory of a journal. Every history ends as it should for a merchant: audited, backed up, and that
//! backup restored.

use crate::book::config;
use journal::copies;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// The directory.
#[derive(Debug)]
pub struct Room {
    directory: TempDir,
    forged: AtomicBool,
}

impl Room {
    /// An empty one.
    #[expect(clippy::new_without_default, reason = "a directory is made on purpose")]
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), forged: AtomicBool::new(false) }
    }

    /// The journal in it is changed by hand, and will not hold.
    pub fn forge(&self) {
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
            let restored = copies::rehearse_restore(&path, room.path()).unwrap();
            assert_eq!(restored.faults, Vec::<String>::new());
        }
    }
}

/// A file that stands beside another one, whose name it has with this ending.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
