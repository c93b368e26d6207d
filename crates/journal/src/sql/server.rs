//! Statements that a server runs, and its replies to them.

use crate::sql::{Constraint, SqlError, SqlResult};
use rusqlite::types::{ToSql, ToSqlOutput, Value};

/// A statement that a server runs.
pub trait ServerStatement {
    /// Runs the statement once for each set of values, in order and in one round trip, and returns all replies.
    fn run(&self, each: Vec<Vec<Value>>) -> SqlResult<Vec<ServerReply>>;

    /// Queues the statement, which goes out with the next question. If it violates the constraint, the error is that.
    fn queue(&self, values: Vec<Value>, expecting: Option<Constraint>) -> SqlResult<()>;

    /// Queues a statement that inserts a row for each of the columns' values. If it inserts fewer, the error is the
    /// constraint.
    fn queue_set(&self, columns: Vec<ServerColumn>, expecting: Option<Constraint>)
    -> SqlResult<()>;
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Whole numbers.
    Number,
    /// Text.
    Text,
    /// Bytes.
    Bytes,
}

impl ColumnType {
    /// A server's word for a list of such values.
    pub(crate) fn list(self) -> &'static str {
        match self {
            Self::Number => "bigint[]",
            Self::Text => "text[]",
            Self::Bytes => "bytea[]",
        }
    }
}

/// The values that rows have in one column; as many as there are rows.
#[derive(Clone, Debug)]
pub struct ServerColumn {
    /// Their type.
    pub kind: ColumnType,
    /// The values. Each is of that type, or NULL.
    pub values: Vec<Value>,
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
