//! The fields that the forms of the pages send.

use crate::amount;
use crate::platform::{Case, Platform, SYMBOL, StepError};
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
    /// The choice of the amount to authorise: `one`, `year`, `unlimited`, or `other`.
    #[serde(default)]
    cap: String,
    /// The amount, if the choice is `other` (decimal).
    #[serde(default)]
    amount: String,
    /// The hash of a transaction that the browser's wallet sent.
    #[serde(default)]
    hash: String,
}

impl Sent {
    /// Which choice was made of how much to authorise; that of the page where none was.
    pub(super) fn cap(&self) -> &str {
        if self.cap.is_empty() { "year" } else { &self.cap }
    }

    /// The amount that was typed.
    pub(super) fn typed(&self) -> &str {
        self.amount.trim()
    }
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
            let orders = platform.authorisation(case, cap(platform, case, sent)?)?;
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

/// Returns the amount to authorise (base units). A typed amount and a different choice beside it are never weighed:
/// one of the two is not meant.
fn cap(platform: &Platform, case: &Case, sent: &Sent) -> Result<U256, StepError> {
    if sent.cap() != "other" && !sent.typed().is_empty() {
        return Err(StepError::TwoAmounts);
    }
    let dues = platform.dues(case)?;
    let least = dues.of_periods(1);
    match sent.cap() {
        "one" => Ok(least),
        "unlimited" => Ok(U256::MAX),
        "other" => match amount::parse(sent.typed(), case.side.decimals) {
            Some(typed) if typed >= least => Ok(typed),
            Some(_) if !dues.others.is_empty() => {
                let sum = amount::show(least, case.side.decimals);
                Err(StepError::TooLittleForAll(format!("{sum} {SYMBOL}")))
            }
            Some(_) | None => Err(StepError::TooLittle),
        },
        _ => Ok(dues.of_periods(usual_periods(case))),
    }
}

/// For how many periods is authorised unless the user wants otherwise.
pub(super) fn usual_periods(case: &Case) -> u64 {
    if case.plan.periods == 0 { USUAL_PERIODS } else { case.plan.periods }
}
