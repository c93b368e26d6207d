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
    pub(crate) chain: Option<i64>,
    pub(crate) subscription: Option<i64>,
    pub(crate) plan: Option<i64>,
    pub(crate) amount: Option<String>,
    pub(crate) trade_no: Option<String>,
}

impl About {
    /// Reads the body of a billing callback.
    pub(crate) fn read(body: &str) -> Self {
        let fields: BTreeMap<String, &RawValue> = serde_json::from_str(body).unwrap_or_default();
        let text = |name: &str| {
            let raw = fields.get(name).map(|raw| raw.get());
            raw.map(|raw| raw.trim_matches('"').to_owned()).filter(|text| !text.is_empty())
        };
        let number = |name: &str| text(name).and_then(|digits| digits.parse().ok());
        Self {
            chain: number("chainId"),
            subscription: number("subscribeId").or_else(|| number("subscriptionId")),
            plan: number("planId"),
            amount: text("amount").filter(|text| text.bytes().all(|byte| byte.is_ascii_digit())),
            trade_no: text("outTradeNo"),
        }
    }

    /// Returns true if the transaction's line can be about this callback.
    fn may_be(&self, line: &SubscriptionStatus) -> bool {
        if let Some(subscription) = self.subscription {
            return line.subscribe_id.0 == subscription;
        }
        let plan = line.plan_id.map(|plan| plan.0);
        let amount = line.amount.as_ref().map(ToString::to_string);
        let other_plan = matches!((self.plan, plan), (Some(one), Some(other)) if one != other);
        let other_amount =
            matches!((&self.amount, &amount), (Some(one), Some(other)) if one != other);
        !other_plan && !other_amount
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
    if let (Some(told), Some(found)) = (about.chain, status.chain_id)
        && told != found.0
    {
        let reason = format!("the transaction is on chain {found}, and not on chain {told}");
        return Looked::Told(Billed::Unproven { reason });
    }
    let lines = status.subscriptions.iter().filter(|line| about.may_be(line));
    let told: Vec<Option<Billed>> = lines.map(|line| billed(line)).collect();
    match told.as_slice() {
        [] => Looked::Told(Billed::Unproven {
            reason: "the transaction is final, and does not bill this subscription".to_owned(),
        }),
        [first, rest @ ..] if rest.iter().all(|other| other == first) => {
            first.clone().map_or(Looked::Open, Looked::Told)
        }
        _ => Looked::WhichSubscription,
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
        let (plan, amount) = (Some(9), Some("5".to_owned()));
        About { chain: Some(139), subscription, plan, amount, trade_no: None }
    }

    #[test]
    fn the_chain_decides_and_never_by_somebody_elses_line() {
        let mixed = statuses("charged", &[(1, 9, "charged"), (2, 9, "failed"), (3, 8, "charged")]);
        assert_eq!(look(&mixed, &about(Some(1))), Looked::Told(Billed::Charged));
        assert!(matches!(look(&mixed, &about(Some(2))), Looked::Told(Billed::NotCharged { .. })));
        assert_eq!(look(&mixed, &about(None)), Looked::WhichSubscription);
        assert!(matches!(look(&mixed, &about(Some(4))), Looked::Told(Billed::Unproven { .. })));
        let elsewhere = About { chain: Some(136), ..about(Some(1)) };
        assert!(matches!(look(&mixed, &elsewhere), Looked::Told(Billed::Unproven { .. })));
        let alike = statuses("charged", &[(1, 9, "charged"), (2, 9, "charged"), (3, 8, "failed")]);
        assert_eq!(look(&alike, &about(None)), Looked::Told(Billed::Charged));
    }

    #[test]
    fn nothing_that_is_open_or_missing_or_reverted_is_paid() {
        for subscription in [None, Some(1)] {
            let about = about(subscription);
            assert_eq!(look(&[], &about), Looked::Missing);
            assert_eq!(look(&statuses("open", &[(1, 9, "open")]), &about), Looked::Open);
            assert_eq!(look(&statuses("odd", &[(1, 9, "charged")]), &about), Looked::Open);
            assert_eq!(look(&statuses("charged", &[(1, 9, "odd")]), &about), Looked::Open);
            let reverted = look(&statuses("reverted", &[(1, 9, "reverted")]), &about);
            assert!(matches!(reverted, Looked::Told(Billed::NotCharged { .. })));
            let unproven = look(&statuses("charged", &[(1, 9, "unproven")]), &about);
            assert!(matches!(unproven, Looked::Told(Billed::Unproven { .. })));
        }
    }

    #[test]
    fn a_callback_is_read_whatever_its_ids_are_written_as() {
        let body =
            r#"{"subscribeId":"9007199254740993","planId":9,"amount":"5.0","outTradeNo":"x"}"#;
        let about = About::read(body);
        assert_eq!(about.subscription, Some(9_007_199_254_740_993));
        assert_eq!(
            (about.plan, about.amount, about.trade_no.as_deref()),
            (Some(9), None, Some("x"))
        );
        assert_eq!(About::read("[]"), About::default());
    }
}
