//! Files that only their owner may see: read with a check, created closed, never overwritten.
//!
//! Knows nothing of keys; whatever passes through is held in buffers that are wiped.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::error::KeyError;
use host::owner_only::{self, Looseness};

/// Reads a file of at most `limit_bytes`, after checking on the open file that it is a regular
/// one, belongs to this user or root, and is closed to everybody else; only a file of root's may be
/// read by its group. Links are followed, so it is their target that is checked.
pub fn read(path: &Path, key: &str, limit_bytes: usize) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let unreadable =
        |source| KeyError::Unreadable { key: key.to_owned(), path: path.into(), source };
    // not blocking: a FIFO in place of the file must not hang the start
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let mut file =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(unreadable)?;
    check(&file.metadata().map_err(unreadable)?, path, key)?;

    // one byte more than allowed, in a buffer that never grows: growing would leave copies
    let mut buffer = Zeroizing::new(vec![0; limit_bytes.saturating_add(1)]);
    let mut length = 0_usize;
    while let Some(room) = buffer.get_mut(length..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) => break,
            Ok(read) => length = length.saturating_add(read),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    if length > limit_bytes {
        return Err(KeyError::TooLong { key: key.to_owned(), path: path.into(), limit_bytes });
    }
    buffer.truncate(length);
    Ok(buffer)
}

fn check(file: &fs::Metadata, path: &Path, key: &str) -> Result<(), KeyError> {
    let (key, path) = (key.to_owned(), path.to_owned());
    owner_only::check(file).map_err(|why| match why {
        Looseness::NotAFile => KeyError::NotAFile { key, path },
        Looseness::WrongOwner { owner, user } => KeyError::WrongOwner { key, path, owner, user },
        Looseness::TooOpen { mode } => KeyError::TooOpen { key, path, mode },
    })
}

/// Without the one line end that an editor or `echo` leaves.
pub fn without_newline(text: &[u8]) -> &[u8] {
    text.strip_suffix(b"\r\n").or_else(|| text.strip_suffix(b"\n")).unwrap_or(text)
}

/// Makes `directory`, and its parents, for this user only, if it is missing.
pub fn create_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Writes `<directory>/<name>` with mode 0600 so that it is there whole or not at all, and on disk
/// when this returns. A file of that name is never touched: that is `ErrorKind::AlreadyExists`.
///
/// The bytes go to a temporary file that is then linked under its name, since a link, unlike a
/// rename, fails when the name is taken.
pub fn create(directory: &Path, name: &str, contents: &[u8]) -> io::Result<()> {
    let temporary = Temporary::new(directory, name)?;
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary.path)?;
    file.write_all(contents)?;
    file.sync_all()?;
    fs::hard_link(&temporary.path, directory.join(name))?;
    drop(temporary);
    File::open(directory)?.sync_all()
}

/// A path that nobody else uses, removed when this goes out of scope.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn new(directory: &Path, name: &str) -> io::Result<Self> {
        let mut random = [0; 8];
        getrandom::getrandom(&mut random).map_err(io::Error::from)?;
        Ok(Self { path: directory.join(format!(".{name}.{}.tmp", hex::encode(random))) })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // when this fails there is a stray file, closed to others, that nothing reads
        fs::remove_file(&self.path).unwrap_or_default();
    }
}
