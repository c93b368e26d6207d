//! The roll of those who have a journal in common: each says every second that it is there, and one that serves
//! and has said nothing for long is ended on the server, by the server's own clock. That decides who serves, and
//! never whether it is safe: nothing is written but through the session that holds the journal (hold.rs).

use super::super::instances::Instance;
use super::super::mark::BootId;
use super::super::sql::{Database, OptionalExtension as _, Row, SqlResult, params};
use super::hold::HOLDER;
use super::session::Session;
use std::time::Duration;

/// How often each says that it is there.
pub(super) const EVERY: Duration = Duration::from_secs(1);

/// What the sessions of a process are called: what each is for stands in the middle.
pub(super) fn name(used_for: &str, boot: BootId) -> String {
    format!("merchant-signer {used_for} {}", start(boot))
}

/// The first letters of a start's name.
fn start(boot: BootId) -> String {
    boot.to_string().chars().take(8).collect()
}

/// This process, on the roll.
#[derive(Clone, Debug)]
pub(super) struct Oneself {
    pub(super) boot: BootId,
    pub(super) name: String,
}

impl Oneself {
    /// Says that it is there, and what its clock tells.
    pub(super) fn say(
        &self,
        session: &Session,
        clock_ms: i64,
        told: Option<&str>,
    ) -> SqlResult<()> {
        let sql = "INSERT INTO instance (boot, name, program, clock_ms, told, seen)
            VALUES (?1, ?2, ?3, ?4, ?5, clock_timestamp())
            ON CONFLICT (boot) DO UPDATE
            SET clock_ms = EXCLUDED.clock_ms, told = EXCLUDED.told, seen = EXCLUDED.seen";
        let conn: &dyn Database = session;
        let (boot, program) = (self.boot.bytes(), env!("CARGO_PKG_VERSION"));
        conn.prepare_cached(sql)?.execute(params![boot, self.name, program, clock_ms, told])?;
        Ok(())
    }

    /// Is there no more.
    pub(super) fn leave(&self, session: &Session) -> SqlResult<()> {
        let conn: &dyn Database = session;
        conn.execute("DELETE FROM instance WHERE boot = ?1", [self.boot.bytes()]).map(drop)
    }

    /// Who is there, the one that serves first; and how far that one has told its webhook.
    pub(super) fn read(&self, session: &Session) -> SqlResult<(Vec<Instance>, Option<String>)> {
        let sql = format!(
            "SELECT boot, name, program, told, (extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint,
                    CASE WHEN substr(encode(boot, 'hex'), 1, 8) = ({HOLDER}) THEN 1 ELSE 0 END AS serves
             FROM instance WHERE seen > clock_timestamp() - interval '10 min'
             ORDER BY serves DESC, name, boot"
        );
        let conn: &dyn Database = session;
        let mut select = conn.prepare_cached(&sql)?;
        let found = select.query_map([], |row: &Row<'_>| {
            let boot = BootId::new(row.get(0)?);
            let silent_ms = u64::try_from(row.get::<i64>(4)?).unwrap_or(0);
            let instance = Instance {
                name: row.get(1)?,
                start: start(boot),
                program: row.get(2)?,
                serves: row.get(5)?,
                is_this: boot == self.boot,
                silent: Duration::from_millis(silent_ms),
            };
            Ok((instance, row.get::<Option<String>>(3)?))
        })?;
        let found: Vec<(Instance, Option<String>)> = found.collect::<SqlResult<_>>()?;
        let told = found.iter().find(|(instance, _)| instance.serves);
        let told = told.and_then(|(_, told)| told.clone());
        Ok((found.into_iter().map(|(instance, _)| instance).collect(), told))
    }
}

/// Ends the sessions of whoever serves and has said nothing for so long; tells whether there was such a one. A
/// process that is not on the roll is no Signer that serves: it is left alone.
pub(super) fn end_silent(session: &Session, after: Duration) -> SqlResult<bool> {
    let sql = format!(
        "SELECT count(pg_terminate_backend(a.pid)) FROM instance i
         JOIN pg_stat_activity a
           ON a.application_name LIKE 'merchant-signer % ' || substr(encode(i.boot, 'hex'), 1, 8)
         WHERE substr(encode(i.boot, 'hex'), 1, 8) = ({HOLDER}) AND a.usename = current_user
           AND i.seen < clock_timestamp() - ?1 * interval '1 ms' AND a.pid <> pg_backend_pid()"
    );
    let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    let conn: &dyn Database = session;
    conn.query_row(&sql, [after], |row| Ok(row.get::<i64>(0)? > 0))
}

/// What the clock of another process says by now, Unix ms, if it is on the roll.
pub(super) fn clock_of(conn: &dyn Database, boot: BootId) -> SqlResult<Option<i64>> {
    let sql = "SELECT clock_ms + (extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint
               FROM instance WHERE boot = ?1";
    conn.query_row(sql, [boot.bytes()], |row| row.get(0)).optional()
}

/// Strikes out whoever has said nothing for an hour.
pub(super) fn strike_out(session: &Session) -> SqlResult<()> {
    session.batch("DELETE FROM instance WHERE seen < clock_timestamp() - interval '1 hour'")
}
