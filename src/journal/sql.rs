//! The SQL that the journal is written in, whichever database keeps it.
//!
//! One set of statements serves both databases, so they have one meaning: what is read and written, when a
//! batch is refused, what the history says. Parameters are `?1`, `?2` and so on; values are whole numbers,
//! text, bytes and NULL. What only one of the two understands is said through [`Database`], by name.

use rusqlite::types::{FromSql, FromSqlError, ToSql, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, ffi};

pub(super) use rusqlite::params;

/// What a statement gives.
pub(super) type SqlResult<T> = Result<T, SqlError>;

/// Why a statement was not run, or its rows not read.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum SqlError {
    /// What SQLite says.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

impl SqlError {
    /// A row that has to be there is not.
    pub(super) const NO_ROW: Self = Self::Sqlite(rusqlite::Error::QueryReturnedNoRows);

    /// Something that is no value of the database.
    pub(super) fn foreign(problem: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Sqlite(rusqlite::Error::ToSqlConversionFailure(problem.into()))
    }

    /// Whether another row stands where this one was to be.
    pub(super) fn is_taken(&self) -> bool {
        let Self::Sqlite(error) = self;
        let unique = |error: &ffi::Error| error.extended_code == ffi::SQLITE_CONSTRAINT_UNIQUE;
        error.sqlite_error().is_some_and(unique)
    }

    /// Whether there is no room for it.
    pub(super) fn is_full(&self) -> bool {
        let Self::Sqlite(error) = self;
        error.sqlite_error_code() == Some(ErrorCode::DiskFull)
    }
}

impl From<FromSqlError> for SqlError {
    fn from(error: FromSqlError) -> Self {
        Self::Sqlite(error.into())
    }
}

/// Where the journal's statements run.
pub(crate) trait Database {
    /// A statement that is kept for the next time.
    fn prepare_cached(&self, sql: &str) -> SqlResult<Statement<'_>>;

    /// A statement for once.
    fn prepare(&self, sql: &str) -> SqlResult<Statement<'_>>;

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
    pub(super) fn execute(&self, sql: &str, params: impl Params) -> SqlResult<usize> {
        self.prepare(sql)?.execute(params)
    }

    /// The first row of what a statement finds. It is an error where there is none.
    pub(super) fn query_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        self.prepare(sql)?.query_row(params, read)
    }
}

/// What stands for `?1`, `?2` and so on.
pub(super) trait Params: Sized {
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
pub(crate) enum Statement<'c> {
    /// One that SQLite keeps.
    Kept(CachedStatement<'c>),
    /// One that it does not.
    Once(rusqlite::Statement<'c>),
}

impl<'c> Statement<'c> {
    fn sqlite(&mut self) -> &mut rusqlite::Statement<'c> {
        match self {
            Self::Kept(kept) => kept,
            Self::Once(once) => once,
        }
    }

    /// Runs it; tells how many rows it changed.
    pub(super) fn execute(&mut self, params: impl Params) -> SqlResult<usize> {
        Ok(params.bind(|values| self.sqlite().execute(values))?)
    }

    /// Whether it finds a row.
    pub(super) fn exists(&mut self, params: impl Params) -> SqlResult<bool> {
        Ok(params.bind(|values| self.sqlite().exists(values))?)
    }

    /// The first row that it finds. It is an error where there is none.
    pub(super) fn query_row<T>(
        &mut self,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
    ) -> SqlResult<T> {
        let mut rows = self.query(params)?;
        let row = rows.next()?.ok_or(SqlError::NO_ROW)?;
        read(&row)
    }

    /// What `read` makes of every row that it finds.
    pub(super) fn query_map<T, F>(
        &mut self,
        params: impl Params,
        read: F,
    ) -> SqlResult<Mapped<'_, F>>
    where
        F: FnMut(&Row<'_>) -> SqlResult<T>,
    {
        Ok(Mapped { rows: self.query(params)?, read })
    }

    /// Every row that it finds.
    pub(super) fn query(&mut self, params: impl Params) -> SqlResult<Found<'_>> {
        Ok(Found(params.bind(|values| self.sqlite().query(values))?))
    }
}

/// What a statement found.
pub(super) struct Found<'s>(rusqlite::Rows<'s>);

impl Found<'_> {
    /// The next row, while there is one.
    pub(super) fn next(&mut self) -> SqlResult<Option<Row<'_>>> {
        Ok(self.0.next()?.map(Row))
    }
}

/// What a statement found, one after the other as something else.
pub(super) struct Mapped<'s, F> {
    rows: Found<'s>,
    read: F,
}

impl<T, F: FnMut(&Row<'_>) -> SqlResult<T>> Iterator for Mapped<'_, F> {
    type Item = SqlResult<T>;

    fn next(&mut self) -> Option<SqlResult<T>> {
        let row = self.rows.next().transpose()?;
        Some(row.and_then(|row| (self.read)(&row)))
    }
}

/// One row.
pub(super) struct Row<'r>(&'r rusqlite::Row<'r>);

impl Row<'_> {
    /// The value of a column, counted from 0.
    pub(super) fn get<T: FromSql>(&self, at: usize) -> SqlResult<T> {
        Ok(self.0.get(at)?)
    }

    /// The same, as it stands in the row.
    pub(super) fn get_ref(&self, at: usize) -> SqlResult<ValueRef<'_>> {
        Ok(self.0.get_ref(at)?)
    }
}

/// Found that need not be there.
pub(super) trait OptionalExtension<T> {
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
