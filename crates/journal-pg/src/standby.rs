//! The thread of a process that stands by: it waits for the lock of the serving process, follows the database with
//! its own mark, and takes over when the lock is free. A serving process that reports nothing for long is ended
//! first.

use crate::ServerConfig;
use crate::instance_table::{self, EVERY, SaidState, SelfEntry, Silent};
use crate::lock::opened_alone;
use crate::lost::Lost;
use crate::mark::{Comparison, Known, LastSeen, MarkFile, Server};
use crate::session::Session;
use crate::starting::{self, Candidate};
use host::clock::Clock;
use journal::sql::{Database, SqlError};
use journal::store::{self, BootId, newest_boot};
use journal::{HistoryHead, Instance, Journal, OpenError, Standby, StandbySight};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tracing::{error, info, warn};

/// Time that a session with the journal has to last before anything is begun with it.
const SETTLES: Duration = Duration::from_millis(250);

/// Waits for the journal.
#[derive(Debug)]
struct StandbyLoop {
    config: ServerConfig,
    entry: SelfEntry,
    /// The name under which it could not begin, which is still on the roll.
    former: Option<SelfEntry>,
    clock: Clock,
    sight: Arc<StandbySight>,
    tell: oneshot::Sender<Result<Journal, OpenError>>,
    /// The content of the mark, as far as this process has written it.
    marked: Option<LastSeen>,
    /// The comparison of mark and database in the last round.
    compared: Comparison,
}

/// Waits for it on a thread of its own.
pub(crate) fn stand_by(
    config: &ServerConfig,
    waits: Candidate,
    clock: Clock,
) -> Result<Standby, Lost> {
    let (tell, turn) = oneshot::channel();
    let sight = Arc::<StandbySight>::default();
    let Candidate { session, entry, .. } = waits;
    let post = StandbyLoop {
        config: config.clone(),
        entry,
        former: None,
        clock,
        sight: Arc::clone(&sight),
        tell,
        marked: None,
        compared: Comparison::Agrees,
    };
    let thread = std::thread::Builder::new().name("journal-standby".to_owned());
    thread.spawn(move || post.stand(session)).map_err(SqlError::foreign)?;
    Ok(Standby::new(sight, turn))
}

/// The result of a round.
enum Poll {
    /// Another has the journal.
    Waits(Box<Session>),
    /// This process has.
    Serves(Journal),
}

impl StandbyLoop {
    /// Waits until the journal is free, or nobody wants it any more. Blocks the thread.
    fn stand(mut self, session: Session) {
        let (mut session, mut yields_until) = (Some(session), None);
        while !self.tell.is_closed() {
            // The fault that breaks this connection may have broken the serving process's connection too. Only the
            // serving process knows for sure whether the database has forgotten something since, so it goes first.
            let yields = yields_until.is_some_and(|until| Instant::now() < until);
            match self.round(session.take(), yields) {
                Ok(Poll::Waits(waits)) => session = Some(*waits),
                Ok(Poll::Serves(journal)) => {
                    // If the receiver waits no more, the journal is dropped, and the next process in line gets it.
                    self.tell.send(Ok(journal)).ok();
                    return;
                }
                Err(lost) => {
                    self.say(Some(lost.in_words()));
                    yields_until = Instant::now().checked_add(self.config.takeover_after);
                    sleep(EVERY);
                }
            }
        }
        if let Some(session) = session {
            self.entry.leave(&session).ok();
        }
    }

    /// Runs one round, and updates its view before it tries to take over: a process that joined a moment ago thus
    /// has a mark when it takes over.
    fn round(&mut self, session: Option<Session>, yields: bool) -> Result<Poll, Lost> {
        let session = match session {
            Some(session) => session,
            None => opened_alone(
                &self.config,
                &instance_table::name(instance_table::SERVES, self.entry.boot),
            )?,
        };
        starting::fits(&session, &self.config)?;
        let misbound = self.misbound(&session)?;
        let must_not = misbound.is_some();
        let unfit = misbound.or_else(|| self.sight.unfit.lock().clone());
        let state =
            SaidState { clock_ms: self.clock.unix_ms(), told: None, unfit: unfit.as_deref() };
        self.entry.say(&session, &state)?;
        if let Some(former) = &self.former {
            former.leave(&session)?;
            self.former = None;
        }
        let (instances, webhook) = self.entry.read(&session)?;
        *self.sight.webhook.lock() = webhook;
        let serves = instances.iter().any(|instance| instance.serves);
        let fitter = instances.iter().any(Instance::stands_by_and_could_serve);
        self.sight.roll.replace(instances);
        let followed = !self.end_silent(&session)? && serves;
        let compared = if followed { self.follow(&session)? } else { Comparison::Agrees };
        // The Signer that serves may charge again what the database has forgotten, and does not know that.
        let knows_more = compared == Comparison::Lacks && !yields && !must_not;
        if knows_more {
            self.end_unknowing(&session)?;
        }
        self.say(None);
        // A process that could bill on no chain leaves the journal to a process that could, unless it knows more: the
        // doubts that it begins are in the journal then, for whoever comes next.
        let unfit = unfit.is_some() && fitter && !knows_more;
        if yields || must_not || unfit {
            sleep(EVERY);
        } else if session.hold_within(EVERY)? {
            return self.take_over(session).map(Poll::Serves);
        }
        Ok(Poll::Waits(Box::new(session)))
    }

    /// Why this process must not take over: the journal knows a chain otherwise than its configuration.
    fn misbound(&self, session: &Session) -> Result<Option<String>, Lost> {
        let mut found = None;
        for binding in &self.config.setup.bindings {
            found = found.or(store::contradiction(session, binding)?);
        }
        let problem = found.map(|misbound| misbound.to_string());
        let mut now = self.sight.misbound.lock();
        if let Some(problem) = problem.as_ref().filter(|_| *now != problem) {
            error!(
                problem,
                "standing by, and will not take over: the journal knows a chain otherwise"
            );
        }
        now.clone_from(&problem);
        Ok(problem)
    }

    /// Ends the sessions of a Signer that serves and says nothing. Returns true if there was one.
    fn end_silent(&self, session: &Session) -> Result<bool, Lost> {
        let silent = instance_table::end_silent(session, self.config.takeover_after)?;
        let Some(Silent { name, start, quiet }) = silent else { return Ok(false) };
        let silent_s = quiet.as_secs();
        warn!(name, start, silent_s, "the Signer that serves says nothing: its sessions are ended");
        Ok(true)
    }

    /// Ends the sessions of the Signer that serves a database that lacks what this machine saw in it, and of those that
    /// wait for the journal. This process then takes over, and its mark is written anew: that happens once for each
    /// machine.
    fn end_unknowing(&self, session: &Session) -> Result<(), Lost> {
        let file = MarkFile::at(&self.config.mark_path);
        if let Some(marked) = self.marked.clone().or_else(|| file.read()) {
            // With a mark that cannot be written, this would happen again and again.
            file.write(&marked).map_err(SqlError::foreign)?;
        }
        instance_table::end_all_in_line(session)?;
        warn!(
            "the database lacks what this machine saw in it, and the Signer that serves does not know that: its session is ended, and this Signer takes over"
        );
        Ok(())
    }

    /// Has the mark of this machine say what the database holds. One that contradicts it stays as it is: the
    /// database is an old copy for this machine then, whoever trusts it.
    fn follow(&mut self, session: &Session) -> Result<Comparison, Lost> {
        let conn: &dyn Database = session;
        let server = Server::of(conn)?.ok_or(Lost::Follows)?;
        let file = MarkFile::at(&self.config.mark_path);
        let marked = self.marked.clone().or_else(|| file.read());
        let compared = match &marked {
            Some(marked) => marked.compared_with(conn, &server)?,
            None => Comparison::Agrees,
        };
        let agrees = compared == Comparison::Agrees;
        if !agrees && self.compared == Comparison::Agrees {
            warn!(
                "the mark of this machine contradicts the database, and is kept: taking over, it has the chain tell what is missing"
            );
        }
        self.compared = compared;
        let Some(boot) = newest_boot(conn)?.filter(|_| agrees) else { return Ok(compared) };
        let HistoryHead { row, digest } = store::head(conn)?;
        let now = LastSeen { boot, known: Known(HistoryHead { row, digest }), server };
        if self.marked.as_ref() != Some(&now) {
            file.write(&now).map_err(SqlError::foreign)?;
            self.marked = Some(now);
        }
        Ok(compared)
    }

    /// Takes the journal over, and begins on it like any start. The fault that broke the session before, above all
    /// a shutdown of the server, may be about to break this session too: then nothing has begun, and the other
    /// process comes first.
    fn take_over(&mut self, session: Session) -> Result<Journal, Lost> {
        sleep(SETTLES);
        session.batch("SELECT 1")?;
        info!("the journal is free: this Signer takes over");
        let server = Server::of(&session)?.ok_or(Lost::Follows)?;
        starting::fits(&session, &self.config)?;
        let candidate = Candidate {
            session,
            server,
            entry: self.entry.clone(),
            used_for: instance_table::SERVES,
        };
        let begun = starting::serve(&self.config, candidate, self.clock);
        if begun.is_err() {
            // It may have been written down, and each start has a name of its own.
            let next = BootId::random().map_err(SqlError::foreign)?;
            let boot = std::mem::replace(&mut self.entry.boot, next);
            self.former = Some(SelfEntry { boot, ..self.entry.clone() });
            self.marked = None;
        }
        begun
    }

    /// Says what is wrong, once.
    fn say(&self, trouble: Option<String>) {
        let mut now = self.sight.trouble.lock();
        if *now != trouble {
            if let Some(problem) = &trouble {
                error!(problem, "standing by, and the journal's server cannot be used");
            } else {
                info!("standing by: the journal's server is used again");
            }
            *now = trouble;
        }
    }
}
