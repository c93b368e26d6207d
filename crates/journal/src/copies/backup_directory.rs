//! The directory in which a running Signer keeps backups of its journal.

use crate::copies::copy_contents::SeenCopy;
use crate::copies::not_copied::{NotCopied, at};
use jiff::Timestamp;
use std::io;
use std::path::{Path, PathBuf};

/// The beginning and the end of a backup's name.
const NAME: (&str, &str) = ("journal-", ".sqlite");

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

/// When the newest backup in a directory was begun, Unix ms.
pub(crate) fn newest_ms(directory: &Path) -> Option<i64> {
    listed(directory).ok()?.iter().filter_map(|path| made_ms(path)).max()
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

/// The one backup in a directory.
pub(crate) fn only_backup(directory: &Path) -> Result<PathBuf, NotCopied> {
    let mut whole = listed(directory)?;
    whole.retain(|path| path.extension().is_some_and(|ending| ending == "sqlite"));
    whole.sort();
    match whole.pop() {
        None => Err(NotCopied::None(directory.to_owned())),
        Some(only) if whole.is_empty() => Ok(only),
        Some(newest) => {
            whole.push(newest);
            let mut seen: Vec<SeenCopy> = whole.into_iter().map(SeenCopy::of).collect();
            seen.sort_by_key(|copy| std::cmp::Reverse(copy.rows()));
            Err(NotCopied::Several(seen))
        }
    }
}
