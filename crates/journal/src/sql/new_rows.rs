//! Rows that are inserted together: one after the other in a file, and as one set on a server, for which each statement
//! is more work than its row.

use crate::sql::server::{ColumnType, ServerColumn, plain};
use crate::sql::{BindValues, Constraint, Database, SqlError, SqlResult, Statement};
use rusqlite::types::ToSql;

/// The statements that insert rows into a table, each row unless another one is in its place.
#[derive(Debug)]
pub(crate) struct NewRows {
    kinds: Vec<ColumnType>,
    row: String,
    set: String,
}

impl NewRows {
    /// Into these columns of a table.
    pub(crate) fn of(table: &str, columns: &[(&str, ColumnType)]) -> Self {
        let list = |each: &dyn Fn(usize, &str, ColumnType) -> String| {
            let all = (1..).zip(columns).map(|(at, (name, kind))| each(at, name, *kind));
            all.collect::<Vec<_>>().join(", ")
        };
        let insert = format!("INSERT INTO {table} ({})", list(&|_, name, _| name.to_owned()));
        let values = list(&|at, _, _| format!("?{at}"));
        let lists = list(&|at, _, kind| format!("?{at}::{}", kind.list()));
        Self {
            kinds: columns.iter().map(|(_, kind)| *kind).collect(),
            row: format!("{insert} VALUES ({values}) ON CONFLICT DO NOTHING"),
            set: format!("{insert} SELECT * FROM unnest({lists}) ON CONFLICT DO NOTHING"),
        }
    }

    /// The statement that inserts one of them.
    pub(crate) fn row<'c>(&self, conn: &'c dyn Database) -> SqlResult<Statement<'c>> {
        conn.prepare_cached(&self.row)
    }

    /// Queues a row for each of `all`; `bind` hands over its values. If another row is in the place of one and
    /// `expecting` is given, the error is that.
    pub(crate) fn queue<A>(
        &self,
        conn: &dyn Database,
        expecting: Option<Constraint>,
        all: impl IntoIterator<Item = A>,
        bind: impl Fn(A, BindValues<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut row = self.row(conn)?;
        if let Statement::OnServer(_) = row {
            return self.queue_set(conn, expecting, all, bind);
        }
        let mut put = |values: &[&dyn ToSql]| match expecting {
            Some(constraint) => row.queue_expecting(constraint, values),
            None => row.queue(values),
        };
        all.into_iter().try_for_each(|one| bind(one, &mut put))
    }

    fn queue_set<A>(
        &self,
        conn: &dyn Database,
        expecting: Option<Constraint>,
        all: impl IntoIterator<Item = A>,
        bind: impl Fn(A, BindValues<'_>) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let mut set = RowSet::of(&self.kinds);
        let mut put = |values: &[&dyn ToSql]| set.add(values);
        all.into_iter().try_for_each(|one| bind(one, &mut put))?;
        match conn.prepare_cached(&self.set)? {
            Statement::OnServer(statement) => statement.queue_set(set.0, expecting),
            Statement::Kept(_) | Statement::Once(_) => {
                Err(SqlError::foreign("a file takes rows, and no set of them"))
            }
        }
    }
}

/// Rows by their columns, as a server takes them.
#[derive(Debug)]
struct RowSet(Vec<ServerColumn>);

impl RowSet {
    /// No row yet, with columns of these types.
    fn of(kinds: &[ColumnType]) -> Self {
        let empty = |kind: &ColumnType| ServerColumn { kind: *kind, values: Vec::new() };
        Self(kinds.iter().map(empty).collect())
    }

    /// Adds a row, which has a value for each column: `unnest` fills a list that is shorter than the others with NULL.
    fn add(&mut self, values: &[&dyn ToSql]) -> SqlResult<()> {
        if values.len() != self.0.len() {
            return Err(SqlError::foreign("a row has a value for each column"));
        }
        for (column, value) in self.0.iter_mut().zip(plain(values)?) {
            column.values.push(value);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_and_a_set_have_the_same_columns() {
        let rows =
            NewRows::of("payer", &[("wallet", ColumnType::Bytes), ("number", ColumnType::Number)]);
        assert_eq!(
            rows.row,
            "INSERT INTO payer (wallet, number) VALUES (?1, ?2) ON CONFLICT DO NOTHING"
        );
        let set = "INSERT INTO payer (wallet, number) SELECT * FROM unnest(?1::bytea[], ?2::bigint[]) \
                   ON CONFLICT DO NOTHING";
        assert_eq!(rows.set, set);
    }

    #[test]
    fn a_row_without_a_value_for_each_column_is_an_error_and_leaves_no_part_of_it() {
        let mut set = RowSet::of(&[ColumnType::Number, ColumnType::Number]);
        set.add(&[&1_i64, &2_i64]).unwrap();
        set.add(&[&3_i64]).unwrap_err();
        set.add(&[&3_i64, &4_i64, &5_i64]).unwrap_err();
        assert!(set.0.iter().all(|column| column.values.len() == 1), "{set:?}");
    }
}
