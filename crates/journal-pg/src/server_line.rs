//! A way to the server: a session and, when it breaks, another one. It is made beside the thread that uses it,
//! so that whoever waits for that thread hears at once that there is none.

use crate::lock::opened_alone;
use crate::lost::Lost;
use crate::mark::{LastSeen, Server};
use crate::session::Session;
use crate::{ServerConfig, fitness};
use journal::sql::Database;
use journal::store::newest_boot;
use journal::store::{ServerLink, Usage};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::sleep;
use std::time::Duration;
use tokio::time::Instant;
use tracing::{error, info};

/// The first and the longest wait before a server that could not be used is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// The target of a connection, and what has to be found there.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) config: ServerConfig,
    pub(crate) used_for: Usage,
    /// Name of this way's sessions on the server; no other sessions have it.
    pub(crate) name: String,
    /// The content that this process knows to be in the database.
    pub(crate) seen: Arc<Mutex<LastSeen>>,
    pub(crate) link: Arc<ServerLink>,
    /// Nobody uses it any more.
    pub(crate) left: AtomicBool,
}

/// A session, while there is one.
#[derive(Debug)]
pub(crate) struct ServerLine {
    route: Arc<Route>,
    session: Option<Session>,
    coming: Option<Receiver<Result<Session, Lost>>>,
    /// When the server last refused to keep what was written, and has not kept anything since.
    refused: Option<Instant>,
}

impl Drop for ServerLine {
    fn drop(&mut self) {
        self.route.left.store(true, Ordering::Release);
    }
}

impl ServerLine {
    /// With the session that there is.
    pub(crate) fn new(route: Route, session: Option<Session>) -> Self {
        Self { route: Arc::new(route), session, coming: None, refused: None }
    }

    /// Has a session that can be used, or another one made. Waits for nothing. An error is for good: this
    /// process must not use the database any more.
    pub(crate) fn renew(&mut self) -> Result<(), Lost> {
        if self.session.as_ref().is_some_and(|session| !session.is_broken()) {
            return Ok(());
        }
        if self.session.take().is_some() {
            self.route.told("the connection broke");
        }
        let coming = self.coming.get_or_insert_with(|| Route::begin(&self.route));
        match coming.try_recv() {
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => self.coming = None,
            Ok(made) => {
                self.coming = None;
                self.session = Some(made?);
                if self.route.link.set(self.route.used_for, None) {
                    info!(used_for = ?self.route.used_for, "the server of the journal is used again");
                }
            }
        }
        Ok(())
    }

    /// The session, if there is one.
    pub(crate) fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Says what the server has refused, as far as that will not pass by itself.
    pub(crate) fn note_refusal(&mut self) {
        if let Some(fault) = self.session.as_ref().and_then(Session::take_refusal) {
            self.refused = Some(Instant::now());
            let problem = fitness::said(&fault);
            if self.route.link.set(Usage::Commits, Some(problem.clone())) {
                error!(problem, "the server of the journal keeps nothing that is written");
            }
        }
    }

    /// Returns true if the server refuses what is written, and last did so at least `pause` ago.
    pub(crate) fn refuses_for(&self, pause: Duration) -> bool {
        self.refused.is_some_and(|then| then.elapsed() >= pause)
    }

    /// Something was kept.
    pub(crate) fn takes_writes(&mut self) {
        self.refused = None;
        if self.route.link.set(Usage::Commits, None) {
            info!("the server of the journal keeps what is written again");
        }
    }

    /// Finds out whether the session still works, when nothing else does.
    pub(crate) fn prove(&mut self) {
        let works = |session: &Session| {
            let works = session.batch("SELECT 1").is_ok();
            // Nobody waited for it.
            session.take_trips();
            works
        };
        if self.session.as_ref().is_some_and(|session| !works(session)) {
            self.give_up("the connection broke");
        }
    }

    /// Ends the session, for good.
    pub(crate) fn leave(&mut self) {
        self.route.left.store(true, Ordering::Release);
        self.session = None;
    }

    /// Gives the session up: what it is at is not waited for.
    pub(crate) fn give_up(&mut self, why: &str) {
        if self.session.take().is_some() {
            self.route.told(why);
        }
    }
}

impl Route {
    /// Makes a session beside the caller, however long that takes.
    fn begin(route: &Arc<Self>) -> Receiver<Result<Session, Lost>> {
        let (tell, told) = sync_channel(1);
        let route = Arc::clone(route);
        let work = move || route.go_on_trying(&tell);
        let thread = std::thread::Builder::new().name("journal-link".to_owned());
        // If no thread can be started, the channel closes without a message, and the next call tries again.
        thread.spawn(work).ok();
        told
    }

    fn go_on_trying(&self, tell: &SyncSender<Result<Session, Lost>>) {
        let (mut pause, longest) = AGAIN;
        while !self.left.load(Ordering::Acquire) {
            match self.open() {
                Err(problem) if !problem.is_final() => self.told(&problem.in_words()),
                made => {
                    // An error means that nobody waits for it any more.
                    tell.send(made).ok();
                    return;
                }
            }
            sleep(pause);
            pause = pause.saturating_mul(2).min(longest);
        }
    }

    /// Says what is wrong, once.
    fn told(&self, problem: &str) {
        if self.link.set(self.used_for, Some(problem.to_owned())) {
            error!(used_for = ?self.used_for, problem, "the server of the journal cannot be used");
        }
    }

    /// A session with the database that this process knows.
    fn open(&self) -> Result<Session, Lost> {
        let session = match self.used_for {
            Usage::Writes => opened_alone(&self.config, &self.name)?,
            Usage::Reads | Usage::Commits => {
                Session::open(&self.config.server, &self.config, &self.name)?
            }
        };
        let server = Server::of(&session)?.ok_or(Lost::Follows)?;
        let newest = self.config.steps.newest();
        let problem = match self.used_for {
            // A server that is reached again may be another one, or have been started with other settings.
            Usage::Writes => fitness::unfit(&session, newest)?,
            Usage::Reads | Usage::Commits => fitness::unfit_for_reads(&session, newest)?,
        };
        if let Some(problem) = problem {
            return Err(Lost::Unfit(problem));
        }
        let seen = self.seen.lock().clone();
        let conn: &dyn Database = &session;
        if self.used_for == Usage::Writes && !self.config.shared && !session.hold_again()? {
            // A holder that has begun on the journal since then serves now. A holder that has not may end any
            // moment.
            let ours = newest_boot(conn)? == Some(seen.boot);
            return Err(if ours { Lost::Held } else { Lost::Taken });
        }
        if server.system != seen.server.system || !seen.known.is_in(conn)? {
            return Err(Lost::Forgotten);
        }
        if !self.config.shared && newest_boot(conn)? != Some(seen.boot) {
            return Err(Lost::Taken);
        }
        if server != seen.server {
            let timeline = &server.timeline;
            info!(timeline, "another server has taken over, and has forgotten nothing");
            self.seen.lock().server = server;
        }
        Ok(session)
    }
}

/// Says why the process ends.
pub(crate) fn say_why(lost: &Lost) {
    error!(problem = %lost, "the journal on its server must not be used any more. Ending the process; restart it");
}
