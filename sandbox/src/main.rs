//! The sandbox: both chains in this process, the platform over them, a merchant with subscribers on each, and the Signer; and the
//! commands that steer a running one.
//!
//! Needs nothing but itself: no network, no other program.

mod control;
mod demo;
mod deploy;

use clap::{Parser, Subcommand, ValueEnum, value_parser};
use demo::scheduler;
use jiff::Timestamp;
use merchant::sign::Credentials;
use merchant_signer::app::export;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The flags that are never beside --ci: the parser waives a requirement that contradicts one of them.
const WITHOUT_CI: [&str; 4] = ["once", "bare", "no_story", "state"];

/// Everything outside a merchant on one machine: two chains, the platform over them, and the Signer. Shows them at work, and leaves them
/// running.
#[derive(Parser, Debug)]
#[command(version)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
struct Cli {
    /// End when everything has been shown.
    #[arg(long)]
    once: bool,
    /// Print all addresses instead, on one line of JSON, when everything is up. With --once: a report; the exit code is 0 if every
    /// expectation held.
    #[arg(long)]
    json: bool,
    /// No story: chains, plans, subscribers and the Signer as they begin.
    #[arg(long, conflicts_with_all = ["once", "bare"])]
    no_story: bool,
    /// For tests: free ports, no story, a block each 100 ms, and time that only blocks and `advance` move. Prints the addresses as
    /// --json does, and ends with the program that started it. With a command behind `--`: ends with that, by its success; the
    /// addresses are in its variable SANDBOX.
    #[arg(long, group = "kind", conflicts_with_all = ["once", "no_story", "state"])]
    ci: bool,
    /// With --ci: so many subscribers on each chain are due from the first link on.
    #[arg(long, requires = "ci", conflicts_with_all = WITHOUT_CI, value_name = "N", default_value_t = 1)]
    subscribers: u8,
    /// With --ci: another number gives other subscription and order numbers, the same one the same.
    #[arg(long, requires = "ci", conflicts_with_all = WITHOUT_CI, value_name = "N", default_value_t = 0)]
    seed: u16,
    /// The date in the sandbox when it begins, not before this machine's: 2027-01-31, or 2027-01-31T12:00:00Z.
    #[arg(long, value_parser = export::time, value_name = "TIME")]
    at: Option<Timestamp>,
    /// Write the addresses to this file as well, when everything is up.
    #[arg(long, conflicts_with = "once")]
    ready_file: Option<PathBuf>,
    /// Only the chains and the platform: no story, no subscribers, no Signer. Its configuration is written all the same.
    #[arg(long, group = "kind", conflicts_with = "once")]
    bare: bool,
    /// With --bare or --ci: make a block on each chain so often (ms), with a clock that runs ahead, instead of one in every slot.
    #[arg(long, requires = "kind", value_name = "MS", value_parser = value_parser!(u64).range(1..))]
    beat: Option<u64>,
    /// Port of the Ethereum JSON-RPC: 8545, or any free port if that is taken.
    #[arg(long)]
    evm_port: Option<u16>,
    /// Port of the TRON HTTP API: 8090, or any free port if that is taken.
    #[arg(long)]
    tron_port: Option<u16>,
    /// Port of the Signer: 9980, or any free port if that is taken.
    #[arg(long, global = true)]
    signer_port: Option<u16>,
    /// Port of the platform's API: 7100, or any free port if that is taken; its payment pages and its console have
    /// the next two.
    #[arg(long)]
    platform_port: Option<u16>,
    /// Keep everything here: chains, platform, Signer. Existing contents are used again.
    #[arg(long)]
    state: Option<PathBuf>,
    #[command(flatten)]
    console: control::Where,
    #[command(subcommand)]
    command: Option<Command>,
    /// With --ci: the command to live as long as.
    #[arg(last = true, requires = "ci", conflicts_with_all = WITHOUT_CI)]
    run: Vec<String>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Print the curl command that posts a body to the running Signer, signed now and good for a minute.
    Curl {
        /// Which chain it is for.
        family: Named,
        /// A file with the body, or - for standard input.
        body: PathBuf,
        /// The key of the caller that signs the request; its secret is in --secret-file. The sandbox's scheduler
        /// otherwise.
        #[arg(long, requires = "secret_file")]
        key: Option<String>,
        /// As `merchant-signer init` wrote it: secrets/scheduler.
        #[arg(long, requires = "key")]
        secret_file: Option<PathBuf>,
    },
    /// Put what a Signer bills on a local node, such as anvil: a token, the reference contract, a plan, subscribers.
    Deploy(deploy::Deploy),
    #[command(flatten)]
    Control(control::Control),
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Named {
    Evm,
    Tron,
}

fn main() -> ExitCode {
    let started = Instant::now();
    let cli = Cli::parse();
    let done = match &cli.command {
        Some(Command::Curl { family, body, key, secret_file }) => {
            let caller = key.as_deref().zip(secret_file.as_deref());
            curl(*family, body, caller, cli.signer_port)
        }
        Some(Command::Deploy(deploy)) => on_one_thread(deploy.carry_out()),
        Some(Command::Control(control)) => steer(control, cli.console),
        None => show(&cli, started),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Standard error may be closed; there is nobody left to tell then.
            drop(writeln!(io::stderr(), "{error}"));
            ExitCode::FAILURE
        }
    }
}

fn show(cli: &Cli, started: Instant) -> Result<bool, demo::Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Nobody comes back to the usual ones: the addresses are told.
    let port = |asked: Option<u16>| asked.or(cli.ci.then_some(0));
    let options = demo::Options {
        once: cli.once,
        json: cli.json || (cli.ci && cli.run.is_empty()),
        story: !cli.no_story,
        at_ms: cli.at.map(|at| u64::try_from(at.as_millisecond())).transpose()?,
        ready_file: cli.ready_file.clone(),
        beat: cli.beat.map(Duration::from_millis),
        evm_port: port(cli.evm_port),
        tron_port: port(cli.tron_port),
        signer_port: port(cli.signer_port),
        platform_port: port(cli.platform_port),
        state: cli.state.clone(),
        started,
    };
    options.refuse_no_place()?;
    if cli.bare {
        return runtime.block_on(demo::bare::run(options));
    }
    if cli.ci {
        let (subscribers, seed, command) = (cli.subscribers.into(), cli.seed, cli.run.clone());
        let service = demo::ci::Service { subscribers, seed, command };
        return runtime.block_on(demo::ci::run(options, service));
    }
    runtime.block_on(demo::run(options))
}

fn steer(control: &control::Control, at: control::Where) -> Result<bool, demo::Error> {
    on_one_thread(control::ask(control, at))
}

fn on_one_thread(
    work: impl Future<Output = Result<bool, demo::Error>>,
) -> Result<bool, demo::Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn curl(
    family: Named,
    body: &Path,
    caller: Option<(&str, &Path)>,
    port: Option<u16>,
) -> Result<bool, demo::Error> {
    let mut text = String::new();
    if body == Path::new("-") {
        io::stdin().read_to_string(&mut text)?;
    } else {
        text = read(body, "name a file with the body, or - for standard input")?;
    }
    let path = match family {
        Named::Evm => merchant::signer::Family::Evm.path(),
        Named::Tron => merchant::signer::Family::Tvm.path(),
    };
    let caller = match caller {
        None => Credentials::new(scheduler::CALLER, scheduler::SECRET),
        Some((key, file)) => {
            let secret = read(file, "name the file with the caller's secret as --secret-file")?;
            Credentials::new(key, secret.trim_end())
        }
    };
    let url = format!("http://127.0.0.1:{}", port.unwrap_or(demo::SIGNER_PORT));
    writeln!(io::stdout(), "{}", scheduler::curl(&url, path, &caller, text.trim()))?;
    Ok(true)
}

/// Reads a file that the command line names; an error says what to do.
fn read(path: &Path, advice: &str) -> Result<String, String> {
    std::fs::read_to_string(path)
        .map_err(|why| format!("{} cannot be read ({why}): {advice}", path.display()))
}
