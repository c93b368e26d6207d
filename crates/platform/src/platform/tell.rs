//! Makes callbacks of final events: the bodies of part 6 of the interface.

use super::links::CALLBACKS_URL;
use super::{Platform, SYMBOL, Side};
use crate::clock::date;
use crate::store::callbacks::{self, New};
use crate::store::events::{self, Kind, Told};
use crate::store::recharges::{self, Recharge};
use crate::store::withdrawals::Withdrawal;
use crate::store::{self, subscriptions};
use rusqlite::Connection;
use serde_json::{Value, json};

/// The setting with the address that recharge callbacks go to.
pub(crate) const RECHARGE_URL: &str = "recharge_url";

/// The contract's reasons for a failure, in its numbers from 1: the words of `failReason`.
const REASONS: [&str; 14] = [
    "Subscription not found on chain",
    "Subscription cancelled",
    "Amount or plan version mismatch",
    "Already charged for this period",
    "Subscription ended",
    "Not due yet",
    "Billing period passed",
    "Plan not active",
    "Token transfers paused",
    "Token holder blocked",
    "Receiver blocked",
    "Allowance insufficient",
    "Balance insufficient",
    "Token transfer failed",
];

/// The words for a reason of the contract.
fn reason(number: u8) -> &'static str {
    let place = usize::from(number).wrapping_sub(1);
    REASONS.get(place).copied().unwrap_or("Unknown reason")
}

impl Platform {
    /// Makes callbacks of the events that have become final on a chain. Each event that is told is marked so in the
    /// same transaction.
    pub(super) fn tell_final(&self, side: &Side) -> Result<(), store::Error> {
        let solid = side.chain.solid().number;
        let recharge_url = self.store().get(RECHARGE_URL)?;
        let mut connection = self.store().lock();
        let transaction = connection.transaction()?;
        for told in events::untold(&transaction, side.id, solid)? {
            self.tell_event(&transaction, side, &told)?;
            events::tell(&transaction, told.id)?;
        }
        for recharge in recharges::confirm(&transaction, side.id, solid)? {
            callbacks::put(
                &transaction,
                &New {
                    kind: "rechargeCallback",
                    subject: recharge.id.to_string(),
                    url: recharge_url.as_deref(),
                    body: self.recharge_body(&recharge).to_string(),
                    now_ms: self.clock().now_ms(),
                },
            )?;
        }
        transaction.commit()
    }

    fn tell_event(
        &self,
        connection: &Connection,
        side: &Side,
        told: &Told,
    ) -> Result<(), store::Error> {
        let Some(subscription) = subscriptions::get(connection, told.subscribe_id)? else {
            return Ok(());
        };
        let cancelled = if told.kind == Kind::Cancel {
            subscriptions::cancel_link(connection, subscription.id)?.map(|link| link.notify_url)
        } else {
            None
        };
        let own = cancelled.or_else(|| subscription.notify_url.clone());
        let Some(url) = own.or(store::setting(connection, CALLBACKS_URL)?) else {
            return Ok(());
        };
        let amount = match told.kind {
            Kind::Billing | Kind::Approve => told.amount.clone(),
            Kind::Register | Kind::Failed | Kind::Cancel => price(connection, &subscription)?,
        };
        let mut body = json!({
            "subscriptionType": told.kind.callback(),
            "outTradeNo": subscription.out_trade_no,
            "externalUserId": subscription.external_user,
            "planId": subscription.plan,
            "planVersion": subscription.version,
            "chainId": side.id,
            "userWallet": if told.wallet.is_empty() { wallet(connection, &subscription)? } else { told.wallet.clone() },
            "amount": amount,
            "currencySymbol": SYMBOL,
            "transferHash": told.tx,
            "blockTime": told.time_ms / 1000,
            "createTime": date(self.clock().now_ms()),
        });
        if matches!(told.kind, Kind::Billing | Kind::Failed) {
            let success = told.kind == Kind::Billing;
            body["billingStatus"] = json!(u8::from(!success));
            body["failReason"] = if success { Value::Null } else { json!(reason(told.reason)) };
            body["period"] = json!(told.period);
        }
        callbacks::put(
            connection,
            &New {
                kind: told.kind.callback(),
                subject: subscription.out_trade_no,
                url: Some(&url),
                body: body.to_string(),
                now_ms: self.clock().now_ms(),
            },
        )
    }

    /// The recharge record of the interface.
    pub(crate) fn recharge_body(&self, recharge: &Recharge) -> Value {
        json!({
            "rechargeId": recharge.id,
            "chainId": recharge.chain,
            "currencyId": self.side(recharge.chain).map(|side| side.currency),
            "userId": recharge.user,
            "walletId": recharge.wallet,
            "walletAddress": recharge.address,
            "rechargeStatus": recharge.status,
            "rechargeAmount": recharge.amount,
            "transferHash": recharge.tx,
            "fromAddress": recharge.sender,
            "blockTime": date(recharge.time_ms),
            "createTime": date(recharge.created_ms),
            "uuid": recharge.uuid,
        })
    }

    /// Makes a callback of a withdrawal that has come to its end.
    pub(crate) fn tell_withdrawal(&self, withdrawal: &Withdrawal) -> Result<(), store::Error> {
        self.store().add_callback(&New {
            kind: "withdrawCallback",
            subject: withdrawal.id.to_string(),
            url: withdrawal.notify_url.as_deref(),
            body: withdrawal_body(withdrawal).to_string(),
            now_ms: self.clock().now_ms(),
        })
    }
}

/// The withdrawal record of the interface, without `withdrawTime`, which the detail has besides.
pub(crate) fn withdrawal_body(withdrawal: &Withdrawal) -> Value {
    json!({
        "withdrawId": withdrawal.id,
        "chainId": withdrawal.chain,
        "currencyId": withdrawal.currency,
        "withdrawAddress": withdrawal.address,
        "withdrawAmount": withdrawal.amount,
        "withdrawStatus": withdrawal.status.number(),
        "transferHash": withdrawal.tx.clone().unwrap_or_default(),
        "outTradeNo": withdrawal.out_trade_no.clone().unwrap_or_default(),
    })
}

fn price(
    connection: &Connection,
    of: &subscriptions::Subscription,
) -> Result<String, store::Error> {
    let select = "SELECT coalesce(max(amount), '0') FROM plans WHERE plan = ?1 AND chain = ?2 AND version = ?3";
    connection
        .prepare_cached(select)?
        .query_row((store::int(of.plan), of.chain, of.version), |row| row.get(0))
}

fn wallet(
    connection: &Connection,
    of: &subscriptions::Subscription,
) -> Result<String, store::Error> {
    let select = "SELECT coalesce(max(wallet), '') FROM events WHERE subscribe_id = ?1 AND kind = 'register'";
    connection.prepare_cached(select)?.query_row([store::int(of.id)], |row| row.get(0))
}
