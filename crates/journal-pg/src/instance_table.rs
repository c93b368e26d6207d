//! The roll of those who have a journal in common: each says every second that it is there, and one that serves
//! and has said nothing for long is ended on the server, by the server's own clock. That decides who serves, and
//! never whether it is safe: nothing is written but through the session that holds the journal (lock.rs).

use crate::lock::IN_LINE;
use crate::session::Session;
use journal::Instance;
use journal::sql::{Database, OptionalExtension as _, Row, SqlResult, params};
use journal::store::{BootId, differences};
use std::time::Duration;

/// Interval at which each process reports that it is there.
pub(crate) const EVERY: Duration = Duration::from_secs(1);

/// Use of a session that has the journal of a Signer, or waits for it.
pub(crate) const SERVES: &str = "writes";

/// Use of a session that has the journal for a command; others wait for the command to end.
pub(crate) const COMMAND: &str = "command";

/// Returns the name of a process's sessions, with the use of each in the middle.
pub(crate) fn name(used_for: &str, boot: BootId) -> String {
    format!("merchant-signer {used_for} {}", start(boot))
}

/// The first letters of a start's name.
fn start(boot: BootId) -> String {
    boot.to_string().chars().take(8).collect()
}

/// The state that a process reports of itself.
pub(crate) struct SaidState<'a> {
    /// Time of its clock, Unix ms.
    pub(crate) clock_ms: i64,
    /// The progress of its webhook.
    pub(crate) told: Option<&'a str>,
    /// Why it could bill on no chain.
    pub(crate) unfit: Option<&'a str>,
}

/// This process, on the roll.
#[derive(Clone, Debug)]
pub(crate) struct SelfEntry {
    pub(crate) boot: BootId,
    pub(crate) name: String,
    /// The setup of this process, for the others to compare.
    pub(crate) setup: String,
}

impl SelfEntry {
    /// Says that it is there, and how it is.
    pub(crate) fn say(&self, session: &Session, state: &SaidState<'_>) -> SqlResult<()> {
        let sql = "INSERT INTO instance (boot, name, program, clock_ms, told, unfit, setup, seen)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, clock_timestamp())
            ON CONFLICT (boot) DO UPDATE
            SET clock_ms = EXCLUDED.clock_ms, told = EXCLUDED.told, unfit = EXCLUDED.unfit,
                seen = EXCLUDED.seen";
        let conn: &dyn Database = session;
        let (boot, program) = (self.boot.bytes(), env!("CARGO_PKG_VERSION"));
        let SaidState { clock_ms, told, unfit } = state;
        let values = params![boot, self.name, program, clock_ms, told, unfit, self.setup];
        conn.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Is there no more.
    pub(crate) fn leave(&self, session: &Session) -> SqlResult<()> {
        let conn: &dyn Database = session;
        conn.execute("DELETE FROM instance WHERE boot = ?1", [self.boot.bytes()]).map(drop)
    }

    /// Reads the processes that are there, the serving one first, and the progress of the serving one's webhook. A
    /// process whose sessions have all ended has ended, or opens another session at once; a process that reports
    /// nothing for a minute is not there either, even if the server still has sessions of it.
    pub(crate) fn read(&self, session: &Session) -> SqlResult<(Vec<Instance>, Option<String>)> {
        let sql = format!(
            "WITH live AS (SELECT right(application_name, 8) AS start, coalesce(bool_or(pid = ({IN_LINE} AND granted)), false) AS has
                 FROM pg_stat_activity WHERE application_name LIKE 'merchant-signer % %' GROUP BY 1)
             SELECT boot, name, program, told, (extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint,
                    CASE WHEN has THEN 1 ELSE 0 END AS serves, unfit,
                    clock_ms - (extract(epoch FROM seen) * 1000)::bigint, setup
             FROM instance LEFT JOIN live ON start = substr(encode(boot, 'hex'), 1, 8)
             WHERE has OR seen > clock_timestamp() - CASE WHEN start IS NULL THEN interval '5 s' ELSE interval '1 min' END
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
                unfit: row.get(6)?,
                ahead_ms: row.get(7)?,
                differs: Vec::new(),
            };
            Ok((instance, row.get(3)?, row.get(8)?))
        })?;
        let found: Vec<(Instance, Option<String>, String)> = found.collect::<SqlResult<_>>()?;
        let serving = found.iter().find(|(instance, ..)| instance.serves);
        let serving = serving.map(|(_, told, setup)| (told.clone(), setup.clone()));
        let instances = found.into_iter().map(|(mut instance, _, setup)| {
            if let Some((_, serving)) = &serving {
                instance.differs = differences(&setup, serving);
            }
            instance
        });
        Ok((instances.collect(), serving.and_then(|(told, _)| told)))
    }
}

/// A process that served, and was ended.
#[derive(Debug)]
pub(crate) struct Silent {
    /// Name of the process, if the roll still had it.
    pub(crate) name: Option<String>,
    pub(crate) start: String,
    pub(crate) quiet: Duration,
}

/// Ends the sessions of whoever serves and has said nothing for so long. A server that crashed has forgotten the
/// roll, so one that is not on it counts from the beginning of the session that has the journal. A command is no
/// Signer that serves: it is left alone.
pub(crate) fn end_silent(session: &Session, after: Duration) -> SqlResult<Option<Silent>> {
    let sql = format!(
        "WITH silent AS (
             SELECT i.name, right(h.application_name, 8) AS start,
                    (extract(epoch FROM clock_timestamp() - greatest(i.seen, h.backend_start)) * 1000)::bigint AS ms
             FROM pg_stat_activity h LEFT JOIN instance i
               ON substr(encode(i.boot, 'hex'), 1, 8) = right(h.application_name, 8)
             WHERE h.pid = ({IN_LINE} AND granted) AND h.application_name LIKE 'merchant-signer {SERVES} %')
         SELECT name, start, ms, count(pg_terminate_backend(a.pid)) FROM silent
         JOIN pg_stat_activity a ON a.application_name LIKE 'merchant-signer % ' || start
         WHERE ms > ?1 AND a.usename = current_user AND a.pid <> pg_backend_pid()
         GROUP BY name, start, ms"
    );
    let after = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    let conn: &dyn Database = session;
    let ended = conn.query_row(&sql, [after], |row| {
        let quiet = Duration::from_millis(u64::try_from(row.get::<i64>(2)?).unwrap_or(0));
        Ok(Silent { name: row.get(0)?, start: row.get(1)?, quiet })
    });
    ended.optional()
}

/// Ends the session by which another Signer has the journal, and those by which Signers wait for it: whoever waits would
/// come first. They make new ones. Commands are left alone.
pub(crate) fn end_all_in_line(session: &Session) -> SqlResult<()> {
    session.batch(&format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
         WHERE pid IN ({IN_LINE}) AND application_name LIKE 'merchant-signer {SERVES} %'
           AND usename = current_user AND pid <> pg_backend_pid()"
    ))
}

/// Returns the present time on the clock of another process, Unix ms, if that process is on the roll.
pub(crate) fn clock_of(conn: &dyn Database, boot: BootId) -> SqlResult<Option<i64>> {
    let sql = "SELECT clock_ms + (extract(epoch FROM clock_timestamp() - seen) * 1000)::bigint
               FROM instance WHERE boot = ?1";
    conn.query_row(sql, [boot.bytes()], |row| row.get(0)).optional()
}

/// Strikes out whoever has said nothing for an hour.
pub(crate) fn strike_out(session: &Session) -> SqlResult<()> {
    session.batch("DELETE FROM instance WHERE seen < clock_timestamp() - interval '1 hour'")
}
