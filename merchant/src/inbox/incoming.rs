//! Incoming events as they are stored: which events are one event, and which keep their order. Pure.

use crate::callback::{Callback, Event};
use crate::types::SubscriptionType;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Something that was verified, and is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    /// The same for two deliveries of one event.
    pub(crate) key: String,
    /// Events of one stream are handed on in the order in which they came.
    pub(crate) stream: String,
    pub(crate) kind: String,
    pub(crate) body: String,
    /// Unix seconds.
    pub(crate) received_s: i64,
    /// The transaction that is to be looked up before anybody is told.
    pub(crate) tx_hash: Option<String>,
}

impl Incoming {
    /// A callback of the platform.
    pub(crate) fn of(callback: &Callback) -> Self {
        let (stream, kind, tx_hash) = match &callback.event {
            Event::Subscription(event) => {
                let kind = kind(&event.subscription_type).to_owned();
                let billing = event.subscription_type == SubscriptionType::Billing;
                let named = event.transfer_hash.clone().filter(|hash| !hash.is_empty() && billing);
                (format!("order/{}", event.out_trade_no), kind, named)
            }
            Event::Recharge(event) => {
                (format!("recharge/{}", event.recharge_id), "Recharge".to_owned(), None)
            }
            Event::Withdrawal(event) => {
                (format!("withdrawal/{}", event.withdraw_id), "Withdrawal".to_owned(), None)
            }
            Event::Unknown { .. } => (callback.event.key(), "Unknown".to_owned(), None),
        };
        Self {
            key: callback.event.key(),
            stream,
            kind,
            body: callback.event.raw().get().to_owned(),
            received_s: callback.received_at.0,
            tx_hash,
        }
    }
}

/// The type of a subscription event. A word that the interface does not have stays in the payload: in its place it might
/// be one that the inbox itself gives to what comes from elsewhere.
fn kind(told: &SubscriptionType) -> &str {
    match told {
        SubscriptionType::Register
        | SubscriptionType::Approve
        | SubscriptionType::Billing
        | SubscriptionType::Cancel => told.word(),
        SubscriptionType::Other(_) => "Unknown",
    }
}

/// Returns true if two bodies say the same: members may come in another order, and with other spaces.
pub(crate) fn same(one: &str, other: &str) -> bool {
    let fields = |text| -> Option<BTreeMap<String, &RawValue>> { serde_json::from_str(text).ok() };
    match (fields(one), fields(other)) {
        (Some(one), Some(other)) => {
            one.len() == other.len()
                && one.iter().zip(&other).all(|(a, b)| a.0 == b.0 && a.1.get() == b.1.get())
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::UnixSeconds;

    fn incoming(body: &str) -> Incoming {
        let event = Event::read(body.as_bytes()).unwrap();
        Incoming::of(&Callback { key: "k".to_owned(), received_at: UnixSeconds(7), event })
    }

    #[test]
    fn one_order_is_one_stream_and_only_its_billings_are_looked_up() {
        let body = |kind: &str, hash: &str| {
            format!(r#"{{"subscriptionType":"{kind}","outTradeNo":"a","transferHash":"{hash}"}}"#)
        };
        let billing = incoming(&body("SubscriptionBilling", "0xAB"));
        let cancel = incoming(&body("SubscriptionCancel", "0xAB"));
        assert_eq!(billing.stream, cancel.stream);
        assert_ne!(billing.key, cancel.key);
        assert_eq!((billing.tx_hash.as_deref(), cancel.tx_hash), (Some("0xAB"), None));
        assert_eq!(incoming(&body("SubscriptionBilling", "")).tx_hash, None);
        assert_ne!(incoming(r#"{"novel":1}"#).stream, incoming(r#"{"novel":2}"#).stream);
    }

    #[test]
    fn a_callback_cannot_pass_for_what_comes_from_elsewhere() {
        for word in ["Scheduler", "Recharge", "Withdrawal", "SubscriptionPause"] {
            let body = format!(r#"{{"subscriptionType":"{word}","outTradeNo":"a"}}"#);
            let kept = incoming(&body);
            assert_eq!((kept.kind.as_str(), kept.body), ("Unknown", body));
        }
        let body = r#"{"subscriptionType":"SubscriptionCancel","outTradeNo":"a"}"#;
        assert_eq!(incoming(body).kind, "SubscriptionCancel");
    }

    #[test]
    fn the_same_words_in_another_order_are_the_same() {
        assert!(same(r#"{"a":1,"b":2}"#, r#"{ "b":2, "a":1 }"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1.0}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":2}"#));
    }
}
