//! What is said first on every connection: nothing is asked of a server that is too old, and nothing is written
//! through a pooler that gives one session's transactions to several processes of the server.

use super::super::sql::{ServerFault, SqlResult, Wall};
use super::session::Session;
use super::{Lost, ServerConfig};
use tokio_postgres::Config;

/// The oldest server that knows every setting and statement.
const OLDEST_SERVER: i64 = 140_000;

/// What the server is told of each session: that a commit is on disk, and where there are standbys on theirs,
/// before it is answered; that nobody waits for ever; and that a session whose Signer is gone is over soon.
const SETTINGS: &str = "SET synchronous_commit = on; SET statement_timeout = '30s';
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
    SET client_connection_check_interval = '5s'";

/// Asks which process of the server answers.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// Makes sure that the server is none that is too old, and sets what each session needs. Tells which process of
/// the server answers.
pub(super) fn greet(session: &Session) -> SqlResult<i64> {
    let told = session.first_values("SHOW server_version_num")?;
    let number: i64 = told.first().and_then(|told| told.parse().ok()).unwrap_or_default();
    if number < OLDEST_SERVER {
        let (major, minor) = (number.div_euclid(10_000), number.rem_euclid(10_000));
        let told = format!("it is PostgreSQL {major}.{minor}, and 14 is the oldest that will do");
        return Err(ServerFault::found(told).into());
    }
    session.batch(SETTINGS)?;
    backend(session)
}

fn backend(session: &Session) -> SqlResult<i64> {
    let told = session.first_values(BACKEND)?;
    let pid = told.first().and_then(|told| told.parse().ok());
    pid.ok_or_else(|| ServerFault::said("it does not tell which process answers").into())
}

/// Makes sure that `session` has a process of the server to itself. A pooler that shares them gives the process that
/// answered last to whoever begins next, or to each in turn: two questions in a row tell of the latter, and one
/// more beside a transaction of another session of the former.
pub(super) fn is_alone(
    session: &Session,
    server: &Config,
    config: &ServerConfig,
) -> Result<(), Lost> {
    let before = [backend(session)?, backend(session)?];
    let other = Session::open(server, config, "merchant-signer alone")?;
    other.batch("BEGIN")?;
    let (taken, now) = (backend(&other)?, backend(session)?);
    let same = before.into_iter().chain([now]).all(|answers| answers == session.backend);
    if same && taken != now { Ok(()) } else { Err(Lost::Unfit(Wall::Session.to_string())) }
}
