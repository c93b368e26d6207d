//! Checks that a server, its tables and the role fit a journal, and the words for the operator if they do not.

use journal::sql::{Database, OptionalExtension as _, ServerFault, SqlResult};
use std::cmp::Ordering;

/// Returns the reason that a server, its tables or the role cannot keep a journal. `known` is the newest version of
/// tables that the program knows.
pub(crate) fn unfit(conn: &dyn Database, known: i64) -> SqlResult<Option<String>> {
    if let Some(problem) = server(conn)? {
        return Ok(Some(problem));
    }
    match unfit_for_reads(conn, known)? {
        None => role(conn),
        found => Ok(found),
    }
}

/// Returns the reason that a journal cannot be read there, beside a session that writes it.
pub(crate) fn unfit_for_reads(conn: &dyn Database, known: i64) -> SqlResult<Option<String>> {
    match takes_writes(conn)? {
        None => tables(conn, known),
        found => Ok(found),
    }
}

fn server(conn: &dyn Database) -> SqlResult<Option<String>> {
    let settings = "SELECT name || ' is ' || setting FROM pg_settings
                    WHERE name IN ('fsync', 'full_page_writes') AND setting <> 'on'";
    let mut lossy = conn.query_row(settings, [], |row| row.get::<String>(0)).optional()?;
    // Each session asks for these; something between may have dropped that. A commit that no standby has is told of by
    // a warning alone.
    for (setting, asked) in [("synchronous_commit", "on"), ("client_min_messages", "notice")] {
        let sql = "SELECT current_setting(?1)";
        let set: String = conn.query_row(sql, [setting], |row| row.get(0))?;
        if lossy.is_none() && set != asked {
            lossy = Some(format!("{setting} is {set}, though `{asked}` was asked for"));
        }
    }
    Ok(lossy.map(|setting| format!("{setting}: the server may lose what it has committed")))
}

/// Why nothing can be written there; none where it can.
pub(crate) fn takes_writes(conn: &dyn Database) -> SqlResult<Option<String>> {
    let sql = "SELECT current_setting('transaction_read_only')";
    let read_only: String = conn.query_row(sql, [], |row| row.get(0))?;
    Ok((read_only == "on").then(|| {
        "it is read-only (default_transaction_read_only): end that for this role and database, or have \
         journal.url name the server that takes writes"
            .to_owned()
    }))
}

/// The version of the tables.
pub(crate) fn version(conn: &dyn Database) -> SqlResult<i64> {
    conn.query_row("SELECT version FROM about", [], |row| row.get(0))
}

/// Why tables cannot be used by a program of version `known`; none where they can.
pub(crate) fn tables(conn: &dyn Database, known: i64) -> SqlResult<Option<String>> {
    let version = version(conn)?;
    Ok(match version.cmp(&known) {
        Ordering::Equal => None,
        Ordering::Greater => Some(newer(version, known)),
        Ordering::Less => Some(format!(
            "its tables are of version {version}, and this program needs version {known}: stop every Signer, and \
             have their owner bring them there with `merchant-signer journal migrate --owner-url-file FILE` of \
             this program, once. Nothing was changed"
        )),
    })
}

/// Why a program that knows versions up to `known` leaves tables of this one alone.
pub(crate) fn newer(version: i64, known: i64) -> String {
    format!(
        "its tables are of version {version}, and this program knows versions up to {known}: start the newer \
         Signer again. Nothing was changed"
    )
}

fn role(conn: &dyn Database) -> SqlResult<Option<String>> {
    let powers = "SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper
                  OR has_table_privilege('history', 'DELETE') OR has_table_privilege('claim', 'DELETE')
                  OR has_table_privilege('history', 'UPDATE') OR has_table_privilege('batch', 'DELETE'))";
    let too_strong = conn.query_row(powers, [], |_| Ok(())).optional()?.is_some();
    Ok(too_strong.then(|| {
        "the role may delete or change what was written down: use one that was granted only what a \
         Signer needs, as `merchant-signer init --owner-url-file` grants it"
            .to_owned()
    }))
}

/// Returns a weakness that does not prevent a start, but that the operator should know.
pub(crate) fn weak(conn: &dyn Database) -> SqlResult<Option<String>> {
    let standbys = "SELECT current_setting('synchronous_standby_names')";
    let standbys: String = conn.query_row(standbys, [], |row| row.get(0))?;
    Ok(standbys.is_empty().then(|| {
        "no standby is synchronous: where another server takes over, the newest commits may be lost, and \
         the Signer stops until it has learnt from the chain what they were"
            .to_owned()
    }))
}

/// Returns the server's message, with advice on what can be done.
pub(crate) fn said(fault: &ServerFault) -> String {
    let ServerFault { state, problem, .. } = fault;
    match state.as_deref() {
        None => format!("it does not answer: {problem}"),
        Some("28P01" | "28000") => format!("it does not let the role of journal.url in: {problem}"),
        Some("3D000" | "3F000") => format!("{problem}: correct journal.url, or make it first"),
        Some("42P01") => "there are no tables of a journal where the role of journal.url looks for them: run \
             `merchant-signer init --owner-url-file FILE` once for a new installation. If this installation \
             has billed before, restore its database instead: a lost journal is the one way left to charge a \
             customer twice"
            .to_owned(),
        Some("42P07") => "it has tables of a journal already, and a journal is never replaced".to_owned(),
        Some("42501") => format!(
            "the role of journal.url may not do what a Signer has to: {problem}. Its rights are those that \
             `merchant-signer init --owner-url-file` grants"
        ),
        Some("53100") => format!("its disk is full: {problem}"),
        Some("53300") => format!("it takes no more connections: {problem}"),
        Some("57P03") => format!("it is starting or stopping: {problem}"),
        Some("25006") => format!("it is read-only: {problem}"),
        Some(_) => fault.to_string(),
    }
}
