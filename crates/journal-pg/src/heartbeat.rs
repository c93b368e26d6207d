//! A process that serves says every second that it is there, on a session of its own: it waits for no commit, no
//! disk and no standby of the server, and is not told of while the journal cannot be written.

use crate::ServerConfig;
use crate::instance_table::{self, EVERY, SaidState, SelfEntry};
use crate::session::Session;
use host::clock::Clock;
use journal::sql::SqlResult;
use journal::store::{Job, ServerLink, ServingInstance, Usage};
use std::sync::Arc;
use std::thread::sleep;
use tokio::sync::mpsc::WeakSender;

/// Says so for as long as the journal is open.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    pub(crate) config: ServerConfig,
    pub(crate) entry: SelfEntry,
    pub(crate) instance: Arc<ServingInstance>,
    pub(crate) link: Arc<ServerLink>,
    pub(crate) clock: Clock,
    /// Closed when the journal is.
    pub(crate) jobs: WeakSender<Job>,
}

impl Heartbeat {
    /// Blocks the thread.
    pub(crate) fn run(self) {
        let mut session = None;
        while self.jobs.upgrade().is_some_and(|jobs| !jobs.is_closed()) {
            session = session.or_else(|| self.open().ok());
            // A session that fails is made anew the next time. Nobody is told: who cannot be heard is not there.
            session = session.filter(|session| self.beat(session).is_ok() && !session.is_broken());
            sleep(EVERY);
        }
        if let Some(session) = session {
            self.entry.leave(&session).ok();
        }
    }

    fn open(&self) -> SqlResult<Session> {
        let name = instance_table::name("lives", self.entry.boot);
        let session = Session::open(&self.config.server, &self.config, &name)?;
        session.batch("SET synchronous_commit = off")?;
        instance_table::strike_out(&session)?;
        Ok(session)
    }

    fn beat(&self, session: &Session) -> SqlResult<()> {
        if !self.link.is_closed(Usage::Writes) {
            let (told, unfit) = (self.instance.webhook(), self.instance.unfit());
            let (told, unfit) = (told.as_deref(), unfit.as_deref());
            let clock_ms = self.clock.unix_ms();
            self.entry.say(session, &SaidState { clock_ms, told, unfit })?;
        }
        self.instance.roll().replace(self.entry.read(session)?.0);
        Ok(())
    }
}
