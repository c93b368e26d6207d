//! The first exchange on every connection: a server that is too old is asked nothing else.

use journal::sql::{ServerFault, SqlResult};

/// The oldest server that knows every setting and statement.
const OLDEST_SERVER: i64 = 140_000;

/// The settings of each session: the server answers a commit once it is on its disk, and on those of its standbys,
/// if any, and warns of a commit that none of them may have; no statement waits for ever; and a session whose Signer is
/// gone ends soon.
const SETTINGS: &str =
    "SET synchronous_commit = on; SET client_min_messages = notice; SET statement_timeout = '30s';
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s';
    SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
    SET client_connection_check_interval = '5s'";

/// Asks which process of the server answers.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// Makes sure that the server is none that is too old, and sets what each session needs. Tells which process of
/// the server answers. `ask` tells the first value of every row that a statement finds.
pub(crate) fn greet(ask: impl Fn(&str) -> SqlResult<Vec<String>>) -> SqlResult<i64> {
    let told = ask("SHOW server_version_num")?;
    let number: i64 = told.first().and_then(|told| told.parse().ok()).unwrap_or_default();
    if number < OLDEST_SERVER {
        let (major, minor) = (number.div_euclid(10_000), number.rem_euclid(10_000));
        let told = format!("it is PostgreSQL {major}.{minor}, and 14 is the oldest that will do");
        return Err(ServerFault::found(told).into());
    }
    ask(SETTINGS)?;
    backend(ask)
}

/// Which process of the server answers.
pub(crate) fn backend(ask: impl Fn(&str) -> SqlResult<Vec<String>>) -> SqlResult<i64> {
    let told = ask(BACKEND)?;
    let pid = told.first().and_then(|told| told.parse().ok());
    pid.ok_or_else(|| ServerFault::said("it does not tell which process answers").into())
}
