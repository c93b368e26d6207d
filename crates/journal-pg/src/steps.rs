//! Tables on a server are brought to a newer version by their owner, since the Signer's own role can alter none, while
//! no Signer has them: whoever does it holds the journal meanwhile. All steps are one transaction. The history is left
//! alone; what was done when stands in the table `migration`.

use crate::lock::HOLD_SOON;
use crate::lost::{Lost, apart};
use crate::mark::Server;
use crate::session::{Committed, Session};
use crate::token::Token;
use crate::{ServerConfig, fitness};
use journal::OpenError;
use journal::sql::{Database, SqlResult, params};
use journal::store::Migration;
use std::time::Duration;
use tokio_postgres::Config;

/// Longest wait for the answer to a statement that is about all rows of a journal.
const PATIENCE: Duration = Duration::from_hours(24);

/// From which version to which tables were brought: one and the same where nothing was to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version that they had.
    pub from: i64,
    /// The version that they have.
    pub to: i64,
}

/// Has `owner` bring the tables of the journal, which no process may have, to the newest version that is known.
pub fn migrate(config: &ServerConfig, owner: &Config) -> Result<Migrated, OpenError> {
    let done = apart(|| bring_up(config, owner));
    done.map_err(|problem| problem.opening(&config.place))
}

fn bring_up(config: &ServerConfig, owner: &Config) -> Result<Migrated, Lost> {
    let session = reach(config, owner)?;
    let done = Migrated { from: fitness::version(&session)?, to: config.steps.newest() };
    if done.from > done.to {
        return Err(Lost::Unfit(fitness::newer(done.from, done.to)));
    }
    if done.from == done.to {
        return Ok(done);
    }
    let token = Token::random()?;
    session.begin(token);
    take(&session, done.from, config.steps.0)?;
    grant(&session, config.server.get_user().unwrap_or_default())?;
    let problem = match session.commit(token) {
        Committed::Yes(_) => return Ok(done),
        Committed::No => {
            "the server has given the transaction up. Nothing was changed: run this again"
        }
        Committed::Unknown(_) => {
            "the answer to the COMMIT is lost: run this again, which tells what became of it"
        }
    };
    Err(Lost::Unfit(problem.to_owned()))
}

/// A session of the owner that looks at the very tables of the journal, and has them alone.
fn reach(config: &ServerConfig, owner: &Config) -> Result<Session, Lost> {
    let open = |server| Session::open(server, config, "merchant-signer owner");
    let mut session = open(owner)?;
    Server::of(&session)?.ok_or(Lost::Follows)?;
    if let Some(problem) = fitness::takes_writes(&session)? {
        return Err(Lost::Unfit(problem));
    }
    let seen = (tables(&session, FIRST_SEEN)?, tables(&open(&config.server)?, "'turn'::regclass")?);
    if seen.0 != seen.1 {
        return Err(Lost::Unfit(
            "the owner's URL leads to other tables than journal.url: let both name one database and one schema. \
             Nothing was changed"
                .to_owned(),
        ));
    }
    if !owns(&session)? {
        return Err(Lost::Unfit(
            "the role of the owner's URL does not own its tables: give the URL of the one that made them. \
             Nothing was changed"
                .to_owned(),
        ));
    }
    if !session.hold_within(HOLD_SOON)? {
        return Err(Lost::Unfit(
            "a Signer has it: stop every Signer, those that stand by as well, and run this again. Nothing was \
             changed"
                .to_owned(),
        ));
    }
    take_time(&mut session)?;
    Ok(session)
}

/// Has a session take the time that all rows of a journal take, and be idle for as long: its server ends neither a
/// statement nor the session sooner. The session of a machine that is gone still ends soon.
pub(crate) fn take_time(session: &mut Session) -> SqlResult<()> {
    session.patience = PATIENCE;
    session.batch(
        "SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0",
    )
}

/// Returns true if the session may alter the tables.
fn owns(conn: &dyn Database) -> SqlResult<bool> {
    let owner = "SELECT 1 FROM pg_class
                 WHERE oid = 'about'::regclass AND pg_has_role(relowner, 'USAGE')";
    conn.prepare(owner)?.exists([])
}

/// The table `turn` of the schema in which new tables are made.
const FIRST_SEEN: &str = "coalesce(to_regclass(quote_ident(current_schema()) || '.turn'), 0)";

/// Which tables a session looks at: server, database and the table `turn`.
fn tables(conn: &dyn Database, turn: &str) -> SqlResult<(i64, i64, i64)> {
    let sql = format!(
        "SELECT s.system_identifier, d.oid::bigint, {turn}::oid::bigint
         FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()"
    );
    conn.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Takes every step behind `from`, and writes down which.
pub(crate) fn take(session: &Session, from: i64, steps: &[Migration]) -> SqlResult<()> {
    for step in steps.iter().filter(|step| step.to > from) {
        session.batch(step.on_server)?;
        note(session, step.to)?;
    }
    Ok(())
}

/// Writes down that tables are of this version now.
pub(crate) fn note(conn: &dyn Database, version: i64) -> SqlResult<()> {
    conn.execute("UPDATE about SET version = ?1", [version])?;
    let made = "INSERT INTO migration (version, program) VALUES (?1, ?2)";
    conn.execute(made, params![version, env!("CARGO_PKG_VERSION")]).map(drop)
}

/// Lets `role` do with the tables that are there what a Signer has to.
pub(crate) fn grant(session: &Session, role: &str) -> SqlResult<()> {
    let conn: &dyn Database = session;
    let (schema, role): (String, String) =
        conn.query_row("SELECT quote_ident(current_schema()), quote_ident(?1)", [role], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let roles = include_str!("roles.sql");
    session.batch(&roles.replace("{schema}", &schema).replace("{role}", &role))
}
