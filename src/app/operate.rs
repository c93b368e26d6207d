//! The operator's commands to a running Signer: show its state and events, and pause.

mod instances;
mod status;

use super::remote::{Remote, RemoteError, RemoteNeed};
use crate::http::{EventCharge, EventPage, EventRow};
use clap::{Args, Subcommand};
use config::{Asking, Config};
use jiff::Timestamp;
use serde_json::Value;
use signer_client::id::ChainId;
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Number of an event's charges shown in its line.
const IN_A_LINE: usize = 5;

/// The commands to a running Signer, in the name of a configured caller with the right to give them.
#[derive(Subcommand, Debug)]
pub enum RunningCommand {
    /// Say how the running Signer is; fails when it is not ready.
    Status {
        /// Address of the Signer, and the caller to ask as.
        #[command(flatten)]
        at: At,
    },
    /// Say whether the running Signer serves, whatever its chains do; fails when it does not: what a container is
    /// judged by.
    Health {
        /// Address of the Signer, and the caller to ask as.
        #[command(flatten)]
        at: At,
    },
    /// Let the running Signer sign nothing new.
    Pause {
        /// On this chain alone.
        #[arg(long)]
        chain: Option<u32>,
        /// Why: kept in the history, and told to whoever asks why nothing is signed.
        #[arg(long)]
        why: Option<String>,
        /// Address of the Signer, and the caller to ask as.
        #[command(flatten)]
        at: At,
    },
    /// End the pauses that stand.
    Resume {
        /// On this chain alone.
        #[arg(long)]
        chain: Option<u32>,
        /// Address of the Signer, and the caller to ask as.
        #[command(flatten)]
        at: At,
    },
    /// Say what became of a billing.
    Billing {
        /// Its number, any of its transaction hashes, or its request id.
        id: String,
        /// Address of the Signer, and the caller to ask as.
        #[command(flatten)]
        at: At,
    },
    /// Write what happens as it happens, a line for each event.
    Tail {
        /// Go on after this cursor; without it, from now on.
        #[arg(long)]
        after: Option<String>,
        /// As JSON lines, with everything.
        #[arg(long)]
        json: bool,
        /// Address of the Signer, and the caller to ask as.
        #[command(flatten)]
        at: At,
    },
}

/// Address of the Signer, and the caller to ask as.
#[derive(Args, Debug)]
pub struct At {
    /// Address of the Signer, if not the one it listens on by the configuration: `http://127.0.0.1:9980`.
    #[arg(long)]
    pub server: Option<String>,
    /// The API key of the caller in whose name it is asked, where the configuration cannot be read.
    #[arg(long, requires = "secret_file")]
    pub key: Option<String>,
    /// The file with that caller's secret.
    #[arg(long, requires = "key", requires = "server")]
    pub secret_file: Option<PathBuf>,
}

impl RunningCommand {
    /// By what it is asked: the configuration, in which everything else may be wrong, or the command line alone.
    pub fn asking(&self, config: Option<&Path>) -> Result<Asking, Box<dyn Error>> {
        match (&self.at().key, &self.at().secret_file) {
            (Some(key), Some(file)) => Ok(Asking::as_caller(key, file)?),
            (_, _) => Ok(Config::load_asking(config)?),
        }
    }

    fn at(&self) -> &At {
        match self {
            Self::Status { at }
            | Self::Health { at }
            | Self::Pause { at, .. }
            | Self::Resume { at, .. }
            | Self::Billing { at, .. }
            | Self::Tail { at, .. } => at,
        }
    }
}

/// Does what a command says, and writes what it has to say; tells whether all is well.
pub async fn run(
    asking: &Asking,
    command: &RunningCommand,
    to: &mut dyn Write,
) -> Result<bool, Box<dyn Error>> {
    let said = match command {
        RunningCommand::Status { at } => {
            return status::status(asking, at.server.as_deref(), to).await;
        }
        RunningCommand::Health { at } => {
            return status::health(asking, at.server.as_deref(), to).await;
        }
        RunningCommand::Tail { after, json, at } => {
            let format = if *json { TailFormat::Json } else { TailFormat::Words };
            tail(asking, at.server.as_deref(), after.clone(), format, to).await?;
            return Ok(true);
        }
        RunningCommand::Pause { chain, why, at } => {
            pause(asking, at.server.as_deref(), *chain, why.as_deref()).await?
        }
        RunningCommand::Resume { chain, at } => {
            resume(asking, at.server.as_deref(), *chain).await?
        }
        RunningCommand::Billing { id, at } => billing(asking, at.server.as_deref(), id).await?,
    };
    writeln!(to, "{said}")?;
    Ok(true)
}

/// Pauses a chain, or all of them.
async fn pause(
    asking: &Asking,
    server: Option<&str>,
    chain: Option<u32>,
    why: Option<&str>,
) -> Result<String, RemoteError> {
    let signer = Remote::new(asking, server, RemoteNeed::Control)?.signer();
    let now = signer.pause(chain.map(|chain| ChainId(chain.into())), why).await?;
    let paused = now.iter().filter_map(|one| Some((one.chain_id, one.paused.as_ref()?)));
    let lines: Vec<_> = paused.map(|(chain, why)| format!("chain {chain}: paused {why}")).collect();
    Ok(lines.join("\n"))
}

/// Ends the pauses that stand now, of a chain or of all.
async fn resume(
    asking: &Asking,
    server: Option<&str>,
    chain: Option<u32>,
) -> Result<String, Box<dyn Error>> {
    let signer = Remote::new(asking, server, RemoteNeed::Control)?.signer();
    let resumed = signer.resume(chain.map(|chain| ChainId(chain.into()))).await?;
    if resumed.ended.is_empty() {
        let chains = resumed.chains.iter();
        let known: Vec<_> =
            chains.map(|one| (one.chain_id.to_string(), one.paused_since.is_some())).collect();
        return Ok(nothing_ended(chain, &known)?);
    }
    let still = resumed.chains.iter().filter_map(|one| Some((one.chain_id, one.paused.as_ref()?)));
    let lines = still.map(|(chain, why)| format!("chain {chain}: still paused {why}"));
    let ended = format!("resumed: chain {}", resumed.ended.join(", "));
    Ok(std::iter::once(ended).chain(lines).collect::<Vec<_>>().join("\n"))
}

/// Says of a resume that ended no pause why not; an error if another chain was meant. `known` are the chains of the
/// Signer by their ids, each with true if a caller has paused it.
fn nothing_ended(chain: Option<u32>, known: &[(String, bool)]) -> Result<String, String> {
    let paused: Vec<&str> =
        known.iter().filter(|(_, paused)| *paused).map(|(id, _)| id.as_str()).collect();
    let all: Vec<&str> = known.iter().map(|(id, _)| id.as_str()).collect();
    match chain.map(|chain| chain.to_string()) {
        Some(id) if !all.contains(&id.as_str()) => {
            Err(format!("chain {id} is not configured: the Signer has {}", all.join(", ")))
        }
        Some(id) if !paused.is_empty() => Err(format!(
            "chain {id} is not paused by a caller, and nothing was resumed: paused is {}",
            paused.join(", ")
        )),
        Some(_) | None => Ok("nothing is paused by a caller".to_owned()),
    }
}

/// Returns the status of a billing as JSON. The billing is named by its number, any of its hashes or its request
/// id.
async fn billing(
    asking: &Asking,
    server: Option<&str>,
    id: &str,
) -> Result<String, Box<dyn Error>> {
    let remote = Remote::new(asking, server, RemoteNeed::Read)?;
    let mut url = reqwest::Url::parse("http://signer")?;
    // A bare number would be a request's name there; people have it from the log.
    let is_number = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let id = if is_number { format!("billing:{id}") } else { id.to_owned() };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.extend(["PayTool", "billings", &id]);
    }
    let told: Value = remote.get(url.path()).await?;
    Ok(serde_json::to_string_pretty(&told)?)
}

/// The form of an event's line.
#[derive(Clone, Copy, Debug)]
enum TailFormat {
    Words,
    /// Everything.
    Json,
}

/// Writes what happens, line by line, until there is nobody to read it. Without `after` it begins now.
async fn tail(
    asking: &Asking,
    server: Option<&str>,
    after: Option<String>,
    format: TailFormat,
    to: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let remote = Remote::new(asking, server, RemoteNeed::Read)?;
    let mut after = after.unwrap_or_else(|| "newest".to_owned());
    loop {
        let page: EventPage = remote.get(&format!("/PayTool/events?wait=25&after={after}")).await?;
        for event in &page.events {
            let line = match format {
                TailFormat::Words => line(event),
                TailFormat::Json => serde_json::to_string(event)?,
            };
            writeln!(to, "{line}")?;
        }
        to.flush()?;
        after = page.next;
    }
}

/// An event in one line.
fn line(event: &EventRow) -> String {
    let time = Timestamp::from_second(event.at).map(|time| time.to_string());
    let named = [
        ("chain", event.chain_id.map(|chain| chain.to_string())),
        ("billing", event.billing.clone()),
        ("request", event.request_id.clone()),
        ("transaction", event.tx_hash.clone()),
        ("by", event.by.clone()),
    ];
    let mut words = vec![time.unwrap_or_default(), event.event.clone()];
    words.extend(named.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value?))));
    let mut parts = vec![words.join(" ")];
    parts.extend(event.why.clone());
    let mut charges: Vec<String> = event.charges.iter().take(IN_A_LINE).map(charge).collect();
    if event.charges.len() > IN_A_LINE {
        charges.push(format!("and {} more", event.charges.len().saturating_sub(IN_A_LINE)));
    }
    if !charges.is_empty() {
        parts.push(charges.join(", "));
    }
    parts.join(": ")
}

fn charge(charge: &EventCharge) -> String {
    let EventCharge { subscribe_id, state, fail_code, .. } = charge;
    let why = fail_code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
    format!("{subscribe_id} {state}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resume_of_another_chain_than_the_one_that_is_paused_fails_and_says_so() {
        let known = [("139".to_owned(), true), ("136".to_owned(), false)];
        let told = nothing_ended(Some(138), &known).unwrap_err();
        assert_eq!(told, "chain 138 is not configured: the Signer has 139, 136");
        let told = nothing_ended(Some(136), &known).unwrap_err();
        assert!(told.ends_with("paused is 139"), "{told}");
        let [_, unpaused] = known;
        assert!(nothing_ended(Some(136), &[unpaused]).is_ok());
        assert!(nothing_ended(None, &[]).is_ok());
    }
}
