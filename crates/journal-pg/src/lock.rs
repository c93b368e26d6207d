//! One process to one journal: a session holds it for as long as it lives, and nobody else does meanwhile.

use crate::lost::Lost;
use crate::session::Session;
use crate::{ServerConfig, pooler};
use journal::sql::{SqlError, SqlResult};
use std::time::Duration;

/// Time to wait for a process that is just ending to let go of the journal.
pub(crate) const HOLD_SOON: Duration = Duration::from_secs(2);

/// Takes the journal for this session alone: whoever has it keeps it until his session ends.
const HOLD: &str = "SELECT pg_advisory_lock(1397311310, 'turn'::regclass::oid::int)";

/// Asks which sessions hold it or wait for it. The one that holds it is `granted`.
pub(crate) const IN_LINE: &str = "SELECT pid FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 1397311310
      AND objid = 'turn'::regclass::oid AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Ends the sessions of this name that are left of connections that broke.
const END_OTHERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND usename = current_user
      AND pid <> pg_backend_pid()";

/// The server's code (SQLSTATE) for a lock that could not be had in time.
pub(crate) const NOT_IN_TIME: &str = "55P03";

/// A session that is to hold the journal: no pooler gives what it holds to others.
pub(crate) fn opened_alone(config: &ServerConfig, name: &str) -> Result<Session, Lost> {
    let session = Session::open(&config.server, config, name)?;
    pooler::is_alone(&session, &config.server, config)?;
    Ok(session)
}

impl Session {
    /// Takes the journal for this session alone again; returns true if that succeeds. Ends the sessions that this
    /// process has left behind on broken connections.
    pub(crate) fn hold_again(&self) -> SqlResult<bool> {
        if self.hold_within(HOLD_SOON)? {
            return Ok(true);
        }
        self.batch(END_OTHERS)?;
        self.hold_within(HOLD_SOON)
    }

    /// Has it be this session's alone, if it is to be had so soon: whoever else waits, and was there before, comes
    /// first.
    pub(crate) fn hold_within(&self, soon: Duration) -> SqlResult<bool> {
        let soon = soon.min(self.patience.checked_div(2).unwrap_or_default()).as_millis();
        match self.batch(&format!("SET LOCAL lock_timeout = {soon}; {HOLD}")) {
            Err(SqlError::Server(fault)) if fault.state.as_deref() == Some(NOT_IN_TIME) => {
                Ok(false)
            }
            held => held.map(|()| true),
        }
    }
}
