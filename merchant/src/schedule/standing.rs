//! The standing of one subscription, and the whole transition table of the scheduler.
//!
//! Pure: what is known, what was heard and the time go in; what is known next and what the merchant
//! must be told come out. The Signer's claim is what keeps anybody from paying twice; these
//! decisions keep the scheduler from asking in vain, and from forgetting anybody.

mod notice;
mod whereabouts;

pub(crate) use notice::{End, Notice};
pub use whereabouts::Whereabouts;

use super::rules::{Rules, is_ahead, jittered, longest, step};
use crate::signer::Retry;
use notice::{due_notice, other_end, settled};
use serde::{Deserialize, Serialize};

/// The Signer's advice about a subscription that it did not charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Advice {
    /// Post it later; nobody has to do anything.
    Wait,
    /// The customer must act.
    User,
    /// The chain has ended the subscription.
    Stop,
    /// The merchant or the operator must act.
    Fix,
    /// A passing trouble.
    Retry,
    /// This period was not paid and never will be.
    Lost,
    /// Treat as paid.
    Done,
}

impl Advice {
    /// The advice of an answer. A word that is not known is for a person to look at.
    pub(crate) fn of(retry: Option<&Retry>, fail_code: &str) -> Self {
        if fail_code == "PERIOD_PASSED" {
            // Nobody paid and nobody will: that must never look like a payment, whatever the word.
            return Self::Lost;
        }
        match retry {
            None => Self::for_code(fail_code),
            Some(Retry::Wait) => Self::Wait,
            Some(Retry::User) => Self::User,
            Some(Retry::Stop) => Self::Stop,
            Some(Retry::Fix | Retry::Other(_)) => Self::Fix,
            Some(Retry::Retry) => Self::Retry,
            Some(Retry::Lost) => Self::Lost,
            Some(Retry::Done) => Self::Done,
        }
    }

    /// The advice for an item that failed inside a transaction that succeeded: such an outcome
    /// carries a code and no advice.
    pub(crate) fn for_code(fail_code: &str) -> Self {
        match fail_code {
            "ALLOWANCE_INSUFFICIENT" | "BALANCE_INSUFFICIENT" => Self::User,
            "NOT_DUE_YET" | "BILLING_IN_PROGRESS" => Self::Wait,
            "ALREADY_CHARGED" => Self::Done,
            "PERIOD_PASSED" => Self::Lost,
            "SUBSCRIPTION_CANCELLED" | "SUBSCRIPTION_ENDED" | "HOLDER_BLOCKED" => Self::Stop,
            "TOKEN_PAUSED" | "TOKEN_TRANSFER_FAILED" => Self::Retry,
            _ => Self::Fix,
        }
    }
}

/// Why a subscription was not charged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Decline {
    pub(crate) advice: Advice,
    /// The stable token, such as `BALANCE_INSUFFICIENT`.
    pub(crate) code: String,
    /// The same in words.
    pub(crate) reason: String,
}

/// A pause between two posts of one subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pause {
    pub(crate) decline: Decline,
    /// Number of successive refusals with the same advice, this one included.
    pub(crate) tries: u32,
    /// When the first of them came.
    pub(crate) since_ms: i64,
    /// When it is posted again.
    pub(crate) until_ms: i64,
    /// Number of times that the merchant was told.
    pub(crate) told: u32,
}

/// The standing of one subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "at")]
pub(crate) enum Standing {
    /// Nothing speaks against posting it.
    Free,
    /// It is in a durable plan that has no verdict on it yet. The pause is the one that it comes from.
    Planned { pause: Option<Pause> },
    /// The Signer holds a transaction that can charge it.
    Billing { tx_hash: String, since_ms: i64, pause: Option<Pause> },
    /// Not charged; not to be posted before the pause is over.
    Paused(Pause),
    /// Charged for the terms last posted, since `since_ms`; the Signer last said so at `heard_ms`.
    Charged { tx_hash: Option<String>, since_ms: i64, heard_ms: i64 },
    /// Its chain ended it.
    Stopped { decline: Decline, since_ms: i64 },
    /// Its transaction succeeded and nothing says whether it paid: only a person can tell, and the Signer charges
    /// nobody for that period before.
    Unproven { tx_hash: String, since_ms: i64 },
}

impl Standing {
    /// The pause that it is in, or comes from without having been charged since.
    pub(crate) fn pause(&self) -> Option<&Pause> {
        match self {
            Self::Paused(pause) => Some(pause),
            Self::Planned { pause } | Self::Billing { pause, .. } => pause.as_ref(),
            Self::Free | Self::Charged { .. } | Self::Stopped { .. } | Self::Unproven { .. } => {
                None
            }
        }
    }

    /// The word for it in tables and metrics.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Planned { .. } => "planned",
            Self::Billing { .. } => "billing",
            Self::Paused(_) => "paused",
            Self::Charged { .. } => "charged",
            Self::Stopped { .. } => "stopped",
            Self::Unproven { .. } => "unproven",
        }
    }

    /// The same, with the end of a pause that begins now moved on by up to a tenth of it.
    pub(crate) fn jittered(mut self, key: (i64, i64), now_ms: i64) -> Self {
        if let Self::Paused(pause) = &mut self {
            let pause_ms = pause.until_ms.saturating_sub(now_ms);
            pause.until_ms = now_ms.saturating_add(jittered(pause_ms, key.0, key.1));
        }
        self
    }

    /// The same subscription as part of a plan.
    pub(crate) fn planned(&self) -> Self {
        Self::Planned { pause: self.pause().cloned() }
    }
}

/// The news heard about one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The Signer holds this transaction for it.
    Accepted { tx_hash: String },
    /// The Signer will not charge it now.
    Refused(Decline),
    /// A final block charged it.
    Charged { tx_hash: Option<String> },
    /// A final block shows that its own item failed.
    Failed(Decline),
    /// The transaction ended without charging anybody; the word is the state of the batch.
    Freed { state: String },
    /// The transaction succeeded and nothing speaks of this subscription.
    Unproven { tx_hash: String },
}

/// The consequence of something heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) standing: Standing,
    pub(crate) notices: Vec<Notice>,
}

/// The decision whether a listed subscription is posted now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Admission {
    Post,
    /// A plan or a transaction has it.
    InFlight,
    /// Its pause is not over.
    Paused,
    /// Charged a moment ago, with the same terms: the platform's list lags.
    JustCharged,
    /// The chain ended it, and the entry has not changed since.
    Stopped,
    /// A person has to tell whether it paid, and may not have yet.
    Unproven,
    /// It fell due with others, and they are spread over some time.
    NotItsTurn,
}

/// The way a listed subscription fell due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fell {
    /// True if the platform's terms or period for the subscription differ from those last posted.
    pub(crate) changed: bool,
    /// When its turn comes among those that fell due together.
    pub(crate) turn_ms: i64,
    /// The transaction that it waits for, if it waits for one.
    pub(crate) flight: Followed,
}

/// A transaction that a subscription waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Followed {
    /// Its outcome is asked for, and the Signer knew it the last time.
    Known,
    /// Its outcome is asked for, and the Signer has not known it since then, Unix milliseconds.
    UnknownSince(i64),
    /// The book has none of the kind: no outcome will ever be heard.
    Lost,
}

/// Decides whether to post a listed subscription. Every standing has a way out: when the Signer does not speak any more
/// of what it said, it is asked again, and its claim protects whoever may have paid.
pub(crate) fn admit(standing: &Standing, fell: Fell, now_ms: i64, rules: &Rules) -> Admission {
    let until = |until_ms: i64, longest_ms: i64, held: Admission| {
        if is_ahead(until_ms, longest_ms, now_ms) { held } else { Admission::Post }
    };
    match standing {
        Standing::Planned { .. } => Admission::InFlight,
        Standing::Billing { since_ms, .. } => match fell.flight {
            Followed::Known => Admission::InFlight,
            Followed::UnknownSince(unknown_ms) => {
                let asked_ms = unknown_ms.max(*since_ms);
                let open_ms = rules.patience.open;
                until(asked_ms.saturating_add(open_ms), open_ms, Admission::InFlight)
            }
            Followed::Lost => Admission::Post,
        },
        Standing::Free => until(fell.turn_ms, rules.spread_ms, Admission::NotItsTurn),
        Standing::Paused(_)
        | Standing::Charged { .. }
        | Standing::Stopped { .. }
        | Standing::Unproven { .. }
            if fell.changed =>
        {
            until(fell.turn_ms, rules.spread_ms, Admission::NotItsTurn)
        }
        Standing::Paused(pause) => {
            let longest_ms = longest(rules.pauses(pause.decline.advice));
            until(pause.until_ms, longest_ms, Admission::Paused)
        }
        Standing::Charged { heard_ms, .. } => {
            let settle_ms = rules.settle_ms;
            until(heard_ms.saturating_add(settle_ms), settle_ms, Admission::JustCharged)
        }
        Standing::Stopped { .. } => Admission::Stopped,
        Standing::Unproven { since_ms, .. } => {
            let pause_ms = step(rules.pauses(Advice::Fix), 1);
            until(since_ms.saturating_add(pause_ms), pause_ms, Admission::Unproven)
        }
    }
}

/// The whole transition table: what is next for a subscription after something was heard.
pub(crate) fn next(before: &Standing, heard: Heard, now_ms: i64, rules: &Rules) -> Next {
    match heard {
        Heard::Accepted { tx_hash } => {
            Next { standing: accepted(before, tx_hash, now_ms), notices: vec![] }
        }
        Heard::Charged { tx_hash } => charged(before, tx_hash, now_ms),
        Heard::Refused(decline) | Heard::Failed(decline) => refused(before, decline, now_ms, rules),
        Heard::Freed { state } => {
            let reason = format!("the transaction ended as {state}");
            let decline = Decline { advice: Advice::Retry, code: state.to_uppercase(), reason };
            refused(before, decline, now_ms, rules)
        }
        Heard::Unproven { tx_hash } => unproven(before, tx_hash, now_ms),
    }
}

/// The platform lists it no longer: whoever was asked to act need not.
pub(crate) fn unlisted(before: &Standing) -> Option<Next> {
    match before {
        Standing::Paused(_) | Standing::Stopped { .. } => {
            Some(Next { standing: Standing::Free, notices: settled(before, End::NotDueAnyMore) })
        }
        Standing::Free
        | Standing::Planned { .. }
        | Standing::Billing { .. }
        | Standing::Charged { .. }
        | Standing::Unproven { .. } => None,
    }
}

/// A transaction that is followed already keeps the time since when it is.
fn accepted(before: &Standing, tx_hash: String, now_ms: i64) -> Standing {
    let since_ms = match before {
        Standing::Billing { tx_hash: known, since_ms, .. } if *known == tx_hash => *since_ms,
        Standing::Billing { .. }
        | Standing::Free
        | Standing::Planned { .. }
        | Standing::Paused(_)
        | Standing::Charged { .. }
        | Standing::Stopped { .. }
        | Standing::Unproven { .. } => now_ms,
    };
    Standing::Billing { tx_hash, since_ms, pause: before.pause().cloned() }
}

/// "Already charged" without a transaction confirms the charge that is known.
fn charged(before: &Standing, tx_hash: Option<String>, now_ms: i64) -> Next {
    let known = match before {
        Standing::Charged { tx_hash: known, since_ms, .. }
            if tx_hash.is_none() || *known == tx_hash =>
        {
            Some((known.clone(), *since_ms))
        }
        Standing::Charged { .. }
        | Standing::Free
        | Standing::Planned { .. }
        | Standing::Billing { .. }
        | Standing::Paused(_)
        | Standing::Stopped { .. }
        | Standing::Unproven { .. } => None,
    };
    let mut notices = settled(before, End::Charged);
    if known.is_none() {
        notices.push(Notice::Charged { tx_hash: tx_hash.clone() });
    }
    let (tx_hash, since_ms) = known.unwrap_or((tx_hash, now_ms));
    Next { standing: Standing::Charged { tx_hash, since_ms, heard_ms: now_ms }, notices }
}

fn unproven(before: &Standing, tx_hash: String, now_ms: i64) -> Next {
    let known = matches!(before, Standing::Unproven { tx_hash: known, .. } if *known == tx_hash);
    let mut notices = settled(before, End::OtherReason);
    if !known {
        notices.push(Notice::Unproven { tx_hash: tx_hash.clone() });
    }
    Next { standing: Standing::Unproven { tx_hash, since_ms: now_ms }, notices }
}

fn refused(before: &Standing, decline: Decline, now_ms: i64, rules: &Rules) -> Next {
    match decline.advice {
        Advice::Done => charged(before, None, now_ms),
        Advice::Stop => {
            let mut notices = settled(before, End::Stopped);
            if !matches!(before, Standing::Stopped { decline: known, .. } if *known == decline) {
                notices.push(Notice::Stopped { decline: decline.clone() });
            }
            Next { standing: Standing::Stopped { decline, since_ms: now_ms }, notices }
        }
        Advice::Wait | Advice::User | Advice::Fix | Advice::Retry | Advice::Lost => {
            paused(before, decline, now_ms, rules)
        }
    }
}

fn paused(before: &Standing, decline: Decline, now_ms: i64, rules: &Rules) -> Next {
    let same = before.pause().filter(|pause| pause.decline.advice == decline.advice);
    let mut notices = match same {
        None => settled(before, other_end(decline.advice)),
        Some(_) => vec![],
    };
    let tries = same.map_or(1, |pause| pause.tries.saturating_add(1));
    let mut pause = Pause {
        tries,
        since_ms: same.map_or(now_ms, |pause| pause.since_ms.min(now_ms)),
        until_ms: now_ms.saturating_add(step(rules.pauses(decline.advice), tries)),
        told: same.filter(|pause| pause.decline.code == decline.code).map_or(0, |p| p.told),
        decline,
    };
    if let Some(notice) = due_notice(&pause, now_ms, rules) {
        pause.told = pause.told.saturating_add(1);
        notices.push(notice);
    }
    Next { standing: Standing::Paused(pause), notices }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in a test")]
mod tests;
