//! The callbacks' book: what the platform told about transactions, matched to what the Signer knows.

use super::{Book, flights};
use crate::schedule::entry::plain;
use crate::store::StoreError;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use std::collections::BTreeSet;

/// A billing callback that names a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Callback {
    /// Its name, in whichever file of an inbox it is.
    pub(crate) event: String,
    pub(crate) tx_hash: String,
    pub(crate) who: Who,
}

/// The fields of a record that say which subscription it is about. Callbacks and list entries name the same
/// subscription by different fields, and the platform decides which ones they carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) chain: Option<i64>,
    pub(crate) id: Option<i64>,
    pub(crate) plan: Option<i64>,
    pub(crate) wallet: Option<String>,
    pub(crate) trade_no: Option<String>,
}

/// The comparison of two records: whether they are about the same subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// A field that names a subscription is the same in both.
    Same,
    /// No such field is in both, and nothing speaks against it.
    Possible,
    Different,
}

impl Who {
    /// Compares two records of one transaction. The first field that names a subscription decides; plan
    /// and wallet only rule out.
    fn likeness(&self, other: &Self) -> Likeness {
        if differ(self.chain, other.chain) {
            return Likeness::Different;
        }
        let ids = self.id.zip(other.id).map(|(one, two)| one == two);
        let orders = self.trade_no.as_ref().zip(other.trade_no.as_ref());
        match ids.or(orders.map(|(one, two)| one == two)) {
            Some(true) => Likeness::Same,
            Some(false) => Likeness::Different,
            None if differ(self.plan, other.plan) => Likeness::Different,
            None if differ(self.wallet.as_ref(), other.wallet.as_ref()) => Likeness::Different,
            None => Likeness::Possible,
        }
    }
}

fn differ<T: PartialEq>(one: Option<T>, two: Option<T>) -> bool {
    matches!((one, two), (Some(one), Some(two)) if one != two)
}

impl Book {
    /// Returns the cursor up to which the inbox's feed has been read, as the inbox spells it. Empty: nothing has
    /// been read.
    pub(crate) fn cursor(&self) -> Result<String, StoreError> {
        let known = self
            .store
            .conn()
            .prepare_cached("SELECT cursor FROM feed")?
            .query_row([], |row| row.get(0));
        Ok(known.optional()?.unwrap_or_default())
    }

    /// Takes in a stretch of the feed, up to and including `cursor`.
    pub(crate) fn take_callbacks(
        &mut self,
        callbacks: &[Callback],
        cursor: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.store.write(|t| {
            let mut hashes = BTreeSet::new();
            for callback in callbacks {
                insert(t, callback, now_ms)?;
                hashes.insert(flights::kept_under(t, &callback.tx_hash)?);
            }
            hashes.iter().try_for_each(|hash| match_all(t, hash))?;
            for callback in callbacks {
                // The Signer is asked about a transaction that the book does not know.
                if let (Some(chain), true) = (callback.who.chain, is_unmatched(t, callback)?) {
                    let hash = flights::kept_under(t, &callback.tx_hash)?;
                    flights::watch(t, chain, &hash, now_ms)?;
                }
            }
            t.execute("INSERT OR REPLACE INTO feed VALUES (0, ?1)", [cursor]).map(drop)
        })
    }
}

fn insert(conn: &Connection, callback: &Callback, now_ms: i64) -> rusqlite::Result<()> {
    let Callback { event, tx_hash, who } = callback;
    conn.prepare_cached(
        "INSERT OR IGNORE INTO callback
             (event, tx_hash, chain, id, plan, wallet, trade_no, heard_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        event,
        plain(tx_hash),
        who.chain,
        who.id,
        who.plan,
        who.wallet.as_deref().map(plain),
        who.trade_no,
        now_ms
    ])
    .map(drop)
}

fn is_unmatched(conn: &Connection, callback: &Callback) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT matched = 0 FROM callback WHERE event = ?1")?
        .query_row([&callback.event], |row| row.get(0))
}

fn who(row: &Row<'_>) -> rusqlite::Result<(i64, Who)> {
    let (chain, id, plan) = (row.get(1)?, row.get(2)?, row.get(3)?);
    Ok((row.get(0)?, Who { chain, id, plan, wallet: row.get(4)?, trade_no: row.get(5)? }))
}

/// Pairs the callbacks of one transaction with its charges, one to one, whichever came first. Certain
/// pairs are made before possible ones: a book that has forgotten which orders its charges are of would
/// give them the callbacks of others.
pub(super) fn match_all(conn: &Connection, tx_hash: &str) -> rusqlite::Result<()> {
    let mut told: Vec<(i64, Who)> = conn
        .prepare_cached(
            "SELECT row, chain, id, plan, wallet, trade_no FROM callback
             WHERE matched = 0
               AND tx_hash IN (SELECT ?1 UNION SELECT hash FROM alias WHERE tx_hash = ?1)
             ORDER BY row",
        )?
        .query_map([tx_hash], who)?
        .collect::<Result<_, _>>()?;
    if told.is_empty() {
        return Ok(());
    }
    let mut charges: Vec<(i64, Who)> = conn
        .prepare_cached(
            "SELECT id, chain, id, plan, wallet, trade_no FROM charge
             WHERE tx_hash = ?1 AND callback IS NULL",
        )?
        .query_map([tx_hash], who)?
        .collect::<Result<_, _>>()?;
    let mut pairs = vec![];
    for likeness in [Likeness::Same, Likeness::Possible] {
        told.retain(|(told_by, callback)| {
            let at = charges.iter().position(|(_, charge)| charge.likeness(callback) == likeness);
            pairs.extend(at.map(|at| (*told_by, charges.swap_remove(at))));
            at.is_none()
        });
    }
    for (told_by, (id, _)) in pairs {
        // Under a former id of its chain it is the same charge.
        conn.prepare_cached("UPDATE charge SET callback = ?3 WHERE tx_hash = ?1 AND id = ?2")?
            .execute(params![tx_hash, id, told_by])?;
        conn.prepare_cached("UPDATE callback SET matched = 1 WHERE row = ?1")?
            .execute([told_by])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_field_that_names_a_subscription_decides() {
        let charge = Who {
            chain: Some(1),
            id: Some(7),
            plan: Some(5),
            wallet: Some("ab".to_owned()),
            trade_no: None,
        };
        let told = |change: fn(&mut Who)| {
            let mut who = Who { id: None, trade_no: Some("t".to_owned()), ..charge.clone() };
            change(&mut who);
            charge.likeness(&who)
        };
        assert_eq!(told(|_| {}), Likeness::Possible);
        assert_eq!(told(|who| who.wallet = None), Likeness::Possible);
        assert_eq!(told(|who| who.wallet = Some("cd".to_owned())), Likeness::Different);
        assert_eq!(told(|who| who.plan = Some(6)), Likeness::Different);
        assert_eq!(told(|who| who.chain = Some(2)), Likeness::Different);
        assert_eq!(told(|who| who.id = Some(8)), Likeness::Different);
        let same = told(|who| (who.id, who.wallet) = (Some(7), Some("cd".to_owned())));
        assert_eq!(same, Likeness::Same);
    }
}
