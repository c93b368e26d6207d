//! Backups of the journal: those that are made while the Signer runs, and the commands that make one and put one in
//! place.

use super::journal_place::{self, Versions};
use alloy::primitives::Address;
use clap::Subcommand;
use config::{BackupPlan, ChainConfig, Config, DatabaseUrl, JournalPlace};
use journal::{Audit, HistoryHead, Journal, NotCopied, OpenError, RegularBackups, copies};
use std::error::Error;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use tracing::warn;

/// The commands for copies of the journal.
#[derive(Subcommand, Debug)]
pub enum CopyCommand {
    /// Copy the journal to a new file, whether a Signer runs on it or not, and audit the copy before it
    /// gets its name.
    Backup {
        /// The file, which must not be there.
        to: PathBuf,
    },
    /// Put a copy in the place of a journal that is gone. The Signer must not be running. After the next start, the
    /// Signer learns from the chains anything that the copy may lack, before it bills anything new.
    Restore {
        /// A backup. Of a directory (`journal.backup_dir`) the journals in it are listed, with how far each goes, and
        /// none is put in place.
        from: PathBuf,
        /// A head that was kept elsewhere, ROW:DIGEST: the copy must hold that very row. May be given
        /// several times.
        #[arg(long)]
        kept: Vec<HistoryHead>,
        /// Put it in place although none of the configured contracts was billed through with it: after a change of
        /// every contract. The journal of another installation has forgotten all that this one billed.
        #[arg(long)]
        foreign: bool,
    },
}

/// Advice for backups if a server keeps the journal.
const BACKED_UP_THERE: OpenError = OpenError::OnServer(
    "have its database backed up with the server's own tools (pg_basebackup, pg_dump), or copy it to a file \
     with `merchant-signer journal copy`",
);

/// The same.
const RESTORED_THERE: OpenError = OpenError::OnServer(
    "restore its database with the server's own tools; by the mark beside it the Signer notices that it is an \
     old copy, and learns from the chains what it has forgotten",
);

/// Why nothing was copied, or put in place.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    /// The copy cannot be made, or cannot be used.
    #[error(transparent)]
    NotCopied(#[from] NotCopied),
    /// There is no file to copy.
    #[error(transparent)]
    Elsewhere(#[from] OpenError),
    /// The copy is of another installation.
    #[error(
        "{0} is the journal of another installation: none of the configured contracts was ever billed through with \
         it, so it knows nothing of whom this one charged. Look for the copy of this installation; if every \
         contract was changed since, and this is it, say --foreign"
    )]
    Foreign(PathBuf),
}

/// The contracts that are configured, by the network's own id.
fn contracts(config: &Config) -> Vec<(u64, Address)> {
    let one = |chain: &ChainConfig| (chain.family.network(), chain.family.contract());
    config.chains.iter().map(one).collect()
}

/// The commands for the journal as a whole.
#[derive(Subcommand, Debug)]
pub enum JournalCommand {
    /// Copy the journal to where another configuration has it: from a file to a PostgreSQL server, or back. No
    /// Signer may run on it, and there must be none where it goes. The copy is audited before it counts.
    Copy {
        /// The other configuration.
        #[arg(long)]
        to: PathBuf,
        /// To a server: a file with the URL of the role that is to own its tables in that database.
        #[arg(long)]
        owner_url_file: Option<PathBuf>,
    },
    /// Bring the tables of a journal on a PostgreSQL server to the version of this program, before it is started
    /// and while every Signer is stopped. Tables of that version are left as they are.
    Migrate {
        /// A file with the URL of the role that owns the tables.
        #[arg(long)]
        owner_url_file: PathBuf,
    },
}

/// Does what a command says; tells what came about.
pub fn carry_out(
    journal: &JournalPlace,
    command: &JournalCommand,
) -> Result<String, Box<dyn Error>> {
    match command {
        JournalCommand::Copy { to, owner_url_file } => {
            transfer(journal, to, owner_url_file.as_deref())
        }
        JournalCommand::Migrate { owner_url_file } => migrate(journal, owner_url_file),
    }
}

fn migrate(journal: &JournalPlace, owner: &Path) -> Result<String, Box<dyn Error>> {
    let Versions { from, to } = journal_place::migrate(journal, &DatabaseUrl::in_file(owner)?)?;
    Ok(if from == to {
        format!("the tables of {journal} are of version {to} already: nothing was done")
    } else {
        format!(
            "brought the tables of {journal} from version {from} to version {to}: start this program everywhere"
        )
    })
}

/// Copies the journal to another place.
fn transfer(
    from: &JournalPlace,
    to: &Path,
    owner_url_file: Option<&Path>,
) -> Result<String, Box<dyn Error>> {
    let to = Config::load(Some(to))?.journal;
    let owner = owner_url_file.map(DatabaseUrl::in_file).transpose()?;
    let Audit { batches, head, .. } =
        journal_place::copy(from, &to, owner.as_ref(), &mut progress())?;
    Ok(format!(
        "copied to {to}: {} rows, {batches} batches, head {head}. Start the Signer with that configuration, \
         and keep what was at {from} without starting on it again",
        head.row
    ))
}

/// Does what a command says; tells what it did.
pub fn run(config: &Config, command: &CopyCommand) -> Result<String, NotRun> {
    let journal = &config.journal;
    let shown =
        |Audit { batches, head, .. }| format!("{} rows, {batches} batches, head {head}", head.row);
    match command {
        CopyCommand::Backup { to } => {
            let file = journal.file().ok_or(BACKED_UP_THERE)?;
            let audit = copies::back_up(&file.path, to, &mut progress())?;
            Ok(format!("copied to {}: {}", to.display(), shown(audit)))
        }
        CopyCommand::Restore { from, kept, foreign } => {
            let file = journal.file().ok_or(RESTORED_THERE)?;
            let from = copies::the_copy(from)?;
            if copies::look_at_copy(&from)?.is_foreign(&contracts(config)) && !foreign {
                return Err(NotRun::Foreign(from));
            }
            let audit = copies::restore(file, &from, kept, &mut progress())?;
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
        Some(path) => copies::audit_watched(path, kept, watch)?,
        None => journal_place::audit(journal, kept, watch)?,
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

/// Makes backups while the Signer runs. A failed backup holds up nothing else.
pub(super) fn keep(journal: &Journal, plan: BackupPlan) -> Option<RegularBackups> {
    let kept = RegularBackups::begin(journal, plan);
    kept.inspect_err(|problem| warn!(%problem, "no backups of the journal are made")).ok()
}
