//! The command line. `serve` is what it does when nothing else is asked.

use billing::PlatformChainId;
use clap::builder::PossibleValuesParser;
use clap::{Parser, Subcommand};
use config::{Config, ConfigErrors, DatabaseUrl};
use journal::{HistoryHead, Renaming, mark_shares_the_disk};
use key_stores::KeyStores;
use keys::SplitKeys;
use merchant_signer::app::ledger_commands::LedgerCommand;
use merchant_signer::app::{
    self, Machine, Sockets, check, claims, copies, first, journal_place, keystores, operate,
};
use merchant_signer::telemetry::{self, SpanSender};
use node::Http;
use std::error::Error;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tracing::warn;

/// Read when --config is not given, if it is there.
const USUAL_CONFIG: &str = "signer.toml";

/// The advice of `init` if one snapshot of a disk would bring the journal and its mark back.
const MARK_BESIDE: &str = "Its mark is on the same disk: set journal.mark_path to a file on another disk, or a \
    snapshot of this disk that is put back is not noticed by it (docs/journal.md).";

/// Bills due subscriptions on EVM chains and on TRON; charges nobody twice for one period.
#[derive(Parser, Debug)]
#[command(version)]
struct Cli {
    /// Configuration file; signer.toml when that exists. Environment variables named
    /// `SIGNER__SECTION__KEY` come on top.
    #[arg(short, long, global = true)]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    #[command(flatten)]
    Configured(Configured),
    #[command(flatten)]
    Running(operate::RunningCommand),
    /// Make a new, empty journal, once per installation. With --network: write a first configuration for
    /// that network instead, and a secret for the scheduler.
    Init {
        /// The network that is billed on.
        #[arg(long, value_parser = PossibleValuesParser::new(first::names()), requires = "chain")]
        network: Option<String>,
        /// The platform's ID of that chain: `chainId` in its lists.
        #[arg(long, requires = "network")]
        chain: Option<u32>,
        /// The directory of the journal, where that is not `data` beside the configuration: /var/lib/merchant-signer.
        #[arg(long, requires = "network", default_value = "data")]
        data: String,
        /// Of a journal on a PostgreSQL server: a file with the URL of the role that is to own its tables in
        /// that database. The role of journal.url is granted what a Signer needs, and nothing else.
        #[arg(long, conflicts_with = "network")]
        owner_url_file: Option<PathBuf>,
    },
    /// Encrypted keystores.
    #[command(subcommand)]
    Keys(keystores::KeysCommand),
    /// Hold the keys of a Signer, which starts this itself.
    #[command(hide = true)]
    HoldKeys {
        /// The configuration was read, and what is needed of it is the standard output.
        #[arg(long)]
        begun: bool,
    },
}

/// The commands that need the whole configuration.
#[derive(Subcommand, Debug)]
enum Configured {
    /// Serve requests (the default).
    Serve,
    /// Check configuration, keys, journal and every chain; fails when something is wrong.
    Check {
        /// Fail also where there is something to be warned of.
        #[arg(long)]
        strict: bool,
    },
    /// Verify every table of the journal against its history, and change nothing. The Signer must not be
    /// running; a copy of the journal of one that runs will do.
    Audit {
        /// Verify this journal, and not the one of the configuration.
        #[arg(long)]
        file: Option<PathBuf>,
        /// A head that was kept elsewhere, ROW:DIGEST, as an earlier audit, the log or the metrics told it:
        /// the journal must hold that very row. May be given several times.
        #[arg(long)]
        kept: Vec<HistoryHead>,
    },
    /// Say what became of a charge that the chain does not tell of. A running Signer writes it down itself, in the
    /// name of a caller that may control.
    Resolve(claims::ResolveCommand),
    /// The networks that the platform's ids of chains stand for.
    #[command(subcommand)]
    Networks(NetworksCommand),
    /// Take claims from one journal to another. The Signer must not be running.
    #[command(subcommand)]
    Claims(ClaimsCommand),
    #[command(flatten)]
    Copies(copies::CopyCommand),
    /// The journal as a whole.
    #[command(subcommand)]
    Journal(copies::JournalCommand),
    #[command(flatten)]
    Ledger(LedgerCommand),
}

#[derive(Subcommand, Debug)]
enum NetworksCommand {
    /// Move a network with everything that the journal knows of it to another id. The Signer must not
    /// be running; rename its section of the configuration as well.
    Rename {
        /// The id that it has.
        from: u32,
        /// The id that it gets.
        to: u32,
        /// Why, for the history.
        #[arg(long)]
        why: String,
    },
    /// Bill a chain as the configuration says from now on: through another contract, or by another name of its
    /// periods. Claims that were taken before do not meet the new ones. No Signer may be running.
    Accept {
        /// The platform's id.
        chain: u32,
        /// Why, for the history.
        #[arg(long)]
        why: String,
    },
}

#[derive(Subcommand, Debug)]
enum ClaimsCommand {
    /// Write every billing that the chain has decided, with its claims, as JSON lines.
    Export {
        /// File to write; standard output otherwise. A file that is there is not replaced.
        #[arg(long)]
        out: Option<PathBuf>,
    },
    /// Add the billings of such a file that the journal does not know: all of it or nothing.
    Import {
        /// The file.
        file: PathBuf,
        /// Why: kept in the history.
        #[arg(long)]
        why: String,
    },
}

impl Command {
    /// Returns true if the command's exit code says if all is well.
    fn answers_by_code(&self) -> bool {
        use operate::RunningCommand::Status;
        matches!(
            self,
            Self::Running(Status { .. })
                | Self::Configured(
                    Configured::Check { .. }
                        | Configured::Audit { .. }
                        | Configured::Ledger(LedgerCommand::Totals(_))
                )
        )
    }
}

/// Returns true if the reader of a command's output is gone, as behind `| head`.
fn reader_is_gone(error: &(dyn Error + 'static)) -> bool {
    let written = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let line = || error.downcast_ref::<serde_json::Error>()?.io_error_kind();
    let row = || {
        let csv::ErrorKind::Io(error) = error.downcast_ref::<csv::Error>()?.kind() else {
            return None;
        };
        Some(error.kind())
    };
    written.or_else(line).or_else(row) == Some(io::ErrorKind::BrokenPipe)
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(code) => code,
        Err(error) if reader_is_gone(error.as_ref()) => {
            // Output that is cut off proves nothing.
            let by_code = cli.command.as_ref().is_some_and(Command::answers_by_code);
            if by_code { ExitCode::FAILURE } else { ExitCode::SUCCESS }
        }
        Err(error) => {
            // Standard error may be closed; there is nobody left to tell then.
            drop(writeln!(io::stderr(), "{error}"));
            let misconfigured = error.is::<ConfigErrors>() || error.is::<first::NoConfig>();
            if misconfigured { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode, Box<dyn Error>> {
    host::confinement::harden_process()?;
    let usual = Path::new(USUAL_CONFIG);
    let path = cli.config.as_deref().or_else(|| usual.exists().then_some(usual));
    match &cli.command {
        Some(Command::Init { network: Some(network), chain: Some(chain), data, .. }) => {
            begin(network, *chain, data, cli.config.as_deref().unwrap_or(usual))?;
        }
        Some(Command::Init { owner_url_file, .. }) => {
            first::refuse_none(path, USUAL_CONFIG)?;
            let journal = Config::load(path)?.journal;
            let owner = owner_url_file.as_deref().map(DatabaseUrl::in_file).transpose()?;
            journal_place::create(&journal, owner.as_ref())?;
            say(&format!("made the journal {journal}"))?;
            if mark_shares_the_disk(&journal) {
                say(MARK_BESIDE)?;
            }
        }
        Some(Command::Keys(command)) => {
            let told = keystores::run(&Config::load_keys(path)?.directory, command)?;
            if !told.is_empty() {
                say(&told)?;
            }
        }
        Some(Command::HoldKeys { begun: false }) => app::hold(path)?,
        Some(Command::HoldKeys { begun: true }) => app::hold_begun()?,
        Some(Command::Running(command)) => return ask(path, command),
        Some(Command::Configured(command)) => return carry_out(path, command),
        None => return carry_out(path, &Configured::Serve),
    }
    Ok(ExitCode::SUCCESS)
}

fn carry_out(path: Option<&Path>, command: &Configured) -> Result<ExitCode, Box<dyn Error>> {
    first::refuse_none(path, USUAL_CONFIG)?;
    let config = Config::load(path)?;
    let sockets = Sockets::handed_over()?;
    let serves = matches!(command, Configured::Serve);
    let lacks = if serves { app::confine(&config) } else { Vec::new() };
    let runtime = app::runtime()?;
    let traces = config.traces.as_ref().filter(|_| serves);
    let spans = runtime
        .block_on(async { traces.map(|to| SpanSender::new(to, config.outbound)).transpose() })?;
    telemetry::start_logging(&config.log, spans.as_ref());
    if let Some(variable) = config.outbound.ignored_proxy() {
        warn!("{variable} is set and not used: see outbound.environment_proxies");
    }
    for lack in lacks {
        warn!("the Signer is not confined: {lack}");
    }
    match command {
        Configured::Serve => runtime.block_on(serve(config, path, sockets, spans))?,
        Configured::Check { strict } => {
            let http = Http::new(config.outbound);
            let (keys, _) = SplitKeys::new(path, Arc::new(KeyStores));
            let machine = Machine { keys: &keys, ..Machine::real(&http) };
            let report = runtime.block_on(check::run(&config, machine));
            say(&report.to_string())?;
            let passed = if *strict { report.passed_strictly() } else { report.passed() };
            return Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Configured::Audit { file, kept } => {
            let (told, holds) = copies::audit(file.as_deref(), &config.journal, kept)?;
            say(&told)?;
            return Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Configured::Resolve(asked) => say(&runtime.block_on(claims::resolve(&config, asked))?)?,
        Configured::Networks(command) => say(&runtime.block_on(networks(&config, command))?)?,
        Configured::Claims(ClaimsCommand::Export { out }) => {
            say(&runtime.block_on(claims::export(&config.journal, out.as_deref()))?)?;
        }
        Configured::Claims(ClaimsCommand::Import { file, why }) => {
            say(&runtime.block_on(claims::import(&config.journal, file, why))?)?;
        }
        Configured::Ledger(asked) => {
            let dial = Http::new(config.outbound);
            let well = runtime.block_on(asked.carry_out(&config, &dial, &mut io::stdout()))?;
            return Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Configured::Journal(command) => say(&copies::carry_out(&config.journal, command)?)?,
        Configured::Copies(command) => say(&copies::run(&config, command)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Carries out a command on networks, and describes the result.
async fn networks(config: &Config, command: &NetworksCommand) -> Result<String, Box<dyn Error>> {
    match command {
        NetworksCommand::Rename { from, to, why } => {
            let (from, to) = (PlatformChainId(*from), PlatformChainId(*to));
            let renaming = Renaming { from, to, why: why.clone() };
            app::networks::rename(&config.journal, renaming).await?;
            Ok(format!("chain {from} is chain {to} now: rename [chains.{from}] as well"))
        }
        NetworksCommand::Accept { chain, why } => {
            app::networks::accept(config, PlatformChainId(*chain), why.clone()).await
        }
    }
}

/// Asks a running Signer, by what can be read of the configuration: nobody waits with a pause until all of it is
/// right again.
fn ask(path: Option<&Path>, command: &operate::RunningCommand) -> Result<ExitCode, Box<dyn Error>> {
    let asking = command.asking(path)?;
    let runtime = app::runtime()?;
    let well = runtime.block_on(operate::run(&asking, command, &mut io::stdout()))?;
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn serve(
    config: Config,
    path: Option<&Path>,
    sockets: Sockets,
    spans: Option<SpanSender>,
) -> Result<(), Box<dyn Error>> {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut hangup = signal(SignalKind::hangup())?;
    let http = Http::new(config.outbound);
    let (keys, mut deaths) = SplitKeys::new(path, Arc::new(KeyStores));
    let machine = Machine { keys: &keys, ..Machine::real(&http) };
    // A standby may wait for its turn for months.
    let running = tokio::select! {
        started = app::start(config, machine, sockets) => started?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
        why = deaths.next() => return Err(why.into()),
    };
    let step_down = running.step_down();
    let ended = loop {
        tokio::select! {
            _ = terminate.recv() => break Ok(()),
            _ = interrupt.recv() => break Ok(()),
            // The operator's supervisor starts the Signer again, and the Signer stands by.
            why = step_down.reason() => break Err(why.into()),
            // Nothing can be signed any more: the same.
            why = deaths.next() => break Err(why.into()),
            _ = hangup.recv() => refuse_hangup(),
        }
    };
    running.shutdown().await;
    if let Some(spans) = spans {
        spans.finish().await;
    }
    ended
}

/// Tells an operator who expects another configuration to be read how to have it read.
fn refuse_hangup() {
    warn!(
        "SIGHUP changes nothing: the configuration is read at a start. Try it with `merchant-signer check`, then \
         restart the Signer"
    );
}

/// Writes a first configuration.
fn begin(network: &str, chain: u32, data: &str, to: &Path) -> Result<(), Box<dyn Error>> {
    let text = first::text(network, chain, data).unwrap_or_default();
    first::write(&text, to)?;
    let of_it =
        if to == Path::new(USUAL_CONFIG) { String::new() } else { format!(" -c {}", to.display()) };
    // A local node has nothing that the merchant alone knows.
    let own = if network == "local" {
        "  sandbox deploy --biller ADDRESS      on a fresh local node, such as anvil"
    } else {
        "  fill in what stands in <…>"
    };
    say(&format!(
        "wrote {}, and secrets for the scheduler and the operator in secrets/ beside it. Next:
  merchant-signer{of_it} keys new billing     and fund the address that it prints
{own}
  merchant-signer{of_it} init
  merchant-signer{of_it} check",
        to.display()
    ))?;
    Ok(())
}

fn say(line: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}
