//! Tables on a server are brought to a newer version by their owner, since the Signer's own role can alter none,
//! while Signers of the version before serve with them and stand by.
//!
//! All steps are one transaction, which has its turn and its name like every other: a writer is before it or behind
//! it, and what becomes of its COMMIT is asked for. The history is left alone, since the process that serves knows
//! its last row; what was done when stands in the table `migration`.

use super::super::migrate::Migration;
use super::super::sql::{Database, SqlError, SqlResult, params};
use super::hold::NOT_IN_TIME;
use super::mark::Server;
use super::session::{Committed, Session};
use super::token::Token;
use super::writer::ask_for;
use super::{Journal, Lost, OpenError, ServerConfig, apart, fit};
use std::thread::sleep;
use std::time::Duration;
use tokio_postgres::Config;
use tracing::warn;

/// How long each step may wait for whoever uses a table: everybody else waits behind it meanwhile.
const LOCKS: Duration = Duration::from_secs(1);

/// How long each statement of a step may take while a Signer serves.
const BESIDE: Duration = Duration::from_secs(3);

/// How long the answer to a statement is waited for at most when no Signer serves.
const ALONE: Duration = Duration::from_hours(24);

/// How long to wait to learn whether a Signer serves.
const SOON: Duration = Duration::from_millis(100);

/// How often it is tried while others use the tables, and how long they are left alone in between.
const TRIES: (u32, Duration) = (5, Duration::from_secs(1));

/// What a server calls a statement that took longer than it may.
const TOOK_TOO_LONG: &str = "57014";

/// From which version to which tables were brought: one and the same where nothing was to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// The version that they had.
    pub from: i64,
    /// The version that they have.
    pub to: i64,
}

/// What became of one try.
enum Attempted {
    Done(Migrated),
    /// Nothing was changed, and the next try may fare better.
    Nothing(&'static str),
}

impl Journal {
    /// Has `owner` bring the tables of the journal to the newest version that is known, whoever serves with them.
    pub fn migrate_on_server(config: &ServerConfig, owner: &Config) -> Result<Migrated, OpenError> {
        let done = apart(|| {
            let (most, pause) = TRIES;
            let mut why = "";
            for _ in 0..most {
                match attempt(config, owner)? {
                    Attempted::Done(done) => return Ok(done),
                    Attempted::Nothing(told) => why = told,
                }
                warn!("{why}; it is tried again");
                sleep(pause);
            }
            Err(Lost::Unfit(format!("{why}. Nothing was changed: try again later")))
        });
        done.map_err(|problem| problem.opening(&config.place))
    }
}

fn attempt(config: &ServerConfig, owner: &Config) -> Result<Attempted, Lost> {
    let session = reach(config, owner)?;
    match fill(&session, config) {
        Ok((done, None)) => Ok(Attempted::Done(done)),
        Ok((done, Some(token))) => ended(config, owner, &session, token, done),
        Err(Lost::Sql(SqlError::Server(fault))) if fault.state.as_deref() == Some(NOT_IN_TIME) => {
            Ok(Attempted::Nothing(
                "somebody uses a table for so long that everybody else would have to wait: an audit, a \
                 pg_dump or another session",
            ))
        }
        Err(Lost::Sql(SqlError::Server(fault)))
            if fault.state.as_deref() == Some(TOOK_TOO_LONG) =>
        {
            Err(Lost::Unfit(format!(
                "a step takes longer than {} s, and a Signer that serves would have to wait: stop every \
                 Signer, and run this again. Nothing was changed",
                BESIDE.as_secs()
            )))
        }
        Err(other) => Err(other),
    }
}

/// A session of the owner that looks at the very tables of the journal.
fn reach(config: &ServerConfig, owner: &Config) -> Result<Session, Lost> {
    let open = |server| Session::open(server, config, "merchant-signer owner");
    let mut session = open(owner)?;
    Server::of(&session)?.ok_or(Lost::Follows)?;
    if let Some(problem) = fit::takes_writes(&session)? {
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
    let alone = session.hold_within(SOON)?;
    session.patience = if alone { ALONE } else { BESIDE.saturating_mul(4) };
    let (wait, most) = (LOCKS.as_millis(), if alone { 0 } else { BESIDE.as_millis() });
    session.batch(&format!("SET lock_timeout = {wait}; SET statement_timeout = {most}"))?;
    Ok(session)
}

/// Whether a session may alter the tables.
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

/// Takes the steps that are missing, in a transaction that is still to be committed where it has a name.
fn fill(session: &Session, config: &ServerConfig) -> Result<(Migrated, Option<Token>), Lost> {
    let (steps, token) = (config.steps, Token::random()?);
    session.begin(token);
    let (from, writers) = fit::about(session)?;
    let done = Migrated { from, to: steps.newest() };
    if from > done.to {
        return Err(Lost::Unfit(fit::newer(from, done.to)));
    }
    if from == done.to {
        session.roll_back();
        return Ok((done, None));
    }
    take(session, from, steps.0)?;
    let min_writer = fit::about(session)?.1;
    if min_writer > writers
        && let Some(who) = session.outgrow(min_writer)?
    {
        return Err(Lost::Unfit(format!(
            "with tables of version {} there can be no program that knows none above {}: {who}. Have them run a \
             program that knows version {min_writer}, or stop them, and run this again. Nothing was changed",
            done.to,
            min_writer.saturating_sub(1)
        )));
    }
    grant(session, config.server.get_user().unwrap_or_default())?;
    Ok((done, Some(token)))
}

/// Finds out what became of it.
fn ended(
    config: &ServerConfig,
    owner: &Config,
    session: &Session,
    token: Token,
    done: Migrated,
) -> Result<Attempted, Lost> {
    const UNKNOWN: &str = "the answer to the COMMIT is lost, and the server does not tell what became of it: run \
                           this again, which tells";
    let happened = match session.commit(token) {
        Committed::Yes(_) => true,
        Committed::No => false,
        Committed::Unknown(lost) => {
            warn!(%lost, "the answer to a COMMIT is lost: it is asked for");
            let again = Session::open(owner, config, "merchant-signer owner");
            let known = again.map_err(Lost::from).and_then(|again| ask_for(&again, token));
            known.map_err(|_| Lost::Unfit(UNKNOWN.to_owned()))?.is_some()
        }
    };
    let nothing = "the server has given the transaction up";
    Ok(if happened { Attempted::Done(done) } else { Attempted::Nothing(nothing) })
}

/// Takes every step behind `from`, and writes down which.
pub(super) fn take(session: &Session, from: i64, steps: &[Migration]) -> SqlResult<()> {
    for step in steps.iter().filter(|step| step.to > from) {
        session.batch(step.on_server)?;
        note(session, step.to, step.min_writer)?;
    }
    Ok(())
}

/// Writes down that tables are of this version now.
pub(super) fn note(conn: &dyn Database, version: i64, min_writer: i64) -> SqlResult<()> {
    let about = "UPDATE about SET version = ?1, min_writer = greatest(min_writer, ?2)";
    conn.execute(about, [version, min_writer])?;
    let made = "INSERT INTO migration (version, min_writer, program) VALUES (?1, ?2, ?3)";
    conn.execute(made, params![version, min_writer, env!("CARGO_PKG_VERSION")]).map(drop)
}

/// Lets `role` do with the tables that are there what a Signer has to.
pub(super) fn grant(session: &Session, role: &str) -> SqlResult<()> {
    let conn: &dyn Database = session;
    let (schema, role): (String, String) =
        conn.query_row("SELECT quote_ident(current_schema()), quote_ident(?1)", [role], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    let roles = include_str!("roles.sql");
    session.batch(&roles.replace("{schema}", &schema).replace("{role}", &role))
}
