//! The events of subscriptions that the chains told.

use super::{Error, Store, int, uint};
use rusqlite::{Connection, Row, params};

/// The kind of an event of a subscription on its chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The user signed up.
    Register,
    /// The user's wallet allows the contract to take tokens.
    Approve,
    /// A period was charged.
    Billing,
    /// A period was not charged.
    Failed,
    /// The user left.
    Cancel,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Register => "register",
            Self::Approve => "approve",
            Self::Billing => "billing",
            Self::Failed => "failed",
            Self::Cancel => "cancel",
        }
    }

    fn read(word: &str) -> Self {
        match word {
            "register" => Self::Register,
            "approve" => Self::Approve,
            "billing" => Self::Billing,
            "cancel" => Self::Cancel,
            _ => Self::Failed,
        }
    }

    /// The `subscriptionType` of its callback.
    pub(crate) fn callback(self) -> &'static str {
        match self {
            Self::Register => "SubscriptionRegister",
            Self::Approve => "SubscriptionApprove",
            Self::Billing | Self::Failed => "SubscriptionBilling",
            Self::Cancel => "SubscriptionCancel",
        }
    }
}

/// One thing that a chain told of one subscription.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) id: i64,
    pub(crate) chain: u32,
    pub(crate) block: u64,
    /// Block time (ms).
    pub(crate) time_ms: u64,
    /// The transaction, as people write it.
    pub(crate) tx: String,
    pub(crate) log: u64,
    pub(crate) kind: Kind,
    pub(crate) subscribe_id: u64,
    /// The period charged or not; of a registration the first one.
    pub(crate) period: u64,
    /// The contract's reason for a failure.
    pub(crate) reason: u8,
    /// Base units.
    pub(crate) amount: String,
    /// As people write it.
    pub(crate) wallet: String,
}

fn read(row: &Row<'_>) -> Result<Told, Error> {
    let kind: String = row.get("kind")?;
    Ok(Told {
        id: row.get("id")?,
        chain: row.get("chain")?,
        block: uint(row.get("block")?),
        time_ms: uint(row.get("time_ms")?),
        tx: row.get("tx")?,
        log: uint(row.get("log")?),
        kind: Kind::read(&kind),
        subscribe_id: uint(row.get("subscribe_id")?),
        period: uint(row.get("period")?),
        reason: row.get("reason")?,
        amount: row.get("amount")?,
        wallet: row.get("wallet")?,
    })
}

/// Writes down what a chain told.
pub(crate) fn put(connection: &Connection, told: &Told) -> Result<(), Error> {
    let insert = "INSERT INTO events (chain, block, time_ms, tx, log, kind, subscribe_id, period, reason, amount, wallet)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT DO NOTHING";
    connection.prepare_cached(insert)?.execute(params![
        told.chain,
        int(told.block),
        int(told.time_ms),
        told.tx,
        int(told.log),
        told.kind.word(),
        int(told.subscribe_id),
        int(told.period),
        told.reason,
        told.amount,
        told.wallet,
    ])?;
    Ok(())
}

/// The subscriptions that a wallet registered on a chain and has not authorised yet.
pub(crate) fn unauthorised(
    connection: &Connection,
    chain: u32,
    wallet: &str,
) -> Result<Vec<u64>, Error> {
    let select = "SELECT subscribe_id FROM events e WHERE chain = ?1 AND wallet = ?2 AND kind = 'register' AND NOT EXISTS
        (SELECT 1 FROM events a WHERE a.subscribe_id = e.subscribe_id AND a.kind IN ('approve', 'cancel'))";
    let mut statement = connection.prepare_cached(select)?;
    let ids = statement.query_map(params![chain, wallet], |row| Ok(uint(row.get(0)?)))?;
    ids.collect()
}

/// Returns the final events of a chain, up to a height, that no callback was made of yet.
pub(crate) fn untold(connection: &Connection, chain: u32, solid: u64) -> Result<Vec<Told>, Error> {
    let select = "SELECT * FROM events WHERE told = 0 AND chain = ?1 AND block <= ?2 ORDER BY block, log, id";
    let mut statement = connection.prepare_cached(select)?;
    let found = statement.query_map(params![chain, int(solid)], read)?;
    found.collect()
}

/// Marks that a callback was made of it.
pub(crate) fn tell(connection: &Connection, id: i64) -> Result<(), Error> {
    connection.prepare_cached("UPDATE events SET told = 1 WHERE id = ?1")?.execute([id])?;
    Ok(())
}

impl Store {
    /// All that a chain told of a subscription, oldest first.
    pub(crate) fn history(&self, subscribe_id: u64) -> Result<Vec<Told>, Error> {
        let connection = self.lock();
        let select = "SELECT * FROM events WHERE subscribe_id = ?1 ORDER BY block, log, id";
        let mut statement = connection.prepare_cached(select)?;
        let found = statement.query_map([int(subscribe_id)], read)?;
        found.collect()
    }
}
