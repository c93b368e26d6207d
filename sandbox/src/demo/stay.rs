//! After the story: what can be tried; then every call as it arrives, until Ctrl-C.

use super::paper::Paper;
use super::scheduler::{OPERATOR, OPERATOR_SECRET, Scheduler};
use super::side::Side;
use super::stories::BLOCKED;

use super::{ADMIN_PORT, Error, SIGNER_PORT, called, loops, shown};
use sandbox_platform::{Pace, Running};
use serde_json::json;
use std::path::Path;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast::error::RecvError;

/// Says what can be tried. From then on the sandbox's own subscribers are due to whoever makes a link.
pub(super) async fn prepare(
    paper: &Paper,
    running: &Running,
    scheduler: &Scheduler,
    sides: &[Side],
    place: &Path,
) -> Result<(), Error> {
    running.platform.set_pace(Pace::Live);
    let merchant = loops::Merchant::new(running)?;
    for side in sides {
        // The Signer drops a user for good if the token blocks that user, and the platform's list would not: the
        // books would differ.
        let who = side.family.spell(side.town.people[BLOCKED].wallet.address());
        let free = json!({"kind": "block", "chainId": side.chain, "wallet": who, "on": false});
        merchant.press("fault", free).await?;
    }
    let due = merchant.due().await?;
    paper.title("Everything stays up until Ctrl-C. In another terminal:");
    let program = called();
    let port = match scheduler.port() {
        SIGNER_PORT => String::new(),
        port => format!(" --signer-port {port}"),
    };
    paper.line("  # Bill one more subscriber. Again: the same transaction, nothing new is signed.");
    for side in sides {
        let spare = due.iter().find(|entry| entry["subscribeId"] == side.spare_id());
        let Some(spare) = spare else { continue };
        let file = place.join(format!("{}.json", side.family.key()));
        std::fs::write(&file, format!("{:#}\n", json!([spare])))?;
        let (family, file) = (side.family.key(), shown(&file));
        paper.line(&format!("  {program} curl {family} {file}{port} | sh"));
    }
    let url = &scheduler.url;
    paper.line(&format!("  curl -sS {url}/health/ready"));
    paper.line(&format!("  curl -sS {url}/metrics"));
    for side in sides {
        paper.line(&format!("  {}", side.ask));
    }
    paper.line("  # Move time, or let something go wrong. The console has all of it as buttons.");
    let admin = match running.admin_url.rsplit(':').next().and_then(|port| port.parse().ok()) {
        Some(ADMIN_PORT) | None => String::new(),
        Some(port) => format!(" --admin-port {port}"),
    };
    for command in ["month", "fault revoke --chain 139 --wallet ada", "callbacks", "help"] {
        let admin = if command == "help" { "" } else { &admin };
        paper.line(&format!("  {program} {command}{admin}"));
    }
    paper.line(&format!("  # The console: {}", running.admin_url));
    paper.line(&format!("  # The Signer's page: {url}/, as {OPERATOR} with {OPERATOR_SECRET}"));
    Ok(running.platform.wait_for_a_link()?)
}

/// Shows every call until Ctrl-C.
pub(super) async fn watch(paper: &Paper, running: &Running) -> Result<(), Error> {
    paper.title("Every call, as it arrives:");
    let mut lines = running.platform.lines();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            interrupted = tokio::signal::ctrl_c() => { interrupted?; break }
            _ = terminate.recv() => break,
            _ = hangup.recv() => break,
            line = lines.recv() => match line {
                Ok(line) => paper.line(&format!("  {line}")),
                Err(RecvError::Lagged(missed)) => paper.line(&format!("  … {missed} more …")),
                Err(RecvError::Closed) => break,
            },
        }
    }
    paper.line("");
    Ok(())
}
