//! A journal copy's account of itself, read before the copy takes the place of a lost journal.

use crate::model::HistoryHead;
use crate::open_error::OpenError;
use crate::sql::columns::address;
use crate::sql::{Database, Row, SqlResult};
use crate::sqlite::files::Files;
use crate::sqlite::open::{self};
use crate::{history, open_error};
use alloy::primitives::Address;
use jiff::Timestamp;
use std::fmt;
use std::path::{Path, PathBuf};

/// A file that may be a copy.
#[derive(Debug)]
pub struct SeenCopy {
    /// The location.
    pub path: PathBuf,
    /// Content of the copy, or the reason that it is of no use.
    pub contents: Result<CopyContents, OpenError>,
}

/// The extent of a copy, and the contracts that show its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyContents {
    /// The last row of its history.
    pub head: HistoryHead,
    /// When that was written, Unix ms.
    pub newest_ms: Option<i64>,
    /// Every contract that was billed through, by the network's own id.
    pub contracts: Vec<(u64, Address)>,
}

impl CopyContents {
    /// Returns true if the copy was billed through none of `ours`: then it is the journal of another installation.
    /// A copy in which nothing was ever configured is not foreign.
    pub fn is_foreign(&self, ours: &[(u64, Address)]) -> bool {
        !self.contracts.is_empty() && !self.contracts.iter().any(|one| ours.contains(one))
    }
}

impl SeenCopy {
    pub(crate) fn of(path: PathBuf) -> Self {
        Self { contents: read_copy(&path), path }
    }

    /// Returns the number of rows in the copy.
    pub(crate) fn rows(&self) -> u64 {
        self.contents.as_ref().map_or(0, |told| told.head.row)
    }
}

impl fmt::Display for SeenCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.contents {
            Err(why) => write!(f, "{path}: {why}"),
            Ok(CopyContents { head, newest_ms, .. }) => {
                let until = newest_ms.and_then(|ms| Timestamp::from_millisecond(ms).ok());
                let until = until.map(|until| format!(" until {until:.0}")).unwrap_or_default();
                write!(f, "{path}: {} rows{until}, head {head}", head.row)
            }
        }
    }
}

/// Reads the content of the copy at `path`. The copy is not changed.
pub(crate) fn read_copy(path: &Path) -> Result<CopyContents, OpenError> {
    let conn = open::read(&Files::at(path))?;
    contents(&*conn).map_err(|e| open_error::unanswered(path, &e))
}

fn contents(conn: &dyn Database) -> SqlResult<CopyContents> {
    let newest_ms = conn.query_row("SELECT max(at_ms) FROM history", [], |row| row.get(0))?;
    let sql = "SELECT network, contract FROM chain
        UNION SELECT network, profile.contract FROM profile JOIN chain ON chain.id = profile.chain";
    let mut select = conn.prepare(sql)?;
    let contract = |row: &Row<'_>| Ok((row.get(0)?, address(row, 1)?));
    let contracts = select.query_map([], contract)?.collect::<SqlResult<_>>()?;
    Ok(CopyContents { head: history::head(conn)?, newest_ms, contracts })
}
