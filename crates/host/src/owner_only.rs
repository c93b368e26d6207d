//! The check that a file is its owner's alone: made for every file that holds a secret.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

/// The permission bits of group and others.
const OTHERS: u32 = 0o077;
/// The same without reading by the group. Kubernetes mounts secrets as root's with mode 0440 and the
/// pod's own group; nobody but root can have put the file there or change it.
const OTHERS_OF_ROOT: u32 = 0o037;
const ROOT: u32 = 0;

/// Why a file is not its owner's alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Looseness {
    /// It is a directory, a FIFO or a device.
    #[error("the file is no regular file")]
    NotAFile,
    /// It belongs to another user than this process or root.
    #[error("the file belongs to user {owner}, and this process is user {user}")]
    WrongOwner {
        /// The owner.
        owner: u32,
        /// The user who asks.
        user: u32,
    },
    /// Group or others may read or write it; of root's, others may, or the group may write.
    #[error("others can read or change the file (mode {mode:04o}); run `chmod 600` on it")]
    TooOpen {
        /// Its mode.
        mode: u32,
    },
}

/// Makes a file that nobody else may read, for what concerns customers. One that is there is not replaced.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Checks a file that was opened.
pub fn check(file: &Metadata) -> Result<(), Looseness> {
    if !file.is_file() {
        return Err(Looseness::NotAFile);
    }
    let user = rustix::process::geteuid().as_raw();
    if file.uid() != user && file.uid() != ROOT {
        return Err(Looseness::WrongOwner { owner: file.uid(), user });
    }
    let closed_to = if user != ROOT && file.uid() == ROOT { OTHERS_OF_ROOT } else { OTHERS };
    if file.mode() & closed_to != 0 {
        return Err(Looseness::TooOpen { mode: file.mode() & 0o7777 });
    }
    Ok(())
}

/// The mode of a file or directory in which everybody may write, unless only what is their own.
pub fn open_to_everybody(place: &Metadata) -> Option<u32> {
    let (everybody, sticky) = (0o002, 0o1000);
    let mode = place.mode() & 0o7777;
    (mode & everybody != 0 && (place.is_file() || mode & sticky == 0)).then_some(mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_about_customers_is_its_owners_alone_and_replaces_none() {
        let room = tempfile::tempdir().unwrap();
        let path = room.path().join("claims.jsonl");
        let made = create(&path).unwrap().metadata().unwrap();
        assert_eq!(made.mode() & 0o7777, 0o600);
        assert_eq!(create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
