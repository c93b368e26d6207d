//! The start of a process on a journal that a server keeps: the process reaches for the journal, waits while
//! another process has it, and once it has the journal writes its start down and lets its threads run.

use crate::model::BootId;
use crate::postgres::heartbeat::Heartbeat;
use crate::postgres::instance_table::{self, SaidState, SelfEntry};
use crate::postgres::job_wait::JobWait;
use crate::postgres::lock::opened_alone;
use crate::postgres::mark::{Known, LastSeen, MarkFile, Server};
use crate::postgres::pending_replies::PendingReplies;
use crate::postgres::reader::ServerReader;
use crate::postgres::server_line::{Route, ServerLine};
use crate::postgres::session::{Committed, Session};
use crate::postgres::token::Token;
use crate::postgres::writer::{Following, ServerWriter};
use crate::postgres::{Lost, ServerConfig, fitness};
use crate::sharing::instances::{Instances, newest_boot};
use crate::sharing::server_link::{ServerLink, Usage};
use crate::sql::{Database, SqlError, SqlResult};
use crate::sqlite::file_mark::insert_boot;
use crate::sqlite::start::Begun;
use crate::sqlite::writer::Job;
use crate::tables::lane_past::CLOCKS_MS;
use crate::tables::networks::Renamed;
use crate::tables::{doubts, pauses};
use crate::{Figures, Journal};
use host::clock::Clock;
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::mpsc;
use tracing::{info, warn};

/// A session that has the journal, or waits for it.
pub(super) struct Candidate {
    pub(super) session: Session,
    pub(super) server: Server,
    pub(super) entry: SelfEntry,
    /// The use that names the session.
    pub(super) used_for: &'static str,
}

/// Makes sure that a journal can be kept there.
pub(super) fn fits(conn: &dyn Database, config: &ServerConfig) -> Result<(), Lost> {
    let problem = fitness::unfit(conn, config.steps.newest())?;
    problem.map_or(Ok(()), |problem| Err(Lost::Unfit(problem)))
}

/// Reaches for the journal; it is an error within where another process has it, and does not let go of it soon.
pub(super) fn reach_for(
    config: &ServerConfig,
    used_for: &'static str,
    soon: Duration,
) -> Result<Result<Candidate, Candidate>, Lost> {
    let boot = BootId::random().map_err(SqlError::foreign)?;
    let session = opened_alone(config, &instance_table::name(used_for, boot))?;
    let server = Server::of(&session)?.ok_or(Lost::Follows)?;
    fits(&session, config)?;
    let (name, setup) = (config.instance.clone(), config.setup.text());
    let entry = SelfEntry { boot, name, setup };
    let candidate = Candidate { session, server, entry, used_for };
    let held = config.shared || candidate.session.hold_within(soon)?;
    Ok(if held { Ok(candidate) } else { Err(candidate) })
}

/// A journal whose threads do not run yet.
pub(super) struct OpenedJournal {
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
    pub(super) fn run(self) -> Result<(Journal, Heartbeat), Lost> {
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
pub(super) fn serve(
    config: &ServerConfig,
    candidate: Candidate,
    clock: Clock,
) -> Result<Journal, Lost> {
    let state = SaidState { clock_ms: clock.unix_ms(), told: None, unfit: None };
    candidate.entry.say(&candidate.session, &state)?;
    begin(config, candidate, clock)?.serve()
}

/// Begins on a journal that this process has.
pub(super) fn begin(
    config: &ServerConfig,
    candidate: Candidate,
    clock: Clock,
) -> Result<OpenedJournal, Lost> {
    let Candidate { session, server, entry, used_for } = candidate;
    let (conn, boot): (&dyn Database, _) = (&session, entry.boot);
    let file = MarkFile::at(&config.mark_path);
    let old_copy = match file.read() {
        Some(reached) => reached.is_contradicted_by(&session, &server)?,
        None => true,
    };
    let left_ms = doubts::left_ms(conn)?;
    let company = Arc::new(company(conn, boot)?);
    // A process that ends in good order strikes itself out.
    let was_closed = company.clock_before_ms.is_none();
    let known = start(&session, boot, old_copy, clock)?;
    tell_start(config, conn, &server)?;
    let pauses = Arc::new(RwLock::new(pauses::all(conn)?));
    let renamed = Arc::new(Renamed::read(conn)?);
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
    let (figures, pending) = (Arc::new(Figures::default()), Arc::new(PendingReplies::default()));
    let (read, wrote, told) = (Arc::clone(&figures), Arc::clone(&figures), Arc::clone(&pending));
    let reader = ServerReader { line: reads, jobs: to_read, figures: read, pending: told };
    let writer =
        ServerWriter { line, jobs: to_write, figures: wrote, mark, unanswered: None, pending };
    let alive = Heartbeat {
        config: config.clone(),
        entry,
        company: Arc::clone(&company),
        link: Arc::clone(&link),
        clock,
        jobs: jobs.downgrade(),
    };
    let journal = Journal {
        jobs,
        reads: questions,
        figures,
        files: None,
        link: Some(link),
        company: Some(company),
        min_free_bytes: 0,
        old_copy,
        left_ms,
        clocks_ms: CLOCKS_MS,
        was_closed,
        begun: Begun::written(),
        clock,
        pauses,
        renamed,
    };
    Ok(OpenedJournal { journal, writer, reader, alive })
}

/// Reads which process had the journal before.
fn company(conn: &dyn Database, boot: BootId) -> SqlResult<Instances> {
    let before = newest_boot(conn)?;
    let clock = before.map(|before| instance_table::clock_of(conn, before)).transpose()?;
    let (clock_before_ms, roll) = (clock.flatten(), Arc::default());
    let (told, unfit) = (Mutex::default(), Mutex::default());
    Ok(Instances { boot, before, clock_before_ms, roll, told, unfit })
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

/// Writes down that a process has started, and what an old copy puts in doubt.
fn start(session: &Session, boot: BootId, old_copy: bool, clock: Clock) -> Result<Known, Lost> {
    let conn: &dyn Database = session;
    let token = Token::random()?;
    session.begin(token);
    if old_copy {
        warn!(
            "the database may have forgotten something: what its lanes did since is learnt from the chain"
        );
        doubts::begin(conn, clock.unix_ms())?;
    }
    insert_boot(conn, boot, clock.unix_ms())?;
    match session.commit(token) {
        Committed::Yes(known) => Ok(known),
        Committed::No => Err(Lost::Follows),
        Committed::Unknown(problem) => Err(problem.into()),
    }
}
