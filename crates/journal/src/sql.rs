//! The SQL that the journal is written in, whichever database keeps it.
//!
//! One set of statements serves both databases, so they have one meaning: what is read and written, when a batch is
//! refused, what the history says. Parameters are `?1`, `?2` and so on; values are whole numbers, text, bytes and
//! NULL. A request that only one of the two understands goes through [`Database`], by name.

pub mod columns;
mod error;
mod fault;
mod new_rows;
mod server;

pub use error::{Constraint, SqlError};
pub use fault::ServerFault;
pub(crate) use new_rows::NewRows;
pub use rusqlite::params;
pub use server::{ColumnType, ServerColumn, ServerReply, ServerStatement};

use rusqlite::types::{FromSql, ToSql, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, Transaction};
use std::fmt;

/// The result of a statement.
pub type SqlResult<T> = Result<T, SqlError>;

/// The database in which the journal's statements run.
pub trait Database {
    /// A statement that is kept for the next time.
    fn prepare_cached(&self, sql: &str) -> SqlResult<Statement<'_>>;

    /// A statement for once.
    fn prepare(&self, sql: &str) -> SqlResult<Statement<'_>>;

    /// Has all statements see the tables between the same two commits while the result lives, and a file locked once
    /// for all of them. None: a transaction is open, or a server has no use for it.
    fn snapshot(&self) -> SqlResult<Option<Transaction<'_>>> {
        Ok(None)
    }

    /// Has everything run that was queued, and tells if something of it failed.
    fn flush(&self) -> SqlResult<()>;

    /// Until the end of the transaction, rows may refer to rows that are not there yet.
    fn defer_references(&self) -> SqlResult<()>;

    /// The tables that have this column.
    fn tables_with(&self, column: &str) -> SqlResult<Vec<String>>;

    /// Tables with rows that refer to rows that are gone, and where those were.
    fn orphans(&self) -> SqlResult<Vec<(String, String)>>;
}

impl Database for Connection {
    fn prepare_cached(&self, sql: &str) -> SqlResult<Statement<'_>> {
        Ok(Statement::Kept(Self::prepare_cached(self, sql)?))
    }

    fn prepare(&self, sql: &str) -> SqlResult<Statement<'_>> {
        Ok(Statement::Once(Self::prepare(self, sql)?))
    }

    fn snapshot(&self) -> SqlResult<Option<Transaction<'_>>> {
        Ok(self.is_autocommit().then(|| self.unchecked_transaction()).transpose()?)
    }

    /// A file has no queue.
    fn flush(&self) -> SqlResult<()> {
        Ok(())
    }

    fn defer_references(&self) -> SqlResult<()> {
        Ok(self.execute_batch("PRAGMA defer_foreign_keys = ON")?)
    }

    fn tables_with(&self, column: &str) -> SqlResult<Vec<String>> {
        let sql = "SELECT tables.name FROM sqlite_schema AS tables
            JOIN pragma_table_info(tables.name) AS columns ON columns.name = ?1
            WHERE tables.type = 'table'";
        let mut select = Self::prepare(self, sql)?;
        let tables = select.query_map([column], |row| row.get(0))?;
        Ok(tables.collect::<Result<_, _>>()?)
    }

    fn orphans(&self) -> SqlResult<Vec<(String, String)>> {
        let sql = "SELECT DISTINCT \"table\", parent FROM pragma_foreign_key_check";
        let mut check = Self::prepare(self, sql)?;
        let orphans = check.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(orphans.collect::<Result<_, _>>()?)
    }
}

impl dyn Database + '_ {
    /// Runs a statement once; tells how many rows it changed.
    pub fn execute(&self, sql: &str, params: impl Params) -> SqlResult<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// The first row of what a statement finds. It is an error where there is none.
    pub fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.prepare(sql)?.query_row(params, read)
    }
}

/// The values of `?1`, `?2` and so on.
pub trait Params: Sized {
    /// Has them used.
    fn bind<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T;
}

impl Params for &[&dyn ToSql] {
    fn bind<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        run(self)
    }
}

impl Params for [&dyn ToSql; 0] {
    fn bind<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        run(&self)
    }
}

impl<V: ToSql> Params for [V; 1] {
    fn bind<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        run(&self.each_ref().map(|value| -> &dyn ToSql { value }))
    }
}

impl<V: ToSql> Params for [V; 2] {
    fn bind<T>(self, run: impl FnOnce(&[&dyn ToSql]) -> T) -> T {
        run(&self.each_ref().map(|value| -> &dyn ToSql { value }))
    }
}

/// A statement, ready to run.
pub enum Statement<'c> {
    /// One that SQLite keeps.
    Kept(CachedStatement<'c>),
    /// One that it does not.
    Once(rusqlite::Statement<'c>),
    /// One that a server is sent.
    OnServer(Box<dyn ServerStatement + 'c>),
}

impl fmt::Debug for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement").finish_non_exhaustive()
    }
}

impl Statement<'_> {
    /// Runs it; tells how many rows it changed.
    pub fn execute(&mut self, params: impl Params) -> SqlResult<usize> {
        params.bind(|values| match self {
            Self::Kept(kept) => Ok(kept.execute(values)?),
            Self::Once(once) => Ok(once.execute(values)?),
            Self::OnServer(statement) => Ok(statement.ask(values)?.changed),
        })
    }

    /// Runs it before the next statement that is not queued, or in [`Database::flush`], which may tell that it
    /// failed.
    pub fn queue(&mut self, params: impl Params) -> SqlResult<()> {
        params.bind(|values| match self {
            Self::OnServer(statement) => statement.queue(server::plain(values)?, None),
            Self::Kept(_) | Self::Once(_) => self.execute(values).map(drop),
        })
    }

    /// Queues a statement that has to change a row. If it changes none, or another row is in its place, the error
    /// is the violated constraint.
    pub fn queue_expecting(
        &mut self,
        constraint: Constraint,
        params: impl Params,
    ) -> SqlResult<()> {
        params.bind(|values| match self {
            Self::OnServer(statement) => statement.queue(server::plain(values)?, Some(constraint)),
            Self::Kept(_) | Self::Once(_) => match self.execute(values) {
                Ok(1) => Ok(()),
                Ok(_) => Err(constraint.into()),
                Err(error) if error.violates(constraint) => Err(constraint.into()),
                Err(error) => Err(error),
            },
        })
    }

    /// Returns true if the statement finds a row.
    pub fn exists(&mut self, params: impl Params) -> SqlResult<bool> {
        Ok(self.query(params)?.next_row()?.is_some())
    }

    /// The first row that it finds. It is an error where there is none.
    pub fn query_row<T>(
        &mut self,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut rows = self.query(params)?;
        let row = rows.next_row()?.ok_or(SqlError::NO_ROW)?;
        read(&row)
    }

    /// Returns the results of `read` for every row that the statement finds.
    pub fn query_map<T, F>(&mut self, params: impl Params, read: F) -> SqlResult<Mapped<'_, F>>
    where
        F: FnMut(&Row<'_>) -> SqlResult<T>,
    {
        Ok(Mapped { rows: self.query(params)?, read })
    }

    /// Every row that it finds.
    pub fn query(&mut self, params: impl Params) -> SqlResult<Found<'_>> {
        params.bind(|values| match self {
            Self::Kept(kept) => Ok(Found::InFile(kept.query(values)?)),
            Self::Once(once) => Ok(Found::InFile(once.query(values)?)),
            Self::OnServer(statement) => {
                let rows = statement.ask(values)?.rows;
                Ok(Found::OnServer(rows.into_iter(), Vec::new()))
            }
        })
    }

    /// Runs the statement for each of `all`, in order, and returns the results of `read` for the rows found. `ask`
    /// is given each of them, and hands over the values of `?1` and so on.
    pub fn query_each<A, T>(
        &mut self,
        all: impl IntoIterator<Item = A>,
        ask: impl Fn(A, BindValues<'_>) -> SqlResult<()>,
        mut read: impl FnMut(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<Vec<Vec<T>>> {
        if let Self::OnServer(statement) = self {
            let mut each = Vec::new();
            let mut put = |values: &[&dyn ToSql]| {
                each.push(server::plain(values)?);
                Ok(())
            };
            all.into_iter().try_for_each(|one| ask(one, &mut put))?;
            let replies = statement.run(each)?.into_iter();
            let read_all = |reply: ServerReply| {
                reply.rows.iter().map(|row| read(&Row::OnServer(row))).collect()
            };
            return replies.map(read_all).collect();
        }
        let mut found = Vec::new();
        let mut look = |values: &[&dyn ToSql]| {
            found.push(self.query_map(values, &mut read)?.collect::<SqlResult<_>>()?);
            Ok(())
        };
        all.into_iter().try_for_each(|one| ask(one, &mut look))?;
        Ok(found)
    }
}

/// Takes what stands for `?1`, `?2` and so on, once for each time that a statement runs.
pub type BindValues<'v> = &'v mut dyn FnMut(&[&dyn ToSql]) -> SqlResult<()>;

/// The rows that a statement found.
pub enum Found<'s> {
    /// SQLite looks for each when it is asked for.
    InFile(rusqlite::Rows<'s>),
    /// A server has sent all of them; the last one that was asked for is beside them.
    OnServer(std::vec::IntoIter<Vec<Value>>, Vec<Value>),
}

impl fmt::Debug for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Found").finish_non_exhaustive()
    }
}

impl Found<'_> {
    /// The next row, while there is one.
    pub fn next_row(&mut self) -> SqlResult<Option<Row<'_>>> {
        match self {
            Self::InFile(rows) => Ok(rows.next()?.map(Row::InFile)),
            Self::OnServer(rows, current) => Ok(rows.next().map(|row| {
                *current = row;
                Row::OnServer(current)
            })),
        }
    }
}

/// The rows that a statement found, converted one after the other.
pub struct Mapped<'s, F> {
    rows: Found<'s>,
    read: F,
}

impl<F> fmt::Debug for Mapped<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mapped").finish_non_exhaustive()
    }
}

impl<T, F: FnMut(&Row<'_>) -> SqlResult<T>> Iterator for Mapped<'_, F> {
    type Item = SqlResult<T>;

    fn next(&mut self) -> Option<SqlResult<T>> {
        let row = self.rows.next_row().transpose()?;
        Some(row.and_then(|row| (self.read)(&row)))
    }
}

/// One row.
pub enum Row<'r> {
    /// Of SQLite.
    InFile(&'r rusqlite::Row<'r>),
    /// Of a server.
    OnServer(&'r [Value]),
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").finish_non_exhaustive()
    }
}

impl Row<'_> {
    /// The value of a column, counted from 0.
    pub fn get<T: FromSql>(&self, at: usize) -> SqlResult<T> {
        match self {
            Self::InFile(row) => Ok(row.get(at)?),
            Self::OnServer(_) => Ok(T::column_result(self.get_ref(at)?)?),
        }
    }

    /// The same, as it stands in the row.
    pub fn get_ref(&self, at: usize) -> SqlResult<ValueRef<'_>> {
        match self {
            Self::InFile(row) => Ok(row.get_ref(at)?),
            Self::OnServer(values) => {
                let value = values.get(at).ok_or(rusqlite::Error::InvalidColumnIndex(at))?;
                Ok(value.into())
            }
        }
    }
}

/// Found that need not be there.
pub trait OptionalExtension<T> {
    /// None where there is no row.
    fn optional(self) -> SqlResult<Option<T>>;
}

impl<T> OptionalExtension<T> for SqlResult<T> {
    fn optional(self) -> SqlResult<Option<T>> {
        match self {
            Ok(value) => Ok(Some(value)),
            Err(error) if error == SqlError::NO_ROW => Ok(None),
            Err(error) => Err(error),
        }
    }
}
