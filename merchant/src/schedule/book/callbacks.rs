//! The callbacks' book: what the platform told about transactions, matched to what the Signer knows.

use super::{Book, flights, meta, set_meta};
use crate::schedule::entry::plain;
use crate::store::StoreError;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;

/// A billing callback that names a transaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Callback {
    /// Its place in the inbox's feed.
    pub(crate) position: i64,
    pub(crate) tx_hash: String,
    pub(crate) who: Who,
}

/// What a record says about whom it is about. Callbacks and list entries name the same subscription
/// by different fields, and which ones they carry is the platform's affair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) chain: Option<i64>,
    pub(crate) id: Option<i64>,
    pub(crate) plan: Option<i64>,
    pub(crate) wallet: Option<String>,
    pub(crate) trade_no: Option<String>,
}

impl Who {
    /// Whether two records of one transaction can be about the same subscription. The first field
    /// that names one decides; plan and wallet only rule out.
    fn may_be(&self, other: &Self) -> bool {
        if differ(self.chain, other.chain) {
            return false;
        }
        if let (Some(one), Some(two)) = (self.id, other.id) {
            return one == two;
        }
        if let (Some(one), Some(two)) = (&self.trade_no, &other.trade_no) {
            return one == two;
        }
        !differ(self.plan, other.plan) && !differ(self.wallet.as_ref(), other.wallet.as_ref())
    }
}

fn differ<T: PartialEq>(one: Option<T>, two: Option<T>) -> bool {
    matches!((one, two), (Some(one), Some(two)) if one != two)
}

/// Where the reading of the inbox's feed has come to.
const CURSOR: &str = "feed";

impl Book {
    /// Where the reading of the inbox's feed has come to.
    pub(crate) fn cursor(&self) -> Result<i64, StoreError> {
        Ok(meta(self.store.conn(), CURSOR)?.unwrap_or(0))
    }

    /// Takes in a stretch of the feed, up to and including `cursor`.
    pub(crate) fn take_callbacks(
        &mut self,
        callbacks: &[Callback],
        cursor: i64,
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
                    flights::watch(t, (chain, &hash), now_ms)?;
                }
            }
            set_meta(t, CURSOR, cursor)
        })
    }
}

fn insert(conn: &Connection, callback: &Callback, now_ms: i64) -> rusqlite::Result<()> {
    let Callback { position, tx_hash, who } = callback;
    conn.prepare_cached(
        "INSERT OR IGNORE INTO callback
             (position, tx_hash, chain, id, plan, wallet, trade_no, heard_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        position,
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
    conn.prepare_cached("SELECT matched = 0 FROM callback WHERE position = ?1")?
        .query_row([callback.position], |row| row.get(0))
}

fn who(row: &Row<'_>) -> rusqlite::Result<(i64, Who)> {
    let (chain, id, plan) = (row.get(1)?, row.get(2)?, row.get(3)?);
    Ok((row.get(0)?, Who { chain, id, plan, wallet: row.get(4)?, trade_no: row.get(5)? }))
}

/// Pairs the callbacks of one transaction with its charges, one to one, whichever came first.
pub(super) fn match_all(conn: &Connection, tx_hash: &str) -> rusqlite::Result<()> {
    let told: Vec<(i64, Who)> = conn
        .prepare_cached(
            "SELECT position, chain, id, plan, wallet, trade_no FROM callback
             WHERE matched = 0
               AND tx_hash IN (SELECT ?1 UNION SELECT hash FROM alias WHERE tx_hash = ?1)
             ORDER BY position",
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
    for (position, callback) in told {
        let Some(at) = charges.iter().position(|(_, charge)| charge.may_be(&callback)) else {
            continue;
        };
        let (id, charge) = charges.swap_remove(at);
        conn.prepare_cached(
            "UPDATE charge SET callback = ?4 WHERE tx_hash = ?1 AND chain = ?2 AND id = ?3",
        )?
        .execute(params![tx_hash, charge.chain, id, position])?;
        conn.prepare_cached("UPDATE callback SET matched = 1 WHERE position = ?1")?
            .execute([position])?;
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
            charge.may_be(&who)
        };
        assert!(told(|_| {}));
        assert!(told(|who| who.wallet = None));
        assert!(!told(|who| who.wallet = Some("cd".to_owned())));
        assert!(!told(|who| who.plan = Some(6)));
        assert!(!told(|who| who.chain = Some(2)));
        assert!(!told(|who| who.id = Some(8)));
        assert!(told(|who| (who.id, who.wallet) = (Some(7), Some("cd".to_owned()))));
    }
}
