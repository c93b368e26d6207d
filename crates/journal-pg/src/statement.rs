//! The journal's statements, run on a session.

use crate::question::ServerQuestion;
use crate::session::Session;
use journal::sql::{
    Constraint, Database, ServerColumn, ServerReply, ServerStatement, SqlResult, Statement,
};
use rusqlite::types::Value;

/// A statement of this session's server.
struct SessionStatement<'s> {
    session: &'s Session,
    question: ServerQuestion,
}

impl ServerStatement for SessionStatement<'_> {
    fn run(&self, each: Vec<Vec<Value>>) -> SqlResult<Vec<ServerReply>> {
        self.session.ask_all(each.into_iter().map(|values| self.question.with(values)).collect())
    }

    fn queue(&self, values: Vec<Value>, expecting: Option<Constraint>) -> SqlResult<()> {
        self.session.queue(self.question.with(values), expecting)
    }

    fn queue_set(
        &self,
        columns: Vec<ServerColumn>,
        expecting: Option<Constraint>,
    ) -> SqlResult<()> {
        self.session.queue(self.question.of_set(columns), expecting)
    }
}

impl Database for Session {
    fn prepare_cached(&self, sql: &str) -> SqlResult<Statement<'_>> {
        let question = ServerQuestion::kept(sql, Vec::new());
        Ok(Statement::OnServer(Box::new(SessionStatement { session: self, question })))
    }

    fn prepare(&self, sql: &str) -> SqlResult<Statement<'_>> {
        let question = ServerQuestion::once(sql, Vec::new());
        Ok(Statement::OnServer(Box::new(SessionStatement { session: self, question })))
    }

    fn flush(&self) -> SqlResult<()> {
        self.ask_all(Vec::new()).map(drop)
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
