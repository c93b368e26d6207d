//! One process to one journal: a session holds it for as long as it lives, and nobody else does meanwhile.

use super::super::migrate::OLDEST;
use super::super::sql::{Database, SqlError, SqlResult};
use super::session::Session;
use super::{Lost, ServerConfig, pooler};
use std::time::Duration;

/// How long to wait for a process that is just ending to let go of the journal.
pub(super) const HOLD_SOON: Duration = Duration::from_secs(2);

/// Takes the journal for this session alone: whoever has it keeps it until his session ends.
const HOLD: &str = "SELECT pg_advisory_lock(1397311310, 'turn'::regclass::oid::int)";

/// Asks which session holds it.
pub(super) const HOLDER: &str = "SELECT pid FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND classid = 1397311310
      AND objid = 'turn'::regclass::oid AND objsubid = 2
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Ends the sessions of this name that are left of connections that broke.
const END_OTHERS: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = current_setting('application_name') AND usename = current_user
      AND pid <> pg_backend_pid()";

/// What the server calls a lock that was not to be had in time.
pub(super) const NOT_IN_TIME: &str = "55P03";

/// A session of a Signer. While it lives its tables are made none that its program could not use.
pub(super) fn opened(config: &ServerConfig, name: &str) -> SqlResult<Session> {
    let session = Session::open(&config.server, config, name)?;
    session.knows(config.steps.newest())?;
    Ok(session)
}

/// The same of one that is to hold the journal: no pooler gives what it holds to others.
pub(super) fn opened_alone(config: &ServerConfig, name: &str) -> Result<Session, Lost> {
    let session = Session::open(&config.server, config, name)?;
    pooler::is_alone(&session, &config.server, config)?;
    session.knows(config.steps.newest())?;
    Ok(session)
}

/// The lock that says that the program of a session knows tables of this version and none newer.
fn knows_no_more_than(version: i64) -> String {
    format!("({version} + 1397311310, 'turn'::regclass::oid::int)")
}

/// Which sessions say that they know tables of a version below `?1` and none newer.
const KNOW_LESS: &str = "SELECT a.application_name, i.name, i.program
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    LEFT JOIN instance i ON substr(encode(i.boot, 'hex'), 1, 8) = right(a.application_name, 8)
    WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.objid = 'turn'::regclass::oid AND l.objsubid = 2
      AND l.classid::bigint > 1397311310 AND l.classid::bigint < 1397311310 + ?1
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ORDER BY i.name, a.application_name";

impl Session {
    /// Says that its program knows tables up to this version, for as long as the session lives.
    fn knows(&self, version: i64) -> SqlResult<()> {
        let lock = knows_no_more_than(version);
        self.batch(&format!("SELECT pg_advisory_lock_shared{lock}"))
    }

    /// Until the transaction ends, nobody says that his program knows none but versions below `min_writer`. Tells
    /// who says so already.
    pub(super) fn outgrow(&self, min_writer: i64) -> SqlResult<Option<String>> {
        let conn: &dyn Database = self;
        for version in OLDEST..min_writer {
            let lock = knows_no_more_than(version);
            let sql = format!("SELECT 1 WHERE pg_try_advisory_xact_lock{lock}");
            if !conn.prepare(&sql)?.exists([])? {
                return self.who_knows_less(min_writer).map(Some);
            }
        }
        Ok(None)
    }

    fn who_knows_less(&self, min_writer: i64) -> SqlResult<String> {
        let conn: &dyn Database = self;
        let mut select = conn.prepare(KNOW_LESS)?;
        let found = select.query_map([min_writer], |row| {
            let (session, name, program): (String, Option<String>, Option<String>) =
                (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(name
                .zip(program)
                .map_or(session, |(name, program)| format!("{name} runs {program}")))
        })?;
        let mut found = found.collect::<SqlResult<Vec<_>>>()?;
        found.dedup();
        Ok(found.join(", "))
    }

    /// Has the journal be this session's alone again; tells whether it is. What this process has left behind on
    /// connections that broke is ended.
    pub(super) fn hold_again(&self) -> SqlResult<bool> {
        if self.hold_within(HOLD_SOON)? {
            return Ok(true);
        }
        self.batch(END_OTHERS)?;
        self.hold_within(HOLD_SOON)
    }

    /// Has it be this session's alone, if it is to be had so soon: whoever else waits, and was there before, comes
    /// first.
    pub(super) fn hold_within(&self, soon: Duration) -> SqlResult<bool> {
        let soon = soon.min(self.patience.checked_div(2).unwrap_or_default()).as_millis();
        match self.batch(&format!("SET LOCAL lock_timeout = {soon}; {HOLD}")) {
            Err(SqlError::Server(fault)) if fault.state.as_deref() == Some(NOT_IN_TIME) => {
                Ok(false)
            }
            held => held.map(|()| true),
        }
    }
}
