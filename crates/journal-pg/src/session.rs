//! One connection to the server, of a thread that waits for its answers.
//!
//! A statement that needs no answer is queued, and goes out with the next question: all of that is one round trip,
//! however many statements there are. The server runs them in order, and none after a failed one.
//!
//! After any failure of the connection itself, the session is not used again: it is unknown which of the statements
//! the server has run.

use crate::mark::Known;
use crate::question::{ServerQuestion, fault, follow, late, outcome_expecting};
use crate::token::Token;
use crate::{ServerConfig, greeting, tls};
use futures_util::FutureExt as _;
use futures_util::future::{maybe_done, poll_fn, try_join_all};
use journal::sql::{Constraint, Database, Row, ServerFault, ServerReply, SqlError, SqlResult};
use parking_lot::Mutex;
use rusqlite::types::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config, SimpleQueryMessage};

/// The end of a COMMIT.
#[derive(Debug)]
pub(crate) enum Committed {
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
    /// Warning from the server since the last look.
    warning: Arc<Mutex<Option<String>>>,
    /// Statements that go out with the next question, each with the constraint that it may run into.
    queue: RefCell<Vec<(ServerQuestion, Option<Constraint>)>>,
    /// Statements that the server has prepared, by their text and the types of their values.
    prepared: RefCell<HashMap<(String, Vec<Type>), tokio_postgres::Statement>>,
    /// True until the transaction, or the savepoint, is known to be open. Until then a statement that writes waits:
    /// outside of a transaction it would be a commit of its own.
    opening: Cell<bool>,
    /// Number of waits for an answer.
    trips: Cell<u64>,
    broken: Cell<bool>,
    /// The fault of a statement for which the server had no room or no permission, if any, since the last look.
    refused: RefCell<Option<ServerFault>>,
    /// The process of the server that answers.
    pub(crate) backend: i64,
    pub(crate) patience: Duration,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects as `server` says, and in all else as `by`. The server calls the session `name`.
    pub(crate) fn open(server: &Config, by: &ServerConfig, name: &str) -> SqlResult<Self> {
        let patience = by.patience;
        let (mut server, tls) = tls::secured(server, by.authority_file.as_deref())?;
        let hosts = u32::try_from(server.get_hosts().len()).unwrap_or(u32::MAX).max(1);
        if hosts > 1 {
            server.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        // Each of them is tried within the patience for all.
        server.connect_timeout(patience.checked_div(hosts).unwrap_or(patience));
        server.application_name(name);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(SqlError::foreign)?;
        let connected = runtime.block_on(async { timeout(patience, server.connect(tls)).await });
        let (client, connection) = connected.map_err(|_| late())?.map_err(|e| fault(&e))?;
        let warning = Arc::default();
        runtime.spawn(follow(connection, Arc::clone(&warning)));
        let mut session = Self {
            runtime,
            client,
            warning,
            queue: RefCell::default(),
            prepared: RefCell::default(),
            opening: Cell::default(),
            trips: Cell::default(),
            broken: Cell::new(false),
            refused: RefCell::default(),
            backend: 0,
            patience,
        };
        session.backend = greeting::greet(|sql| session.first_values(sql))?;
        Ok(session)
    }

    /// Returns true if the session is of no more use.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get() || self.client.is_closed()
    }

    /// Returns the number of round trips since the last call.
    pub(crate) fn take_trips(&self) -> u64 {
        self.trips.take()
    }

    /// Returns the fault of a refusal by the server since the last call, if it will not pass by itself.
    pub(crate) fn take_refusal(&self) -> Option<ServerFault> {
        self.refused.take()
    }

    /// The first value of every row that statements find which take nothing.
    pub(crate) fn first_values(&self, sql: &str) -> SqlResult<Vec<String>> {
        let told = self.wait(self.client.simple_query(sql))?;
        let first = |message| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            row.get(0).map(str::to_owned)
        };
        Ok(told.into_iter().filter_map(first).collect())
    }

    /// Runs statements that take nothing and give nothing.
    pub(crate) fn batch(&self, sql: &str) -> SqlResult<()> {
        self.flush()?;
        self.wait(self.client.batch_execute(sql))
    }

    /// Begins a transaction of this name when it is this session's turn to write. The process of the server that
    /// has the journal has to be the one that writes, whatever is between.
    pub(crate) fn begin(&self, token: Token) {
        const TURN: &str = "SELECT taken FROM turn WHERE pg_backend_pid() = ?1 FOR UPDATE";
        self.open_by("BEGIN");
        let turn = ServerQuestion::kept(TURN, vec![Value::Integer(self.backend)]);
        self.put(turn, Some(Constraint::Session));
        self.name(token);
    }

    fn open_by(&self, sql: &str) {
        self.put(ServerQuestion::kept(sql, Vec::new()), None);
        self.opening.set(true);
    }

    fn put(&self, question: ServerQuestion, constraint: Option<Constraint>) {
        self.queue.borrow_mut().push((question, constraint));
    }

    /// Gives the open transaction its name. Without that row there is nothing of the transaction.
    pub(crate) fn name(&self, token: Token) {
        let sql = "INSERT INTO ending (token, void) VALUES (?1, 0)";
        self.put(ServerQuestion::kept(sql, vec![Value::Blob(token.bytes().to_vec())]), None);
    }

    /// Sets a savepoint: the open transaction is undone to it when the next write is not kept. There is one
    /// savepoint at a time.
    pub(crate) fn save_point(&self) {
        self.open_by("SAVEPOINT write");
    }

    /// Makes what came after the savepoint part of the transaction.
    pub(crate) fn release(&self) {
        self.put(ServerQuestion::kept("RELEASE write", Vec::new()), None);
    }

    /// Undoes what came after the savepoint.
    pub(crate) fn undo(&self) -> SqlResult<()> {
        // A failure in this flush is undone with the rest.
        self.flush().ok();
        self.batch("ROLLBACK TO write")
    }

    /// Ends the transaction with nothing of it written.
    pub(crate) fn roll_back(&self) {
        self.queue.take();
        self.opening.set(false);
        // A session that cannot do this is broken, and ends with its transaction.
        self.batch("ROLLBACK").ok();
    }

    /// Ends the transaction of this name, and looks at its row: COMMIT of a transaction that failed is
    /// answered like any other.
    pub(crate) fn commit(&self, token: Token) -> Committed {
        // Each write has flushed its statements already, and its waiter learnt of any failure.
        if self.opened().and_then(|()| self.flush()).is_err() {
            self.roll_back();
            return Committed::No;
        }
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
    pub(crate) fn void(&self, token: Token) -> SqlResult<bool> {
        let sql = "INSERT INTO ending (token, void) VALUES (?1, 1) ON CONFLICT DO NOTHING";
        let named = || vec![Value::Blob(token.bytes().to_vec())];
        if self.ask(ServerQuestion::once(sql, named()))?.changed == 1 {
            return Ok(false);
        }
        let database: &dyn Database = self;
        let sql = "SELECT void FROM ending WHERE token = ?1";
        database.query_row(sql, [token.bytes()], |row: &Row<'_>| Ok(row.get::<i64>(0)? == 0))
    }

    /// Queues the statement, which goes out with the next question. If it does not change all its rows, because another
    /// row is in the place of one, the error is `constraint`.
    pub(crate) fn queue(
        &self,
        question: ServerQuestion,
        constraint: Option<Constraint>,
    ) -> SqlResult<()> {
        self.opened()?;
        self.put(question, constraint);
        Ok(())
    }

    /// Makes sure that what was to be opened is open.
    fn opened(&self) -> SqlResult<()> {
        if self.opening.get() {
            self.flush()?;
        }
        if self.opening.get() {
            return Err(ServerFault::said("no transaction was opened").into());
        }
        Ok(())
    }

    /// Asks one question.
    pub(crate) fn ask(&self, question: ServerQuestion) -> SqlResult<ServerReply> {
        self.ask_all(vec![question])?.pop().ok_or(SqlError::NO_ROW)
    }

    /// Sends what is queued and these questions behind it, and waits for all answers.
    pub(crate) fn ask_all(&self, questions: Vec<ServerQuestion>) -> SqlResult<Vec<ServerReply>> {
        if !questions.iter().all(ServerQuestion::only_reads) {
            self.opened()?;
        }
        let queued = self.queue.take().into_iter().map(|(question, constraint)| {
            let rows = question.rows();
            (question, (constraint, rows))
        });
        let (queued, expected): (Vec<_>, Vec<_>) = queued.unzip();
        let all: Vec<ServerQuestion> = queued.into_iter().chain(questions).collect();
        if all.is_empty() {
            return Ok(Vec::new());
        }
        self.prepare_kept(&all)?;
        let mut answers = self.wait(async { Ok(self.send(&all).await) })?.into_iter();
        for (constraint, rows) in expected {
            let answer = answers.next().unwrap_or_else(|| Ok(ServerReply::default()));
            let ran = outcome_expecting(constraint, rows, self.told(answer));
            if ran == Err(Constraint::Session.into()) {
                self.broken.set(true);
            }
            ran?;
        }
        self.opening.set(false);
        answers.map(|answer| self.told(answer)).collect()
    }

    /// Sends all of them before it waits for the first answer.
    async fn send(
        &self,
        questions: &[ServerQuestion],
    ) -> Vec<Result<ServerReply, tokio_postgres::Error>> {
        let sent = questions.iter().map(|question| {
            let kept =
                question.is_kept().then(|| self.prepared.borrow().get(&question.key()).cloned());
            maybe_done(Box::pin(question.put_to(&self.client, kept.flatten())))
        });
        let mut sent: Vec<_> = sent.collect();
        for one in &mut sent {
            // The first look at a future sends its question.
            poll_fn(|context| Poll::Ready(one.poll_unpin(context).is_ready())).await;
        }
        let mut answers = Vec::with_capacity(sent.len());
        for mut one in sent {
            (&mut one).await;
            answers.extend(Pin::new(&mut one).take_output());
        }
        answers
    }

    /// Has the server read and plan what it will be asked again.
    fn prepare_kept(&self, questions: &[ServerQuestion]) -> SqlResult<()> {
        let mut new = Vec::new();
        for question in questions.iter().filter(|question| question.is_kept()) {
            let key = question.key();
            if !self.prepared.borrow().contains_key(&key) && !new.contains(&key) {
                new.push(key);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let prepare = new.iter().map(|(sql, kinds)| self.client.prepare_typed(sql, kinds));
        let made = self.wait(try_join_all(prepare))?;
        self.prepared.borrow_mut().extend(new.into_iter().zip(made));
        Ok(())
    }

    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> SqlResult<T> {
        self.trips.set(self.trips.get().saturating_add(1));
        let told = self.runtime.block_on(async { timeout(self.patience, answer).await });
        told.map_or_else(
            |_| {
                self.broken.set(true);
                Err(late())
            },
            |told| self.told(told),
        )
    }

    fn told<T>(&self, told: Result<T, tokio_postgres::Error>) -> SqlResult<T> {
        told.map_err(|error| {
            if error.as_db_error().is_none() {
                self.broken.set(true);
            }
            let fault = fault(&error);
            if fault.lasts() {
                *self.refused.borrow_mut() = Some(fault.clone());
            }
            fault.into()
        })
    }
}

#[cfg(test)]
mod tests;
