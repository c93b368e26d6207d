//! The start of a process on a journal that a server keeps: the process reaches for the journal, waits while
//! another process has it, and once it has the journal writes its start down and lets its threads run.

use crate::heartbeat::Heartbeat;
use crate::instance_table::{self, SaidState, SelfEntry};
use crate::job_wait::JobWait;
use crate::lock::opened_alone;
use crate::lost::Lost;
use crate::mark::{Comparison, Known, LastSeen, MarkFile, Server};
use crate::pending_replies::PendingReplies;
use crate::reader::ServerReader;
use crate::server_line::{Route, ServerLine};
use crate::session::{Committed, Session};
use crate::token::Token;
use crate::writer::{Following, ServerWriter};
use crate::{ServerConfig, fitness};
use host::clock::Clock;
use journal::sql::{Database, SqlError, SqlResult};
use journal::store::{
    Begun, BootId, Findings, FreeSpace, Job, Opened, ServerLink, ServingInstance, TablesAtStart,
    Usage, WorkQueue, begin_doubts, begin_doubts_since, insert_boot, left_ms, newest_boot,
};
use journal::{Figures, Journal};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::mpsc;
use tracing::{info, warn};

/// A session that has the journal, or waits for it.
pub(crate) struct Candidate {
    pub(crate) session: Session,
    pub(crate) server: Server,
    pub(crate) entry: SelfEntry,
    /// The use that names the session.
    pub(crate) used_for: &'static str,
}

/// Makes sure that a journal can be kept there.
pub(crate) fn fits(conn: &dyn Database, config: &ServerConfig) -> Result<(), Lost> {
    let problem = fitness::unfit(conn, config.steps.newest())?;
    problem.map_or(Ok(()), |problem| Err(Lost::Unfit(problem)))
}

/// The answer to a process that reached for the journal.
pub(crate) enum Reached {
    /// The process has it.
    Held(Candidate),
    /// Another process has it, and does not let go of it soon.
    Waits(Candidate),
}

/// Reaches for the journal.
pub(crate) fn reach_for(
    config: &ServerConfig,
    used_for: &'static str,
    soon: Duration,
) -> Result<Reached, Lost> {
    let boot = BootId::random().map_err(SqlError::foreign)?;
    let session = opened_alone(config, &instance_table::name(used_for, boot))?;
    let server = Server::of(&session)?.ok_or(Lost::Follows)?;
    fits(&session, config)?;
    let (name, setup) = (config.instance.clone(), config.setup.text());
    let entry = SelfEntry { boot, name, setup };
    let candidate = Candidate { session, server, entry, used_for };
    let held = config.shared || candidate.session.hold_within(soon)?;
    Ok(if held { Reached::Held(candidate) } else { Reached::Waits(candidate) })
}

/// A journal whose threads do not run yet.
pub(crate) struct OpenedJournal {
    journal: Journal,
    writer: ServerWriter,
    reader: ServerReader,
    alive: Heartbeat,
}

impl OpenedJournal {
    /// Has them run, of a process that serves and says so.
    fn serve(self) -> Result<Journal, Lost> {
        let (journal, alive) = self.run()?;
        let thread = std::thread::Builder::new().name("journal-lives".to_owned());
        thread.spawn(move || alive.run()).map_err(SqlError::foreign)?;
        Ok(journal)
    }

    /// Has them run.
    pub(crate) fn run(self) -> Result<(Journal, Heartbeat), Lost> {
        let Self { journal, writer, reader, alive } = self;
        let beats = (
            JobWait::new().map_err(SqlError::foreign)?,
            JobWait::new().map_err(SqlError::foreign)?,
        );
        let thread = std::thread::Builder::new().name("journal".to_owned());
        thread.spawn(move || writer.run(&beats.0)).map_err(SqlError::foreign)?;
        let thread = std::thread::Builder::new().name("journal-reads".to_owned());
        thread.spawn(move || reader.run(&beats.1)).map_err(SqlError::foreign)?;
        Ok((journal, alive))
    }
}

/// Begins on a journal that this process has, to serve: the others wait for its next word from now on.
pub(crate) fn serve(
    config: &ServerConfig,
    candidate: Candidate,
    clock: Clock,
) -> Result<Journal, Lost> {
    let state = SaidState { clock_ms: clock.unix_ms(), told: None, unfit: None };
    candidate.entry.say(&candidate.session, &state)?;
    begin(config, candidate, clock)?.serve()
}

/// Begins on a journal that this process has.
pub(crate) fn begin(
    config: &ServerConfig,
    candidate: Candidate,
    clock: Clock,
) -> Result<OpenedJournal, Lost> {
    let Candidate { session, server, entry, used_for } = candidate;
    let (conn, boot): (&dyn Database, _) = (&session, entry.boot);
    let file = MarkFile::at(&config.mark_path);
    let age = DatabaseAge::of(conn, &file, &server)?;
    let left_ms = left_ms(conn)?;
    let before = newest_boot(conn)?;
    let clock_before_ms = match before {
        Some(before) => instance_table::clock_of(conn, before)?,
        None => None,
    };
    let instance = Arc::new(ServingInstance::new(boot, before, clock_before_ms));
    // A crash of the server, a failover or a snapshot may lose commits, and the roll with them: no start on a server
    // knows that nothing was forgotten.
    let was_closed = false;
    let known = start(&session, boot, age, clock)?;
    tell_start(config, conn, &server)?;
    let tables = TablesAtStart::read(conn)?;
    let seen = Arc::new(Mutex::new(LastSeen { boot, known, server }));
    let link = Arc::new(ServerLink::default());
    let line = |used_for, name: &str, session| {
        let (seen, link, name) =
            (Arc::clone(&seen), Arc::clone(&link), instance_table::name(name, boot));
        let left = AtomicBool::new(false);
        let route = Route { config: config.clone(), used_for, name, seen, link, left };
        ServerLine::new(route, Some(session))
    };
    let reading = Session::open(&config.server, config, &instance_table::name("reads", boot))?;
    let reads = line(Usage::Reads, "reads", reading);
    let line = line(Usage::Writes, used_for, session);
    let mark = Following::begin(file, seen);
    let (jobs, to_write) = mpsc::channel::<Job>(config.queue_length);
    let (questions, to_read) = mpsc::channel::<Job>(config.queue_length);
    let (figures, pending) = (Arc::<Figures>::default(), Arc::<PendingReplies>::default());
    let (read, told) = (Arc::clone(&figures), Arc::clone(&pending));
    let reader = ServerReader { line: reads, jobs: to_read, figures: read, pending: told };
    let wrote = Arc::clone(&figures);
    let writer =
        ServerWriter { line, jobs: to_write, figures: wrote, mark, unanswered: None, pending };
    let begun = Begun::written();
    let alive = Heartbeat {
        config: config.clone(),
        entry,
        instance: Arc::clone(&instance),
        link: Arc::clone(&link),
        clock,
        jobs: jobs.downgrade(),
    };
    let journal = Journal::of(Opened {
        queue: WorkQueue::of_a_server(jobs, questions, link),
        figures,
        found: Findings { old_copy: age != DatabaseAge::Newest, was_closed, left_ms, begun },
        space: FreeSpace::default(),
        tables,
        instance: Some(instance),
        clock,
    });
    Ok(OpenedJournal { journal, writer, reader, alive })
}

/// The part of its past that a database may have forgotten, by the mark of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatabaseAge {
    /// Nothing.
    Newest,
    /// All that came after its newest row, if anything did.
    OldCopy,
    /// Something after this time (Unix ms), and another process has written to it since.
    WrittenOn { known_until_ms: i64 },
}

impl DatabaseAge {
    fn of(conn: &dyn Database, file: &MarkFile, server: &Server) -> SqlResult<Self> {
        let Some(mark) = file.read() else { return Ok(Self::OldCopy) };
        Ok(match mark.compared_with(conn, server)? {
            Comparison::Agrees => Self::Newest,
            Comparison::Elsewhere => Self::OldCopy,
            Comparison::Lacks => mark
                .known_until_ms(conn)?
                .map_or(Self::OldCopy, |known_until_ms| Self::WrittenOn { known_until_ms }),
        })
    }

    fn begin_doubts(self, conn: &dyn Database, at_ms: i64) -> SqlResult<()> {
        match self {
            Self::Newest => return Ok(()),
            Self::OldCopy => begin_doubts(conn, at_ms)?,
            Self::WrittenOn { known_until_ms } => begin_doubts_since(conn, at_ms, known_until_ms)?,
        }
        warn!(
            "the database may have forgotten something: what its lanes did since is learnt from the chain"
        );
        Ok(())
    }
}

/// Says where the journal is, and what to know of it.
fn tell_start(config: &ServerConfig, conn: &dyn Database, server: &Server) -> Result<(), Lost> {
    let (place, timeline) = (&config.place, &server.timeline);
    info!(journal = place, timeline, "the journal is on a PostgreSQL server");
    if let Some(weak) = fitness::weak(conn)? {
        warn!(journal = place, "{weak}");
    }
    Ok(())
}

/// Writes down that a process has started, and what a database that has forgotten something puts in doubt.
fn start(session: &Session, boot: BootId, age: DatabaseAge, clock: Clock) -> Result<Known, Lost> {
    let conn: &dyn Database = session;
    let token = Token::random()?;
    session.begin(token);
    age.begin_doubts(conn, clock.unix_ms())?;
    insert_boot(conn, boot, clock.unix_ms())?;
    match session.commit(token) {
        Committed::Yes(known) => Ok(known),
        Committed::No => Err(Lost::Follows),
        Committed::Unknown(problem) => Err(problem.into()),
    }
}
