//! The journal on a PostgreSQL server.
//!
//! The statements are those of the journal in a file (sql.rs). Here is what a server has besides: a connection
//! that may break, a COMMIT whose answer may be lost, and a database that other people run, copy and restore.

mod fitness;
mod greeting;
mod heartbeat;
mod instance_table;
mod job_wait;
mod lock;
mod mark;
mod pending_replies;
mod pooler;
mod question;
mod reader;
mod server_line;
mod session;
mod standby;
mod starting;
mod statement;
mod steps;
mod tls;
mod token;
mod transfer;
mod writer;

pub(crate) use session::Session;
pub use steps::Migrated;
pub(crate) use token::Token;
pub(super) use transfer::{ServerAndOwner, to_file, to_server};

use crate::audit::AuditWatch;
use crate::model::BootId;
use crate::open_error::OpenError;
use crate::sharing::standby::Turn;
use crate::sql::SqlError;
use crate::sqlite::file_mark::insert_boot;
use crate::sqlite::files::find_place_for_mark;
use crate::sqlite::migrations;
use crate::{Audit, HistoryHead, Journal, Setup, Steps, audit};
use config::{JournalConfig, JournalServer};
use host::clock::Clock;
use lock::HOLD_SOON;
use mark::{Known, LastSeen, MarkFile, Server};
use session::Committed;
use standby::stand_by;
use starting::{begin, reach_for, serve};
use std::path::PathBuf;
use std::time::Duration;

/// Time that a starting Signer waits for a Signer that is just ending before it stands by and listens.
const STAND_BY_SOON: Duration = Duration::from_millis(500);

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
    pub(super) fn of(server: &JournalServer) -> Self {
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

/// Why a server cannot be used now.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// It follows another server, or has given up what it was asked for.
    #[error(
        "it only follows another server (a standby): have journal.url name the one that it follows, or \
         both, and the one that takes writes is found"
    )]
    Follows,
    /// It lacks what this process knows to be in it.
    #[error(
        "it has forgotten what was committed: an older copy of the database was put in its place"
    )]
    Forgotten,
    /// Another process has begun on the journal while this one was cut off from it.
    #[error("another process has used the journal while the connection was broken")]
    Taken,
    /// Another process has it.
    #[error("another process holds it")]
    Held,
    /// It is not what a journal needs.
    #[error("{0}")]
    Unfit(String),
    /// The thread that asked has ended.
    #[error("the thread that asked it has ended")]
    Ended,
    /// It did not do what it was asked for.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl Lost {
    /// Returns true if this process must not use the database any more, however long it waits.
    fn is_final(&self) -> bool {
        matches!(self, Self::Forgotten | Self::Taken)
    }

    /// The same for whoever opens the journal at `place`.
    fn opening(self, place: &str) -> OpenError {
        let place = place.to_owned();
        if matches!(self, Self::Held) {
            return OpenError::Held(place.into());
        }
        OpenError::Server { place, problem: fitness::in_words(&self) }
    }
}

impl Journal {
    /// Makes the tables of a new journal in the schema that `owner` sees first, lets `role` use them, and
    /// writes the mark.
    pub fn create_on_server(
        config: &ServerConfig,
        owner: &tokio_postgres::Config,
        role: &str,
    ) -> Result<(), OpenError> {
        find_place_for_mark(&config.mark_path)?;
        let made = apart(|| make(config, owner, role));
        made.map_err(|problem| problem.opening(&config.place))
    }

    /// Opens a journal on a server. A database that may have forgotten something is an old copy.
    pub fn open_on_server(config: &ServerConfig, clock: Clock) -> Result<Self, OpenError> {
        find_place_for_mark(&config.mark_path)?;
        let opened = apart(|| {
            let candidate =
                reach_for(config, instance_table::COMMAND, HOLD_SOON)?.map_err(|_| Lost::Held)?;
            Ok(begin(config, candidate, clock)?.run()?.0)
        });
        opened.map_err(|problem| problem.opening(&config.place))
    }

    /// Opens it to serve, or stands by while another process has it.
    pub fn open_in_turn(config: &ServerConfig, clock: Clock) -> Result<Turn, OpenError> {
        find_place_for_mark(&config.mark_path)?;
        let opened = apart(|| match reach_for(config, instance_table::SERVES, STAND_BY_SOON)? {
            Ok(candidate) => Ok(Turn::Now(serve(config, candidate, clock)?)),
            Err(waits) => stand_by(config, waits, clock).map(Turn::Later),
        });
        opened.map_err(|problem| problem.opening(&config.place))
    }

    /// Verifies a journal on a server as it was at one moment, whoever uses it meanwhile.
    pub fn audit_on_server(
        config: &ServerConfig,
        kept: &[HistoryHead],
        watch: AuditWatch<'_>,
    ) -> Result<Audit, OpenError> {
        let audited = apart(|| {
            let session = Session::open(&config.server, config, "merchant-signer audit")?;
            session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
            if let Some(problem) = fitness::tables(&session, config.steps.newest())? {
                return Err(Lost::Unfit(problem));
            }
            Ok(audit::watched(&session, kept, watch)?)
        });
        audited.map_err(|problem| problem.opening(&config.place))
    }
}

impl Journal {
    /// Copies a journal on a server, which no process may have open, to a new file, and takes its mark away.
    pub fn copy_to_file(
        from: &ServerConfig,
        to: &JournalConfig,
        watch: AuditWatch<'_>,
    ) -> Result<Audit, OpenError> {
        to_file(from, to, watch)
    }
}

/// Does what waits for answers on a thread of its own: the caller may be at work for others.
fn apart<T: Send>(work: impl FnOnce() -> Result<T, Lost> + Send) -> Result<T, Lost> {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap_or(Err(Lost::Ended))
}

fn make(config: &ServerConfig, owner: &tokio_postgres::Config, role: &str) -> Result<(), Lost> {
    let (made, server) = tables(config, owner, role)?;
    let boot = made.boot;
    insert_boot(&made.session, boot, Clock::MACHINE.unix_ms())?;
    let known = made.commit()?;
    let file = MarkFile::at(&config.mark_path);
    file.write(&LastSeen { boot, known, server }).map_err(|e| SqlError::foreign(e).into())
}

/// Empty tables that are not committed yet.
struct NewTables {
    session: Session,
    token: Token,
    /// For the first start on them.
    boot: BootId,
}

/// Makes the tables in the schema that `owner` sees first, and lets `role` use them.
fn tables(
    config: &ServerConfig,
    owner: &tokio_postgres::Config,
    role: &str,
) -> Result<(NewTables, Server), Lost> {
    let session = Session::open(owner, config, "merchant-signer owner")?;
    pooler::is_alone(&session, owner, config)?;
    let server = Server::of(&session)?.ok_or(Lost::Follows)?;
    session.batch("BEGIN")?;
    session.batch(include_str!("postgres/schema.sql"))?;
    let token = Token::random()?;
    session.name(token);
    steps::note(&session, migrations::OLDEST)?;
    steps::take(&session, migrations::OLDEST, config.steps.0)?;
    steps::grant(&session, role)?;
    let boot = BootId::random().map_err(SqlError::foreign)?;
    Ok((NewTables { session, token, boot }, server))
}

impl NewTables {
    fn commit(&self) -> Result<Known, Lost> {
        let Committed::Yes(known) = self.session.commit(self.token) else {
            let problem = "the tables were not made; see what is there and begin anew";
            return Err(SqlError::foreign(problem).into());
        };
        Ok(known)
    }
}

/// Returns the name of this machine, for a Signer without a configured name.
fn this_machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
