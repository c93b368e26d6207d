//! Subscriptions and their links, and which of them are due.

use super::plans::Plan;
use super::{Error, Store, int, uint};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// A subscription, from its link on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) id: u64,
    pub(crate) out_trade_no: String,
    pub(crate) external_user: String,
    /// 32 bytes in hex with 0x.
    pub(crate) user_hash: String,
    pub(crate) plan: u64,
    pub(crate) chain: u32,
    pub(crate) version: u32,
    /// None for those of the founding, which have no link.
    pub(crate) notify_url: Option<String>,
    pub(crate) created_ms: u64,
}

/// The purpose of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Subscribe,
    Cancel,
}

/// A link that a merchant gave to a user.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Value of `apiSign` in the link's address.
    pub(crate) token: String,
    pub(crate) purpose: Purpose,
    pub(crate) subscribe_id: u64,
    pub(crate) redirect_url: String,
    pub(crate) notify_url: String,
    /// Unix s.
    pub(crate) expires_s: u64,
    /// The wallet that the user chose, as people write it.
    pub(crate) wallet: Option<String>,
    /// The transaction that was sent last from its page.
    pub(crate) tx: Option<String>,
    /// Message to the user about the last step.
    pub(crate) note: Option<String>,
}

/// The state of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Issued,
    Signed,
    Active,
    Cancelled,
}

impl Stage {
    /// The number in the subscription list.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::Issued => 0,
            Self::Signed => 1,
            Self::Active => 2,
            Self::Cancelled => 3,
        }
    }

    /// For people.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Issued => "link issued",
            Self::Signed => "signed",
            Self::Active => "active",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A subscription that is due, with what the contract has to be told.
#[derive(Clone, Debug)]
pub(crate) struct Due {
    pub(crate) subscription: Subscription,
    pub(crate) wallet: String,
    /// Base units.
    pub(crate) amount: String,
    pub(crate) period: u64,
    /// When the period ends (Unix s).
    pub(crate) until_s: u64,
}

/// Subscriptions with the terms that they were registered on and the period that it is now: ?1 and ?2 are the times (Unix s) of the
/// two chains, ?3 is the id of the first of them.
const DUE: &str = "
    WITH timed AS (SELECT s.*, r.wallet, r.period AS first, r.time_ms / 1000 + p.delay_s AS start, p.interval_s, p.periods, p.amount,
            CASE s.chain WHEN ?3 THEN ?1 ELSE ?2 END AS now
        FROM subscriptions s
        JOIN events r ON r.subscribe_id = s.id AND r.kind = 'register'
        JOIN plans p ON p.plan = s.plan AND p.chain = s.chain AND p.version = s.version
        WHERE NOT EXISTS (SELECT 1 FROM events c WHERE c.subscribe_id = s.id AND c.kind = 'cancel')
            AND CASE WHEN s.notify_url IS NULL THEN NOT EXISTS (SELECT 1 FROM settings w WHERE w.name = 'waits_for_a_link')
                ELSE EXISTS (SELECT 1 FROM events a WHERE a.subscribe_id = s.id AND a.kind = 'approve') END),
    current AS (SELECT *, first + (now - start) / interval_s AS current FROM timed WHERE start <= now),
    due AS (SELECT * FROM current WHERE (periods = 0 OR current - first < periods)
        AND NOT EXISTS (SELECT 1 FROM events b WHERE b.subscribe_id = current.id AND b.kind = 'billing' AND b.period = current.current))";

fn read(row: &Row<'_>) -> Result<Subscription, Error> {
    Ok(Subscription {
        id: uint(row.get("id")?),
        out_trade_no: row.get("out_trade_no")?,
        external_user: row.get("external_user")?,
        user_hash: row.get("user_hash")?,
        plan: uint(row.get("plan")?),
        chain: row.get("chain")?,
        version: row.get("version")?,
        notify_url: row.get("notify_url")?,
        created_ms: uint(row.get("created_ms")?),
    })
}

fn read_link(row: &Row<'_>) -> Result<Link, Error> {
    let kind: String = row.get("kind")?;
    Ok(Link {
        token: row.get("token")?,
        purpose: if kind == "cancel" { Purpose::Cancel } else { Purpose::Subscribe },
        subscribe_id: uint(row.get("subscribe_id")?),
        redirect_url: row.get("redirect_url")?,
        notify_url: row.get("notify_url")?,
        expires_s: uint(row.get("expires_s")?),
        wallet: row.get("wallet")?,
        tx: row.get("tx")?,
        note: row.get("note")?,
    })
}

fn read_due(row: &Row<'_>) -> Result<Due, Error> {
    let [period, first, start_s, interval_s] = [
        uint(row.get("current")?),
        uint(row.get("first")?),
        uint(row.get("start")?),
        uint(row.get("interval_s")?),
    ];
    Ok(Due {
        subscription: read(row)?,
        wallet: row.get("wallet")?,
        amount: row.get("amount")?,
        period,
        until_s: start_s + (period - first + 1) * interval_s,
    })
}

/// Writes down a subscription.
pub(crate) fn put(connection: &Connection, new: &Subscription) -> Result<(), Error> {
    let insert = "INSERT INTO subscriptions (id, out_trade_no, external_user, user_hash, plan, chain, version, notify_url, created_ms)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING";
    connection.prepare_cached(insert)?.execute(params![
        int(new.id),
        new.out_trade_no,
        new.external_user,
        new.user_hash,
        int(new.plan),
        new.chain,
        new.version,
        new.notify_url,
        int(new.created_ms),
    ])?;
    Ok(())
}

/// Writes down a link.
pub(crate) fn put_link(connection: &Connection, link: &Link) -> Result<(), Error> {
    let insert = "INSERT INTO links (token, kind, subscribe_id, redirect_url, notify_url, expires_s) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let kind = match link.purpose {
        Purpose::Subscribe => "subscribe",
        Purpose::Cancel => "cancel",
    };
    let (id, expires_s) = (int(link.subscribe_id), int(link.expires_s));
    connection.prepare_cached(insert)?.execute(params![
        link.token,
        kind,
        id,
        link.redirect_url,
        link.notify_url,
        expires_s
    ])?;
    Ok(())
}

/// The subscription with an id.
pub(crate) fn get(connection: &Connection, id: u64) -> Result<Option<Subscription>, Error> {
    connection
        .prepare_cached("SELECT * FROM subscriptions WHERE id = ?1")?
        .query_row([int(id)], read)
        .optional()
}

/// The link to cancel a subscription that was given last.
pub(crate) fn cancel_link(connection: &Connection, id: u64) -> Result<Option<Link>, Error> {
    let select = "SELECT * FROM links WHERE subscribe_id = ?1 AND kind = 'cancel' ORDER BY expires_s DESC LIMIT 1";
    connection.prepare_cached(select)?.query_row([int(id)], read_link).optional()
}

impl Store {
    /// Writes down a subscription with the link to it, both as `make` has them for the next id: after all others, and after those
    /// of the founding.
    pub(crate) fn open_subscription(
        &self,
        make: impl FnOnce(u64) -> (Subscription, Link),
    ) -> Result<Link, Error> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        let select = "SELECT max(coalesce(max(id), 0), 1000000000) + 1 FROM subscriptions";
        let id = transaction.prepare_cached(select)?.query_row([], |row| Ok(uint(row.get(0)?)))?;
        let (new, link) = make(id);
        put(&transaction, &new)?;
        put_link(&transaction, &link)?;
        transaction.commit()?;
        Ok(link)
    }

    /// Returns the number of links that were ever made.
    pub(crate) fn links(&self) -> Result<u64, Error> {
        let count = "SELECT count(*) FROM links";
        self.lock().query_row(count, [], |row| Ok(uint(row.get(0)?)))
    }

    /// The subscription with an id.
    pub(crate) fn subscription(&self, id: u64) -> Result<Option<Subscription>, Error> {
        get(&self.lock(), id)
    }

    /// The subscription with an `outTradeNo`.
    pub(crate) fn by_out_trade_no(&self, number: &str) -> Result<Option<Subscription>, Error> {
        self.lock()
            .prepare_cached("SELECT * FROM subscriptions WHERE out_trade_no = ?1")?
            .query_row([number], read)
            .optional()
    }

    /// All that a user ever had of a plan on a chain.
    pub(crate) fn of_user(
        &self,
        user: &str,
        plan: u64,
        chain: u32,
    ) -> Result<Vec<Subscription>, Error> {
        let connection = self.lock();
        let select =
            "SELECT * FROM subscriptions WHERE external_user = ?1 AND plan = ?2 AND chain = ?3";
        let mut statement = connection.prepare_cached(select)?;
        statement.query_map(params![user, int(plan), chain], read)?.collect()
    }

    /// The link with a token.
    pub(crate) fn link(&self, token: &str) -> Result<Option<Link>, Error> {
        self.lock()
            .prepare_cached("SELECT * FROM links WHERE token = ?1")?
            .query_row([token], read_link)
            .optional()
    }

    /// Keeps what the user did on a link's page.
    pub(crate) fn update_link(&self, link: &Link) -> Result<(), Error> {
        let update =
            "UPDATE links SET wallet = ?2, tx = ?3, note = ?4, expires_s = ?5 WHERE token = ?1";
        let row = params![link.token, link.wallet, link.tx, link.note, int(link.expires_s)];
        self.lock().prepare_cached(update)?.execute(row)?;
        Ok(())
    }

    /// A page of those that a filter lets through, by id, and how many there are in all.
    pub(crate) fn subscriptions(
        &self,
        filter: &Filter,
        page: Page,
    ) -> Result<(u64, Vec<Subscription>), Error> {
        let connection = self.lock();
        let matching = "FROM subscriptions WHERE (?1 IS NULL OR out_trade_no = ?1) AND (?2 IS NULL OR external_user = ?2)
            AND (?3 IS NULL OR id = ?3)";
        let id = filter.id.map(int);
        let count = connection
            .prepare_cached(&format!("SELECT count(*) {matching}"))?
            .query_row(params![filter.out_trade_no, filter.external_user, id], |row| {
                Ok(uint(row.get(0)?))
            })?;
        let select = format!("SELECT * {matching} ORDER BY id LIMIT ?4 OFFSET ?5");
        let mut statement = connection.prepare_cached(&select)?;
        let (size, skipped) = (int(page.size), int(page.skipped()));
        let row = params![filter.out_trade_no, filter.external_user, id, size, skipped];
        let list = statement.query_map(row, read)?.collect::<Result<_, _>>()?;
        Ok((count, list))
    }

    /// Returns the state of a subscription by the events of its chain.
    pub(crate) fn stage(&self, id: u64) -> Result<Stage, Error> {
        let select = "SELECT kind FROM events WHERE subscribe_id = ?1 AND kind IN ('register', 'approve', 'cancel')";
        let connection = self.lock();
        let mut statement = connection.prepare_cached(select)?;
        let kinds = statement.query_map([int(id)], |row| row.get::<_, String>(0))?;
        let kinds = kinds.collect::<Result<Vec<_>, _>>()?;
        let has = |kind: &str| kinds.iter().any(|found| found == kind);
        Ok(match (has("cancel"), has("approve"), has("register")) {
            (true, _, _) => Stage::Cancelled,
            (false, true, _) => Stage::Active,
            (false, false, true) => Stage::Signed,
            (false, false, false) => Stage::Issued,
        })
    }

    /// Returns the subscriptions that a wallet has signed for on a chain and not cancelled, oldest first, with the
    /// plans.
    pub(crate) fn paid_by(
        &self,
        wallet: &str,
        chain: u32,
    ) -> Result<Vec<(Subscription, Plan)>, Error> {
        let select = "SELECT s.* FROM subscriptions s
            JOIN events r ON r.subscribe_id = s.id AND r.kind = 'register'
            WHERE r.wallet = ?1 AND s.chain = ?2
                AND NOT EXISTS (SELECT 1 FROM events c WHERE c.subscribe_id = s.id AND c.kind = 'cancel')
            ORDER BY s.id";
        let all: Vec<Subscription> = self
            .lock()
            .prepare_cached(select)?
            .query_map(params![wallet, chain], read)?
            .collect::<Result<_, _>>()?;
        let mut paid = Vec::new();
        for one in all {
            if let Some(plan) = self.plan(one.plan, chain, one.version)? {
                paid.push((one, plan));
            }
        }
        Ok(paid)
    }

    /// A page of what is due at the heads of the chains, by id, and how much is due in all.
    pub(crate) fn due(&self, clocks: Clocks, page: Page) -> Result<(u64, Vec<Due>), Error> {
        let connection = self.lock();
        let at = (int(clocks.first_s), int(clocks.second_s), clocks.first);
        let count = connection
            .prepare_cached(&format!("{DUE} SELECT count(*) FROM due"))?
            .query_row(at, |row| Ok(uint(row.get(0)?)))?;
        let select = format!("{DUE} SELECT * FROM due ORDER BY id LIMIT ?4 OFFSET ?5");
        let mut statement = connection.prepare_cached(&select)?;
        let row = params![at.0, at.1, at.2, int(page.size), int(page.skipped())];
        let list = statement.query_map(row, read_due)?.collect::<Result<_, _>>()?;
        Ok((count, list))
    }
}

/// The present time on the chains (Unix s).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// The id of the first chain.
    pub(crate) first: u32,
    pub(crate) first_s: u64,
    pub(crate) second_s: u64,
}

/// Which subscriptions are asked for; None is all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) out_trade_no: Option<String>,
    pub(crate) external_user: Option<String>,
    pub(crate) id: Option<u64>,
}

/// Which page of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// From 1.
    pub(crate) page: u64,
    pub(crate) size: u64,
}

impl Page {
    pub(crate) fn skipped(self) -> u64 {
        self.page.saturating_sub(1).saturating_mul(self.size)
    }
}
