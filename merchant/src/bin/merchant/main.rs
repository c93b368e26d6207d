//! The command line of the merchant's side: one file per command in `command/`, what they are told in
//! `settings`, how they answer in `output`.

#[cfg(not(feature = "program"))]
compile_error!("the program needs its feature: cargo build -p merchant --features program");

mod command;
mod output;
mod settings;

use clap::Parser;
use command::{Command, Context};
use output::Output;
use settings::Settings;
use std::path::PathBuf;
use std::process::ExitCode;

/// Everything a merchant does with the platform and the Signer: links, lists, recharges,
/// withdrawals, callbacks.
#[derive(Parser, Debug)]
#[command(version)]
struct Cli {
    /// Configuration file; merchant.toml when that exists. Environment variables named
    /// `MERCHANT__SECTION__KEY` come on top.
    #[arg(short, long, global = true)]
    config: Option<PathBuf>,
    /// Answer with JSON: the platform's own words, digit for digit.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output { json: cli.json };
    let done = async {
        let settings = Settings::load(cli.config.as_deref())?;
        let context = Context { settings, output };
        // The futures of the commands are large.
        Box::pin(command::run(cli.command, &context)).await
    };
    match done.await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.tell(),
    }
}
