//! The place of a journal on a server, and the way to it.

use config::JournalServer;
use journal::Setup;
use journal::store::Steps;
use std::path::PathBuf;
use std::time::Duration;

/// The location of a journal on a server, and the settings of the connection to it.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The server, the database and the role.
    pub server: tokio_postgres::Config,
    /// File with the authority of the server's certificate, in PEM; none for the authorities that this machine
    /// trusts. Over a network the server is reached by TLS alone, and has to prove its name.
    pub authority_file: Option<PathBuf>,
    /// The file that says what this Signer knows of its database.
    pub mark_path: PathBuf,
    /// After how long an answer is taken for lost.
    pub patience: Duration,
    /// Number of commits that may wait for the writer.
    pub queue_length: usize,
    /// Name of the journal for people to read; holds nothing secret.
    pub place: String,
    /// Name of this Signer among the Signers that share the journal.
    pub instance: String,
    /// After how long another one that says nothing is taken for gone.
    pub takeover_after: Duration,
    /// True if other processes may write the journal as well. Every rule holds then, but the processes do not yet
    /// agree which of them follows the sent transactions, so a program that bills has the journal alone.
    pub shared: bool,
    /// The versions of its tables that the program knows.
    pub steps: Steps,
    /// The setup of this process; empty for a command.
    pub setup: Setup,
}

impl ServerConfig {
    /// Builds the settings from the configuration.
    pub fn of(server: &JournalServer) -> Self {
        Self {
            server: server.url.expose().clone(),
            authority_file: server.authority_file.clone(),
            mark_path: server.mark_path.clone(),
            patience: server.timeout,
            queue_length: server.queue_length,
            place: server.url.to_string(),
            instance: server.instance.clone().unwrap_or_else(this_machine),
            takeover_after: server.takeover_after,
            shared: false,
            steps: Steps::default(),
            setup: Setup::default(),
        }
    }
}

/// Returns the name of this machine, for a Signer without a configured name.
fn this_machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
