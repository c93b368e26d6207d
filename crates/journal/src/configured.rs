//! A journal where the configuration says that it is: in a file, or on a server.

#[cfg(feature = "postgres")]
use crate::postgres::{Migrated, ServerAndOwner, ServerConfig, to_server};
#[cfg(feature = "postgres")]
use host::clock::Clock;

use crate::audit::{Audit, AuditWatch};
use crate::model::HistoryHead;
use crate::open_error::OpenError;
use crate::sharing::standby::Turn;
use crate::sqlite::files::{Files, share_a_disk};
use crate::{Journal, Setup};
use config::{BackupPlan, DatabaseUrl, JournalConfig, JournalPlace};

/// The error for a copy to a server without an owner of the tables.
const NO_OWNER: OpenError = OpenError::NoOwner(
    "give `--owner-url-file FILE`, a file with the URL of the role that is to own its tables in that \
     database; the role of journal.url is granted what a Signer needs",
);

/// A file has no owner but that of its directory.
const NO_SERVER: OpenError = OpenError::InFile(
    "leave `--owner-url-file` out, or set journal.url in the place of journal.path",
);

/// The error for a copy from a file to a file.
const FILE_TO_FILE: OpenError =
    OpenError::InFile("`merchant-signer backup` copies a file to another one");

/// The same.
const SERVER_TO_SERVER: OpenError =
    OpenError::OnServer("have the database moved with the server's own tools");

/// A file needs nobody for that.
const MIGRATED_THERE: OpenError = OpenError::InFile(
    "the Signer brings a file to its own version when it first opens it, and there is nothing else to do",
);

/// Returns true if one snapshot holds the journal and its mark: once restored, the journal fits its mark, and the
/// start looks ordinary.
pub fn mark_shares_the_disk(place: &JournalPlace) -> bool {
    match place {
        JournalPlace::File(file) => Files::of(file).mark_shares_the_disk(),
        JournalPlace::Server(_) => false,
    }
}

/// Returns true if the loss of one disk takes both the journal and its backups.
pub fn backups_share_the_disk(file: &JournalConfig, backups: &BackupPlan) -> bool {
    share_a_disk(&file.path, &backups.directory.join("backup"))
}

impl Journal {
    /// Opens the journal that is configured for this process alone, on the machine's own clock.
    pub fn open_at(place: &JournalPlace) -> Result<Self, OpenError> {
        match place {
            JournalPlace::File(file) => Self::open(file),
            #[cfg(feature = "postgres")]
            JournalPlace::Server(server) => {
                Self::open_on_server(&ServerConfig::of(server), Clock::MACHINE)
            }
            #[cfg(not(feature = "postgres"))]
            JournalPlace::Server(_) => Err(OpenError::NotBuiltIn),
        }
    }

    /// Opens the journal that is configured to serve with it, or stands by while another process has it on a
    /// server. A file is nobody else's. `setup` is how this process is set up.
    pub fn open_in_turn_at(place: &JournalPlace, setup: Setup) -> Result<Turn, OpenError> {
        match place {
            #[cfg(feature = "postgres")]
            JournalPlace::Server(server) => {
                let config = ServerConfig { setup, ..ServerConfig::of(server) };
                Self::open_in_turn(&config, Clock::MACHINE)
            }
            JournalPlace::File(file) => {
                drop(setup);
                Self::open(file).map(Turn::Now)
            }
            #[cfg(not(feature = "postgres"))]
            JournalPlace::Server(_) => Err(OpenError::NotBuiltIn),
        }
    }

    /// Makes a new, empty journal where the configuration wants it. On a server `owner` makes its tables.
    pub fn create_at(place: &JournalPlace, owner: Option<&DatabaseUrl>) -> Result<(), OpenError> {
        match (place, owner) {
            (JournalPlace::File(file), None) => Self::create(file),
            (JournalPlace::File(_), Some(_)) => Err(NO_SERVER),
            (JournalPlace::Server(_), None) => Err(NO_OWNER),
            #[cfg(feature = "postgres")]
            (JournalPlace::Server(server), Some(owner)) => {
                let role = server.url.expose().get_user().unwrap_or_default();
                Self::create_on_server(&ServerConfig::of(server), owner.expose(), role)
            }
            #[cfg(not(feature = "postgres"))]
            (JournalPlace::Server(_), Some(_)) => Err(OpenError::NotBuiltIn),
        }
    }

    /// Copies the journal to where another configuration has it, from a file to a server or back, and takes its
    /// mark away: whoever starts on the original again has it taken for an old copy. No process may have it open,
    /// and there must be none where it goes. On a server `owner` makes its tables. All of it or nothing: what came
    /// about is audited, and holds what the original holds.
    pub fn transfer(
        from: &JournalPlace,
        to: &JournalPlace,
        owner: Option<&DatabaseUrl>,
        watch: AuditWatch<'_>,
    ) -> Result<Audit, OpenError> {
        match (from, to, owner) {
            (JournalPlace::File(_), JournalPlace::File(_), _) => Err(FILE_TO_FILE),
            (JournalPlace::Server(_), JournalPlace::Server(_), _) => Err(SERVER_TO_SERVER),
            (JournalPlace::File(_), JournalPlace::Server(_), None) => Err(NO_OWNER),
            #[cfg(feature = "postgres")]
            (JournalPlace::File(from), JournalPlace::Server(to), Some(owner)) => {
                let config = &ServerConfig::of(to);
                to_server(from, ServerAndOwner { config, owner: owner.expose() }, watch)
            }
            #[cfg(feature = "postgres")]
            (JournalPlace::Server(from), JournalPlace::File(to), _) => {
                Self::copy_to_file(&ServerConfig::of(from), to, watch)
            }
            #[cfg(not(feature = "postgres"))]
            (_, _, _) => {
                watch(0, 0);
                Err(OpenError::NotBuiltIn)
            }
        }
    }

    /// Has `owner` bring the tables on a server to the version of this program, while no Signer has them.
    /// Tells which version they had, and which they have.
    pub fn migrate_at(place: &JournalPlace, owner: &DatabaseUrl) -> Result<(i64, i64), OpenError> {
        match (place, owner) {
            (JournalPlace::File(_), _) => Err(MIGRATED_THERE),
            #[cfg(feature = "postgres")]
            (JournalPlace::Server(server), owner) => {
                let config = ServerConfig::of(server);
                let Migrated { from, to } = Self::migrate_on_server(&config, owner.expose())?;
                Ok((from, to))
            }
            #[cfg(not(feature = "postgres"))]
            (JournalPlace::Server(_), _) => Err(OpenError::NotBuiltIn),
        }
    }

    /// Verifies the journal that is configured, as [`Journal::audit_watched`] does. One on a server may be in
    /// use: what is verified is what it held at one moment.
    pub fn audit_at(
        place: &JournalPlace,
        kept: &[HistoryHead],
        watch: AuditWatch<'_>,
    ) -> Result<Audit, OpenError> {
        match place {
            JournalPlace::File(file) => Self::audit_watched(&file.path, kept, watch),
            #[cfg(feature = "postgres")]
            JournalPlace::Server(server) => {
                Self::audit_on_server(&ServerConfig::of(server), kept, watch)
            }
            #[cfg(not(feature = "postgres"))]
            JournalPlace::Server(_) => Err(OpenError::NotBuiltIn),
        }
    }
}
