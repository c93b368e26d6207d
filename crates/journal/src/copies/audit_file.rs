//! The audit of a journal in a file.

use crate::HistoryHead;
use crate::audit::{Audit, AuditWatch, watched};
use crate::open_error::{self, OpenError};
use crate::sql::SqlError;
use crate::sqlite::files::Files;
use crate::sqlite::{migrations, open, schema_check};
use std::path::Path;

/// Verifies the journal at `path`, which no process may have open, and that each of `kept` is a row of
/// it. A copy of one that is open will do. Nothing is changed.
pub fn audit(path: &Path, kept: &[HistoryHead]) -> Result<Audit, OpenError> {
    audit_watched(path, kept, &mut |_, _| {})
}

/// The same. `watch` is told from time to time how many rows of the history are looked at, and of how many.
pub fn audit_watched(
    path: &Path,
    kept: &[HistoryHead],
    watch: AuditWatch<'_>,
) -> Result<Audit, OpenError> {
    let conn = open::read(&Files::at(path))?;
    let mut look = || {
        let shape: Option<String> =
            schema_check::fault(&conn, migrations::newest(migrations::STEPS))?;
        let mut audit = watched(&*conn, kept, watch)?;
        audit.faults.extend(shape.map(|problem| format!("the file {problem}")));
        Ok::<_, SqlError>(audit)
    };
    look().map_err(|e| open_error::unanswered(path, &e))
}
