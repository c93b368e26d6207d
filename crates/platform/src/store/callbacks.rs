//! Callbacks, each with every try.

use super::{Error, Store, int, uint};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

/// The pause (ms) before each try after the first.
pub(crate) const PAUSES_MS: [u64; 5] = [15_000, 30_000, 180_000, 300_000, 600_000];

/// A callback.
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    pub(crate) id: i64,
    /// `subscriptionType`, `rechargeCallback` or `withdrawCallback`.
    pub(crate) kind: String,
    /// Subject of the callback: a number that people can look up.
    pub(crate) subject: String,
    /// None if nobody told where to send it.
    pub(crate) url: Option<String>,
    pub(crate) body: String,
    pub(crate) created_ms: u64,
    /// Tries by the schedule.
    pub(crate) tries: u64,
    pub(crate) delivered: bool,
    /// When it is tried next (ms); None if never.
    pub(crate) next_ms: Option<u64>,
}

/// One try.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    pub(crate) number: u64,
    pub(crate) at_ms: u64,
    pub(crate) by_hand: bool,
    /// None if no answer came.
    pub(crate) status: Option<u16>,
    /// The beginning of the answer, or what went wrong.
    pub(crate) answer: String,
}

impl Try {
    /// Returns true if the merchant took the callback.
    pub(crate) fn succeeded(&self) -> bool {
        self.status == Some(200) && self.answer.trim() == "success"
    }
}

fn read(row: &Row<'_>) -> Result<Callback, Error> {
    Ok(Callback {
        id: row.get("id")?,
        kind: row.get("kind")?,
        subject: row.get("subject")?,
        url: row.get("url")?,
        body: row.get("body")?,
        created_ms: uint(row.get("created_ms")?),
        tries: uint(row.get("tries")?),
        delivered: row.get("delivered")?,
        next_ms: row.get::<_, Option<i64>>("next_ms")?.map(uint),
    })
}

/// A callback that is to be sent.
#[derive(Clone, Debug)]
pub(crate) struct New<'a> {
    pub(crate) kind: &'a str,
    pub(crate) subject: String,
    pub(crate) url: Option<&'a str>,
    pub(crate) body: String,
    pub(crate) now_ms: u64,
}

/// Writes down a callback, to be sent at once; without an address, never.
pub(crate) fn put(connection: &Connection, new: &New<'_>) -> Result<(), Error> {
    let insert = "INSERT INTO callbacks (kind, subject, url, body, created_ms, next_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let next = new.url.map(|_| int(new.now_ms));
    let row = params![new.kind, new.subject, new.url, new.body, int(new.now_ms), next];
    connection.prepare_cached(insert)?.execute(row)?;
    Ok(())
}

impl Store {
    /// Writes down a callback.
    pub(crate) fn add_callback(&self, new: &New<'_>) -> Result<(), Error> {
        put(&self.lock(), new)
    }

    /// The callbacks that are to be sent by now, oldest first.
    pub(crate) fn due_callbacks(&self, now_ms: u64) -> Result<Vec<Callback>, Error> {
        let connection = self.lock();
        let select = "SELECT * FROM callbacks WHERE next_ms <= ?1 ORDER BY next_ms, id LIMIT 500";
        let mut statement = connection.prepare_cached(select)?;
        statement.query_map([int(now_ms)], read)?.collect()
    }

    /// When the next try of any callback is (ms).
    pub(crate) fn next_try_ms(&self) -> Result<Option<u64>, Error> {
        let select = "SELECT min(next_ms) FROM callbacks";
        self.lock().query_row(select, [], |row| Ok(row.get::<_, Option<i64>>(0)?.map(uint)))
    }

    /// Keeps a try, and says when the next is.
    pub(crate) fn tried(&self, callback: &Callback, done: &Try) -> Result<(), Error> {
        let mut connection = self.lock();
        let transaction = connection.transaction()?;
        transaction.execute(
            "INSERT INTO tries (callback, number, at_ms, by_hand, status, answer)
             SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5 FROM tries WHERE callback = ?1",
            params![callback.id, int(done.at_ms), done.by_hand, done.status, done.answer],
        )?;
        if done.succeeded() {
            let update = "UPDATE callbacks SET tries = tries + ?2, delivered = 1, next_ms = NULL WHERE id = ?1";
            transaction.execute(update, params![callback.id, !done.by_hand])?;
        } else if !done.by_hand {
            let pause_ms =
                usize::try_from(callback.tries).ok().and_then(|tries| PAUSES_MS.get(tries));
            let next = pause_ms.map(|pause_ms| int(done.at_ms + pause_ms));
            let update = "UPDATE callbacks SET tries = tries + 1, next_ms = ?2 WHERE id = ?1";
            transaction.execute(update, params![callback.id, next])?;
        }
        transaction.commit()
    }

    /// The callback with an id.
    pub(crate) fn callback(&self, id: i64) -> Result<Option<Callback>, Error> {
        self.lock()
            .prepare_cached("SELECT * FROM callbacks WHERE id = ?1")?
            .query_row([id], read)
            .optional()
    }

    /// The newest callbacks.
    pub(crate) fn callbacks(&self, most: u32) -> Result<Vec<Callback>, Error> {
        self.callbacks_with("", most)
    }

    /// The newest that have this text in their kind, subject or body, in whatever case.
    pub(crate) fn callbacks_with(&self, text: &str, most: u32) -> Result<Vec<Callback>, Error> {
        let connection = self.lock();
        let select = "SELECT * FROM callbacks \
                      WHERE instr(lower(kind || ' ' || subject || ' ' || body), lower(?1)) > 0 \
                      ORDER BY id DESC LIMIT ?2";
        let mut statement = connection.prepare_cached(select)?;
        statement.query_map((text, most), read)?.collect()
    }

    /// All tries of a callback, oldest first.
    pub(crate) fn tries(&self, callback: i64) -> Result<Vec<Try>, Error> {
        let connection = self.lock();
        let select = "SELECT * FROM tries WHERE callback = ?1 ORDER BY number";
        let mut statement = connection.prepare_cached(select)?;
        let tries = statement.query_map([callback], |row| {
            Ok(Try {
                number: uint(row.get("number")?),
                at_ms: uint(row.get("at_ms")?),
                by_hand: row.get("by_hand")?,
                status: row.get("status")?,
                answer: row.get("answer")?,
            })
        })?;
        tries.collect()
    }
}
