//! The chain's verdict on a billing callback, as the Signer's status tells it. Pure: a callback is a hint, the
//! chain decides, and nothing is concluded from absence before its time.

use crate::full::Full;
use crate::signer::{BillingStatus, Outcome, SubscriptionStatus};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The state of a billing when the merchant is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "state")]
pub(crate) enum Billed {
    /// Charged, in a final block: grant what was paid for.
    Charged,
    /// Not charged by this transaction, and never will be.
    NotCharged { code: String, reason: String },
    /// Nobody can tell from what is on record: for a person. Never to be taken for paid.
    Unproven { reason: String },
    /// The Signer knows no such transaction, and has had time to. Never to be taken for paid.
    Unknown,
}

/// The result of a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// Decided.
    Told(Billed),
    /// Not decided yet: look again.
    Open,
    /// The Signer knows no such transaction.
    Missing,
    /// The subject of the callback cannot be told without the subscription's id.
    WhichSubscription,
}

/// The fields of a callback that say which subscription it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct About {
    /// By the platform's list; by the callback itself where the list has no such order.
    pub(crate) subscription: Option<i64>,
    pub(crate) trade_no: Option<String>,
}

impl About {
    /// Reads the body of a billing callback.
    pub(crate) fn read(body: &str) -> Self {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(body).unwrap_or_default();
        let text = |name: &str| {
            let raw = fields.get(name)?.get();
            let text = serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned());
            Some(text).filter(|text| !text.is_empty())
        };
        let number = |name: &str| text(name).and_then(|digits| digits.parse().ok());
        Self {
            subscription: number("subscribeId").or_else(|| number("subscriptionId")),
            trade_no: text("outTradeNo"),
        }
    }
}

/// Reads the Signer's answer about the transaction for this callback.
pub(crate) fn look(statuses: &[Full<BillingStatus>], about: &About) -> Looked {
    let Some(status) = statuses.first() else { return Looked::Missing };
    match &status.state {
        Outcome::Open | Outcome::Other(_) => return Looked::Open,
        free @ (Outcome::Reverted | Outcome::Cancelled | Outcome::Usurped | Outcome::Expired) => {
            return Looked::Told(freed(free));
        }
        Outcome::Charged | Outcome::Failed | Outcome::Unproven => {}
    }
    // A chain may have another number by now than the callback knows: a hash is of one chain alone.
    let Some(subscription) = about.subscription else { return Looked::WhichSubscription };
    let mut lines = status.subscriptions.iter();
    match lines.find(|line| line.subscribe_id.0 == subscription) {
        Some(line) => billed(line).map_or(Looked::Open, Looked::Told),
        None => Looked::Told(Billed::Unproven {
            reason: "the transaction is final, and does not bill this subscription".to_owned(),
        }),
    }
}

/// The time since which there has been no answer that decides, Unix milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// Since when the Signer has said, each time, that it knows no such transaction.
    pub(crate) missing_ms: Option<i64>,
    /// Since when it could not be told, each time, which subscription the order is.
    pub(crate) unnamed_ms: Option<i64>,
}

/// The meaning of a look for an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The event may be told.
    Tell(Billed),
    /// Look again, and remember the doubt.
    Wait(Doubt),
}

impl Doubt {
    /// Returns the meaning of a look now. Patience is counted from the first of the answers that say the same
    /// one after the other: neither the time before it nor silence says anything.
    pub(crate) fn after(self, looked: Looked, now_ms: i64, patience_ms: i64) -> Next {
        // A clock that was ahead for a while may have left a time that is still to come.
        let since = |known: Option<i64>| known.map_or(now_ms, |known| known.min(now_ms));
        let is_over = |since: i64| now_ms.saturating_sub(since) >= patience_ms;
        match looked {
            Looked::Told(billed) => Next::Tell(billed),
            Looked::Open => Next::Wait(Self::default()),
            Looked::Missing => match since(self.missing_ms) {
                since if is_over(since) => Next::Tell(Billed::Unknown),
                since => Next::Wait(Self { missing_ms: Some(since), unnamed_ms: None }),
            },
            Looked::WhichSubscription => match since(self.unnamed_ms) {
                since if is_over(since) => {
                    let reason = "the platform's list does not say which subscription the order is";
                    Next::Tell(Billed::Unproven { reason: reason.to_owned() })
                }
                since => Next::Wait(Self { missing_ms: None, unnamed_ms: Some(since) }),
            },
        }
    }
}

fn billed(line: &SubscriptionStatus) -> Option<Billed> {
    match &line.state {
        Outcome::Open | Outcome::Other(_) => None,
        Outcome::Charged => Some(Billed::Charged),
        Outcome::Unproven => Some(Billed::Unproven {
            reason: "the transaction succeeded, and no event speaks of this subscription"
                .to_owned(),
        }),
        Outcome::Failed => Some(Billed::NotCharged {
            code: line.fail_code.clone().unwrap_or_default(),
            reason: line.fail_reason.clone().unwrap_or_default(),
        }),
        free @ (Outcome::Reverted | Outcome::Cancelled | Outcome::Usurped | Outcome::Expired) => {
            Some(freed(free))
        }
    }
}

fn freed(state: &Outcome) -> Billed {
    let reason = format!("the transaction ended as {state}");
    Billed::NotCharged { code: state.word().to_ascii_uppercase(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(state: &str, lines: &[(i64, i64, &str)]) -> Vec<Full<BillingStatus>> {
        let lines: Vec<_> = lines
            .iter()
            .map(|(id, plan, state)| {
                serde_json::json!({"subscribeId": id, "planId": plan, "amount": 5, "state": state,
                    "failCode": "BALANCE_INSUFFICIENT", "failReason": "Balance insufficient"})
            })
            .collect();
        let status = serde_json::json!({"txHash": "0xA", "state": state, "chainId": 139, "subscriptions": lines});
        vec![Full::from_raw(RawValue::from_string(status.to_string()).unwrap()).unwrap()]
    }

    fn about(subscription: Option<i64>) -> About {
        About { subscription, trade_no: None }
    }

    #[test]
    fn the_chain_decides_and_never_by_somebody_elses_line() {
        let mixed = statuses("charged", &[(1, 9, "charged"), (2, 9, "failed"), (3, 8, "charged")]);
        assert_eq!(look(&mixed, &about(Some(1))), Looked::Told(Billed::Charged));
        assert!(matches!(look(&mixed, &about(Some(2))), Looked::Told(Billed::NotCharged { .. })));
        assert!(matches!(look(&mixed, &about(Some(4))), Looked::Told(Billed::Unproven { .. })));
        // However alike all lines are, none of them need be of this order.
        let alike = statuses("charged", &[(1, 9, "charged"), (2, 9, "charged")]);
        for lines in [mixed, alike, statuses("charged", &[(1, 9, "charged")])] {
            assert_eq!(look(&lines, &about(None)), Looked::WhichSubscription);
        }
    }

    #[test]
    fn a_chain_that_has_another_number_now_is_the_same_chain() {
        let body = r#"{"subscriptionType":"SubscriptionBilling","chainId":140,"subscribeId":1}"#;
        let told = look(&statuses("charged", &[(1, 9, "charged")]), &About::read(body));
        assert_eq!(told, Looked::Told(Billed::Charged));
    }

    #[test]
    fn patience_begins_with_the_first_of_the_answers_that_say_the_same() {
        const HOUR: i64 = 3_600_000;
        let after = |doubt: Doubt, looked, now_ms| doubt.after(looked, now_ms, HOUR);
        let missing = |since| Doubt { missing_ms: Some(since), unnamed_ms: None };
        let unnamed = |since| Doubt { missing_ms: None, unnamed_ms: Some(since) };
        let wait = |doubt| Next::Wait(doubt);
        let never = Doubt::default();
        assert_eq!(after(never, Looked::Missing, 2 * HOUR), wait(missing(2 * HOUR)));
        assert_eq!(after(missing(5), Looked::Missing, HOUR + 4), wait(missing(5)));
        assert_eq!(after(missing(5), Looked::Missing, HOUR + 5), Next::Tell(Billed::Unknown));
        assert_eq!(after(missing(5), Looked::Open, HOUR + 5), wait(never));
        let named = after(missing(5), Looked::WhichSubscription, 2 * HOUR);
        assert_eq!(named, wait(unnamed(2 * HOUR)));
        assert!(matches!(
            after(unnamed(5), Looked::WhichSubscription, HOUR + 5),
            Next::Tell(Billed::Unproven { .. })
        ));
        // The clock was a year ahead when it was set.
        assert_eq!(after(missing(9000 * HOUR), Looked::Missing, HOUR), wait(missing(HOUR)));
    }

    #[test]
    fn nothing_that_is_open_or_missing_or_reverted_is_paid() {
        for subscription in [None, Some(1)] {
            let about = about(subscription);
            assert_eq!(look(&[], &about), Looked::Missing);
            assert_eq!(look(&statuses("open", &[(1, 9, "open")]), &about), Looked::Open);
            assert_eq!(look(&statuses("odd", &[(1, 9, "charged")]), &about), Looked::Open);
            let reverted = look(&statuses("reverted", &[(1, 9, "reverted")]), &about);
            assert!(matches!(reverted, Looked::Told(Billed::NotCharged { .. })));
        }
        let about = about(Some(1));
        assert_eq!(look(&statuses("charged", &[(1, 9, "odd")]), &about), Looked::Open);
        let unproven = look(&statuses("charged", &[(1, 9, "unproven")]), &about);
        assert!(matches!(unproven, Looked::Told(Billed::Unproven { .. })));
    }

    #[test]
    fn a_callback_is_read_whatever_its_ids_are_written_as() {
        let body = r#"{"subscribeId":"9007199254740993","outTradeNo":"\u0078-\"1\""}"#;
        let about = About::read(body);
        assert_eq!(about.subscription, Some(9_007_199_254_740_993));
        assert_eq!(about.trade_no.as_deref(), Some("x-\"1\""));
        assert_eq!(About::read(r#"{"outTradeNo":7}"#).trade_no.as_deref(), Some("7"));
        assert_eq!(About::read("[]"), About::default());
    }
}
