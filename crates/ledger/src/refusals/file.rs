//! The file itself.

use crate::filter::{LedgerFilter, LedgerOrder, LedgerPlace, PlaceInBatch};
use crate::refusals::{KeptRefusal, LedgerSpan, WaitingRefusal};
use alloy::primitives::{B256, U256};
use billing::{
    BatchId, CallerLabel, ChargeTerms, FailCode, PlanId, PlatformChainId, SubscribeId, UserHash,
};
use journal::sql::columns::{address, family, garbage, hash, number, period, period_text};
use journal::sql::{Database, Row, SqlResult, params};
use rusqlite::types::{ToSql, Value, ValueRef};
use rusqlite::{Connection, OpenFlags};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// The version of the table below.
const VERSION: i64 = 1;

/// Greatest number of rows kept, some 300 MB of them: a flood takes no more of the disk than that.
const MOST_ROWS: i64 = 1_000_000;

/// Interval at which old rows are looked for, and the number removed each time.
const SWEEP_EVERY: Duration = Duration::from_mins(1);
const SWEPT_AT_ONCE: i64 = 20_000;

/// The longest words that are kept beside a reason, characters.
const LONGEST_DETAIL: usize = 300;

const DAY_MS: i64 = 86_400_000;

/// Times as in the journal. `batch` is the newest of the journal's when the row was written: it never falls
/// from one row to the next. A row is all refusals of one subscription that are the same, on one UTC day.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS refusal (
        seq          INTEGER PRIMARY KEY AUTOINCREMENT,
        batch        INTEGER NOT NULL,
        day          INTEGER NOT NULL,
        first_ms     INTEGER NOT NULL,
        last_ms      INTEGER NOT NULL,
        times        INTEGER NOT NULL,
        chain        INTEGER NOT NULL,
        family       TEXT    NOT NULL,
        subscribe_id INTEGER NOT NULL,
        plan_id      INTEGER NOT NULL,
        user_hash    BLOB    NOT NULL,
        period       TEXT,
        amount       TEXT,
        token        BLOB,
        wallet       BLOB,
        allowance    TEXT,
        balance      TEXT,
        code         TEXT    NOT NULL,
        detail       TEXT,
        caller       TEXT,
        request_id   TEXT,
        tx_hash      BLOB
    ) STRICT;
    CREATE INDEX IF NOT EXISTS refusal_of ON refusal (subscribe_id, day);
    CREATE INDEX IF NOT EXISTS refusal_behind ON refusal (batch);";

const COLUMNS: &str =
    "seq, batch, first_ms, last_ms, times, chain, family, subscribe_id, plan_id, user_hash,
    period, amount, token, wallet, allowance, balance, code, detail, caller, request_id, tx_hash";

#[derive(Debug)]
pub(crate) struct RefusalFile {
    conn: Connection,
    swept: Option<Instant>,
}

impl RefusalFile {
    /// Opens it, and makes it where there is none.
    pub(crate) fn open(path: &Path) -> SqlResult<Self> {
        make(path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let conn = Connection::open_with_flags(path, flags)?;
        // Nothing waits for the disk but a checkpoint: what a crash of the machine takes is a second of it.
        conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")?;
        let found: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if found > VERSION {
            return Err(garbage(0, "the version of a newer program"));
        }
        conn.execute_batch(SCHEMA)?;
        conn.pragma_update(None, "user_version", VERSION)?;
        Ok(Self { conn, swept: None })
    }

    /// Nothing stands behind a batch that is not there.
    pub(crate) fn begin(&self, newest: BatchId) -> SqlResult<()> {
        let sql = "UPDATE refusal SET batch = ?1 WHERE batch > ?1";
        Ok(self.conn.execute(sql, [newest.0]).map(drop)?)
    }

    /// Writes them behind the batch `newest`.
    pub(crate) fn add(&mut self, all: &[WaitingRefusal], newest: i64) -> SqlResult<()> {
        let together = self.conn.transaction()?;
        let last = "SELECT coalesce((SELECT batch FROM refusal ORDER BY seq DESC LIMIT 1), 0)";
        let last: i64 = together.query_row(last, [], |row| row.get(0))?;
        for one in all {
            add(&*together, one, newest.max(last))?;
        }
        Ok(together.commit()?)
    }

    /// Forgets what was refused last before `until_ms`, and what is too much. Tells how many rows were
    /// forgotten before their time.
    pub(crate) fn sweep(&mut self, until_ms: i64) -> SqlResult<usize> {
        if self.swept.is_some_and(|swept| swept.elapsed() < SWEEP_EVERY) {
            return Ok(0);
        }
        self.conn.execute(
            "DELETE FROM refusal WHERE last_ms < ?1
                 AND seq IN (SELECT seq FROM refusal ORDER BY seq LIMIT ?2)",
            [until_ms, SWEPT_AT_ONCE],
        )?;
        let sql = "DELETE FROM refusal WHERE seq <= (SELECT max(seq) FROM refusal) - ?1";
        let lost = self.conn.execute(sql, [MOST_ROWS])?;
        self.swept = Some(Instant::now());
        Ok(lost)
    }

    /// As [`super::Refusals::read`].
    pub(crate) fn read(
        &self,
        filter: &LedgerFilter,
        order: LedgerOrder,
        span: LedgerSpan,
        limit: usize,
    ) -> SqlResult<Vec<KeptRefusal>> {
        let mut wanted: Vec<(&str, Value)> = Vec::new();
        let mut want = |sql, value: Option<Value>| wanted.extend(value.map(|value| (sql, value)));
        want("seq >", span.after.map(|at| self.last_at(at)).transpose()?.map(Value::from));
        want("seq <", span.before.map(|at| self.first_at(at)).transpose()?.map(Value::from));
        want("subscribe_id =", filter.subscribe.map(|one| one.0.into()));
        want("plan_id =", filter.plan.map(|one| one.0.into()));
        want("user_hash =", filter.user.map(|one| one.0.to_vec().into()));
        want("wallet =", filter.wallet.map(|one| one.to_vec().into()));
        want("chain =", filter.chain.map(|one| one.0.into()));
        want("caller =", filter.caller.clone().map(|CallerLabel(label)| label.into()));
        want("code =", filter.reason.map(|one| one.token().to_owned().into()));
        want("last_ms >=", filter.from_ms.map(Value::from));
        want("first_ms <", filter.until_ms.map(Value::from));
        let mut conditions: Vec<String> =
            (1_usize..).zip(&wanted).map(|(at, (sql, _))| format!("{sql} ?{at}")).collect();
        if let Some(chains) = &filter.chains {
            let chains: Vec<String> = chains.iter().map(|chain| chain.0.to_string()).collect();
            conditions.push(format!("chain IN ({})", chains.join(", ")));
        }
        if conditions.is_empty() {
            conditions.push("1".to_owned());
        }
        let by = if filter.subscribe.is_some() { "INDEXED BY refusal_of" } else { "NOT INDEXED" };
        let direction = order.sql();
        let sql = format!(
            "SELECT {COLUMNS} FROM refusal {by} WHERE {} ORDER BY seq {direction} LIMIT {limit}",
            conditions.join(" AND ")
        );
        let values: Vec<&dyn ToSql> =
            wanted.iter().map(|(_, value)| -> &dyn ToSql { value }).collect();
        self.database().prepare_cached(&sql)?.query_map(values.as_slice(), refusal)?.collect()
    }

    fn database(&self) -> &dyn Database {
        &self.conn
    }

    /// The last row that is not behind a place.
    fn last_at(&self, place: LedgerPlace) -> SqlResult<i64> {
        match place.item {
            PlaceInBatch::Refusal(i64::MAX) => {
                self.first_behind(BatchId(place.batch.0.saturating_add(1)), -1)
            }
            PlaceInBatch::Refusal(seq) => Ok(seq),
            PlaceInBatch::Charge(_) => self.first_behind(place.batch, -1),
        }
    }

    /// The first row that is not before a place.
    fn first_at(&self, place: LedgerPlace) -> SqlResult<i64> {
        match place.item {
            PlaceInBatch::Refusal(seq) if seq < i64::MAX => Ok(seq),
            PlaceInBatch::Refusal(_) => {
                self.first_behind(BatchId(place.batch.0.saturating_add(1)), 0)
            }
            PlaceInBatch::Charge(_) => self.first_behind(place.batch, 0),
        }
    }

    /// The first row behind this batch or a later one, `and` so many more; the end where there is none.
    fn first_behind(&self, batch: BatchId, and: i64) -> SqlResult<i64> {
        let sql = "SELECT seq FROM refusal WHERE batch >= ?1 ORDER BY batch, seq LIMIT 1";
        let mut select = self.database().prepare_cached(sql)?;
        let mut found = select.query_map([batch.0], |row| row.get::<i64>(0))?;
        Ok(found.next().transpose()?.map_or(i64::MAX, |seq| seq.saturating_add(and)))
    }
}

fn add(conn: &dyn Database, one: &WaitingRefusal, batch: i64) -> SqlResult<()> {
    let WaitingRefusal { at_ms, request, refused } = one;
    let number = |number: Option<U256>| number.map(|number| number.to_string());
    let detail: Option<String> =
        refused.detail.as_ref().map(|detail| detail.chars().take(LONGEST_DETAIL).collect());
    let period = refused.period.map(period_text);
    let values = params![
        batch,
        at_ms.div_euclid(DAY_MS),
        at_ms,
        request.chain.0,
        request.family.word(),
        refused.subscribe.0,
        refused.plan.0,
        refused.user.0.as_slice(),
        period.as_deref(),
        number(refused.amount),
        refused.terms.token.as_ref().map(|token| token.as_slice()),
        refused.terms.wallet.as_ref().map(|wallet| wallet.as_slice()),
        number(refused.allowance),
        number(refused.balance),
        refused.code.token(),
        detail,
        request.caller.as_ref().map(CallerLabel::as_str),
        request.request_id,
        refused.tx_hash.as_ref().map(B256::as_slice),
    ];
    let again = "UPDATE refusal SET times = times + 1, last_ms = max(last_ms, ?3), allowance = ?13,
                     balance = ?14, request_id = ?18, tx_hash = ?19
                 WHERE seq = (SELECT max(seq) FROM refusal
                     WHERE subscribe_id = ?6 AND day = ?2 AND chain = ?4 AND family = ?5 AND plan_id = ?7
                     AND user_hash = ?8 AND period IS ?9 AND amount IS ?10 AND token IS ?11
                     AND wallet IS ?12 AND code = ?15 AND detail IS ?16 AND caller IS ?17)";
    if conn.prepare_cached(again)?.execute(values)? > 0 {
        return Ok(());
    }
    let first = "INSERT INTO refusal (batch, day, first_ms, last_ms, times, chain, family, subscribe_id,
                     plan_id, user_hash, period, amount, token, wallet, allowance, balance, code, detail,
                     caller, request_id, tx_hash)
                 VALUES (?1, ?2, ?3, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
                     ?18, ?19)";
    conn.prepare_cached(first)?.execute(values).map(drop)
}

fn refusal(row: &Row<'_>) -> SqlResult<KeptRefusal> {
    fn told<T>(
        row: &Row<'_>,
        at: usize,
        read: impl Fn(&Row<'_>, usize) -> SqlResult<T>,
    ) -> SqlResult<Option<T>> {
        if row.get_ref(at)? == ValueRef::Null { Ok(None) } else { read(row, at).map(Some) }
    }
    let code: String = row.get(16)?;
    Ok(KeptRefusal {
        place: LedgerPlace {
            batch: BatchId(row.get(1)?),
            item: PlaceInBatch::Refusal(row.get(0)?),
        },
        first_ms: row.get(2)?,
        last_ms: row.get(3)?,
        times: row.get(4)?,
        chain: PlatformChainId(row.get(5)?),
        family: family(row, 6)?,
        subscribe: SubscribeId(row.get(7)?),
        plan: PlanId(row.get(8)?),
        user: UserHash(hash(row, 9)?),
        period: told(row, 10, period)?,
        amount: told(row, 11, number)?,
        terms: ChargeTerms {
            plan_version: None,
            token: told(row, 12, address)?,
            wallet: told(row, 13, address)?,
        },
        allowance: told(row, 14, number)?,
        balance: told(row, 15, number)?,
        code: FailCode::from_token(&code).ok_or_else(|| garbage(16, &code))?,
        detail: row.get(17)?,
        caller: row.get::<Option<String>>(18)?.map(CallerLabel),
        request_id: row.get(19)?,
        tx_hash: told(row, 20, hash)?,
    })
}

/// Its owner's alone, before anything is in it.
fn make(path: &Path) {
    let mut options = std::fs::OpenOptions::new();
    // One that is there already is opened as it is.
    options.write(true).create_new(true).mode(0o600).open(path).ok();
}
