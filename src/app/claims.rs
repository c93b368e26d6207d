//! The commands that change claims by a person's word. They work on a journal that no Signer has open.

use crate::billing::SubscribeId;
use crate::config::JournalPlace;
use crate::journal::{Journal, PersonsWord, Resolution};
use crate::owner_only;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

/// Who says so, in the history: whoever may run commands here.
const BY: &str = "the command line";

/// `resolve BILLING SUBSCRIPTION OUTCOME --why WHY`: what was done, in words.
pub async fn resolve(
    journal: &JournalPlace,
    (billing, subscription, why): (String, i64, String),
    outcome: &str,
) -> Result<String, Box<dyn Error>> {
    let resolution = Resolution::from_word(outcome).ok_or("say charged or free")?;
    let journal = Journal::open_at(journal)?;
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

/// `claims export`: what is in the file, in words.
pub async fn export(journal: &JournalPlace, to: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let journal = Journal::open_at(journal)?;
    let exported = journal.export_claims().await;
    journal.close().await;
    let exported = exported?;
    let Some(path) = to else { return Ok(exported.text.trim_end().to_owned()) };
    owner_only::create(path)?.write_all(exported.text.as_bytes())?;
    let (billings, open) = (exported.billings, exported.open);
    Ok(format!(
        "{billings} billings in {}; {open} are still open, and are not in it",
        path.display()
    ))
}

/// `claims import FILE --why WHY`: what was added, in words.
pub async fn import(
    journal: &JournalPlace,
    from: &Path,
    why: &str,
) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(from)?;
    let journal = Journal::open_at(journal)?;
    let told = journal.import_claims(text, BY.to_owned(), why.to_owned()).await;
    journal.close().await;
    let imported = told?.map_err(|why| format!("{}, {why}", from.display()))?;
    Ok(format!("{} billings added, {} were known", imported.added, imported.known))
}
