//! The meaning of the Signer's answers for each subscription of a batch. Pure.

use super::book::Look;
use super::entry::text;
use super::standing::{Advice, Decline, Heard};
use crate::error::{CallError, Refusal};
use crate::full::Full;
use crate::signer::{BillingStatus, Earlier, Failure, Outcome, Sent, SubscriptionStatus, Verdict};
use std::collections::BTreeMap;

/// The meaning of an answer to a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A verdict on every subscription.
    Verdict(Vec<(i64, Heard)>),
    /// The batch has to be split: it is too large, or something in it spoils it.
    Split {
        /// Number of entries that each part may have: the number that the Signer names, or half as many.
        entries: usize,
        /// True if size was the reason, so that later batches had better be as small.
        too_large: bool,
    },
    /// Nobody was charged by the request, and none ever will be by this request id, which stands for
    /// other entries: its subscriptions are posted under another one.
    NameTaken {
        /// In words.
        why: String,
    },
    /// No verdict on anybody: the same bytes are posted again.
    Silence {
        /// In words.
        why: String,
        /// The pause that the Signer asked for, milliseconds.
        pause_ms: i64,
        /// True if waiting will not help: the operator must act.
        alarm: bool,
    },
}

/// The Signer's words, with HTTP 409, for a request id that it keeps with other entries.
const NAME_TAKEN: &str = "requestId stands for other entries";

/// Reads the answer to a batch of these subscriptions.
pub(crate) fn read(ids: &[i64], answer: Result<Verdict, CallError>) -> Answer {
    match answer {
        Ok(Verdict::Sent(sent)) => Answer::Verdict(complete(ids, sent_to(&sent))),
        Ok(Verdict::Refused(failed, earlier)) => {
            let mut heard = failures(&failed);
            heard.extend(earlier_of(&earlier));
            Answer::Verdict(complete(ids, heard))
        }
        Ok(Verdict::Rehearsed(_)) => Answer::Silence {
            why: "the Signer answered as if this were a dry run".to_owned(),
            pause_ms: 0,
            alarm: true,
        },
        Err(CallError::Refused(refusal)) => no_verdict(ids, &refusal),
        // A body that is too long is refused before it is read, and so before it can be proven whose it is. In
        // smaller batches it says the same of everybody: nothing.
        Err(CallError::Unproven { http_status: 413, .. }) if ids.len() > 1 => {
            Answer::Split { entries: ids.len().div_ceil(2), too_large: false }
        }
        Err(error) => Answer::Silence {
            alarm: waiting_is_in_vain(&error),
            why: error.to_string(),
            pause_ms: 0,
        },
    }
}

/// Returns true if the operator must act. Of the answers that are not proven, only an HTTP error that passes may
/// pass by itself.
fn waiting_is_in_vain(error: &CallError) -> bool {
    match error {
        CallError::ClockOff { .. } => true,
        CallError::Unproven { http_status, .. } => !matches!(http_status, 408 | 429 | 500..),
        CallError::Unsent { .. }
        | CallError::Unheard { .. }
        | CallError::Refused(_)
        | CallError::Unreadable { .. }
        | CallError::Entry { .. } => false,
    }
}

/// Reads a refusal with code 0. A fault in one entry may spoil the whole batch: it is found by halving.
fn no_verdict(ids: &[i64], refusal: &Refusal) -> Answer {
    if refusal.http_status == 409 && refusal.msg.contains(NAME_TAKEN) {
        return Answer::NameTaken { why: refusal.to_string() };
    }
    // On TRON what fits depends on how busy the node is, so that too many at once are a 503 there.
    let named = refusal.max_batch.filter(|most| *most < ids.len());
    let too_large =
        refusal.http_status == 413 || names_rule(refusal, "max_batch") || named.is_some();
    let spoilt = refusal.http_status == 400 || names_rule(refusal, "max_amount");
    if too_large || spoilt {
        let half = ids.len().div_ceil(2);
        return match ids {
            [id] => Answer::Verdict(vec![(*id, Heard::Refused(unacceptable(refusal)))]),
            _ => Answer::Split { entries: named.unwrap_or(half).max(1), too_large },
        };
    }
    let asked = refusal.retry_after_seconds.and_then(|seconds| i64::try_from(seconds).ok());
    Answer::Silence {
        why: refusal.to_string(),
        pause_ms: asked.unwrap_or(0).saturating_mul(1000),
        alarm: matches!(refusal.http_status, 401 | 403 | 404 | 405 | 409),
    }
}

/// The Signer's documentation: with HTTP 403, `msg` names the rule by its place in the configuration, such as
/// `chains.136.policy.max_batch`.
fn names_rule(refusal: &Refusal, rule: &str) -> bool {
    let mut words = refusal.msg.split_whitespace().skip_while(|word| *word != "rule").skip(1);
    let named = words.next().unwrap_or_default().trim_end_matches(':');
    refusal.http_status == 403 && named.split('.').any(|part| part == rule)
}

fn unacceptable(refusal: &Refusal) -> Decline {
    let code = format!("HTTP_{}", refusal.http_status);
    Decline { advice: Advice::Fix, code, reason: refusal.msg.clone() }
}

/// Subscriptions that transactions have from earlier requests.
fn earlier_of(earlier: &[Earlier]) -> impl Iterator<Item = (i64, Heard)> {
    earlier.iter().map(|e| (e.subscribe_id.0, Heard::Accepted { tx_hash: e.tx_hash.clone() }))
}

fn sent_to(sent: &Full<Sent>) -> BTreeMap<i64, Heard> {
    let mut heard = failures(&sent.failed);
    heard.extend(earlier_of(&sent.earlier));
    let accepted = || Heard::Accepted { tx_hash: sent.tx_hash.clone() };
    heard.extend(sent.subscription_ids.iter().map(|id| (id.0, accepted())));
    heard
}

fn failures(failed: &[Full<Failure>]) -> BTreeMap<i64, Heard> {
    failed.iter().map(|failure| (failure.subscribe_id.0, failure_of(failure))).collect()
}

fn failure_of(failure: &Failure) -> Heard {
    let code = failure.fail_code.clone().unwrap_or_else(|| token(&failure.fail_reason));
    if let Some(tx_hash) = &failure.tx_hash
        && matches!(code.as_str(), "BILLING_IN_PROGRESS" | "ALREADY_CHARGED")
    {
        return Heard::Accepted { tx_hash: tx_hash.clone() };
    }
    let advice = Advice::of(failure.retry.as_ref(), &code);
    Heard::Refused(Decline { advice, code, reason: failure.fail_reason.clone() })
}

/// A Signer that sends no `failCode` sends the interface's own words.
fn token(reason: &str) -> String {
    reason.to_uppercase().replace(' ', "_")
}

/// Everybody in the batch gets a verdict, and nobody else: who is not spoken of is posted again later.
fn complete(ids: &[i64], mut heard: BTreeMap<i64, Heard>) -> Vec<(i64, Heard)> {
    let unspoken = || {
        Heard::Refused(Decline {
            advice: Advice::Wait,
            code: "NOT_SPOKEN_OF".to_owned(),
            reason: "the answer does not speak of it".to_owned(),
        })
    };
    ids.iter().map(|id| (*id, heard.remove(id).unwrap_or_else(unspoken))).collect()
}

/// Reads the Signer's status of a transaction. `None`: nothing can be concluded from it.
pub(crate) fn look(statuses: &[Full<BillingStatus>]) -> Option<Look> {
    let Some(status) = statuses.first() else { return Some(Look::Unknown) };
    let mut hashes = status.tx_hashes.clone();
    hashes.push(status.tx_hash.clone());
    match &status.state {
        Outcome::Other(_) => None,
        Outcome::Open => Some(Look::Open { hashes }),
        Outcome::Charged
        | Outcome::Failed
        | Outcome::Unproven
        | Outcome::Reverted
        | Outcome::Cancelled
        | Outcome::Usurped
        | Outcome::Expired => {
            let outcome = |s: &Full<SubscriptionStatus>| {
                outcome(&status.tx_hash, s).map(|heard| (s.subscribe_id.0, heard))
            };
            // One outcome that cannot be read leaves the whole transaction to the next look.
            let outcomes = status.subscriptions.iter().map(outcome).collect::<Option<_>>()?;
            Some(Look::Final { hashes, outcomes })
        }
    }
}

fn outcome(tx_hash: &str, subscription: &Full<SubscriptionStatus>) -> Option<Heard> {
    let tx_hash = tx_hash.to_owned();
    match &subscription.state {
        Outcome::Open | Outcome::Other(_) => None,
        Outcome::Charged => Some(Heard::Charged { tx_hash: Some(tx_hash) }),
        Outcome::Unproven => Some(resolved(tx_hash, subscription)),
        Outcome::Failed => {
            let code = subscription.fail_code.clone().unwrap_or_default();
            let advice = Advice::for_code(&code);
            let reason = subscription.fail_reason.clone().unwrap_or_default();
            Some(Heard::Failed(Decline { advice, code, reason }))
        }
        free @ (Outcome::Reverted | Outcome::Cancelled | Outcome::Usurped | Outcome::Expired) => {
            Some(Heard::Freed { state: free.word().to_owned() })
        }
    }
}

/// Reads an outcome that the chain does not prove: a person may have found out, and that word stands for ever.
fn resolved(tx_hash: String, subscription: &Full<SubscriptionStatus>) -> Heard {
    match text(&subscription.fields(), "resolved").as_deref() {
        Some("charged") => Heard::Charged { tx_hash: Some(tx_hash) },
        Some("free") => Heard::Failed(Decline {
            advice: Advice::Retry,
            code: "RESOLVED_FREE".to_owned(),
            reason: "a person found that it was not charged".to_owned(),
        }),
        Some(_) | None => Heard::Unproven { tx_hash },
    }
}

#[cfg(test)]
mod tests;
