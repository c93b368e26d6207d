//! The commands that change claims by a person's word. They work on a journal that no Signer has open; of one that
//! has it open, `resolve` is asked.

use super::export::out_file;
use super::journal_place;
use super::remote::{Remote, RemoteNeed};
use billing::SubscribeId;
use clap::Args;
use config::{Config, JournalPlace};
use journal::{Journal, OpenError, PersonsWord, Resolution};
use serde::de::IgnoredAny;
use serde_json::json;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

/// Author of the entry in the history: anyone who may run commands here.
const BY: &str = "the command line";

/// A person's finding about one charge.
#[derive(Args, Clone, Debug)]
pub struct ResolveCommand {
    /// The billing: its number, any of its transaction hashes, or its request id.
    billing: String,
    /// The subscription.
    subscription: i64,
    /// The outcome: charged after all, or free.
    #[arg(value_parser = ["charged", "free"])]
    outcome: String,
    /// Why that is known: kept in the history.
    #[arg(long)]
    why: String,
    /// Address of the running Signer, if not the one in the configuration: `http://127.0.0.1:8080`.
    #[arg(long)]
    server: Option<String>,
}

/// `resolve`: what was done, in words. While a Signer holds the journal, that Signer does it, for a caller who may
/// control.
pub async fn resolve(config: &Config, command: &ResolveCommand) -> Result<String, Box<dyn Error>> {
    match journal_place::open(&config.journal) {
        Ok(journal) => {
            let told = resolve_in(&journal, command).await;
            journal.close().await;
            told
        }
        Err(OpenError::Held(_)) => ask_to_resolve(config, command).await,
        Err(error) => Err(error.into()),
    }
}

async fn resolve_in(
    journal: &Journal,
    ResolveCommand { billing, subscription, outcome, why, .. }: &ResolveCommand,
) -> Result<String, Box<dyn Error>> {
    let resolution = Resolution::from_word(outcome).ok_or("say charged or free")?;
    let finding = PersonsWord {
        billing: billing.clone(),
        subscribe: SubscribeId(*subscription),
        resolution,
        by: BY.to_owned(),
        why: why.clone(),
        at_ms: journal.now_ms(),
    };
    let resolved = journal.resolve(finding).await?;
    let before = if resolved.repeated { " before" } else { "" };
    let number = resolved.billing.batch.0;
    Ok(format!("billing {number}, subscription {subscription}: resolved as {outcome}{before}"))
}

async fn ask_to_resolve(
    config: &Config,
    ResolveCommand { billing, subscription, outcome, why, server }: &ResolveCommand,
) -> Result<String, Box<dyn Error>> {
    let remote =
        Remote::new(&config.asking(), server.as_deref(), RemoteNeed::Control).map_err(|why| {
            format!("a Signer runs on this journal, and is asked: {why}, or stop the Signer")
        })?;
    let body = json!({
        "billing": billing, "subscribeId": subscription, "outcome": outcome, "why": why
    });
    let _resolved: IgnoredAny = remote.post("/PayTool/control/resolve", &body).await?;
    Ok(format!(
        "billing {billing}, subscription {subscription}: resolved as {outcome}, by the running Signer"
    ))
}

/// `claims export`: what is in the file, in words.
pub async fn export(journal: &JournalPlace, to: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let journal = journal_place::open(journal)?;
    let exported = journal.export_claims().await;
    journal.close().await;
    let exported = exported?;
    let Some(path) = to else { return Ok(exported.text.trim_end().to_owned()) };
    out_file(path)?.write_all(exported.text.as_bytes())?;
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
    let text = std::fs::read_to_string(from);
    let text = text.map_err(|problem| {
        format!("{} cannot be read: {problem}. Name a file of `claims export`", from.display())
    })?;
    let journal = journal_place::open(journal)?;
    let told = journal.import_claims(text, BY.to_owned(), why.to_owned()).await;
    journal.close().await;
    let imported = told.map_err(|why| format!("{}, {why}", from.display()))?;
    Ok(format!("{} billings added, {} were known", imported.added, imported.known))
}
