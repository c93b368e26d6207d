//! Withdrawals, from the application to the chain's last word.

use super::{Error, Store, int, uint};
use rusqlite::{OptionalExtension as _, Row, params};

/// `withdrawStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// The money arrived, finally.
    Success,
    /// It waits for an admin.
    Pending,
    /// An admin approved it, and it waits to be paid.
    Review,
    /// The transfer is sent and not final.
    Confirming,
    /// The transfer failed, finally.
    Failure,
    /// An admin rejected it.
    Rejected,
}

impl Status {
    /// The platform's number.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Pending => 1,
            Self::Review => 2,
            Self::Confirming => 3,
            Self::Failure => 4,
            Self::Rejected => 5,
        }
    }

    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Success => "paid",
            Self::Pending => "waits for approval",
            Self::Review => "approved, not sent yet",
            Self::Confirming => "sent, not final yet",
            Self::Failure => "failed",
            Self::Rejected => "rejected",
        }
    }

    fn read(number: u8) -> Self {
        match number {
            0 => Self::Success,
            1 => Self::Pending,
            2 => Self::Review,
            3 => Self::Confirming,
            4 => Self::Failure,
            _ => Self::Rejected,
        }
    }
}

/// A withdrawal.
#[derive(Clone, Debug)]
pub(crate) struct Withdrawal {
    pub(crate) id: u64,
    pub(crate) chain: u32,
    pub(crate) currency: u32,
    /// As the merchant wrote it.
    pub(crate) address: String,
    /// Base units.
    pub(crate) amount: String,
    pub(crate) status: Status,
    pub(crate) out_trade_no: Option<String>,
    pub(crate) notify_url: Option<String>,
    pub(crate) created_ms: u64,
    pub(crate) decided_by: Option<String>,
    pub(crate) decided_ms: Option<u64>,
    /// The transfer, as people write its hash.
    pub(crate) tx: Option<String>,
    /// The signed bytes of the transfer.
    pub(crate) raw: Option<Vec<u8>>,
    /// Why it failed.
    pub(crate) note: Option<String>,
}

fn read(row: &Row<'_>) -> Result<Withdrawal, Error> {
    Ok(Withdrawal {
        id: uint(row.get("id")?),
        chain: row.get("chain")?,
        currency: row.get("currency")?,
        address: row.get("address")?,
        amount: row.get("amount")?,
        status: Status::read(row.get("status")?),
        out_trade_no: row.get("out_trade_no")?,
        notify_url: row.get("notify_url")?,
        created_ms: uint(row.get("created_ms")?),
        decided_by: row.get("decided_by")?,
        decided_ms: row.get::<_, Option<i64>>("decided_ms")?.map(uint),
        tx: row.get("tx")?,
        raw: row.get("raw")?,
        note: row.get("note")?,
    })
}

impl Store {
    /// Writes down an application; None if its `outTradeNo` was used before. The key in the database decides, not a look before.
    pub(crate) fn add_withdrawal(&self, new: &Withdrawal) -> Result<Option<u64>, Error> {
        let insert = "INSERT INTO withdrawals (id, chain, currency, address, amount, status, out_trade_no, notify_url, created_ms)
            SELECT max(coalesce(max(id), 0), 80000) + 1, ?1, ?2, ?3, ?4, 1, ?5, ?6, ?7 FROM withdrawals WHERE true
            ON CONFLICT DO NOTHING RETURNING id";
        let row = params![
            new.chain,
            new.currency,
            new.address,
            new.amount,
            new.out_trade_no,
            new.notify_url,
            int(new.created_ms)
        ];
        self.lock().prepare_cached(insert)?.query_row(row, |row| Ok(uint(row.get(0)?))).optional()
    }

    /// The withdrawal with an id or an `outTradeNo`.
    pub(crate) fn withdrawal(
        &self,
        id: Option<u64>,
        out_trade_no: Option<&str>,
    ) -> Result<Option<Withdrawal>, Error> {
        let select = "SELECT * FROM withdrawals WHERE (?1 IS NULL OR id = ?1) AND (?2 IS NULL OR out_trade_no = ?2)
            AND (?1 IS NOT NULL OR ?2 IS NOT NULL)";
        self.lock()
            .prepare_cached(select)?
            .query_row(params![id.map(int), out_trade_no], read)
            .optional()
    }

    /// All withdrawals, newest first.
    pub(crate) fn withdrawals(&self) -> Result<Vec<Withdrawal>, Error> {
        let connection = self.lock();
        let mut statement =
            connection.prepare_cached("SELECT * FROM withdrawals ORDER BY id DESC LIMIT 500")?;
        statement.query_map([], read)?.collect()
    }

    /// The withdrawals of a chain in a state, oldest first.
    pub(crate) fn withdrawals_in(
        &self,
        chain: u32,
        status: Status,
    ) -> Result<Vec<Withdrawal>, Error> {
        let connection = self.lock();
        let select = "SELECT * FROM withdrawals WHERE chain = ?1 AND status = ?2 ORDER BY id";
        let mut statement = connection.prepare_cached(select)?;
        statement.query_map(params![chain, status.number()], read)?.collect()
    }

    /// An admin decides, if nobody has: false if somebody was first.
    pub(crate) fn decide(
        &self,
        id: u64,
        status: Status,
        by: &str,
        now_ms: u64,
    ) -> Result<bool, Error> {
        let update = "UPDATE withdrawals SET status = ?2, decided_by = ?3, decided_ms = ?4 WHERE id = ?1 AND status = 1";
        let changed =
            self.lock().execute(update, params![int(id), status.number(), by, int(now_ms)])?;
        Ok(changed == 1)
    }

    /// Keeps the signed bytes of a transfer before they are sent.
    pub(crate) fn signed(&self, id: u64, tx: &str, raw: &[u8]) -> Result<(), Error> {
        let update = "UPDATE withdrawals SET status = 3, tx = ?2, raw = ?3 WHERE id = ?1 AND status IN (2, 3)";
        self.lock().execute(update, params![int(id), tx, raw])?;
        Ok(())
    }

    /// Writes down the end of a withdrawal; false if it had ended before.
    pub(crate) fn end(&self, id: u64, status: Status, note: &str) -> Result<bool, Error> {
        let update =
            "UPDATE withdrawals SET status = ?2, note = ?3 WHERE id = ?1 AND status IN (2, 3)";
        Ok(self.lock().execute(update, params![int(id), status.number(), note])? == 1)
    }
}
