//! The thread that writes a journal on a server: one transaction for all who wait together, and nobody hears of
//! a write before it is known what became of its COMMIT.

use super::super::mark::BootId;
use super::super::sql::{Database as _, SqlResult};
use super::super::writer::{Figures, GROUP, Job, RanWrite, Served, Write};
use super::mark::{Known, LastSeen, MarkFile, Server};
use super::session::{Committed, Session};
use super::token::Token;
use super::{Lost, ServerConfig};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{error, info, warn};

/// How long to wait before a server that could not be asked is asked again.
const AGAIN: Duration = Duration::from_millis(500);

/// How old the mark may get while the journal is written.
const MARK_EVERY: Duration = Duration::from_secs(1);

/// Writes a journal that a server keeps.
#[derive(Debug)]
pub(super) struct ServerWriter {
    pub(super) config: ServerConfig,
    pub(super) session: Option<Session>,
    pub(super) jobs: mpsc::Receiver<Job>,
    pub(super) figures: Arc<Figures>,
    pub(super) mark: Following,
}

/// What the process knows of its database, and the file that says so.
#[derive(Debug)]
pub(super) struct Following {
    pub(super) file: MarkFile,
    pub(super) boot: BootId,
    pub(super) known: Known,
    pub(super) server: Server,
    pub(super) written: Option<Instant>,
    /// Whether the database holds more than the file says.
    pub(super) behind: bool,
}

impl Following {
    /// The database holds this much; the file says so now, or soon.
    fn reached(&mut self, known: Known) {
        self.known = known;
        self.behind = true;
        self.catch_up();
    }

    /// Has the file say it, unless it was written a moment ago. What is committed in that moment may be the last
    /// for long, so it is caught up with whatever is served next, reads too.
    fn catch_up(&mut self) {
        if self.behind && self.written.is_none_or(|then| then.elapsed() >= MARK_EVERY) {
            self.write();
        }
    }

    /// One that could not be written is tried again, and no reason to stop.
    pub(super) fn write(&mut self) {
        self.written = Some(Instant::now());
        let (known, server) = (self.known.clone(), self.server.clone());
        let written = self.file.write(&LastSeen { boot: self.boot, known, server });
        self.behind = written.is_err();
        if let Err(problem) = written {
            warn!(%problem, "the mark beside the journal could not be written");
        }
    }
}

impl ServerWriter {
    /// Works until it is told to close, or the last handle is gone. Blocks the thread.
    pub(super) fn run(mut self) {
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let count = self.jobs.blocking_recv_many(&mut group, GROUP);
            match self.serve(count, &mut group) {
                Served::Going => {}
                Served::Closed => return,
                Served::Unknown => std::process::abort(),
            }
        }
    }

    fn serve(&mut self, count: usize, group: &mut Vec<Job>) -> Served {
        let (mut writes, mut closed) = (Vec::new(), None);
        let had = self.session.is_some();
        if let Err(lost) = self.connect() {
            if had {
                error!(problem = %lost, "the server of the journal cannot be used");
            }
            if matches!(lost, Lost::Forgotten) {
                return Served::Unknown;
            }
        }
        for job in group.drain(..) {
            match (job, &self.session) {
                (Job::Read(read), Some(session)) => read(session),
                (Job::Write(write), Some(_)) => writes.push(write),
                (Job::Close(close), _) => closed = Some(close),
                // What is dropped here has changed nothing, and its waiter hears so.
                (Job::Read(_) | Job::Write(_), None) => {}
            }
        }
        if !writes.is_empty() && self.commit(writes) == Served::Unknown {
            return Served::Unknown;
        }
        self.mark.catch_up();
        if count > 0 && closed.is_none() {
            return Served::Going;
        }
        self.mark.write();
        Served::Closed
    }

    /// Has a session that can be used, with the database that this process knows.
    fn connect(&mut self) -> Result<(), Lost> {
        if self.session.as_ref().is_some_and(|session| !session.is_broken()) {
            return Ok(());
        }
        self.session = None;
        let session = Session::open(&self.config.server, &self.config)?;
        let server = Server::of(&session)?.ok_or(Lost::Follows)?;
        if server.system != self.mark.server.system || !self.mark.known.is_in(&session)? {
            return Err(Lost::Forgotten);
        }
        if server != self.mark.server {
            info!(
                timeline = server.timeline,
                "another server has taken over, and has forgotten nothing"
            );
            self.mark.server = server;
        }
        self.session = Some(session);
        Ok(())
    }

    fn commit(&mut self, writes: Vec<Write>) -> Served {
        let begun = Instant::now();
        let Some(session) = &self.session else { return Served::Going };
        let token = match Token::random() {
            Ok(token) => token,
            Err(failure) => {
                error!(%failure, "the journal cannot be written; nothing of this group was");
                return Served::Going;
            }
        };
        let ran = match run_in_turn(session, token, writes) {
            Ok(ran) => ran,
            Err(failure) => {
                error!(%failure, "the journal cannot be written; nothing of this group was");
                session.roll_back();
                return Served::Going;
            }
        };
        let kept = ran.iter().filter(|ran| ran.keep).count();
        if kept == 0 {
            session.roll_back();
        } else {
            let written = Instant::now();
            match self.end(token) {
                Ok(Some(known)) => self.mark.reached(known),
                Ok(None) => return Served::Going,
                Err(lost) => {
                    error!(problem = %lost, "COMMIT failed: nobody knows what is on disk. Ending the process; restart it");
                    // A reply that is dropped says that its write did not happen.
                    std::mem::forget(ran);
                    return Served::Unknown;
                }
            }
            self.figures.committed(begun, written, kept);
        }
        self.count_trips();
        for RanWrite { reply, .. } in ran {
            reply();
        }
        Served::Going
    }

    fn count_trips(&self) {
        let trips = self.session.as_ref().map_or(0, Session::take_trips);
        self.figures.trips.fetch_add(trips, Ordering::Relaxed);
    }

    /// Ends the open transaction; tells how far the history goes then, and none where nothing of it was
    /// written. Where the answer is lost, nothing else is done until there is one.
    fn end(&mut self, token: Token) -> Result<Option<Known>, Lost> {
        let Some(session) = &self.session else { return Ok(None) };
        let lost = match session.commit(token) {
            Committed::Yes(known) => return Ok(Some(known)),
            Committed::No => return Ok(None),
            Committed::Unknown(lost) => lost,
        };
        warn!(%lost, "the answer to a COMMIT is lost: nothing is written until it is known");
        loop {
            // Asked on a connection of its own: the old one may still be at work.
            self.session = None;
            match self.ask_for(token) {
                Ok(happened) => {
                    info!(happened, "what became of the COMMIT is known");
                    return Ok(happened.then(|| self.mark.known.clone()));
                }
                Err(Lost::Forgotten) => return Err(Lost::Forgotten),
                Err(problem) => warn!(%problem, "the server of the journal does not tell yet"),
            }
            sleep(AGAIN);
        }
    }

    /// Whether the transaction of this name was committed. If not, it never will be.
    fn ask_for(&mut self, token: Token) -> Result<bool, Lost> {
        self.connect()?;
        let Some(session) = &self.session else { return Err(Lost::Follows) };
        if !session.void(token)? {
            return Ok(false);
        }
        // It is on this server's disk. A later commit that no standby lacks says that none lacks it.
        let later = Token::random()?;
        session.begin(later);
        match session.commit(later) {
            Committed::Yes(known) => {
                self.mark.reached(known);
                Ok(true)
            }
            Committed::No => Err(Lost::Follows),
            Committed::Unknown(lost) => Err(lost.into()),
        }
    }
}

/// Runs writes in one transaction, when it is this session's turn.
fn run_in_turn(session: &Session, token: Token, writes: Vec<Write>) -> SqlResult<Vec<RanWrite>> {
    session.begin(token);
    let (alone, mut done) = (writes.len() == 1, Vec::with_capacity(writes.len()));
    for (nth, write) in writes.into_iter().enumerate() {
        if nth > 0 {
            session.release();
        }
        if !alone {
            session.save_point();
        }
        let ran = write(session);
        if ran.keep {
            // What its waiter will be told is true of all of it, and a later failure undoes nothing of it.
            session.flush()?;
        } else if !alone {
            session.undo()?;
        }
        done.push(ran);
    }
    Ok(done)
}
