//! Backups of a journal, made beside whoever has it open by SQLite's own online backup, and put in its place when
//! it is lost.

use crate::audit::{Audit, AuditWatch};
use crate::copies::audit_file::audit_watched;
use crate::copies::backup_directory;
use crate::copies::copy_contents::{self, CopyContents};
use crate::copies::not_copied::{NotCopied, at, remove, remove_all};
use crate::model::HistoryHead;
use crate::open_error;
use crate::open_error::OpenError;
use crate::sqlite::files::{Files, beside, give_name, make};
use crate::sqlite::open::{self};
use config::JournalConfig;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// The number of pages copied at once: 1 MiB.
const PAGES: i32 = 256;

/// The time for which the disk is left to others after that.
pub(crate) const PAUSE: Duration = Duration::from_millis(2);

/// Copies the journal at `from`, whether a process has it open or not, to the new file `to`: audited
/// like [`audit`](crate::copies::audit) before it gets its name, and durable.
///
/// The copy has no mark, so wherever it is opened it counts as an old one.
pub fn back_up(from: &Path, to: &Path, watch: AuditWatch<'_>) -> Result<Audit, NotCopied> {
    let left_to_others = || {
        sleep(PAUSE);
        Ok(())
    };
    back_up_in_steps(from, to, watch, &left_to_others)
}

/// Puts the copy at `from` in the place of a journal that is gone, with each of `kept` among its rows. Its mark goes:
/// what the copy may have forgotten is learnt after the next start.
pub fn restore(
    config: &JournalConfig,
    from: &Path,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> Result<Audit, NotCopied> {
    let files = Files::of(config);
    files.find_mark()?;
    put_in_place(&files, &the_copy(from)?, kept, watch)
}

/// The copy that is meant, a file. Of a directory the error lists the journals in it.
pub fn the_copy(from: &Path) -> Result<PathBuf, NotCopied> {
    if !from.is_dir() {
        return Ok(from.to_owned());
    }
    let seen = backup_directory::journals_in(from)?;
    let directory = from.to_owned();
    Err(if seen.is_empty() {
        NotCopied::None(directory)
    } else {
        NotCopied::Listed { directory, seen }
    })
}

/// Looks at a copy, and changes nothing.
pub fn look_at_copy(path: &Path) -> Result<CopyContents, NotCopied> {
    if !path.is_file() {
        return Err(NotCopied::NoCopy(path.to_owned()));
    }
    Ok(copy_contents::read_copy(path)?)
}

/// Copies the journal at `from`, whether a process has it open or not, and restores that copy in `room`, an
/// empty directory. Tells what the audit of the restored one says; its file stays there, as
/// `restored.sqlite`.
pub fn rehearse_restore(from: &Path, room: &Path) -> Result<Audit, NotCopied> {
    let backup = room.join("backup.sqlite");
    let Audit { head, .. } = back_up(from, &backup, &mut |_, _| {})?;
    put_in_place(&Files::at(&room.join("restored.sqlite")), &backup, &[head], &mut |_, _| {})
}

/// Copies the journal at `from` as [`back_up`] does. Between two steps it waits as `pause` does, and is given
/// up where that fails.
pub(crate) fn back_up_in_steps(
    from: &Path,
    to: &Path,
    watch: AuditWatch<'_>,
    pause: BetweenSteps<'_>,
) -> Result<Audit, NotCopied> {
    let audit = copy(from, to, &[], watch, pause)?;
    name(to)?;
    Ok(audit)
}

/// Puts an audited copy where no journal is, without a mark.
fn put_in_place(
    files: &Files,
    from: &Path,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> Result<Audit, NotCopied> {
    let audit = copy(from, files.path(), kept, watch, &|| Ok(()))?;
    files.remove_mark().map_err(at(files.path()))?;
    name(files.path())?;
    Ok(audit)
}

/// Waits between two steps, or says why there is to be none.
pub(crate) type BetweenSteps<'a> = &'a dyn Fn() -> Result<(), NotCopied>;

/// The name of a copy that is not known to be whole.
fn unfinished(to: &Path) -> PathBuf {
    beside(to, ".part")
}

/// Makes an audited copy beside `to`.
fn copy(
    from: &Path,
    to: &Path,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
    pause: BetweenSteps<'_>,
) -> Result<Audit, NotCopied> {
    for path in [to.to_owned(), beside(to, "-wal")] {
        if path.symlink_metadata().is_ok() {
            return Err(NotCopied::InPlace(path));
        }
    }
    if !from.is_file() {
        return Err(NotCopied::NoCopy(from.to_owned()));
    }
    if let Some(directory) = to.parent().filter(|directory| !directory.as_os_str().is_empty())
        && !directory.is_dir()
    {
        return Err(NotCopied::NoDirectory { to: to.to_owned(), directory: directory.to_owned() });
    }
    let part = unfinished(to);
    // A process that was killed may have left one.
    remove_all(&part);
    let made = whole_copy(from, &part, pause).and_then(|()| {
        integrity(&part)?;
        let audit = audit_watched(&part, kept, watch)?;
        if audit.faults.is_empty() { Ok(audit) } else { Err(NotCopied::Faulty(audit.faults)) }
    });
    if made.is_err() {
        remove_all(&part);
    }
    made
}

/// All of the database in one durable file, as it is when copying begins: a commit that comes later is not in it, and
/// waits for nothing.
fn whole_copy(from: &Path, part: &Path, pause: BetweenSteps<'_>) -> Result<(), NotCopied> {
    let files = Files::at(from);
    let original = open::beside(&files)?;
    // Data read in one transaction stays as it was at the transaction's first read.
    original.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema")?;
    // The name that was asked for says more than that of the unfinished copy.
    make(part).map_err(at(&part.with_extension("")))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copy = Connection::open_with_flags(part, flags)?;
    // Nothing is to be rolled back, and all of it is made durable at once.
    copy.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")?;
    let backup = Backup::new(&original, &mut copy)?;
    while backup.step(PAGES)? != StepResult::Done {
        pause()?;
    }
    drop(backup);
    drop(copy);
    original.execute_batch("COMMIT")?;
    files.tidy(&original)?;
    File::open(part).and_then(|file| file.sync_all()).map_err(at(part))
}

/// Looks at every page and index of a journal that no process has open.
fn integrity(path: &Path) -> Result<(), OpenError> {
    let conn = open::read(&Files::at(path))?;
    let looked = conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0));
    match looked.map_err(|e| open_error::refused(path, &e))? {
        well if well == "ok" => Ok(()),
        problem => Err(OpenError::NotWhole { path: path.to_owned(), problem }),
    }
}

/// Gives an audited copy its name.
fn name(to: &Path) -> Result<(), NotCopied> {
    let part = unfinished(to);
    match give_name(&part, to) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            remove(&part);
            Err(NotCopied::InPlace(to.to_owned()))
        }
        named => named.map_err(at(to)),
    }
}
