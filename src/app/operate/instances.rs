//! The part of `merchant-signer status` about the Signers that share the journal.

use serde::Deserialize;
use std::io::{Result, Write};

/// One of them, as readiness tells it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReadyInstance {
    name: String,
    start: String,
    version: String,
    state: String,
    silent_seconds: u64,
    clock: String,
    unfit: Option<String>,
    differs: Vec<String>,
}

pub(super) fn show(instance: &ReadyInstance, to: &mut dyn Write) -> Result<()> {
    let ReadyInstance { name, start, version, state, silent_seconds, clock, unfit, differs } =
        instance;
    let does = if state == "serves" { "serves" } else { "stands by" };
    writeln!(
        to,
        "instance {name} {does}: start {start}, version {version}, heard of {silent_seconds} s ago"
    )?;
    if clock != "ok" {
        writeln!(to, "  {clock}")?;
    }
    if let Some(unfit) = unfit {
        writeln!(to, "  could bill nothing now: {unfit}")?;
    }
    if !differs.is_empty() {
        writeln!(to, "  configured otherwise than the one that serves: {}", differs.join(", "))?;
    }
    Ok(())
}
