//! The demonstration, in order: the chains and the platform, the Signer's start, a batch on each chain, and the
//! whole loop of a merchant; then everything stays up.

pub(crate) mod bare;
mod batch;
pub(crate) mod ci;
mod closing;
mod doors;
mod front;
mod loops;
mod paper;
mod report;
pub(crate) mod scheduler;
pub(crate) mod side;
mod sides;
mod signer;
mod stay;
mod stories;

use bare::addresses;
use paper::Paper;
use report::Report;
use sandbox_platform::clock::Clock;
use sandbox_platform::{Options as Setup, Pace, Platform, Port, Ports, Running};
use scheduler::Scheduler;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Any error that keeps the demonstration from going on.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// The Signer's port if nothing else is asked.
pub(crate) const SIGNER_PORT: u16 = 9980;

/// The port of the platform's console and the sandbox's controls if nothing else is asked.
pub(crate) const ADMIN_PORT: u16 = 7102;

/// A month of the plans.
const MONTH: Duration = Duration::from_hours(30 * 24);

/// Pause between blocks while something is shown.
const BEAT: Duration = Duration::from_millis(200);

/// The options asked for on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// End when everything has been shown.
    pub(crate) once: bool,
    /// A report instead of a story.
    pub(crate) json: bool,
    /// Pause between blocks where only the chains and the platform run, if blocks are not made in every slot.
    pub(crate) beat: Option<Duration>,
    /// Tell the story; otherwise everything stays as it begins.
    pub(crate) story: bool,
    /// The time at which the sandbox begins (Unix ms); the machine's if nothing is said.
    pub(crate) at_ms: Option<u64>,
    /// A file in which all addresses are written when everything is up.
    pub(crate) ready_file: Option<PathBuf>,
    /// The directory that keeps everything; in memory and a scratch directory if none.
    pub(crate) state: Option<PathBuf>,
    /// Port of the Ethereum JSON-RPC.
    pub(crate) evm_port: Option<u16>,
    /// Port of the TRON HTTP API.
    pub(crate) tron_port: Option<u16>,
    /// Port of the Signer.
    pub(crate) signer_port: Option<u16>,
    /// Port of the platform's API; its payment pages and its console have the next two.
    pub(crate) platform_port: Option<u16>,
    /// When the process began.
    pub(crate) started: Instant,
}

impl Options {
    /// The port to ask for: the usual one only where people come back to it.
    fn port(&self, asked: Option<u16>, usual: u16) -> Port {
        match asked {
            Some(port) => Port::given(port),
            None if self.once => Port::Any,
            None => Port::Rather(usual),
        }
    }

    /// The clock to begin with.
    fn clock(&self) -> Result<Clock, Error> {
        let Some(at_ms) = self.at_ms else { return Ok(Clock::new(0)) };
        if self.state.as_deref().is_some_and(sandbox_platform::is_founded) {
            return Err(
                "--at is for a new state: this one has a time of its own, and `advance` moves it"
                    .into(),
            );
        }
        let ahead_ms = at_ms.checked_sub(Clock::new(0).machine_ms());
        Ok(Clock::new(
            ahead_ms.ok_or("--at is in the past: time in the sandbox is ahead of the machine's")?,
        ))
    }

    /// Tells the addresses to whoever started it.
    fn tell(&self, addresses: &serde_json::Value) -> Result<(), Error> {
        if let Some(file) = &self.ready_file {
            let part = file.with_extension("part");
            let written = std::fs::write(&part, format!("{addresses:#}\n"));
            written.and_then(|()| std::fs::rename(part, file)).map_err(|why| {
                format!("--ready-file {} cannot be written: {why}", file.display())
            })?;
        }
        if self.json && !self.once {
            paper::line(addresses)?;
        }
        Ok(())
    }

    /// Refuses a file for the addresses that could not be written in the end.
    pub(crate) fn refuse_no_place(&self) -> Result<(), Error> {
        let file = self.ready_file.as_deref().unwrap_or(Path::new(""));
        match file.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            Some(directory) if !directory.is_dir() => Err(format!(
                "--ready-file {}: there is no directory {}. Make it first",
                file.display(),
                directory.display()
            )
            .into()),
            Some(_) | None => Ok(()),
        }
    }

    fn ports(&self) -> Ports {
        let asked = |step: u16| {
            self.platform_port.map(|port| if port == 0 { 0 } else { port.saturating_add(step) })
        };
        Ports {
            api: self.port(asked(0), ADMIN_PORT - 2),
            pay: self.port(asked(1), ADMIN_PORT - 1),
            admin: self.port(asked(2), ADMIN_PORT),
            evm: self.port(self.evm_port, 8545),
            tron: self.port(self.tron_port, 8090),
        }
    }
}

/// Shows everything. False if something was not as expected.
pub(crate) async fn run(options: Options) -> Result<bool, Error> {
    let paper = Paper::new(options.json);
    let scratch = tempfile::tempdir()?;
    let place = signer::make(options.state.as_deref().unwrap_or(scratch.path()))?;
    let fresh = !signer::is_installed(&place);
    let platform = found(&options, fresh).await?;
    let running = platform.serve(options.ports()).await?;
    let sides = sides::both(&running, &place);
    paper.title("Two chains in this process, each with a token, the reference contract, a plan that two admins approved, and twelve subscribers.");
    tell(&paper, &running, &sides);
    paper.title("The Signer starts, by the same call as the real program.");
    let (signer, address) = signer::start(&options, &place, &sides, &running.platform).await?;
    let scheduler = Scheduler::new(&format!("http://{address}"), &running, &place)?;
    paper.line(&format!("  {}", scheduler.url));
    for (key, secret, what) in [
        (scheduler::CALLER, scheduler::SECRET, "to bill"),
        (scheduler::OPERATOR, scheduler::OPERATOR_SECRET, "to pause and resume"),
    ] {
        paper.line(&format!("  key {key}, secret {secret}: {what}"));
    }
    paper.line(&format!("  configuration: {}", place.join(signer::CONFIG).display()));
    let mut report = Report::default();
    if fresh && options.story {
        for side in &sides {
            let outcome = batch::bill(&options, &paper, &scheduler, side).await?;
            report.sides.insert(side.family.key(), outcome);
        }
        report.platform = loops::show(&paper, &running, &scheduler, &sides).await?;
    }
    let ends = options.once;
    if fresh && options.story && !ends {
        // So that something is due for whoever comes now: the story has billed everybody.
        running.platform.advance(MONTH).await?;
    }
    if !ends {
        stay::prepare(&paper, &running, &scheduler, &sides, &place).await?;
        let config = place.join(signer::CONFIG);
        options.tell(&addresses(&running, &config, Some(&scheduler.url)))?;
        stay::watch(&paper, &running).await?;
    }
    signer.shutdown().await;
    if ends {
        report.journal = closing::close(&paper, &place).await?;
    }
    if options.json && ends {
        paper::print(&report)?;
    }
    running.shutdown().await;
    Ok(report.held())
}

/// Founds the platform, or takes up the stored one. The actions of the dozen in the batches happen once.
async fn found(options: &Options, fresh: bool) -> Result<Platform, Error> {
    let setup = Setup {
        state: options.state.clone(),
        pace: if fresh { Pace::Fast(BEAT) } else { Pace::Live },
        people: stories::PEOPLE,
        trial: stories::TRIAL,
        seed: 0,
        clock: options.clock()?,
    };
    let platform = tokio::task::spawn_blocking(move || {
        let platform = Platform::found(&setup)?;
        if fresh {
            let [evm, tron] = platform.sides();
            stories::happen(&platform.nodes().evm, &evm.town);
            stories::happen(&platform.nodes().tron, &tron.town);
        }
        Ok::<_, Error>(platform)
    });
    let platform = platform.await??;
    if fresh {
        platform.finalise().await?;
    }
    Ok(platform)
}

fn tell(paper: &Paper, running: &Running, sides: &[side::Side]) {
    for side in sides {
        paper.line(&format!("  {:<5} platform chain id {}", side.family.name(), side.chain));
        for (what, url) in &side.doors {
            paper.line(&format!("        {what:<19} {url}"));
        }
        let contracts = [
            ("contract", side.town.billing),
            ("token", side.town.token),
            ("merKey", side.town.mer_key),
        ];
        for (what, address) in contracts {
            paper.line(&format!("        {what:<19} {}", side.family.spell(address)));
        }
    }
    paper.title("The platform, over both of them.");
    let credentials = running.platform.credentials();
    for (what, value) in [
        ("{base_url}", &running.base_url),
        ("{payment_url}", &running.payment_url),
        ("{admin_url}", &running.admin_url),
        ("API key", &credentials.key),
        ("API secret", &credentials.secret),
    ] {
        paper.line(&format!("  {what:<14} {value}"));
    }
}

/// The words that start this program again, as it was started.
pub(crate) fn called() -> String {
    // Cargo says so to the programs that it runs.
    if std::env::var_os("CARGO").is_some() {
        return "cargo run -qp sandbox --".to_owned();
    }
    std::env::args().next().unwrap_or_else(|| "sandbox".to_owned())
}

/// A path for people.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
