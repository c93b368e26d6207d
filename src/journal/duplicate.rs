//! A copy of a database in the making, beside the connection that writes the database and without asking it
//! for anything.
//!
//! The file of a database changes only when its log is merged into it, and the log begins anew only when all
//! of it is merged. So pages that are read from the file one after another, and the log from its beginning
//! on over them, are the database as of the last commit that was read: whatever page was written meanwhile
//! stands in the log.

use super::wal::{LogEnd, LogHeader, LogPlace};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How much of the file is read at once, bytes.
const CHUNK: usize = 4 << 20;

/// Why a copy cannot be made, or not be gone on with.
#[derive(Debug, thiserror::Error)]
pub enum CopyFault {
    /// A file cannot be read or written.
    #[error("{path}: {problem}")]
    Io {
        /// The copy.
        path: PathBuf,
        /// What the system says.
        problem: io::Error,
    },
    /// The log was overwritten before it was read.
    #[error("the journal was written faster than it could be copied")]
    Overtaken,
    /// Another process took over.
    #[error("the Signer that writes the journal was started or stopped meanwhile")]
    Replaced,
}

/// A database that is copied.
#[derive(Clone, Debug)]
pub(super) struct Original {
    log: PathBuf,
    /// Never closed: closing any descriptor of a file takes away every lock that the process has on it, and
    /// so those of the connection that keeps other processes out.
    file: Arc<ManuallyDrop<File>>,
}

impl Original {
    /// The database at `path`, whose log is at `log`.
    pub(super) fn open(path: &Path, log: PathBuf) -> io::Result<Self> {
        let file = Arc::new(ManuallyDrop::new(File::open(path)?));
        Ok(Self { log, file })
    }
}

/// The log of the original, by its number on its disk: another file of the same name is another log.
#[derive(Debug)]
struct LogFile {
    file: File,
    inode: u64,
}

/// How a file that nobody writes stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    changed: (i64, i64),
}

impl FileStamp {
    fn of(file: &Metadata) -> Self {
        Self { length: file.len(), changed: (file.mtime(), file.mtime_nsec()) }
    }
}

/// A copy in two files: the database, and a log of its own that SQLite merges when it is opened.
#[derive(Debug)]
pub(super) struct Duplicate {
    original: Original,
    log: Option<LogFile>,
    place: Option<LogPlace>,
    /// How the original was when it had no log.
    unlogged: Option<FileStamp>,
    /// How much of the original's file was read, bytes.
    read: u64,
    path: PathBuf,
    copy: File,
    copied_log: File,
}

impl Duplicate {
    /// Begins a copy in two files that are made, or emptied.
    pub(super) fn begin(original: &Original, path: &Path, log: &Path) -> Result<Self, CopyFault> {
        let fault = |problem| CopyFault::Io { path: path.to_owned(), problem };
        let (copy, copied_log) = (make(path).map_err(fault)?, make(log).map_err(fault)?);
        let stamp = original.file.metadata().map_err(fault)?;
        let (original, path) = (original.clone(), path.to_owned());
        let (log, place, unlogged, read) = (None, None, None, 0);
        let mut begun = Self { original, log, place, unlogged, read, path, copy, copied_log };
        begun.catch_up()?;
        if begun.place.is_none() {
            begun.unlogged = Some(FileStamp::of(&stamp));
        }
        Ok(begun)
    }

    /// Reads another part of the original's file; tells whether that was the last one.
    pub(super) fn read_on(&mut self) -> Result<bool, CopyFault> {
        let finished = self.chunk().map_err(|problem| self.fault(problem))?;
        self.catch_up()?;
        Ok(finished)
    }

    fn chunk(&mut self) -> io::Result<bool> {
        let mut chunk = vec![0; CHUNK];
        let length = self.original.file.read_at(&mut chunk, self.read)?;
        self.copy.write_all_at(chunk.get(..length).unwrap_or_default(), self.read)?;
        self.read = self.read.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
        Ok(length == 0)
    }

    /// Copies what was committed since. Afterwards the copy holds what was committed before this was
    /// called, once the original's file is read to its end.
    pub(super) fn catch_up(&mut self) -> Result<(), CopyFault> {
        self.find_log()?;
        let Some(log) = &self.log else { return self.unchanged() };
        let failed = |problem| CopyFault::Io { path: self.path.clone(), problem };
        let header = LogHeader::read(&log.file).map_err(failed)?;
        let (log, copy) = (&log.file, &self.copied_log);
        let (header, mut place) = match (header, self.place) {
            (Some(header), Some(place)) => (header, place),
            (None, Some(_)) => return Err(CopyFault::Overtaken),
            (None, None) => return self.unchanged(),
            // Others may have been written before this one was seen.
            (Some(_), None) if self.unlogged.is_some() => return Err(CopyFault::Replaced),
            (Some(header), None) => (header, LogPlace::begin(header, copy).map_err(failed)?),
        };
        if *place.header() != header {
            let from = place.end();
            place.advance(log, copy).map_err(failed)?;
            if place.was_overtaken(from, &header, log).map_err(failed)? {
                return Err(CopyFault::Overtaken);
            }
            copy.sync_data().map_err(failed)?;
            place.merge(copy, &self.copy).map_err(failed)?;
            place = LogPlace::begin(header, copy).map_err(failed)?;
        }
        place.advance(log, copy).map_err(failed)?;
        self.place = Some(place);
        Ok(())
    }

    /// Opens the log, where there is one. It is looked for by opening it: one that was only seen to be there may be
    /// gone before it is opened.
    fn find_log(&mut self) -> Result<(), CopyFault> {
        let failed = |problem| CopyFault::Io { path: self.original.log.clone(), problem };
        if let Some(log) = &self.log {
            return match std::fs::metadata(&self.original.log) {
                Ok(found) if found.ino() == log.inode => Ok(()),
                Ok(_) => Err(CopyFault::Replaced),
                Err(none) if none.kind() == io::ErrorKind::NotFound => Err(CopyFault::Replaced),
                Err(other) => Err(failed(other)),
            };
        }
        match File::open(&self.original.log) {
            Ok(file) => {
                let inode = file.metadata().map_err(failed)?.ino();
                self.log = Some(LogFile { file, inode });
                Ok(())
            }
            Err(none) if none.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(other) => Err(failed(other)),
        }
    }

    /// Without a log, the original's file has to stay as it was.
    fn unchanged(&self) -> Result<(), CopyFault> {
        let Some(before) = self.unlogged else { return Ok(()) };
        let now = self.original.file.metadata().map_err(|problem| self.fault(problem))?;
        if FileStamp::of(&now) == before { Ok(()) } else { Err(CopyFault::Replaced) }
    }

    /// Whether the file at `path` is this copy.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        let place = |file: Metadata| (file.dev(), file.ino());
        let found = std::fs::metadata(path).map(place).ok();
        found.is_some() && found == self.copy.metadata().map(place).ok()
    }

    /// Makes what was copied durable.
    pub(super) fn sync(&self) -> Result<(), CopyFault> {
        let both = self.copy.sync_all().and_then(|()| self.copied_log.sync_all());
        both.map_err(|problem| self.fault(problem))
    }

    /// Up to where the log is copied, bytes; none where there is no log.
    pub(super) fn logged(&self) -> Option<LogEnd> {
        self.place.as_ref().map(LogPlace::end)
    }

    /// Makes what was copied of the log durable.
    pub(super) fn sync_log(&self) -> Result<(), CopyFault> {
        self.copied_log.sync_data().map_err(|problem| self.fault(problem))
    }

    /// Puts all of the copy into its one file. Its log is of no use afterwards.
    pub(super) fn merge(self) -> Result<(), CopyFault> {
        let merged = match &self.place {
            Some(place) => place.merge(&self.copied_log, &self.copy),
            None => self.copy.sync_all(),
        };
        merged.map_err(|problem| self.fault(problem))
    }

    fn fault(&self, problem: io::Error) -> CopyFault {
        CopyFault::Io { path: self.path.clone(), problem }
    }
}

/// An empty file for its owner alone.
fn make(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Makes the names in the directory of `path` durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}
