//! The journal on a PostgreSQL server.
//!
//! The statements are those of the journal in a file (sql.rs). Here is what a server has besides: a connection
//! that may break, a COMMIT whose answer may be lost, and a database that other people run, copy and restore.
//! Nothing can be configured to use it yet.

mod mark;
mod question;
mod session;
mod tls;
mod token;
mod writer;

pub use super::sql::ServerFault;
pub(crate) use question::{ServerQuestion, ServerReply};
pub(crate) use session::Session;

use super::mark::{self as boots, BootId};
use super::open::OpenError;
use super::sql::{Database, OptionalExtension as _, SqlError, SqlResult};
use super::start::Begun;
use super::writer::Job;
use super::{Figures, Journal, doubt, migrate, pause};
use crate::clock::Clock;
use mark::{Known, LastSeen, MarkFile, Server};
use parking_lot::RwLock;
use session::Committed;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use token::Token;
use tokio::sync::mpsc;
use tracing::warn;
use writer::{Following, ServerWriter};

/// Where a journal on a server is, and how it is reached.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// The server, the database and the role.
    pub server: tokio_postgres::Config,
    /// Who signs the server's certificate, in PEM; none for whoever this machine trusts. Over a network the
    /// server is reached by TLS alone, and has to prove its name.
    pub authority_file: Option<PathBuf>,
    /// The file that says what this Signer knows of its database.
    pub mark_path: PathBuf,
    /// After how long an answer is taken for lost.
    pub patience: Duration,
    /// How many commits may wait for the writer.
    pub queue_length: usize,
}

/// Why a server cannot be used now.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// It follows another server, or has given up what it was asked for.
    #[error("it only follows another server")]
    Follows,
    /// It lacks what this process knows to be in it.
    #[error(
        "it has forgotten what was committed: an older copy of the database was put in its place"
    )]
    Forgotten,
    /// The thread that asked has ended.
    #[error("the thread that asked it has ended")]
    Ended,
    /// It did not do what it was asked for.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

impl Journal {
    /// Makes the tables of a new journal in the schema that `owner` sees first, lets `role` use them, and
    /// writes the mark.
    pub fn create_on_server(
        config: &ServerConfig,
        owner: &tokio_postgres::Config,
        role: &str,
    ) -> Result<(), OpenError> {
        let made = std::thread::scope(|scope| scope.spawn(|| make(config, owner, role)).join());
        let made = made.unwrap_or(Err(Lost::Ended));
        made.map_err(|problem| OpenError::Server(problem.to_string()))
    }

    /// Opens a journal on a server. A database that may have forgotten something is an old copy.
    pub fn open_on_server(config: &ServerConfig, clock: Clock) -> Result<Self, OpenError> {
        // The session belongs to the thread that waits for its answers.
        let (tell, told) = std::sync::mpsc::channel();
        let config = config.clone();
        let work = move || match open(&config, clock) {
            Ok((journal, writer)) => {
                if tell.send(Ok(journal)).is_ok() {
                    writer.run();
                }
            }
            Err(problem) => drop(tell.send(Err(problem))),
        };
        let thread = std::thread::Builder::new().name("journal".to_owned());
        thread.spawn(work).map_err(|e| OpenError::Unsuitable(e.to_string()))?;
        let opened = told.recv().unwrap_or(Err(Lost::Ended));
        opened.map_err(|problem| OpenError::Server(problem.to_string()))
    }
}

fn make(config: &ServerConfig, owner: &tokio_postgres::Config, role: &str) -> Result<(), Lost> {
    let session = Session::open(owner, config)?;
    let conn: &dyn Database = &session;
    let server = Server::of(&session)?.ok_or(Lost::Follows)?;
    let (schema, role): (String, String) =
        conn.query_row("SELECT quote_ident(current_schema()), quote_ident(?1)", [role], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    session.batch("BEGIN")?;
    session.batch(include_str!("postgres/schema.sql"))?;
    let token = Token::random()?;
    session.name(token);
    let roles = include_str!("postgres/roles.sql");
    session.batch(&roles.replace("{schema}", &schema).replace("{role}", &role))?;
    let version = migrate::newest(migrate::STEPS);
    conn.execute("INSERT INTO about (one, version, min_writer) VALUES (1, ?1, ?1)", [version])?;
    let boot = BootId::random().map_err(SqlError::foreign)?;
    boots::insert_boot(conn, boot, Clock::MACHINE.unix_ms())?;
    let Committed::Yes(known) = session.commit(token) else {
        return Err(SqlError::foreign(
            "the tables were not made; see what is there and begin anew",
        )
        .into());
    };
    let file = MarkFile::at(&config.mark_path);
    file.write(&LastSeen { boot, known, server }).map_err(|e| SqlError::foreign(e).into())
}

fn open(config: &ServerConfig, clock: Clock) -> Result<(Journal, ServerWriter), Lost> {
    let session = Session::open(&config.server, config)?;
    let conn: &dyn Database = &session;
    let server = Server::of(&session)?.ok_or(Lost::Follows)?;
    if let Some(problem) = unsuitable(conn)? {
        return Err(SqlError::foreign(problem).into());
    }
    let file = MarkFile::at(&config.mark_path);
    let old_copy = match file.read() {
        Some(reached) => reached.is_contradicted_by(&session, &server)?,
        None => true,
    };
    let left_ms = doubt::left_ms(conn)?;
    let (boot, known) = start(&session, old_copy, clock)?;
    let pauses = Arc::new(RwLock::new(pause::all(conn)?));
    let mut mark = Following { file, boot, known, server, written: None, behind: true };
    mark.write();
    let (jobs, queue) = mpsc::channel::<Job>(config.queue_length);
    let figures = Arc::new(Figures::default());
    let counted = Arc::clone(&figures);
    let config = config.clone();
    let writer =
        ServerWriter { config, session: Some(session), jobs: queue, figures: counted, mark };
    let (files, min_free_bytes, begun) = (None, 0, Begun::written());
    let journal =
        Journal { jobs, figures, files, min_free_bytes, old_copy, left_ms, begun, clock, pauses };
    Ok((journal, writer))
}

/// Writes down that a process has started, and what an old copy puts in doubt.
fn start(session: &Session, old_copy: bool, clock: Clock) -> Result<(BootId, Known), Lost> {
    let conn: &dyn Database = session;
    let boot = BootId::random().map_err(SqlError::foreign)?;
    let token = Token::random()?;
    session.begin(token);
    if old_copy {
        warn!(
            "the database may have forgotten something: what its lanes did since is learnt from the chain"
        );
        doubt::begin(conn, clock.unix_ms())?;
    }
    boots::insert_boot(conn, boot, clock.unix_ms())?;
    match session.commit(token) {
        Committed::Yes(known) => Ok((boot, known)),
        Committed::No => Err(Lost::Follows),
        Committed::Unknown(problem) => Err(problem.into()),
    }
}

/// What makes a server, its tables or the role unfit to keep a journal.
fn unsuitable(conn: &dyn Database) -> SqlResult<Option<String>> {
    let settings = "SELECT name || ' is ' || setting FROM pg_settings
                    WHERE name IN ('fsync', 'full_page_writes') AND setting <> 'on'";
    if let Some(setting) = conn.query_row(settings, [], |row| row.get::<String>(0)).optional()? {
        return Ok(Some(format!("{setting}: the server may lose what it has committed")));
    }
    let about = "SELECT version, min_writer FROM about";
    let (version, min_writer): (i64, i64) =
        conn.query_row(about, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let known = migrate::newest(migrate::STEPS);
    if version < known || min_writer > known {
        let what = format!("its tables are of version {version}, and this program knows {known}");
        return Ok(Some(what));
    }
    let powers = "SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper
                  OR has_table_privilege('history', 'DELETE') OR has_table_privilege('claim', 'DELETE')
                  OR has_table_privilege('history', 'UPDATE') OR has_table_privilege('batch', 'DELETE'))";
    let too_strong = conn.query_row(powers, [], |_| Ok(())).optional()?.is_some();
    Ok(too_strong.then(|| {
        "the role may delete or change what was written down: use one that was granted only what \
         a Signer needs"
            .to_owned()
    }))
}
