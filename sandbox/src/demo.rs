//! What is shown, in order: the chains, the Signer's start, a batch on each chain, and what came of it.

mod batch;
mod doors;
mod evm;
mod paper;
mod report;
pub(crate) mod scheduler;
mod side;
mod signer;
mod stories;
mod tron;

use paper::Paper;
use report::Report;
use scheduler::Scheduler;
use side::Side;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};

/// Whatever keeps the demonstration from going on.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// Where the Signer listens if nothing else is asked.
pub(crate) const SIGNER_PORT: u16 = 9980;

/// What was asked on the command line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// End when everything has been shown.
    pub(crate) once: bool,
    /// A report instead of a story.
    pub(crate) json: bool,
    /// Port of the Ethereum JSON-RPC.
    pub(crate) evm_port: Option<u16>,
    /// Port of the TRON HTTP API.
    pub(crate) tron_port: Option<u16>,
    /// Port of the Signer.
    pub(crate) signer_port: Option<u16>,
    /// When the process began.
    pub(crate) started: Instant,
}

impl Options {
    /// How often blocks are made: as often as a person can follow, or as fast as a test wants it.
    fn beat(&self) -> Duration {
        if self.once { Duration::from_millis(200) } else { Duration::from_secs(1) }
    }

    /// The port to ask for: the usual one only where people come back to it.
    fn port(&self, asked: Option<u16>, usual: u16) -> doors::Wanted {
        match asked {
            Some(port) => doors::Wanted::Exactly(port),
            None if self.once => doors::Wanted::Any,
            None => doors::Wanted::Rather(usual),
        }
    }
}

/// Shows everything. False if something was not as expected.
pub(crate) async fn run(options: Options) -> Result<bool, Error> {
    let paper = Paper::new(options.json);
    let place = tempfile::tempdir()?;
    paper.title("Two chains in this process, each with a token, the reference contract, a plan that two admins approved, and twelve subscribers.");
    let (evm, tron) =
        tokio::join!(evm::found(&options, place.path()), tron::found(&options, place.path()));
    let sides = [evm?, tron?];
    for side in &sides {
        paper.line(&format!("  {:<5} platform chain id {}", side.family.name(), side.chain));
        for (what, url) in &side.doors {
            paper.line(&format!("        {what:<19} {url}"));
        }
    }
    paper.title("The Signer starts, by the same call as the real program.");
    let running = signer::start(&options, place.path(), &sides).await?;
    let scheduler = Scheduler::new(&format!("http://{}", running.address))?;
    paper.line(&format!("  {}", scheduler.url));
    paper.line(&format!("  configuration: {}", place.path().join(signer::CONFIG).display()));
    let mut report = Report::default();
    for side in &sides {
        let outcome = batch::bill(&options, &paper, &scheduler, side).await?;
        report.0.insert(side.family.key(), outcome);
    }
    let held = report.held();
    if options.json {
        paper::print(&report)?;
    } else if !options.once {
        stay(&paper, &scheduler, &sides, &place).await?;
    }
    running.shutdown().await;
    Ok(held)
}

/// Says what can be tried, and waits for Ctrl-C.
async fn stay(
    paper: &Paper,
    scheduler: &Scheduler,
    sides: &[Side],
    place: &TempDir,
) -> Result<(), Error> {
    paper.title("Everything stays up until Ctrl-C. In another terminal:");
    let port = match scheduler.port() {
        SIGNER_PORT => String::new(),
        port => format!(" --signer-port {port}"),
    };
    paper.line("  # Bill one more subscriber. Again: the same transaction, nothing new is signed.");
    for side in sides {
        let file = place.path().join(format!("{}.json", side.family.key()));
        std::fs::write(&file, format!("{:#}\n", side.spare()))?;
        let (family, file) = (side.family.key(), file.display());
        paper.line(&format!("  cargo run -qp sandbox -- curl {family} {file}{port} | sh"));
    }
    let url = &scheduler.url;
    paper.line(&format!("  curl -s {url}/health/ready"));
    paper.line(&format!("  curl -s {url}/metrics"));
    for side in sides {
        paper.line(&format!("  {}", side.ask));
    }
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        _ = terminate.recv() => {}
    }
    paper.line("");
    Ok(())
}
