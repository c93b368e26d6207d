//! The notices to the merchant, and their times. Pure.

use super::super::rules::Rules;
use super::{Advice, Decline, Pause, Standing};
use serde::Serialize;

/// A notice to the merchant about one subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "type")]
pub(crate) enum Notice {
    /// A final block charged it.
    Charged { tx_hash: Option<String> },
    /// The customer must act; told again at growing pauses.
    CustomerMustAct { decline: Decline, times_told: u32 },
    /// The customer need not act any more: charged, ended, lost, or due no longer.
    CustomerSettled { end: End },
    /// The chain ended the subscription.
    Stopped { decline: Decline },
    /// This period was not paid and never will be.
    PeriodLost { decline: Decline },
    /// The merchant or the operator must act.
    Alarm { decline: Decline },
    /// Only a person can tell whether it paid.
    Unproven { tx_hash: String },
}

/// The end of a time of waiting for a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum End {
    Charged,
    Stopped,
    PeriodLost,
    NotDueAnyMore,
    OtherReason,
}

/// Returns the notice if the merchant hears of this pause now: once for each code and period of waiting, customers
/// are reminded at growing pauses, and a passing trouble becomes an alarm when it does not pass.
pub(super) fn due_notice(pause: &Pause, now_ms: i64, rules: &Rules) -> Option<Notice> {
    let decline = pause.decline.clone();
    match decline.advice {
        Advice::User => {
            let waited = now_ms.saturating_sub(pause.since_ms);
            let due = match pause.told {
                0 => true,
                told => usize::try_from(told.saturating_sub(1))
                    .ok()
                    .and_then(|at| rules.reminders_ms.get(at))
                    .is_some_and(|after| waited >= *after),
            };
            due.then(|| Notice::CustomerMustAct {
                decline,
                times_told: pause.told.saturating_add(1),
            })
        }
        Advice::Fix => (pause.told == 0).then_some(Notice::Alarm { decline }),
        Advice::Lost => (pause.told == 0).then_some(Notice::PeriodLost { decline }),
        Advice::Retry => (pause.told == 0 && pause.tries >= rules.alarm_after)
            .then_some(Notice::Alarm { decline }),
        Advice::Wait | Advice::Done | Advice::Stop => None,
    }
}

/// Returns the notice of the end, for a merchant who was told that the customer must act.
pub(super) fn settled(before: &Standing, end: End) -> Vec<Notice> {
    match before.pause() {
        Some(pause) if pause.decline.advice == Advice::User && pause.told > 0 => {
            vec![Notice::CustomerSettled { end }]
        }
        Some(_) | None => vec![],
    }
}

pub(super) fn other_end(advice: Advice) -> End {
    match advice {
        Advice::Lost => End::PeriodLost,
        Advice::Stop => End::Stopped,
        Advice::Done => End::Charged,
        Advice::Wait | Advice::User | Advice::Fix | Advice::Retry => End::OtherReason,
    }
}
