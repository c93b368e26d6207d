//! A journal where the configuration says that it is: in a file, or on a server.

use super::Journal;
use super::audit::{Audit, HistoryHead};
use super::backup::AuditWatch;
use super::open::OpenError;
#[cfg(feature = "postgres")]
use super::postgres::ServerConfig;
#[cfg(feature = "postgres")]
use crate::clock::Clock;
use crate::config::{DatabaseUrl, JournalPlace};

/// Who makes the tables of a journal on a server.
const NO_OWNER: OpenError = OpenError::OnServer(
    "give `--owner-url-file FILE`, a file with the URL of the role that is to own its tables in that \
     database; the role of journal.url is granted what a Signer needs",
);

/// A file has no owner but that of its directory.
const NO_SERVER: OpenError = OpenError::InFile(
    "leave `--owner-url-file` out, or set journal.url in the place of journal.path",
);

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
