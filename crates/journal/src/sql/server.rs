//! Statements that a server runs, and its replies to them.

use crate::sql::{Constraint, SqlError, SqlResult};
use rusqlite::types::{ToSql, ToSqlOutput, Value};

/// A statement that a server runs.
pub trait ServerStatement {
    /// Runs the statement once for each set of values, in order and in one round trip, and returns all replies.
    fn run(&self, each: Vec<Vec<Value>>) -> SqlResult<Vec<ServerReply>>;

    /// Queues the statement, which goes out with the next question. If it violates the constraint, the error is that.
    fn queue(&self, values: Vec<Value>, expecting: Option<Constraint>) -> SqlResult<()>;
}

/// The result of a statement.
#[derive(Debug, Default)]
pub struct ServerReply {
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
    /// Number of changed rows.
    pub changed: usize,
}

impl dyn ServerStatement + '_ {
    /// Runs the statement once.
    pub(crate) fn ask(&self, values: &[&dyn ToSql]) -> SqlResult<ServerReply> {
        self.run(vec![plain(values)?])?.pop().ok_or(SqlError::NO_ROW)
    }
}

/// Returns values as they are sent.
pub(crate) fn plain(values: &[&dyn ToSql]) -> SqlResult<Vec<Value>> {
    let plain = |value: &&dyn ToSql| match value.to_sql()? {
        ToSqlOutput::Owned(value) => Ok(value),
        ToSqlOutput::Borrowed(value) => Ok(value.try_into()?),
        _ => Err(SqlError::foreign("no plain value")),
    };
    values.iter().map(plain).collect()
}
