//! Detects a pooler in between that gives one session's transactions to several processes of the server. One of
//! them could write while another holds the journal.

use crate::lost::Lost;
use crate::session::Session;
use crate::{ServerConfig, greeting};
use journal::sql::{Constraint, SqlResult};
use tokio_postgres::Config;

/// Makes sure that `session` has a process of the server to itself. A pooler that shares them gives the process that
/// answered last to whoever begins next, or to each in turn: two questions in a row tell of the latter, and one
/// more beside a transaction of another session of the former.
pub(crate) fn is_alone(
    session: &Session,
    server: &Config,
    config: &ServerConfig,
) -> Result<(), Lost> {
    let before = [backend(session)?, backend(session)?];
    let other = Session::open(server, config, "merchant-signer alone")?;
    other.batch("BEGIN")?;
    let (taken, now) = (backend(&other)?, backend(session)?);
    let same = before.into_iter().chain([now]).all(|answers| answers == session.backend);
    if same && taken != now { Ok(()) } else { Err(Lost::Unfit(Constraint::Session.to_string())) }
}

fn backend(session: &Session) -> SqlResult<i64> {
    greeting::backend(|sql| session.first_values(sql))
}
