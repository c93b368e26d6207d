//! The directory in which a running Signer keeps backups of its journal.

use crate::copies::copy_contents::SeenCopy;
use crate::copies::not_copied::{NotCopied, at};
use jiff::Timestamp;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The beginning and the end of a backup's name.
const NAME: (&str, &str) = ("journal-", ".sqlite");

/// The first bytes of every `SQLite` database.
const BEGINNING: &[u8; 16] = b"SQLite format 3\0";

/// Returns the name of a backup that is begun now: `journal-20261231T235959.123Z.sqlite`.
pub(crate) fn name(now_ms: i64) -> String {
    let (first, last) = NAME;
    let now = Timestamp::from_millisecond(now_ms).unwrap_or_default();
    format!("{first}{}{last}", now.strftime("%Y%m%dT%H%M%S%.3fZ"))
}

/// When a backup of that name was begun, Unix ms; none where it has another name.
pub(crate) fn made_ms(path: &Path) -> Option<i64> {
    let (first, last) = NAME;
    let time = path.file_name()?.to_str()?.strip_prefix(first)?.strip_suffix(last)?;
    Some(time.parse::<Timestamp>().ok()?.as_millisecond())
}

/// Backups in a directory, whole and in the making.
pub(crate) fn listed(directory: &Path) -> Result<Vec<PathBuf>, NotCopied> {
    let (first, last) = NAME;
    let ours = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| {
            let name = name.strip_suffix(".part").unwrap_or(&name);
            name.starts_with(first) && name.ends_with(last)
        })
    };
    let found = || {
        let all = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
        all.collect::<io::Result<Vec<_>>>()
    };
    Ok(found().map_err(at(directory))?.into_iter().filter(ours).collect())
}

/// Every journal in a directory that can be read as one, by whatever name, and every file with the name of a backup:
/// the longest first.
pub(crate) fn journals_in(directory: &Path) -> Result<Vec<SeenCopy>, NotCopied> {
    let all = std::fs::read_dir(directory).map_err(at(directory))?;
    let files = all.filter_map(|entry| Some(entry.ok()?.path()));
    let mut seen: Vec<SeenCopy> = files
        .filter(|path| is_named_as_a_backup(path) || looks_like_a_database(path))
        .map(SeenCopy::of)
        .filter(|copy| copy.contents.is_ok() || is_named_as_a_backup(&copy.path))
        .collect();
    seen.sort_by(|a, b| b.rows().cmp(&a.rows()).then_with(|| a.path.cmp(&b.path)));
    Ok(seen)
}

/// Returns true if a whole backup has that name.
fn is_named_as_a_backup(path: &Path) -> bool {
    let (first, last) = NAME;
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(first) && name.ends_with(last))
}

/// Returns true if the file begins as a database does. A copy that was cut off is none.
fn looks_like_a_database(path: &Path) -> bool {
    let mut begins = [0; BEGINNING.len()];
    let is_cut_off = path.extension().is_some_and(|ending| ending == "part");
    let is_file = path.is_file() && !is_cut_off;
    is_file
        && File::open(path).and_then(|mut file| file.read_exact(&mut begins)).is_ok()
        && begins == *BEGINNING
}
