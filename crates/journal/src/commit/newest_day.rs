//! The sums of an account on its newest day. They stand in its lane's row, which every commit writes anyway; sums of
//! other days are rows of the table `spend`.

use crate::LaneId;
use crate::sql::columns::{garbage, json_text, number};
use crate::sql::{Database, OptionalExtension as _, Row, SqlResult, params};
use alloy::primitives::U256;
use rusqlite::types::ValueRef;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use std::collections::BTreeMap;

/// The newest day on which an account has counted anything, and its sums by their units.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewestDay {
    /// Days since 1970, UTC. None: nothing was counted yet.
    pub(crate) day: Option<i64>,
    pub(crate) sums: BTreeMap<String, U256>,
}

impl NewestDay {
    /// The newest day of a lane's account.
    pub(crate) fn of(conn: &dyn Database, lane: LaneId) -> SqlResult<Self> {
        let sql = "SELECT day, sums FROM lane WHERE chain = ?1 AND signer = ?2";
        let place = params![lane.chain.0, lane.signer.as_slice()];
        let read = conn.prepare_cached(sql)?.query_row(place, |row| Self::read(row, 0));
        read.optional().map(Option::unwrap_or_default)
    }

    /// Reads the columns `day` and `sums`, which stand side by side.
    pub(crate) fn read(row: &Row<'_>, at: usize) -> SqlResult<Self> {
        Ok(Self { day: row.get(at)?, sums: sums(row, at.saturating_add(1))? })
    }

    /// The value of the column `sums`.
    pub(crate) fn column(&self) -> SqlResult<Option<String>> {
        let sums = || self.sums.iter().map(|(unit, sum)| (unit.as_str(), Sum(*sum)));
        self.day.map(|_| json_text(&sums().collect::<BTreeMap<_, _>>())).transpose()
    }

    /// Sets a sum of `day`. If it is another day than the newest one, or a newer one, rows of `spend` are written.
    pub(crate) fn set(
        &mut self,
        conn: &dyn Database,
        lane: LaneId,
        day: i64,
        unit: &str,
        sum: U256,
    ) -> SqlResult<()> {
        match self.day {
            Some(newest) if newest > day => return keep(conn, lane, day, unit, sum),
            Some(newest) if newest < day => {
                for (unit, sum) in std::mem::take(&mut self.sums) {
                    keep(conn, lane, newest, &unit, sum)?;
                }
            }
            Some(_) | None => {}
        }
        self.day = Some(day);
        self.sums.insert(unit.to_owned(), sum);
        Ok(())
    }
}

/// A sum in the column `sums`: decimal digits in a string.
struct Sum(U256);

impl Serialize for Sum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Sum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = <&str>::deserialize(deserializer)?;
        U256::from_str_radix(digits, 10).map(Self).map_err(D::Error::custom)
    }
}

/// Reads the column `sums`.
pub(crate) fn sums(row: &Row<'_>, at: usize) -> SqlResult<BTreeMap<String, U256>> {
    if row.get_ref(at)? == ValueRef::Null {
        return Ok(BTreeMap::new());
    }
    let text = row.get_ref(at)?.as_str()?;
    let read: BTreeMap<String, Sum> = serde_json::from_str(text).map_err(|_| garbage(at, text))?;
    Ok(read.into_iter().map(|(unit, Sum(sum))| (unit, sum)).collect())
}

fn keep(conn: &dyn Database, lane: LaneId, day: i64, unit: &str, sum: U256) -> SqlResult<()> {
    conn.prepare_cached(
        "INSERT INTO spend (chain, signer, day, unit, amount) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (chain, signer, day, unit) DO UPDATE SET amount = excluded.amount",
    )?
    .queue(params![lane.chain.0, lane.signer.as_slice(), day, unit, sum.to_string()])
}

/// A sum of an account on a day.
pub(crate) fn sum(conn: &dyn Database, lane: LaneId, unit: &str, day: i64) -> SqlResult<U256> {
    let newest = NewestDay::of(conn, lane)?;
    if newest.day == Some(day) {
        return Ok(newest.sums.get(unit).copied().unwrap_or_default());
    }
    conn.prepare_cached(
        "SELECT amount FROM spend WHERE chain = ?1 AND signer = ?2 AND day = ?3 AND unit = ?4",
    )?
    .query_row(params![lane.chain.0, lane.signer.as_slice(), day, unit], |row| number(row, 0))
    .optional()
    .map(Option::unwrap_or_default)
}

/// Sets a sum of an account on a day.
pub(crate) fn write(
    conn: &dyn Database,
    lane: LaneId,
    day: i64,
    unit: &str,
    sum: U256,
) -> SqlResult<()> {
    let mut newest = NewestDay::of(conn, lane)?;
    newest.set(conn, lane, day, unit, sum)?;
    conn.prepare_cached("UPDATE lane SET day = ?3, sums = ?4 WHERE chain = ?1 AND signer = ?2")?
        .queue(params![lane.chain.0, lane.signer.as_slice(), newest.day, newest.column()?])
}
