//! How every scenario ends: the journal is audited, backed up, and that backup is restored and audited.

use super::program;
use journal::copies;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// The directory of an installation. Closes the books when the last Signer has left it.
#[derive(Debug)]
pub(super) struct Room {
    directory: TempDir,
    on_server: bool,
    forged: AtomicBool,
}

impl Room {
    pub(super) fn new(directory: TempDir, on_server: bool) -> Arc<Self> {
        Arc::new(Self { directory, on_server, forged: AtomicBool::new(false) })
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    fn close_books(&self) {
        if self.on_server {
            let mut audit = Command::new(program());
            audit.args(["--config", "signer.toml", "audit"]).current_dir(self.path());
            let told = audit.output().unwrap();
            assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
        } else if self.path().join("journal.sqlite").exists() {
            drop(restored(self.path()));
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.forged.load(Ordering::Relaxed) && !std::thread::panicking() {
            self.close_books();
        }
    }
}

/// A restored backup of the journal in a directory, and where it is.
fn restored(directory: &Path) -> TempDir {
    let room = tempfile::tempdir().unwrap();
    let journal = directory.join("journal.sqlite");
    let audit = copies::rehearse_restore(&journal, room.path());
    let audit = audit.unwrap_or_else(|why| panic!("the journal cannot be restored: {why}"));
    assert_eq!(audit.faults, Vec::<String>::new());
    room
}

/// How often a subscription was charged, by a journal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Charged {
    /// What the chain has decided, or a person.
    pub(crate) surely: u128,
    /// What it may decide yet, or never tells.
    pub(crate) perhaps: u128,
}

const BY_SUBSCRIPTION: &str = "
    SELECT subscribe_id, count(*) FILTER (WHERE coalesce(resolved, outcome) = 'charged'),
           count(*) FILTER (WHERE outcome IS NULL OR (outcome = 'unproven' AND resolved IS NULL))
    FROM claim GROUP BY subscribe_id";

impl super::Installation {
    /// The journal will not hold in the end: somebody changes, replaces or removes it behind the Signer's back.
    pub(crate) fn forge(&self) {
        self.directory.forged.store(true, Ordering::Relaxed);
    }

    /// What a restored backup of the journal says of each subscription; nothing where the journal is on a
    /// server, or changed by hand.
    pub(crate) fn books(&self) -> Option<BTreeMap<u64, Charged>> {
        if self.database.is_some() || self.directory.forged.load(Ordering::Relaxed) {
            return None;
        }
        let room = restored(self.path());
        let file = Connection::open(room.path().join("restored.sqlite")).unwrap();
        let mut all = file.prepare(BY_SUBSCRIPTION).unwrap();
        let read = |row: &rusqlite::Row<'_>| {
            let [surely, perhaps] = [row.get::<_, u64>(1)?, row.get(2)?].map(u128::from);
            Ok((row.get(0)?, Charged { surely, perhaps }))
        };
        Some(all.query_map([], read).unwrap().map(Result::unwrap).collect())
    }
}
