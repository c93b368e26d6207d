//! The disks of a journal, of its mark and of its backups, which may be one.

use crate::sqlite::files::Files;
use config::{BackupPlan, JournalConfig, JournalPlace};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Returns true if one snapshot holds the journal and its mark: once restored, the journal fits its mark, and the
/// start looks ordinary.
pub fn mark_shares_the_disk(place: &JournalPlace) -> bool {
    match place {
        JournalPlace::File(file) => {
            let files = Files::of(file);
            share_a_disk(files.path(), files.mark())
        }
        JournalPlace::Server(_) => false,
    }
}

/// Returns true if the loss of one disk takes both the journal and its backups.
pub fn backups_share_the_disk(file: &JournalConfig, backups: &BackupPlan) -> bool {
    share_a_disk(&file.path, &backups.directory.join("backup"))
}

/// Returns true if the directories of two files are on one disk. If that cannot be told, it is assumed.
fn share_a_disk(one: &Path, other: &Path) -> bool {
    let disk = |file: &Path| {
        let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
        std::fs::metadata(parent.unwrap_or(Path::new("."))).map(|found| found.dev()).ok()
    };
    match (disk(one), disk(other)) {
        (Some(one), Some(other)) => one == other,
        (None, _) | (_, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_on_another_disk_than_the_journal_is_told_from_one_beside_it() {
        let room = tempfile::tempdir().unwrap();
        let shares = |mark: &Path| share_a_disk(&room.path().join("journal.db"), mark);
        assert!(shares(&room.path().join("elsewhere.mark")));
        let device = |path: &Path| std::fs::metadata(path).unwrap().dev();
        let shm = Path::new("/dev/shm");
        assert_ne!(device(shm), device(room.path()), "this machine has two file systems");
        assert!(!shares(&shm.join("journal.mark")));
        assert!(shares(Path::new("/no/such/disk/journal.mark")));
    }
}
