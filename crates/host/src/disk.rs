//! The room on a disk.

use rustix::fs::{StatVfsMountFlags, statvfs};
use std::io;
use std::path::Path;

/// The room on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// So many bytes are free.
    Free(u64),
    /// Nothing can be written.
    ReadOnly,
}

/// Returns the room on the disk of a file or directory.
pub fn space(path: &Path) -> io::Result<Space> {
    let stat = statvfs(path)?;
    if stat.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Ok(Space::ReadOnly);
    }
    Ok(Space::Free(stat.f_bavail.saturating_mul(stat.f_frsize)))
}
