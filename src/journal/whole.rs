//! Whether a file that nobody closed is what its last process left: looked at before it is used, so that
//! an old copy under the log of a newer file is never taken for the journal.

use rusqlite::Connection;

/// What is wrong with the file; none when nothing is.
pub(super) fn fault(conn: &Connection) -> rusqlite::Result<Option<String>> {
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
