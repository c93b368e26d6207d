//! `merchant-signer certificate`: the proof of a charge, from the journal itself or, while a Signer holds it, from that
//! Signer.

use super::export::out_file;
use super::journal_place;
use super::remote::{Remote, RemoteNeed};
use crate::certificates::{ChargeMade, NoCertificate};
use crate::http::JournalName;
use chain::Records;
use clap::Args;
use config::Config;
use contract::Profile;
use journal::{Journal, OpenError};
use ledger::PlaceInBatch;
use node::Dial;
use serde_json::value::RawValue;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

/// The charge, and the place for its certificate.
#[derive(Args, Clone, Debug)]
pub struct CertificateCommand {
    /// The charge: its `cursor`, as `charges --json` and `export` tell it.
    charge: String,
    /// File to write; standard output otherwise. A file that is there is not replaced.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Address of the running Signer, if not the one in the configuration: `http://127.0.0.1:8080`.
    #[arg(long)]
    server: Option<String>,
}

/// Writes the certificate of a charge. Its chain's nodes are asked for the block.
pub async fn run(
    config: &Config,
    asked: &CertificateCommand,
    dial: &dyn Dial,
) -> Result<(), Box<dyn Error>> {
    let text = match journal_place::open(&config.journal) {
        Ok(journal) => {
            let made = make(config, &journal, &asked.charge, dial).await;
            journal.close().await;
            made?
        }
        Err(OpenError::Held(_)) => ask(config, asked).await?,
        Err(error) => return Err(error.into()),
    };
    let mut to: Box<dyn Write> = match &asked.out {
        Some(path) => Box::new(out_file(path)?),
        None => Box::new(io::stdout()),
    };
    // The text of a certificate has no line end, and a verifier refuses any other spelling.
    to.write_all(text.as_bytes())?;
    Ok(to.flush()?)
}

async fn make(
    config: &Config,
    journal: &Journal,
    cursor: &str,
    dial: &dyn Dial,
) -> Result<String, Box<dyn Error>> {
    let place = JournalName::of(journal).await?.place(cursor)?;
    let PlaceInBatch::Charge(item) = place.item else { return Err(NoCertificate::Unknown.into()) };
    let billing = journal.billing(place.batch).await?.ok_or(NoCertificate::Unknown)?;
    let id = billing.origin.lane.chain;
    let chain = config.chains.iter().find(|chain| chain.platform_id == id);
    let chain = chain.ok_or(NoCertificate::NoChain)?;
    let profile = Profile::parse(chain.family.billing(), chain.family.family());
    let profile =
        profile.map_err(|_| format!("chains.{id}.billing makes no sense: see `check`"))?;
    let charge = ChargeMade::of(&billing, item)?;
    let records = Records::of(&chain.family, dial).await;
    let records = records.map_err(|fault| format!("chains.{id}.{fault}"))?;
    let block = records.block_of(charge.transaction).await?;
    Ok(charge.certified_by(block, journal, &profile).await?.text())
}

/// From the Signer that holds the journal, in the name of a configured caller.
async fn ask(config: &Config, asked: &CertificateCommand) -> Result<String, Box<dyn Error>> {
    let remote = Remote::new(&config.asking(), asked.server.as_deref(), RemoteNeed::Read);
    let remote = remote.map_err(|why| {
        format!("a Signer runs on this journal, and is asked: {why}, or stop the Signer")
    })?;
    let path = format!("/PayTool/charges/{}/certificate", asked.charge);
    Ok(remote.get::<Box<RawValue>>(&path).await?.get().to_owned())
}
