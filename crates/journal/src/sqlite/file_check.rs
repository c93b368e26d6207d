//! The check that a file that nobody closed is as its last process left it: made before the file is used, so that
//! an old copy under the log of a newer file is never taken for the journal.

use crate::audit;
use crate::sql::SqlResult;
use crate::sqlite::files::Files;
use crate::sqlite::log_start::{self, Belonging};
use crate::sqlite::migrations;
use rusqlite::Connection;
use tracing::info;

/// Returns the fault of the journal in `files`, of the version of this program or an older one, which `conn` reads;
/// none if there is no fault. If file and log prove that they belong together, nothing else is looked at, which
/// takes no longer in a large journal than in a small one. If that is in doubt, everything is looked at.
pub(crate) fn fault(files: &Files, conn: &Connection, found: i64) -> SqlResult<Option<String>> {
    // A file that cannot be read alone was just being written.
    let alone = files.connect_to_the_file_alone().ok();
    let told = alone.and_then(|alone| log_start::belonging(&alone, conn).ok());
    match told.unwrap_or(Belonging::Unsaid) {
        Belonging::Proven => Ok(None),
        Belonging::Unsaid => {
            tell(files);
            looked_at(conn)
        }
        Belonging::Doubtful => {
            tell(files);
            match looked_at(conn)? {
                None if found == migrations::newest(migrations::STEPS) => audited(conn),
                fault => Ok(fault),
            }
        }
    }
}

/// Says why a start takes its time.
fn tell(files: &Files) {
    let journal = files.path().display();
    let bytes = std::fs::metadata(files.path()).map(|file| file.len()).ok();
    info!(%journal, bytes, "the last process did not close the journal: all of it is read before it is used");
}

fn audited(conn: &Connection) -> SqlResult<Option<String>> {
    Ok(audit::watched(conn, &[], &mut |_, _| {})?.faults.into_iter().next())
}

/// Reads all of it, and counts.
fn looked_at(conn: &Connection) -> SqlResult<Option<String>> {
    let found: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Some(found));
    }
    let told = "SELECT count(*), coalesce(max(seq), 0),
                       count(*) FILTER (WHERE event IN ('accepted', 'adopted')),
                       count(*) FILTER (WHERE event = 'settled') FROM history";
    let held = "SELECT count(*), count(*) FILTER (WHERE state <> 'open') FROM batch";
    let told: [i64; 4] =
        conn.query_row(told, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
    let held: [i64; 2] = conn.query_row(held, [], |row| Ok([row.get(0)?, row.get(1)?]))?;
    let [rows, last, accepted, settled] = told;
    Ok(if rows != last {
        Some(format!("its history has {rows} rows, and the last one is number {last}"))
    } else if [accepted, settled] != held {
        let [batches, ended] = held;
        Some(format!(
            "it holds {batches} batches, {ended} of them ended, and its history knows {accepted} and \
             {settled}"
        ))
    } else {
        None
    })
}
