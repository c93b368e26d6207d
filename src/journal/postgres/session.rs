//! One connection to the server, of a thread that waits for each answer.
//!
//! Whatever goes wrong with the connection itself, the session is not used again: nobody knows what the server
//! has done of what was asked.

use super::super::sql::{Database, Row, ServerFault, SqlError, SqlResult, Statement};
use super::mark::Known;
use bytes::BytesMut;
use futures_util::TryStreamExt as _;
use futures_util::future::poll_fn;
use parking_lot::Mutex;
use rusqlite::types::{ToSql, ToSqlOutput, Value};
use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::types::{FromSql, IsNull, ToSql as Wire, Type, to_sql_checked};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, SimpleQueryMessage, Socket};

/// What the server is told of each session: that a commit is on disk, and where there are standbys on theirs,
/// before it is answered, and that nobody waits for ever.
const SETTINGS: &str = "SET synchronous_commit = on; SET statement_timeout = '30s';
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'";

/// The name of one transaction, which nobody can guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token([u8; 16]);

impl Token {
    /// One that was never used.
    pub(super) fn random() -> SqlResult<Self> {
        let mut token = [0; 16];
        getrandom::getrandom(&mut token).map_err(|e| SqlError::foreign(std::io::Error::from(e)))?;
        Ok(Self(token))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// How a COMMIT ended.
#[derive(Debug)]
pub(super) enum Committed {
    /// It is durable, and how far the history goes then.
    Yes(Known),
    /// The server had given the transaction up before.
    No,
    /// The answer is lost, or the server warns that a standby may lack it.
    Unknown(SqlError),
}

/// A connection.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
    /// What the server has warned of since this was last looked at.
    warning: Arc<Mutex<Option<String>>>,
    broken: Cell<bool>,
    patience: Duration,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects. No answer takes longer than `patience`.
    pub(in crate::journal) fn open(config: &Config, patience: Duration) -> SqlResult<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(SqlError::foreign)?;
        let connected = runtime.block_on(async { timeout(patience, config.connect(NoTls)).await });
        let (client, connection) = connected.map_err(|_| late())?.map_err(|e| fault(&e))?;
        let warning = Arc::default();
        runtime.spawn(follow(connection, Arc::clone(&warning)));
        let session = Self { runtime, client, warning, broken: Cell::new(false), patience };
        session.batch(SETTINGS)?;
        Ok(session)
    }

    /// Whether it is of no more use.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.get() || self.client.is_closed()
    }

    /// Runs statements that take nothing and give nothing.
    pub(in crate::journal) fn batch(&self, sql: &str) -> SqlResult<()> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Begins a transaction of this name when it is this session's turn to write.
    pub(super) fn begin(&self, token: Token) -> SqlResult<()> {
        self.batch("BEGIN; SELECT taken FROM turn FOR UPDATE")?;
        self.name(token)
    }

    /// Gives the open transaction its name. Without that row there is nothing of the transaction.
    pub(super) fn name(&self, token: Token) -> SqlResult<()> {
        self.batch(&format!("INSERT INTO ending (token, void) VALUES ('\\x{token}', 0)"))
    }

    /// Ends the transaction with nothing of it written.
    pub(super) fn roll_back(&self) {
        // A session that cannot do this is broken, and ends with its transaction.
        self.batch("ROLLBACK").ok();
    }

    /// Ends the transaction of this name, and looks at its row: COMMIT of a transaction that failed is
    /// answered like any other.
    pub(super) fn commit(&self, token: Token) -> Committed {
        self.warning.lock().take();
        let sql = format!(
            "COMMIT;
             SELECT (SELECT coalesce(max(seq), 0) FROM history),
                    (SELECT encode(digest, 'hex') FROM history ORDER BY seq DESC LIMIT 1)
             FROM ending WHERE token = '\\x{token}' AND void = 0"
        );
        let told = match self.wait(self.client.simple_query(&sql)) {
            Ok(told) => told,
            Err(error) => return Committed::Unknown(error),
        };
        if let Some(warning) = self.warning.lock().take() {
            return Committed::Unknown(ServerFault::said(warning).into());
        }
        let row = told.iter().find_map(|message| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            Some(Known::parse(row.get(0)?, row.get(1).unwrap_or("")))
        });
        match row {
            None => Committed::No,
            Some(Some(known)) => Committed::Yes(known),
            Some(None) => Committed::Unknown(ServerFault::said("no head of the history").into()),
        }
    }

    /// Has a transaction of this name never happen, if it has not; tells whether it has. Waits for whoever
    /// still works on it.
    pub(super) fn void(&self, token: Token) -> SqlResult<bool> {
        let ask = format!(
            "INSERT INTO ending (token, void) VALUES ('\\x{token}', 1) ON CONFLICT DO NOTHING"
        );
        let asked = self.ask(&ask, &[])?;
        if asked.changed == 1 {
            return Ok(false);
        }
        let sql = format!("SELECT void FROM ending WHERE token = '\\x{token}'");
        let database: &dyn Database = self;
        database.query_row(&sql, [], |row: &Row<'_>| Ok(row.get::<i64>(0)? == 0))
    }

    /// Runs one statement.
    pub(in crate::journal) fn ask(
        &self,
        sql: &str,
        params: &[&dyn ToSql],
    ) -> SqlResult<ServerReply> {
        let sent =
            params.iter().map(|value| Outgoing::of(*value)).collect::<SqlResult<Vec<_>>>()?;
        // Nothing but a parameter is written with a question mark.
        let sql = sql.replace('?', "$");
        self.wait(async {
            let params = sent.iter().map(|value| (value, value.kind()));
            let mut found = pin!(self.client.query_typed_raw(&sql, params).await?);
            let mut rows = Vec::new();
            while let Some(row) = found.try_next().await? {
                let values =
                    (0..row.len()).map(|at| row.try_get::<_, Incoming>(at).map(|got| got.0));
                rows.push(values.collect::<Result<_, _>>()?);
            }
            let changed = found.rows_affected().unwrap_or_default();
            Ok(ServerReply { rows, changed: usize::try_from(changed).unwrap_or(usize::MAX) })
        })
    }

    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> SqlResult<T> {
        let told = self.runtime.block_on(async { timeout(self.patience, answer).await });
        match told {
            Ok(Ok(told)) => Ok(told),
            Ok(Err(error)) => {
                if error.as_db_error().is_none() {
                    self.broken.set(true);
                }
                Err(fault(&error))
            }
            Err(_) => {
                self.broken.set(true);
                Err(late())
            }
        }
    }
}

/// What a statement found and did.
pub(in crate::journal) struct ServerReply {
    /// Its rows.
    pub(in crate::journal) rows: Vec<Vec<Value>>,
    /// How many rows it changed.
    pub(in crate::journal) changed: usize,
}

impl Database for Session {
    fn prepare_cached(&self, sql: &str) -> SqlResult<Statement<'_>> {
        self.prepare(sql)
    }

    fn prepare(&self, sql: &str) -> SqlResult<Statement<'_>> {
        Ok(Statement::OnServer(self, sql.to_owned()))
    }

    fn defer_references(&self) -> SqlResult<()> {
        self.batch("SET CONSTRAINTS ALL DEFERRED")
    }

    fn tables_with(&self, column: &str) -> SqlResult<Vec<String>> {
        let sql = "SELECT table_name::text FROM information_schema.columns
                   WHERE table_schema = current_schema() AND column_name = ?1";
        let mut select = self.prepare(sql)?;
        select.query_map([column], |row| row.get(0))?.collect()
    }

    /// The server lets none come about.
    fn orphans(&self) -> SqlResult<Vec<(String, String)>> {
        Ok(Vec::new())
    }
}

/// Takes in what the server says, and keeps what it warns of.
async fn follow(
    mut connection: Connection<Socket, tokio_postgres::tls::NoTlsStream>,
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

fn late() -> SqlError {
    ServerFault::said("the server did not answer in time").into()
}

fn fault(error: &tokio_postgres::Error) -> SqlError {
    if let Some(told) = error.as_db_error() {
        let state = Some(told.code().code().to_owned());
        return ServerFault { state, problem: told.message().to_owned() }.into();
    }
    let source = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    ServerFault::said(format!("{error}{source}")).into()
}

/// A value on its way to the server.
#[derive(Debug)]
struct Outgoing(Value);

impl Outgoing {
    fn of(value: &dyn ToSql) -> SqlResult<Self> {
        Ok(Self(match value.to_sql()? {
            ToSqlOutput::Owned(value) => value,
            ToSqlOutput::Borrowed(value) => value.try_into()?,
            _ => return Err(SqlError::foreign("no plain value")),
        }))
    }

    /// NULL is of whatever type belongs in its place.
    fn kind(&self) -> Type {
        match &self.0 {
            Value::Null => Type::UNKNOWN,
            Value::Integer(_) => Type::INT8,
            Value::Real(_) => Type::FLOAT8,
            Value::Text(_) => Type::TEXT,
            Value::Blob(_) => Type::BYTEA,
        }
    }
}

impl Wire for Outgoing {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(number) => Wire::to_sql(number, kind, out),
            Value::Real(number) => Wire::to_sql(number, kind, out),
            Value::Text(text) => Wire::to_sql(text, kind, out),
            Value::Blob(bytes) => Wire::to_sql(bytes, kind, out),
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
