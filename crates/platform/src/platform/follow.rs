//! Reads the blocks of a chain into the database: the blocks themselves, what they tell of subscriptions, and deposits.

use super::{Platform, Side, out_trade_no};
use crate::chain::{Event, Point};
use crate::contracts::{Billing, Token};
use crate::store::events::{Kind, Told};
use crate::store::recharges::Seen;
use crate::store::{self, blocks, events, recharges, subscriptions, users};
use alloy::sol_types::SolEvent as _;
use rusqlite::Connection;

impl Platform {
    /// Brings the database to the head of a chain. A stored branch that is no longer the chain's is forgotten
    /// first, in the same transaction in which the first block after it is written down.
    pub(super) fn follow(&self, side: &Side) -> Result<(), store::Error> {
        let shared = self.shared(side)?;
        let head = side.chain.head().number;
        let newest = self.store().newest(side.id)?.map(|point| point.number);
        let mut from = shared.map_or(0, |number| number + 1);
        if newest.is_some_and(|newest| newest >= from) && from > head {
            let mut connection = self.store().lock();
            let transaction = connection.transaction()?;
            blocks::forget_from(&transaction, side.id, from)?;
            return transaction.commit();
        }
        while from <= head {
            let to = head.min(from + 99);
            let mut connection = self.store().lock();
            let transaction = connection.transaction()?;
            blocks::forget_from(&transaction, side.id, from)?;
            for number in from..=to {
                self.read(&transaction, side, number)?;
            }
            transaction.commit()?;
            from = to + 1;
        }
        Ok(())
    }

    /// The height of the newest stored block that is still the chain's.
    fn shared(&self, side: &Side) -> Result<Option<u64>, store::Error> {
        let mut stored = self.store().newest(side.id)?;
        while let Some(point) = stored {
            if side.chain.point(point.number) == Some(point) {
                return Ok(Some(point.number));
            }
            stored = match point.number.checked_sub(1) {
                Some(below) => self.store().stored(side.id, below)?,
                None => None,
            };
        }
        Ok(None)
    }

    fn read(&self, connection: &Connection, side: &Side, number: u64) -> Result<(), store::Error> {
        let Some(block) = side.chain.recorded(number) else { return Ok(()) };
        blocks::put(connection, side.id, &block)?;
        for event in side.chain.events(number) {
            if event.log.address == side.town.billing {
                self.read_billing(connection, side, block.point, &event)?;
            } else if event.log.address == side.town.token {
                self.read_token(connection, side, block.point, &event)?;
            }
        }
        Ok(())
    }

    fn read_billing(
        &self,
        connection: &Connection,
        side: &Side,
        at: Point,
        event: &Event,
    ) -> Result<(), store::Error> {
        let mut told = Told::at(side, at, event);
        let log = &event.log;
        if let Ok(found) = Billing::SubscriptionRegister::decode_log(log) {
            told.kind = Kind::Register;
            (told.subscribe_id, told.period) = (found.subscribeId, found.firstPeriod.into());
            told.wallet = side.spell(found.userWallet);
            self.adopt(connection, side, &found)?;
        } else if let Ok(found) = Billing::SubscriptionCancel::decode_log(log) {
            (told.kind, told.subscribe_id) = (Kind::Cancel, found.subscribeId);
            told.wallet = side.spell(found.userWallet);
        } else if let Ok(found) = Billing::SubscriptionBilling::decode_log(log) {
            (told.subscribe_id, told.period) = (found.subscribeId, found.period.into());
            (told.kind, told.amount) = (Kind::Billing, found.amount.to_string());
            told.wallet = side.spell(found.userWallet);
        } else if let Ok(found) = Billing::SubscriptionBillingFailed::decode_log(log) {
            (told.subscribe_id, told.period) = (found.subscribeId, found.period.into());
            (told.kind, told.reason) = (Kind::Failed, found.reason);
        } else {
            return Ok(());
        }
        events::put(connection, &told)
    }

    /// A subscription that somebody made on the chain without a link of ours is written down as well.
    fn adopt(
        &self,
        connection: &Connection,
        side: &Side,
        found: &Billing::SubscriptionRegister,
    ) -> Result<(), store::Error> {
        subscriptions::put(
            connection,
            &subscriptions::Subscription {
                id: found.subscribeId,
                out_trade_no: out_trade_no(side.id, found.subscribeId),
                external_user: String::new(),
                user_hash: found.userHash.to_string(),
                plan: found.planId,
                chain: side.id,
                version: found.planVersion,
                notify_url: None,
                created_ms: self.clock().now_ms(),
            },
        )
    }

    fn read_token(
        &self,
        connection: &Connection,
        side: &Side,
        at: Point,
        event: &Event,
    ) -> Result<(), store::Error> {
        if let Ok(found) = Token::Approval::decode_log(&event.log) {
            if found.spender != side.town.billing || found.value.is_zero() {
                return Ok(());
            }
            let wallet = side.spell(found.owner);
            for id in events::unauthorised(connection, side.id, &wallet)? {
                let mut told = Told::at(side, at, event);
                (told.kind, told.subscribe_id) = (Kind::Approve, id);
                (told.amount, told.wallet) = (found.value.to_string(), wallet.clone());
                events::put(connection, &told)?;
            }
            return Ok(());
        }
        let Ok(found) = Token::Transfer::decode_log(&event.log) else { return Ok(()) };
        let Some(wallet) = users::at(connection, side.id, &side.spell(found.to))? else {
            return Ok(());
        };
        if found.value.is_zero() {
            return Ok(());
        }
        recharges::put(
            connection,
            &Seen {
                chain: side.id,
                wallet: wallet.id,
                amount: found.value.to_string(),
                tx: side.family().spell_hash(event.tx),
                log: event.index,
                sender: side.spell(found.from),
                block: at.number,
                time_ms: at.time_ms,
                now_ms: self.clock().now_ms(),
            },
        )
    }
}

impl Told {
    fn at(side: &Side, at: Point, event: &Event) -> Self {
        Self {
            id: 0,
            chain: side.id,
            block: at.number,
            time_ms: at.time_ms,
            tx: side.family().spell_hash(event.tx),
            log: event.index,
            kind: Kind::Failed,
            subscribe_id: 0,
            period: 0,
            reason: 0,
            amount: "0".to_owned(),
            wallet: String::new(),
        }
    }
}
