//! A statement with its values on its way to the server, and what comes back.

use bytes::BytesMut;
use futures_util::TryStreamExt as _;
use futures_util::future::poll_fn;
use journal::sql::{
    ColumnType, Constraint, ServerColumn, ServerFault, ServerReply, SqlError, SqlResult,
};
use parking_lot::Mutex;
use rusqlite::types::Value;
use std::error::Error;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::types::{FromSql, IsNull, ToSql as Wire, Type, to_sql_checked};
use tokio_postgres::{AsyncMessage, Client, Connection, RowStream, Socket};

/// A statement and its values.
#[derive(Clone, Debug)]
pub(crate) struct ServerQuestion {
    sql: String,
    values: Vec<Outgoing>,
    kept: bool,
}

impl ServerQuestion {
    /// One that is asked once.
    pub(crate) fn once(sql: &str, values: Vec<Value>) -> Self {
        // Nothing but a parameter is written with a question mark.
        let values = values.into_iter().map(Outgoing::Value).collect();
        Self { sql: sql.replace('?', "$"), values, kept: false }
    }

    /// One that is asked again and again: the server reads and plans it once.
    pub(crate) fn kept(sql: &str, values: Vec<Value>) -> Self {
        Self { kept: true, ..Self::once(sql, values) }
    }

    /// The same with these values.
    pub(crate) fn with(&self, values: Vec<Value>) -> Self {
        let values = values.into_iter().map(Outgoing::Value).collect();
        Self { sql: self.sql.clone(), values, kept: self.kept }
    }

    /// The same with the values of a set of rows.
    pub(crate) fn of_set(&self, columns: Vec<ServerColumn>) -> Self {
        let values = columns.into_iter().map(Outgoing::Column).collect();
        Self { sql: self.sql.clone(), values, kept: self.kept }
    }

    /// Returns the number of rows that it is to change, if each is free to be changed.
    pub(crate) fn rows(&self) -> usize {
        match self.values.first() {
            Some(Outgoing::Column(column)) => column.values.len(),
            Some(Outgoing::Value(_)) | None => 1,
        }
    }

    /// Returns true if the statement changes nothing.
    pub(crate) fn only_reads(&self) -> bool {
        self.sql.trim_start().starts_with("SELECT")
    }

    /// Returns true if the server keeps the prepared statement.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    /// Returns the key of the prepared statement: its text, and the types of its values.
    pub(crate) fn key(&self) -> (String, Vec<Type>) {
        (self.sql.clone(), self.values.iter().map(Outgoing::kind).collect())
    }

    /// Asks it, as what was prepared of it, if anything was.
    pub(crate) async fn put_to(
        &self,
        client: &Client,
        prepared: Option<tokio_postgres::Statement>,
    ) -> Result<ServerReply, tokio_postgres::Error> {
        let found = if let Some(prepared) = prepared {
            client.query_raw(&prepared, &self.values).await?
        } else {
            let values = self.values.iter().map(|value| (value, value.kind()));
            client.query_typed_raw(&self.sql, values).await?
        };
        read(found).await
    }
}

/// Reads all rows of a reply.
async fn read(found: RowStream) -> Result<ServerReply, tokio_postgres::Error> {
    let mut found = pin!(found);
    let mut rows = Vec::new();
    while let Some(row) = found.try_next().await? {
        let values = (0..row.len()).map(|at| row.try_get::<_, Incoming>(at).map(|got| got.0));
        rows.push(values.collect::<Result<_, _>>()?);
    }
    let changed = found.rows_affected().unwrap_or_default();
    Ok(ServerReply { rows, changed: usize::try_from(changed).unwrap_or(usize::MAX) })
}

/// A value on its way to the server, or those of a set of rows in one column.
#[derive(Clone, Debug)]
enum Outgoing {
    Value(Value),
    Column(ServerColumn),
}

impl Outgoing {
    /// NULL is of whatever type belongs in its place.
    fn kind(&self) -> Type {
        match self {
            Self::Value(Value::Null) => Type::UNKNOWN,
            Self::Value(Value::Integer(_)) => Type::INT8,
            Self::Value(Value::Real(_)) => Type::FLOAT8,
            Self::Value(Value::Text(_)) => Type::TEXT,
            Self::Value(Value::Blob(_)) => Type::BYTEA,
            Self::Column(column) => match column.kind {
                ColumnType::Number => Type::INT8_ARRAY,
                ColumnType::Text => Type::TEXT_ARRAY,
                ColumnType::Bytes => Type::BYTEA_ARRAY,
            },
        }
    }
}

impl Wire for Outgoing {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Value(value) => Plain(value).to_sql(kind, out),
            Self::Column(column) => {
                column.values.iter().map(Plain).collect::<Vec<_>>().to_sql(kind, out)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// One value, as the server takes it.
#[derive(Debug)]
struct Plain<'v>(&'v Value);

impl Wire for Plain<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => number.to_sql(kind, out),
            Value::Real(number) => number.to_sql(kind, out),
            Value::Text(text) => text.to_sql(kind, out),
            Value::Blob(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value that came from the server.
struct Incoming(Value);

impl<'a> FromSql<'a> for Incoming {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *kind {
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::BYTEA => Value::Blob(raw.to_vec()),
            _ => Value::Text(String::from_sql(kind, raw)?),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(kind: &Type) -> bool {
        [Type::INT8, Type::INT4, Type::TEXT, Type::BYTEA].contains(kind)
    }
}

/// Returns the error for an answer that did not come in time.
pub(crate) fn late() -> SqlError {
    ServerFault::said("the server did not answer in time").into()
}

/// Returns the fault that the server, or the connection to it, reports instead of an answer.
pub(crate) fn fault(error: &tokio_postgres::Error) -> ServerFault {
    if let Some(told) = error.as_db_error() {
        let state = Some(told.code().code().to_owned());
        let constraint = told.constraint().map(str::to_owned);
        return ServerFault { state, constraint, problem: told.message().to_owned() };
    }
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    ServerFault::said(format!("{error}{source}"))
}

/// Returns the outcome of a statement that had to change so many rows: `constraint` if it did not.
pub(crate) fn outcome_expecting(
    constraint: Option<Constraint>,
    rows: usize,
    answer: SqlResult<ServerReply>,
) -> SqlResult<()> {
    let Some(constraint) = constraint else { return answer.map(drop) };
    match answer {
        Ok(ServerReply { changed, .. }) if changed == rows => Ok(()),
        Ok(_) => Err(constraint.into()),
        Err(error) if error.violates(constraint) => Err(constraint.into()),
        Err(error) => Err(error),
    }
}

/// Takes in what the server says, and keeps what it warns of.
pub(crate) async fn follow(
    mut connection: Connection<Socket, impl AsyncRead + AsyncWrite + Unpin>,
    warning: Arc<Mutex<Option<String>>>,
) {
    while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.severity() != "NOTICE"
        {
            *warning.lock() = Some(notice.message().to_owned());
        }
    }
}
