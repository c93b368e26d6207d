//! The state of a running Signer, in lines for people.

use super::instances::{self, ReadyInstance};
use crate::app::remote::{Remote, RemoteError, RemoteNeed};
use config::Asking;
use serde::Deserialize;
use serde_json::Value;
use signer_client::full::Full;
use signer_client::signer::ChainControl;
use std::error::Error;
use std::io::Write;

/// The part of `GET /health/ready` that is shown.
#[derive(Deserialize)]
struct Readiness {
    status: String,
    journal: String,
    instances: Vec<ReadyInstance>,
    chains: Vec<ReadyChain>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadyChain {
    chain_id: u32,
    name: String,
    status: String,
    head: Option<u64>,
    undecided: usize,
    held_up: Vec<HeldUp>,
    accounts: Vec<ReadyAccount>,
    nodes: Vec<ReadyNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReadyAccount {
    address: String,
    status: String,
    undecided: usize,
    billings_left: Option<u64>,
}

#[derive(Deserialize)]
struct HeldUp {
    batch: i64,
    why: String,
}

#[derive(Deserialize)]
struct ReadyNode {
    node: String,
    state: String,
    head: Option<u64>,
}

/// Writes how the Signer is; tells whether it is ready.
pub(super) async fn status(
    asking: &Asking,
    server: Option<&str>,
    to: &mut dyn Write,
) -> Result<bool, Box<dyn Error>> {
    let asks = Remote::new(asking, server, RemoteNeed::Control);
    let (remote, may_control) = match asks {
        Ok(remote) => (remote, true),
        Err(_) => (Remote::new(asking, server, RemoteNeed::Read)?, false),
    };
    let apart = asking.health_listen.filter(|_| server.is_none());
    let ready: Readiness = remote.open(apart, "/health/ready").await?;
    // Readiness is told to anybody and signed for nobody: an answer with a proof shows that the Signer is there.
    let controlled: Vec<Full<ChainControl>> = if ready.status == "standby" {
        Vec::new() // One that stands by controls nothing.
    } else if may_control {
        remote.signer().control().await.map_err(RemoteError::from)?
    } else {
        remote.get::<Value>("/PayTool/events?after=newest&limit=1").await.map(|_| Vec::new())?
    };
    writeln!(to, "{}", ready.status)?;
    writeln!(to, "journal: {}", ready.journal)?;
    for instance in &ready.instances {
        instances::show(instance, to)?;
    }
    for chain in &ready.chains {
        show(chain, controlled.iter().find(|one| one.chain_id.0 == i64::from(chain.chain_id)), to)?;
    }
    Ok(ready.status == "ready")
}

/// The part of `GET /health/serving` that is shown.
#[derive(Deserialize)]
struct Serving {
    status: String,
    journal: String,
}

/// Writes whether the Signer serves; tells the same.
pub(super) async fn health(
    asking: &Asking,
    server: Option<&str>,
    to: &mut dyn Write,
) -> Result<bool, Box<dyn Error>> {
    let remote = Remote::new(asking, server, RemoteNeed::Nothing)?;
    let apart = asking.health_listen.filter(|_| server.is_none());
    let Serving { status, journal } = remote.open(apart, "/health/serving").await?;
    writeln!(to, "{status}; journal: {journal}")?;
    Ok(status == "serving")
}

fn show(
    chain: &ReadyChain,
    controlled: Option<&Full<ChainControl>>,
    to: &mut dyn Write,
) -> std::io::Result<()> {
    let at = |head: Option<u64>| head.map_or_else(|| "unseen".to_owned(), |head| head.to_string());
    let ReadyChain { chain_id, name, status, head, undecided, .. } = chain;
    writeln!(to, "chain {chain_id}, {name}: {status}; head {}, {undecided} open", at(*head))?;
    for HeldUp { batch, why } in &chain.held_up {
        writeln!(to, "  held up: billing {batch}: {why}")?;
    }
    let several = chain.accounts.len() > 1;
    for account in chain.accounts.iter().filter(|_| several) {
        let ReadyAccount { address, status, undecided, billings_left } = account;
        let left = billings_left.map_or_else(|| "?".to_owned(), |left| left.to_string());
        writeln!(to, "  account {address}: {status}; {undecided} open, pays for {left} more")?;
    }
    for ReadyNode { node, state, head } in &chain.nodes {
        writeln!(to, "  node {node}: {state}, head {}", at(*head))?;
    }
    let Some(controlled) = controlled else { return Ok(()) };
    if let Some(paused) = &controlled.paused {
        writeln!(to, "  paused {paused}")?;
    }
    writeln!(to, "  limits: {}", controlled.policy)?;
    for sum in &controlled.spent_in_words {
        writeln!(to, "  today: {sum}")?;
    }
    Ok(())
}
