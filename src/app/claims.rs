//! The commands that change claims by a person's word. They work on a journal that no Signer has open.

use crate::billing::SubscribeId;
use crate::config::JournalConfig;
use crate::journal::{Journal, PersonsWord, Resolution};
use std::error::Error;

/// Who says so, in the history: whoever may run commands here.
const BY: &str = "the command line";

/// `resolve BILLING SUBSCRIPTION OUTCOME --why WHY`: what was done, in words.
pub async fn resolve(
    config: &JournalConfig,
    (billing, subscription, why): (String, i64, String),
    outcome: &str,
) -> Result<String, Box<dyn Error>> {
    let resolution = Resolution::from_word(outcome).ok_or("say charged or free")?;
    let journal = Journal::open(config)?;
    let (by, at_ms, subscribe) = (BY.to_owned(), journal.now_ms(), SubscribeId(subscription));
    let finding = PersonsWord { billing, subscribe, resolution, by, why, at_ms };
    let told = journal.resolve(finding).await;
    journal.close().await;
    let resolved = told??;
    let number = resolved.billing.batch.0;
    Ok(if resolved.repeated {
        format!("billing {number}, subscription {subscription}: resolved as {outcome} before")
    } else {
        format!("billing {number}, subscription {subscription}: resolved as {outcome}")
    })
}
