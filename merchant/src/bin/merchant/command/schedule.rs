//! `merchant schedule`.

use super::Context;
use crate::Cli;
use crate::output::Failure;
use clap::CommandFactory as _;
use clap::error::ErrorKind;
use merchant::schedule::{ChainFamily, Connections, ScheduleOptions};
use std::io::IsTerminal as _;

pub(crate) async fn run(mut options: ScheduleOptions, context: &Context) -> Result<(), Failure> {
    if let Err(why) = ChainFamily::each_once(&options.chains) {
        // Arguments that contradict each other, and no failure of a run.
        Cli::command().error(ErrorKind::ArgumentConflict, why).exit();
    }
    let failed = |error: merchant::schedule::ScheduleError| Failure::Known(error.into());
    if options.status {
        return merchant::schedule::status(&options).map_err(failed);
    }
    let settings = &context.settings;
    if options.chains.is_empty() {
        options.chains = settings.chains().to_vec();
    }
    options.clock = options.clock.or_else(|| settings.clock().cloned());
    let inbox = settings.inbox();
    let connections = Connections {
        platform: settings.client()?,
        signer: settings.signer()?,
        inbox: inbox.and_then(|inbox| Some((inbox.url.clone()?, inbox.credentials.clone()))),
    };
    start_logging();
    merchant::schedule::schedule(options, connections).await.map_err(failed)
}

/// Log lines of the programs that run on, to standard error.
pub(super) fn start_logging() {
    let lines = tracing_subscriber::fmt()
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .with_writer(std::io::stderr);
    // Another logger that is there already is as good.
    lines.try_init().unwrap_or_default();
}
