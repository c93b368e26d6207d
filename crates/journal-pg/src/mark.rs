//! The mark: a Signer's knowledge of its database, kept beside it. It names the start of the process that wrote
//! last, the newest row of history that the Signer saw, and the server.
//!
//! A copy that was put back has the server's identifier, and may have its timeline, so contents are compared: a
//! database that lacks this Signer's start or that row, or holds another one in its place, has forgotten. A
//! new timeline alone is a failover that lost nothing.

use journal::HistoryHead;
use journal::sql::{Database, OptionalExtension as _, SqlResult};
use journal::store::{self, BootId};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// The head of the history when the database was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known(pub(crate) HistoryHead);

impl Known {
    /// As a row of text.
    pub(crate) fn parse(row: &str, digest: &str) -> Option<Self> {
        let row = row.parse().ok()?;
        let whole = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        (whole || row == 0).then(|| Self(HistoryHead { row, digest: digest.to_owned() }))
    }

    /// Returns true if the database still holds this head.
    pub(crate) fn is_in(&self, conn: &dyn Database) -> SqlResult<bool> {
        store::holds(conn, &self.0)
    }
}

/// Which server it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Server {
    /// Given when its files were made: a copy of them has the same.
    pub(crate) system: i64,
    /// Number of times that a standby was promoted, hexadecimal.
    pub(crate) timeline: String,
}

impl Server {
    /// Asks it. None where it only follows another one.
    pub(crate) fn of(conn: &dyn Database) -> SqlResult<Option<Self>> {
        // A server that follows another has no place of its own in the log, and says so with an error.
        let sql = "SELECT s.system_identifier,
                          CASE WHEN pg_is_in_recovery() THEN NULL
                               ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
                   FROM pg_control_system() s";
        let told =
            conn.query_row(sql, [], |row| Ok((row.get(0)?, row.get::<Option<String>>(1)?)))?;
        Ok(told.1.map(|timeline| Self { system: told.0, timeline }))
    }
}

/// The content of the mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastSeen {
    /// The start of the process that wrote it.
    pub(crate) boot: BootId,
    /// The head of the history that this process saw last.
    pub(crate) known: Known,
    /// The location.
    pub(crate) server: Server,
}

impl LastSeen {
    fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let &[boot, row, digest, system, timeline] = words.as_slice() else { return None };
        let known = Known::parse(row, if digest == NO_DIGEST { "" } else { digest })?;
        let server = Server { system: system.parse().ok()?, timeline: timeline.to_owned() };
        Some(Self { boot: BootId::parse(boot)?, known, server })
    }

    /// Returns true if the database of `conn` may have forgotten something since this mark was written.
    pub(crate) fn is_contradicted_by(
        &self,
        conn: &dyn Database,
        server: &Server,
    ) -> SqlResult<bool> {
        Ok(self.compared_with(conn, server)? != Comparison::Agrees)
    }

    /// Compares the mark with the database of `conn`, which `server` has.
    pub(crate) fn compared_with(
        &self,
        conn: &dyn Database,
        server: &Server,
    ) -> SqlResult<Comparison> {
        let started = "SELECT 1 FROM boot WHERE id = ?1";
        let started = conn.query_row(started, [self.boot.bytes()], |_| Ok(())).optional()?;
        Ok(if started.is_none() || !self.known.is_in(conn)? {
            Comparison::Lacks
        } else if self.server.system != server.system {
            Comparison::Elsewhere
        } else {
            Comparison::Agrees
        })
    }

    /// Until when a database knows everything that lacks what this mark tells of, Unix ms: at its newest row from before
    /// the start that followed there on the one that the mark names. None if there is no such start: at its newest row.
    pub(crate) fn known_until_ms(&self, conn: &dyn Database) -> SqlResult<Option<i64>> {
        let next = "SELECT at_ms FROM boot WHERE seq > (SELECT seq FROM boot WHERE id = ?1)
                    ORDER BY seq LIMIT 1";
        let next = conn.query_row(next, [self.boot.bytes()], |row| row.get::<i64>(0)).optional()?;
        let Some(next_ms) = next else { return Ok(None) };
        let before = "SELECT at_ms FROM history WHERE at_ms <= ?1 ORDER BY seq DESC LIMIT 1";
        let before = conn.query_row(before, [next_ms], |row| row.get(0)).optional()?;
        Ok(Some(before.unwrap_or_default()))
    }
}

/// A database, compared with a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// It holds what the machine saw in it.
    Agrees,
    /// It holds that too, and is a copy on another server: it may lack what came later.
    Elsewhere,
    /// It lacks what the machine saw in it.
    Lacks,
}

/// Stands for the digest of no row.
const NO_DIGEST: &str = "-";

impl fmt::Display for LastSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { boot, known: Known(HistoryHead { row, digest }), server } = self;
        let digest = if digest.is_empty() { NO_DIGEST } else { digest };
        writeln!(f, "{boot} {row} {digest} {} {}", server.system, server.timeline)
    }
}

/// The file that it is kept in.
#[derive(Clone, Debug)]
pub(crate) struct MarkFile(PathBuf);

impl MarkFile {
    /// At this path.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Reads the mark; none if its content makes no sense.
    pub(crate) fn read(&self) -> Option<LastSeen> {
        LastSeen::parse(&std::fs::read_to_string(&self.0).ok()?)
    }

    /// Replaces it, whole or not at all.
    pub(crate) fn write(&self, reached: &LastSeen) -> io::Result<()> {
        let next = self.0.with_extension("mark.next");
        std::fs::write(&next, reached.to_string())?;
        std::fs::rename(next, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for (row, digest) in [(0, String::new()), (7, "a1".repeat(32))] {
            let known = Known(HistoryHead { row, digest });
            let server = Server { system: i64::MAX, timeline: "0000000A".to_owned() };
            let reached = LastSeen { boot: BootId::new([7; 16]), known, server };
            assert_eq!(LastSeen::parse(&reached.to_string()), Some(reached));
        }
        assert_eq!(LastSeen::parse("07 7 a1 1 00000001"), None);
    }
}
