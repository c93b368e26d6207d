//! What the forms of the pages send.

use crate::amount;
use crate::platform::{Case, Platform, StepError};
use alloy::primitives::U256;
use serde::Deserialize;

/// A form of any step; what a step does not have is empty.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Sent {
    /// Which button was pressed.
    #[serde(default)]
    step: String,
    /// The chosen wallet.
    #[serde(default)]
    wallet: String,
    /// The address of a wallet that the browser has.
    #[serde(default)]
    own: String,
    /// How much to authorise: `one`, `year`, `unlimited`, or `other`.
    #[serde(default)]
    cap: String,
    /// How much, if it is `other` (decimal).
    #[serde(default)]
    amount: String,
    /// The hash of a transaction that the browser's wallet sent.
    #[serde(default)]
    hash: String,
}

/// Periods that are authorised unless the user wants otherwise.
pub(super) const USUAL_PERIODS: u64 = 12;

/// Takes the step of the page to subscribe that a form asks for.
pub(super) fn subscribe(
    platform: &Platform,
    case: &mut Case,
    sent: &Sent,
) -> Result<(), StepError> {
    match sent.step.as_str() {
        "confirm" => {
            let wallet = if sent.own.is_empty() { &sent.wallet } else { &sent.own };
            platform.confirm(case, wallet)
        }
        "back" => {
            let wallet = case.link.wallet.clone().unwrap_or_default();
            platform.confirm(case, &wallet)?;
            case.link.wallet = None;
            Ok(platform.store().update_link(&case.link)?)
        }
        "sign" => {
            let order = platform.agreement(case)?;
            platform.send_built_in(case, &[order])
        }
        "authorise" => {
            let orders = platform.authorisation(case, cap(case, sent)?)?;
            platform.send_built_in(case, &orders)
        }
        "sent" => platform.sent_elsewhere(case, &sent.hash),
        _ => Err(StepError::NotNow(case.stage.word())),
    }
}

/// Takes the step of the page to unsubscribe.
pub(super) fn unsubscribe(
    platform: &Platform,
    case: &mut Case,
    sent: &Sent,
) -> Result<(), StepError> {
    if sent.step == "sent" {
        return platform.sent_elsewhere(case, &sent.hash);
    }
    platform.cancel_built_in(case)
}

fn cap(case: &Case, sent: &Sent) -> Result<U256, StepError> {
    match sent.cap.as_str() {
        "one" => Ok(case.price()),
        "unlimited" => Ok(U256::MAX),
        "other" => {
            amount::parse(sent.amount.trim(), case.side.decimals).ok_or(StepError::TooLittle)
        }
        _ => Ok(usual(case)),
    }
}

/// What is authorised unless the user wants otherwise (base units).
pub(super) fn usual(case: &Case) -> U256 {
    let periods = if case.plan.periods == 0 { USUAL_PERIODS } else { case.plan.periods };
    case.price().saturating_mul(U256::from(periods))
}
