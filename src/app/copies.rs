//! Copies of the journal: one that is kept while the Signer runs, and the commands that make one and put one
//! in place.

use crate::config::JournalPlace;
use crate::journal::{Audit, Copier, HistoryHead, Journal, NotCopied, OpenError};
use clap::Subcommand;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use tracing::warn;

/// What is done with copies of the journal.
#[derive(Subcommand, Debug)]
pub enum CopyCommand {
    /// Copy the journal to a new file, whether a Signer runs on it or not, and audit the copy before it
    /// gets its name.
    Backup {
        /// The file, which must not be there.
        to: PathBuf,
    },
    /// Put a copy in the place of a journal that is gone. The Signer must not be running. What the copy may
    /// have forgotten is learnt from the chains after the next start, before anything new is billed.
    Restore {
        /// A backup, or the directory of `journal.copy_dir`.
        from: PathBuf,
        /// A head that was kept elsewhere, ROW:DIGEST: the copy must hold that very row. May be given
        /// several times.
        #[arg(long)]
        kept: Vec<HistoryHead>,
    },
}

/// What to do where a server keeps the journal.
const BACKED_UP_THERE: OpenError = OpenError::OnServer(
    "have its database backed up with the server's own tools (pg_basebackup, pg_dump)",
);

/// The same.
const RESTORED_THERE: OpenError = OpenError::OnServer(
    "restore its database with the server's own tools; by the mark beside it the Signer notices that it is an \
     old copy, and learns from the chains what it has forgotten",
);

/// Does what a command says; tells what it did.
pub fn run(journal: &JournalPlace, command: &CopyCommand) -> Result<String, NotCopied> {
    let shown =
        |Audit { batches, head, .. }| format!("{} rows, {batches} batches, head {head}", head.row);
    match command {
        CopyCommand::Backup { to } => {
            let file = journal.file().ok_or(BACKED_UP_THERE)?;
            let audit = Journal::back_up(&file.path, to, &mut progress())?;
            Ok(format!("copied to {}: {}", to.display(), shown(audit)))
        }
        CopyCommand::Restore { from, kept } => {
            let file = journal.file().ok_or(RESTORED_THERE)?;
            let audit = Journal::restore(file, from, kept, &mut progress())?;
            let path = file.path.display();
            Ok(format!(
                "put {} in place as {path}: {}. Start the Signer: it learns what was billed since",
                from.display(),
                shown(audit)
            ))
        }
    }
}

/// Verifies the journal in a file, or else the one that is configured: what it found, a line each, and whether
/// all holds.
pub fn audit(
    file: Option<&Path>,
    journal: &JournalPlace,
    kept: &[HistoryHead],
) -> Result<(String, bool), OpenError> {
    let watch = &mut progress();
    let Audit { batches, head, mut faults } = match file {
        Some(path) => Journal::audit_watched(path, kept, watch)?,
        None => Journal::audit_at(journal, kept, watch)?,
    };
    let holds = faults.is_empty();
    faults.push(format!(
        "{} rows, {batches} batches, {} faults, head {head}",
        head.row,
        faults.len()
    ));
    Ok((faults.join("\n"), holds))
}

/// Shows at a terminal how far an audit has come.
pub fn progress() -> impl FnMut(u64, u64) + Send {
    let shown = io::stderr().is_terminal();
    move |done, of| {
        if shown {
            write!(io::stderr(), "\rrow {done} of {of}{}", if done == of { "\n" } else { "" }).ok();
        }
    }
}

/// Keeps a copy while the Signer runs. One that cannot be kept holds up nothing.
pub(super) fn keep(journal: &Journal, directory: &Path) -> Option<Copier> {
    let kept = journal.keep_copy(directory);
    kept.inspect_err(|problem| warn!(%problem, "no copy of the journal is kept")).ok()
}
