//! Plans as they were proposed in the console.

use super::{Error, Store, int, uint};
use rusqlite::{OptionalExtension as _, Row, params};

/// A version of a plan on a chain.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The id that the merchant chose.
    pub(crate) id: u64,
    pub(crate) chain: u32,
    pub(crate) version: u32,
    pub(crate) name: String,
    /// Base units for a period.
    pub(crate) amount: String,
    pub(crate) interval_s: u64,
    /// 0 is without end.
    pub(crate) periods: u64,
    pub(crate) delay_s: u64,
    /// The account that proposed it.
    pub(crate) proposer: String,
    pub(crate) propose_tx: String,
    pub(crate) approver: Option<String>,
    pub(crate) approve_tx: Option<String>,
    pub(crate) created_ms: u64,
}

fn read(row: &Row<'_>) -> Result<Plan, Error> {
    Ok(Plan {
        id: uint(row.get("plan")?),
        chain: row.get("chain")?,
        version: row.get("version")?,
        name: row.get("name")?,
        amount: row.get("amount")?,
        interval_s: uint(row.get("interval_s")?),
        periods: uint(row.get("periods")?),
        delay_s: uint(row.get("delay_s")?),
        proposer: row.get("proposer")?,
        propose_tx: row.get("propose_tx")?,
        approver: row.get("approver")?,
        approve_tx: row.get("approve_tx")?,
        created_ms: uint(row.get("created_ms")?),
    })
}

impl Store {
    /// Writes down a proposal; false if there is that version already.
    pub(crate) fn add_plan(&self, plan: &Plan) -> Result<bool, Error> {
        let insert = "INSERT INTO plans (plan, chain, version, name, amount, interval_s, periods, delay_s, proposer, propose_tx, created_ms)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING";
        let added = self.lock().execute(
            insert,
            params![
                int(plan.id),
                plan.chain,
                plan.version,
                plan.name,
                plan.amount,
                int(plan.interval_s),
                int(plan.periods),
                int(plan.delay_s),
                plan.proposer,
                plan.propose_tx,
                int(plan.created_ms),
            ],
        )?;
        Ok(added == 1)
    }

    /// Writes down who approved a version, and by which transaction.
    pub(crate) fn approved(&self, plan: &Plan) -> Result<(), Error> {
        let update = "UPDATE plans SET approver = ?4, approve_tx = ?5 WHERE plan = ?1 AND chain = ?2 AND version = ?3";
        let row = params![int(plan.id), plan.chain, plan.version, plan.approver, plan.approve_tx];
        self.lock().execute(update, row)?;
        Ok(())
    }

    /// All versions of all plans, newest first.
    pub(crate) fn plans(&self) -> Result<Vec<Plan>, Error> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT * FROM plans ORDER BY plan, chain, version DESC")?;
        statement.query_map([], read)?.collect()
    }

    /// The versions of a plan on a chain, newest first.
    pub(crate) fn versions(&self, plan: u64, chain: u32) -> Result<Vec<Plan>, Error> {
        let connection = self.lock();
        let select = "SELECT * FROM plans WHERE plan = ?1 AND chain = ?2 ORDER BY version DESC";
        let mut statement = connection.prepare_cached(select)?;
        statement.query_map(params![int(plan), chain], read)?.collect()
    }

    /// One version of a plan.
    pub(crate) fn plan(&self, plan: u64, chain: u32, version: u32) -> Result<Option<Plan>, Error> {
        let select = "SELECT * FROM plans WHERE plan = ?1 AND chain = ?2 AND version = ?3";
        self.lock()
            .prepare_cached(select)?
            .query_row(params![int(plan), chain, version], read)
            .optional()
    }
}
