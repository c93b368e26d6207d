//! The cursor of the webhook, in a small file beside the journal or its mark: `<journal>.webhook`.

use config::JournalPlace;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

/// The file that holds the cursor of the last event that the receiver has taken.
#[derive(Clone, Debug)]
pub(super) struct WebhookCursor(PathBuf);

impl WebhookCursor {
    /// Returns the cursor's file for a journal.
    pub(super) fn beside(journal: &JournalPlace) -> Self {
        Self(journal.beside(".webhook"))
    }

    /// Reads the cursor; `None` before the first one is written.
    pub(super) fn read(&self) -> io::Result<Option<String>> {
        match fs::read_to_string(&self.0) {
            Ok(text) => Ok(Some(text.trim_end().to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces the cursor. After a power cut the file holds this cursor or the one before it.
    pub(super) fn write(&self, cursor: &str) -> io::Result<()> {
        let part = self.0.with_added_extension("part");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&part)?;
        writeln!(file, "{cursor}")?;
        file.sync_all()?;
        fs::rename(&part, &self.0)?;
        self.0.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written_and_there_is_none_before_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let cursor = WebhookCursor(folder.path().join("journal.sqlite.webhook"));
        assert_eq!(cursor.read().unwrap(), None);
        for written in ["1.a.1.00000000.0.00000000", "1.a.2.00000000.0.00000000"] {
            cursor.write(written).unwrap();
            assert_eq!(cursor.read().unwrap().as_deref(), Some(written));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
