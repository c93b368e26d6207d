//! The content of a callback.

use super::borders;
use crate::full::Full;
use crate::types::{Recharge, SubscriptionCallback, Withdrawal};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use thiserror::Error;

/// A signed body that is no JSON object.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the signature holds, but the body is no JSON object: {0}")]
pub struct NotAnEvent(String);

/// The event of a callback.
#[derive(Clone, Debug)]
pub enum Event {
    /// 6.1: something about a subscription.
    Subscription(Full<SubscriptionCallback>),
    /// 6.2: a deposit.
    Recharge(Full<Recharge>),
    /// 6.3: a withdrawal.
    Withdrawal(Full<Withdrawal>),
    /// A JSON object that is none of these, or lacks what makes it one: to be kept and shown, not to
    /// be refused, since the platform stops sending after six refusals.
    Unknown {
        /// The body.
        raw: Box<RawValue>,
        /// Why it is none of the known ones.
        why: String,
    },
}

impl Event {
    /// Reads a body; told apart are events by the field that only they have.
    pub fn read(body: &[u8]) -> Result<Self, NotAnEvent> {
        let fault = |error: serde_json::Error| NotAnEvent(error.to_string());
        let raw: Box<RawValue> = serde_json::from_slice(body).map_err(fault)?;
        borders::check(&raw).map_err(fault)?;
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(raw.get()).map_err(fault)?;
        let has = |name: &str| fields.contains_key(name);
        let read = if has("subscriptionType") {
            full(&raw).map(Self::Subscription)
        } else if has("rechargeId") {
            full(&raw).map(Self::Recharge)
        } else if has("withdrawId") {
            full(&raw).map(Self::Withdrawal)
        } else {
            Err("it has none of subscriptionType, rechargeId and withdrawId".to_owned())
        };
        Ok(read.unwrap_or_else(|why| Self::Unknown { raw, why }))
    }

    /// The body as it came.
    pub fn raw(&self) -> &RawValue {
        match self {
            Self::Subscription(full) => full.raw(),
            Self::Recharge(full) => full.raw(),
            Self::Withdrawal(full) => full.raw(),
            Self::Unknown { raw, .. } => raw,
        }
    }

    /// Returns a text that two deliveries of one event have in common, and no two events: the platform does not
    /// number its events, and repeats them.
    ///
    /// A transaction hash alone would not do: one transaction bills many subscriptions, and one
    /// withdrawal is told of once for every status.
    pub fn key(&self) -> String {
        match self {
            Self::Subscription(event) => subscription_key(event),
            Self::Recharge(event) => {
                format!("recharge/{}/{}", event.recharge_id, event.recharge_status.number())
            }
            Self::Withdrawal(event) => {
                format!("withdrawal/{}/{}", event.withdraw_id, event.withdraw_status.number())
            }
            Self::Unknown { raw, .. } => {
                format!("unknown/{:x}", Sha256::digest(raw.get().as_bytes()))
            }
        }
    }
}

fn subscription_key(event: &SubscriptionCallback) -> String {
    let chain = event.chain_id.map(|chain| chain.to_string()).unwrap_or_default();
    let when = match event.transfer_hash.as_deref().filter(|hash| !hash.is_empty()) {
        Some(hash) => hash.to_ascii_lowercase(),
        None => format!(
            "{}/{}",
            event.block_time.map(|time| time.0).unwrap_or_default(),
            event.create_time.as_ref().map(|time| time.0.as_str()).unwrap_or_default()
        ),
    };
    format!("{}/{}/{chain}/{when}", event.subscription_type, event.out_trade_no)
}

fn full<T: DeserializeOwned>(raw: &RawValue) -> Result<Full<T>, String> {
    Full::from_raw(raw.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(body: &str) -> String {
        Event::read(body.as_bytes()).unwrap().key()
    }

    #[test]
    fn one_transaction_that_bills_two_is_two_events_and_its_repeat_none() {
        let body = |trade: &str, spaces: &str| {
            format!(
                r#"{{"subscriptionType":"SubscriptionBilling",{spaces}"outTradeNo":"{trade}","chainId":139,"transferHash":"0xAB"}}"#
            )
        };
        assert_eq!(key(&body("a", "")), key(&body("a", "  ")));
        assert_ne!(key(&body("a", "")), key(&body("b", "")));
    }

    /// The clients of other languages are held to the same.
    #[test]
    fn every_language_gives_an_event_the_same_key() {
        #[derive(serde::Deserialize)]
        struct Shared {
            events: Vec<Named>,
        }
        #[derive(serde::Deserialize)]
        struct Named {
            name: String,
            body: String,
            key: String,
        }
        let text = include_str!("../../../docs/vectors/signing.json");
        let Shared { events } = serde_json::from_str(text).unwrap();
        assert!(events.len() > 8);
        for Named { name, body, key: wanted } in events {
            assert_eq!(key(&body), wanted, "{name}");
        }
    }

    #[test]
    fn every_status_of_a_withdrawal_is_an_event() {
        let body = |status: u8| {
            format!(
                r#"{{"withdrawId":1,"chainId":1,"currencyId":2,"withdrawAddress":"T","withdrawAmount":"3","withdrawStatus":{status}}}"#
            )
        };
        assert_ne!(key(&body(3)), key(&body(0)));
    }

    #[test]
    fn what_is_not_known_is_kept_with_a_reason() {
        let bodies = [
            r#"{"novel":1e400}"#,
            r#"{"rechargeId":"x"}"#,
            r#"{"subscriptionType":"SubscriptionBilling"}"#,
        ];
        for body in bodies {
            let event = Event::read(body.as_bytes()).unwrap();
            assert!(matches!(&event, Event::Unknown { why, .. } if !why.is_empty()));
            assert_eq!(event.raw().get(), body);
        }
        for body in ["", "[]", "1", "{", "{}x", "\u{feff}{}"] {
            assert!(Event::read(body.as_bytes()).is_err(), "{body:?}");
        }
    }

    #[test]
    fn a_strange_amount_does_not_hide_the_event() {
        let body = r#"{"subscriptionType":"SubscriptionPause","outTradeNo":"a","amount":"many","blockTime":"soon"}"#;
        let Event::Subscription(event) = Event::read(body.as_bytes()).unwrap() else { panic!() };
        assert_eq!(event.subscription_type.word(), "SubscriptionPause");
        assert_eq!((event.amount, event.block_time), (None, None));
        assert_eq!(event.fields()["amount"].get(), r#""many""#);
    }
}
