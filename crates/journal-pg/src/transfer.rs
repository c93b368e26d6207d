//! The move of a journal from a file to a server, or back: every row of every table, all of it or nothing. The copy
//! is audited before it counts, and has to hold everything that the original holds; the mark goes along. A
//! journal that is left behind on a server has its lanes in doubt from then on: other machines that share it have marks
//! of their own, which still fit it.

use crate::lock::{HOLD_SOON, opened_alone};
use crate::lost::{Lost, apart};
use crate::mark::{Known, LastSeen, MarkFile, Server};
use crate::new_tables::tables;
use crate::session::{Committed, Session};
use crate::token::Token;
use crate::{ServerConfig, starting, steps};
use config::JournalConfig;
use host::clock::Clock;
use journal::sql::{Database, SqlError, SqlResult};
use journal::store::{
    self, BootId, FileToMove, MovedFile, PlaceForFile, begin_doubts, find_place_for_mark,
    insert_boot, newest_boot, unanswered, unwritable,
};
use journal::{Audit, AuditWatch, HistoryHead, OpenError};
use rusqlite::Connection;
use rusqlite::types::{ToSql, Value};
use std::path::Path;

/// A copy gets a mark of its own, so what the original's mark says against the original has to be in its rows
/// first: a start writes it there.
const OLD_COPY: &str = "by its mark it may be an old copy, and the copy would not tell: start the Signer on it \
                        once, which puts in doubt what it may have forgotten, stop it, and copy it then";

/// The error for a copy that was already made.
const WHOLE_ALREADY: &str = "there is a journal where it is to go, and all that is in this one is in it: it was copied, \
                             and the copy is whole. Start the Signer with the configuration of the copy, and not on \
                             this one again";

/// Number of rows that are read from a server, or sent to it, at one time.
const SOME: usize = 500;

/// A server, and the role that makes the tables there.
#[derive(Clone, Copy, Debug)]
pub struct ServerAndOwner<'a> {
    /// The server.
    pub config: &'a ServerConfig,
    /// The server, as the owner of the tables reaches it.
    pub owner: &'a tokio_postgres::Config,
}

/// Copies the journal in a file, which no process has open, to a server on which there is none, and takes the file's
/// mark away. All of it or nothing: the copy is audited, and holds everything that the original holds.
pub fn to_server(
    from: &JournalConfig,
    to: ServerAndOwner<'_>,
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    find_place_for_mark(&to.config.mark_path)?;
    let file = FileToMove::open(from)?;
    let problem = |e: SqlError| unanswered(&from.path, &e);
    if file.is_old_copy().map_err(problem)? {
        let there = is_there(file.connection(), to.config).map_err(problem)?;
        return Err(unwritable(&from.path, &if there { WHOLE_ALREADY } else { OLD_COPY }));
    }
    let original = audited(file.connection(), watch).map_err(problem)?;
    let held = &original;
    let copied = apart(move || fill_server(&file, to, held));
    copied.map_err(|problem| problem.opening(&to.config.place))?;
    Ok(original)
}

/// Returns true if the server has the history of the journal in `file` to its end. A copy is made in one
/// transaction, which is audited before its commit, and two histories that part anywhere have different digests
/// from there on: so the newest row proves that all of it is there. If the server cannot be asked, for any reason,
/// the answer is false.
fn is_there(file: &Connection, config: &ServerConfig) -> SqlResult<bool> {
    let head = store::head(file)?;
    if head.row == 0 {
        return Ok(false);
    }
    let found = apart(|| {
        let session = Session::open(&config.server, config, "merchant-signer copy")?;
        Ok(Known(head).is_in(&session)?)
    });
    Ok(found.unwrap_or(false))
}

fn fill_server(from: &FileToMove, to: ServerAndOwner<'_>, original: &Audit) -> Result<(), Lost> {
    let (file, ServerAndOwner { config, owner }) = (from.connection(), to);
    let role = config.server.get_user().unwrap_or_default();
    let (mut made, server) = tables(config, owner, role)?;
    steps::take_time(&mut made.session)?;
    let (session, boot): (&Session, _) = (&made.session, made.boot);
    let conn: &dyn Database = session;
    conn.defer_references()?;
    for table in store::tables(file)? {
        copy_to_server(file, session, &table)?;
    }
    insert_boot(conn, boot, Clock::MACHINE.unix_ms())?;
    conn.flush()?;
    same(original, &store::audit(conn, &[], &mut |_, _| {})?)?;
    // The look at every reference may fail, and takes long: it is not left to the COMMIT, behind the mark.
    session.batch("SET CONSTRAINTS ALL IMMEDIATE")?;
    // If somebody starts on the file again, it is taken for an old copy: there are never two journals with marks.
    from.remove_mark().map_err(SqlError::foreign)?;
    let known = made.commit()?;
    let mark = MarkFile::at(&config.mark_path);
    mark.write(&LastSeen { boot, known, server }).map_err(|e| SqlError::foreign(e).into())
}

fn copy_to_server(file: &Connection, session: &Session, table: &str) -> SqlResult<()> {
    let columns = store::columns(file, table)?;
    let places: Vec<String> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
    let (columns, places) = (columns.join(", "), places.join(", "));
    let conn: &dyn Database = session;
    let insert = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
    let mut insert = conn.prepare_cached(&insert)?;
    let mut select = file.prepare(&format!("SELECT {columns} FROM {table}"))?;
    let count = select.column_count();
    let mut rows = select.query([])?;
    let mut queued = 0_usize;
    while let Some(row) = rows.next()? {
        let row: Vec<Value> = (0..count).map(|at| row.get(at)).collect::<Result<_, _>>()?;
        let values: Vec<&dyn ToSql> = row.iter().map(|value| -> &dyn ToSql { value }).collect();
        insert.queue(values.as_slice())?;
        queued = queued.saturating_add(1);
        if queued.is_multiple_of(SOME) {
            conn.flush()?;
        }
    }
    conn.flush()?;
    go_on_numbering(conn, table)
}

/// Has the columns that number rows by themselves go on behind the last of them.
fn go_on_numbering(conn: &dyn Database, table: &str) -> SqlResult<()> {
    let numbering = "SELECT column_name::text FROM information_schema.columns
        WHERE table_schema = current_schema() AND table_name = ?1 AND is_identity = 'YES'";
    let mut select = conn.prepare(numbering)?;
    let found = select.query_map([table], |row| row.get::<String>(0))?;
    for column in found.collect::<SqlResult<Vec<_>>>()? {
        let behind = format!(
            "SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) FROM {table}
             HAVING max({column}) IS NOT NULL"
        );
        conn.prepare(&behind)?.exists([])?;
    }
    Ok(())
}

/// Copies the journal on a server, which no process holds, to a new file. The one on the server is an old copy from
/// then on, for every machine, and its mark is taken away. All of it or nothing, as in the other direction.
pub fn to_file(
    from: &ServerConfig,
    to: &JournalConfig,
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    let place = PlaceForFile::find(to)?;
    let made = apart(|| fill_file(from, place, watch));
    let (audit, file) = made.map_err(|problem| problem.opening(&from.place))?;
    remove_mark(&from.mark_path)?;
    file.finish()?;
    Ok(audit)
}

fn fill_file(
    from: &ServerConfig,
    place: PlaceForFile,
    watch: AuditWatch<'_>,
) -> Result<(Audit, MovedFile), Lost> {
    let mut session = opened_alone(from, "merchant-signer copy")?;
    starting::fits(&session, from)?;
    if !session.hold_within(HOLD_SOON)? {
        return Err(Lost::Held);
    }
    steps::take_time(&mut session)?;
    let (mark, server) = (MarkFile::at(&from.mark_path).read(), Server::of(&session)?);
    let (mark, server) = mark.zip(server).ok_or_else(|| Lost::Unfit(OLD_COPY.to_owned()))?;
    if mark.is_contradicted_by(&session, &server)? {
        return Err(Lost::Unfit(OLD_COPY.to_owned()));
    }
    session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let boot = newest_boot(&session)?;
    let original = audited(&session, watch)?;
    // One copy is made at a time, so a part that is there is left of a copy that was cut off.
    let made = place.begin().map_err(|e| Lost::Unfit(e.to_string()))?;
    let file = made.connection();
    file.execute_batch("BEGIN; PRAGMA defer_foreign_keys = ON").map_err(SqlError::from)?;
    for table in store::tables(file)? {
        copy_to_file(&session, file, &table)?;
    }
    session.batch("COMMIT")?;
    same(&original, &store::audit(file, &[], &mut |_, _| {})?)?;
    file.execute_batch("COMMIT").map_err(SqlError::from)?;
    leave(&session, &Left { head: &original.head, boot })?;
    Ok((original, made))
}

/// A journal on a server as it was copied.
struct Left<'a> {
    head: &'a HistoryHead,
    /// Its newest start.
    boot: Option<BootId>,
}

/// Writes into the journal on the server that it is an old copy from now on. The copy counts by this commit: it proves
/// that the session still has the journal, and that nobody has used it since it was read. Otherwise a session that the
/// server ended meanwhile would have let a Signer in, whose charges the copy lacks.
fn leave(session: &Session, left: &Left<'_>) -> Result<(), Lost> {
    let conn: &dyn Database = session;
    let token = Token::random()?;
    session.begin(token);
    if store::head(conn)? != *left.head || newest_boot(conn)? != left.boot {
        session.roll_back();
        return Err(Lost::Taken);
    }
    begin_doubts(conn, Clock::MACHINE.unix_ms())?;
    match session.commit(token) {
        Committed::Yes(_) => Ok(()),
        Committed::No => Err(Lost::Follows),
        Committed::Unknown(problem) => Err(problem.into()),
    }
}

fn copy_to_file(session: &Session, file: &Connection, table: &str) -> SqlResult<()> {
    let columns = store::columns(file, table)?;
    let places: Vec<String> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
    let (count, columns, places) = (columns.len(), columns.join(", "), places.join(", "));
    let insert = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
    let mut insert = file.prepare(&insert)?;
    session.batch(&format!("DECLARE copied NO SCROLL CURSOR FOR SELECT {columns} FROM {table}"))?;
    let conn: &dyn Database = session;
    loop {
        let mut fetch = conn.prepare(&format!("FETCH {SOME} FROM copied"))?;
        let mut rows = fetch.query([])?;
        let mut found = false;
        while let Some(row) = rows.next_row()? {
            found = true;
            let row: Vec<Value> = (0..count).map(|at| row.get(at)).collect::<SqlResult<_>>()?;
            insert.execute(rusqlite::params_from_iter(row))?;
        }
        if !found {
            return session.batch("CLOSE copied");
        }
    }
}

fn audited(conn: &dyn Database, watch: AuditWatch<'_>) -> SqlResult<Audit> {
    let audit = store::audit(conn, &[], watch)?;
    if audit.faults.is_empty() { Ok(audit) } else { Err(faulty("it", &audit)) }
}

fn same(original: &Audit, copy: &Audit) -> SqlResult<()> {
    if original == copy {
        return Ok(());
    }
    Err(if copy.faults.is_empty() {
        SqlError::foreign("the copy does not hold what the journal holds, and is not kept")
    } else {
        faulty("the copy", copy)
    })
}

fn faulty(what: &str, audit: &Audit) -> SqlError {
    SqlError::foreign(format!(
        "{what} does not hold, and nothing is copied: {}",
        audit.faults.join("; ")
    ))
}

fn remove_mark(mark: &Path) -> Result<(), OpenError> {
    match std::fs::remove_file(mark) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(unwritable(mark, &e)),
        Ok(()) | Err(_) => Ok(()),
    }
}
