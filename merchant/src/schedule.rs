//! The scheduler, `merchant schedule`: bills what the platform calls due, through the Signer, and
//! reconciles what the platform lists, what the Signer's transactions did, and what callbacks say.
//!
//! | module | what it owns |
//! | --- | --- |
//! | `standing` | where a subscription stands, and the whole transition table. Pure |
//! | `terms`, `plan`, `answer`, `reconcile` | changes of entries, batches, what answers mean, where books differ. Pure |
//! | `rules` | the times and limits that decisions obey |
//! | `book` | the state on disk |
//! | `run` | the loop, which carries the decisions out |
//! | `options`, `server`, `metrics` | the program around it |

mod answer;
mod book;
mod entry;
mod feed;
mod metrics;
mod options;
mod plan;
mod reconcile;
mod rehearse;
mod rules;
mod run;
mod server;
mod standing;
mod terms;

pub use options::{
    ChainAndId, ChainFamily, ChainFamilyError, ChainTwice, Connections, ScheduleOptions,
};
pub use run::RunReport;
pub use standing::Whereabouts;

use crate::error::CallError;
use crate::pause_clock::PauseClock;
use crate::stop::stopped;
use crate::store::StoreError;
use crate::time::UnixSeconds;
use crate::transport::SetupError;
use book::Book;
use metrics::Metrics;
use run::Scheduler;
use std::fmt::Display;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::task::JoinSet;

/// Between two looks at what is due for another post or another look.
const TICK: Duration = Duration::from_secs(1);

/// Why the scheduler ended.
#[derive(Debug, Error)]
pub enum ScheduleError {
    /// The state cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An address or a key is not usable.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The chains to bill on contradict themselves.
    #[error(transparent)]
    Chains(#[from] ChainTwice),
    /// Runs without a pause between them would ask everybody all the time.
    #[error("the interval between two runs is 0: make it a second at least")]
    NoInterval,
    /// A call that nothing can be done without.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The page for health and metrics, or standard output.
    #[error("{what}: {why}")]
    Io {
        /// The action that was tried.
        what: &'static str,
        /// The system's message.
        why: std::io::Error,
    },
    /// `--once` could not do everything. The part that it did is durable.
    #[error("this run could not do everything: {0}")]
    Faults(String),
}

/// Runs `merchant schedule` until it is told to stop, or once.
pub async fn schedule(
    options: ScheduleOptions,
    connections: Connections,
) -> Result<(), ScheduleError> {
    options.check()?;
    if options.dry_run {
        return rehearse::rehearse(&connections.peers()?, &options.setup()).await;
    }
    if options.once {
        return once(&run_once(&options, connections).await?);
    }
    let mut scheduler = open(&options, connections)?;
    let metrics = Arc::clone(&scheduler.metrics);
    let mut pages = JoinSet::new();
    if let Some(address) = options.listen {
        let stale_after = options.interval.saturating_mul(3);
        server::serve(&mut pages, address, metrics, stale_after).await?;
    }
    tokio::select! {
        ended = forever(&mut scheduler, options.pause()) => ended,
        // Anything that is cut off here was durable before it was sent, and is taken up by the next start.
        () = stopped() => Ok(()),
    }
}

/// Makes one whole run, as `--once` does, and returns its report. Faults of the run are in the report.
pub async fn run_once(
    options: &ScheduleOptions,
    connections: Connections,
) -> Result<RunReport, ScheduleError> {
    open(options, connections)?.run().await
}

fn open(options: &ScheduleOptions, connections: Connections) -> Result<Scheduler, ScheduleError> {
    options.check()?;
    let (peers, setup) = (connections.peers()?, options.setup());
    let (book, metrics) = (Book::open(&options.state)?, Arc::new(Metrics::new()));
    let clock = PauseClock::of(options.clock.as_ref());
    Ok(Scheduler { book, peers, setup, metrics, clock })
}

/// Returns the standing of a subscription, by the platform's ids of the chain and of the subscription; `None` if no
/// list ever named it. May be asked beside a scheduler that runs.
pub fn whereabouts(
    options: &ScheduleOptions,
    chain: i64,
    id: i64,
) -> Result<Option<Whereabouts>, ScheduleError> {
    let standing = Book::beside(&options.state)?.standing((chain, id))?;
    Ok(standing.map(Whereabouts::from))
}

/// Prints the standing of everything, or of one subscription, for people: `--status`. Needs no connections.
pub fn status(options: &ScheduleOptions) -> Result<(), ScheduleError> {
    let Some(of) = options.of else { return stands(&Book::beside(&options.state)?) };
    match whereabouts(options, of.chain, of.id)? {
        Some(found) => say(&found),
        None => say(&format_args!("no list has ever named {}/{}", of.chain, of.id)),
    }
}

fn once(report: &RunReport) -> Result<(), ScheduleError> {
    say(report)?;
    if report.faults.is_empty() {
        Ok(())
    } else {
        Err(ScheduleError::Faults(report.faults.join("; ")))
    }
}

async fn forever(scheduler: &mut Scheduler, pause: Duration) -> Result<(), ScheduleError> {
    loop {
        say(&scheduler.run().await?)?;
        let next = tokio::time::Instant::now().checked_add(pause);
        while next.is_some_and(|next| tokio::time::Instant::now() < next) {
            tokio::time::sleep(TICK.min(pause)).await;
            scheduler.clock.follow().await;
            let mut between = RunReport::default();
            scheduler.post_all(&mut between).await?;
            scheduler.tend(&mut between).await?;
        }
    }
}

fn stands(book: &Book) -> Result<(), ScheduleError> {
    for (word, count) in book.census()? {
        say(&format_args!("{count:>9} subscriptions {word}"))?;
    }
    let (open, waiting) = (book.open_flights()?.0, book.waiting_letters()?);
    say(&format_args!("{open:>9} transactions open\n{waiting:>9} letters for the inbox"))?;
    for (difference, since_ms) in book.named()? {
        let since = UnixSeconds(since_ms.div_euclid(1000));
        say(&format_args!("{} since {since}: {}", difference.kind.word(), difference.subject))?;
    }
    Ok(())
}

/// One line on standard output.
fn say(line: &dyn Display) -> Result<(), ScheduleError> {
    let failed = |why| ScheduleError::Io { what: "standard output", why };
    writeln!(std::io::stdout(), "{line}").map_err(failed)
}
