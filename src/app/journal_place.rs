//! A journal where the configuration says that it is: in a file, or on a server.

#[cfg(not(feature = "postgres"))]
mod no_server;
#[cfg(feature = "postgres")]
mod on_server;

#[cfg(not(feature = "postgres"))]
use no_server as server;
#[cfg(feature = "postgres")]
use on_server as server;

use config::{DatabaseUrl, JournalPlace};
use journal::{Audit, AuditWatch, HistoryHead, Journal, OpenError, Setup, Turn, copies};
use std::io;
use std::path::Path;

/// The error for a copy to a server without an owner of the tables.
const NO_OWNER: OpenError = OpenError::NoOwner(
    "give `--owner-url-file FILE`, a file with the URL of the role that is to own its tables in that \
     database; the role of journal.url is granted what a Signer needs",
);

/// The error for an owner that is given for a journal in a file.
const NO_SERVER: OpenError = OpenError::InFile(
    "leave `--owner-url-file` out, or set journal.url in the place of journal.path",
);

/// The error for a copy from a file to a file.
const FILE_TO_FILE: OpenError =
    OpenError::InFile("`merchant-signer backup` copies a file to another one");

/// The error for a copy from a server to a server.
const SERVER_TO_SERVER: OpenError =
    OpenError::OnServer("have the database moved with the server's own tools");

/// The error for a file that is to be migrated.
const MIGRATED_THERE: OpenError = OpenError::InFile(
    "the Signer brings a file to its own version when it first opens it, and there is nothing else to do",
);

/// The versions of the tables before and after a migration: equal if nothing was to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// Before.
    pub from: i64,
    /// After.
    pub to: i64,
}

/// Finds the file of the journal, where it is in one: without it nothing else is worth a word.
pub fn find(place: &JournalPlace) -> Result<(), OpenError> {
    let gone =
        |path: &Path| matches!(path.metadata(), Err(e) if e.kind() == io::ErrorKind::NotFound);
    match place {
        JournalPlace::File(file) if gone(&file.path) => Err(OpenError::not_there(&file.path)),
        JournalPlace::File(_) | JournalPlace::Server(_) => Ok(()),
    }
}

/// Opens the journal that is configured for this process alone, on the machine's own clock.
pub fn open(place: &JournalPlace) -> Result<Journal, OpenError> {
    match place {
        JournalPlace::File(file) => Journal::open(file),
        JournalPlace::Server(at) => server::open(at),
    }
}

/// Opens the journal that is configured to serve with it, or stands by while another process has it on a server. A
/// file belongs to one process. `setup` is how this process is set up.
pub fn open_in_turn(place: &JournalPlace, setup: Setup) -> Result<Turn, OpenError> {
    match place {
        JournalPlace::File(file) => {
            drop(setup);
            Journal::open(file).map(Turn::Now)
        }
        JournalPlace::Server(at) => server::open_in_turn(at, setup),
    }
}

/// Makes a new, empty journal where the configuration wants it. On a server `owner` makes its tables.
pub fn create(place: &JournalPlace, owner: Option<&DatabaseUrl>) -> Result<(), OpenError> {
    match (place, owner) {
        (JournalPlace::File(file), None) => Journal::create(file),
        (JournalPlace::File(_), Some(_)) => Err(NO_SERVER),
        (JournalPlace::Server(_), None) => Err(NO_OWNER),
        (JournalPlace::Server(at), Some(owner)) => server::create(at, owner),
    }
}

/// Copies the journal to where another configuration has it, from a file to a server or back, and takes its mark away:
/// a process that starts on the original again takes it for an old copy. No process may have it open, and there must
/// be none where it goes. On a server `owner` makes its tables. All of it or nothing: the copy is audited, and holds
/// what the original holds.
pub fn copy(
    from: &JournalPlace,
    to: &JournalPlace,
    owner: Option<&DatabaseUrl>,
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    match (from, to, owner) {
        (JournalPlace::File(_), JournalPlace::File(_), _) => Err(FILE_TO_FILE),
        (JournalPlace::Server(_), JournalPlace::Server(_), _) => Err(SERVER_TO_SERVER),
        (JournalPlace::File(_), JournalPlace::Server(_), None) => Err(NO_OWNER),
        (JournalPlace::File(from), JournalPlace::Server(to), Some(owner)) => {
            server::copy_to_server(from, to, owner, watch)
        }
        (JournalPlace::Server(from), JournalPlace::File(to), _) => {
            server::copy_to_file(from, to, watch)
        }
    }
}

/// Has `owner` bring the tables on a server to the version of this program, while no Signer has them.
pub fn migrate(place: &JournalPlace, owner: &DatabaseUrl) -> Result<Versions, OpenError> {
    match place {
        JournalPlace::File(_) => Err(MIGRATED_THERE),
        JournalPlace::Server(at) => server::migrate(at, owner),
    }
}

/// Verifies the journal that is configured, as [`copies::audit_watched`] does. One on a server may be in use: what is
/// verified is what it held at one moment.
pub fn audit(
    place: &JournalPlace,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    match place {
        JournalPlace::File(file) => copies::audit_watched(&file.path, kept, watch),
        JournalPlace::Server(at) => server::audit(at, kept, watch),
    }
}
