//! One way to start: `main` and every test call [`start`], and differ by their configuration only.
//! [`assemble`] is the same without a port, for whoever brings a world of his own.

pub mod charges;
pub mod check;
pub mod claims;
mod confine;
mod connect;
pub mod copies;
pub mod export;
pub mod first;
mod fitness;
mod gates;
mod handover;
mod head;
mod hold_keys;
mod keyring;
pub mod keystores;
mod lanes;
mod limits;
mod lines;
pub mod networks;
pub mod operate;
mod refusals;
pub mod remote;
mod renewal;
mod rules;
mod setup;
mod sockets;
mod standby;
mod supervisor;
pub mod totals;
mod watch;
mod webhook;
mod webhook_cursor;

pub use confine::confine;
pub use connect::ConnectError;
pub use fitness::GivesWay;
pub use hold_keys::{HoldError, hold};
pub use lanes::Orphans;
pub use sockets::Sockets;

use crate::auth::{CallerError, Callers};
use crate::http::{self, AppState};
use crate::telemetry::WebhookFigures;
use axum::Router;
use config::{Config, JournalPlace};
use connect::Connected;
use door::{Handshakes, serve};
use engine::{Engine, Watcher};
use futures_util::future::join_all;
use host::clock::Clock;
use journal::{Journal, JournalError, OpenError, Refusals, RegularBackups, mark_shares_the_disk};
use keys::{EveryStore, OpenKeys};
use lanes::Lanes;
use node::Dial;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use supervisor::Supervisor;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};
use watch::Watch;
use webhook::Webhook;
use webhook_cursor::WebhookCursor;

/// Part of an answer that the system buffers for a connection, bytes. Without this limit the system buffers
/// megabytes for each connection whose client asks and never reads.
const SEND_BUFFER: u32 = 64 << 10;

/// Number of connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Time the first look at all chains may take before the port opens all the same.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// Why the Signer did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A key or a contract profile is not usable.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The journal was not opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The journal was opened but does not answer.
    #[error(transparent)]
    Resume(#[from] JournalError),
    /// Something is open on a chain that is not configured.
    #[error("{0}")]
    Orphans(Orphans),
    /// The webhook cannot be served, or the file of its cursor cannot be read.
    #[error("the webhook, or the file of its cursor beside the journal: {0}")]
    Webhook(std::io::Error),
    /// A caller is not usable.
    #[error("callers: {0}")]
    Caller(#[from] CallerError),
    /// The port is not to be had.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// `http.listen` or `http.health_listen`.
        address: SocketAddr,
        /// The system's message.
        problem: std::io::Error,
    },
    /// Callers would wait in a socket that nobody listens to.
    #[error(
        "a socket was handed over that listens on {0}, and neither http.listen nor http.health_listen says \
         so: write the same address there and in ListenStream"
    )]
    Handed(SocketAddr),
}

/// A Signer at work.
#[derive(Debug)]
pub struct Running {
    /// The listening address.
    pub address: SocketAddr,
    server: TaskTracker,
    stop_server: CancellationToken,
    others: TaskTracker,
    stop_others: CancellationToken,
    watch: Watch,
    engine: Arc<Engine>,
    door: Arc<AppState>,
    config: Config,
    backups: Option<RegularBackups>,
    gives_way: GivesWay,
    supervisor: Supervisor,
}

/// The parts of its machine that a Signer needs.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// The connector through which every endpoint of the configuration is reached.
    pub dial: &'a dyn Dial,
    /// The machine's time.
    pub clock: Clock,
    /// Opens the keys.
    pub keys: &'a dyn OpenKeys,
    /// Opens the journal.
    pub journal: &'a (dyn Fn(&JournalPlace) -> Result<Journal, OpenError> + Sync),
}

impl<'a> Machine<'a> {
    /// The machine that the program runs on; every endpoint is reached through `dial`, and keys are held by this
    /// process.
    pub fn real(dial: &'a dyn Dial) -> Self {
        Self { dial, clock: Clock::MACHINE, keys: &EveryStore, journal: &Journal::open_at }
    }
}

impl fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("dial", &self.dial).finish_non_exhaustive()
    }
}

/// A Signer without a port: whatever of it is not run stands still.
#[derive(Debug)]
pub struct Assembled {
    /// The lanes and their journal.
    pub engine: Arc<Engine>,
    /// Watchers of the lanes, one for each. All have looked once.
    pub watchers: Vec<Watcher>,
    /// State that the routes share.
    pub door: Arc<AppState>,
    /// Answers requests.
    pub router: Router,
    /// Answers machines, where that has a port of its own.
    pub health_router: Option<Router>,
    /// TLS handshakes of callers' connections, if these are encrypted.
    pub handshakes: Option<Handshakes>,
    /// Ends what waits for something to happen, when the process is to end.
    pub closing: CancellationToken,
    /// Figures of the webhook, if there is one.
    pub webhook: Option<Arc<WebhookFigures>>,
    /// Store of refusals, if refusals are kept.
    pub refusals: Option<Refusals>,
}

/// Starts: keys, journal, every batch that is still open, and only then the port. Every endpoint of
/// the configuration is reached through `dial`.
pub async fn start(config: Config, dial: &dyn Dial) -> Result<Running, StartError> {
    start_on(Sockets::default(), config, Machine::real(dial)).await
}

/// The same, on sockets that were handed over where there are any.
pub async fn start_on(
    mut sockets: Sockets,
    config: Config,
    machine: Machine<'_>,
) -> Result<Running, StartError> {
    sockets.fit(&config.http)?;
    let (limits, backups) =
        (config.http.clone(), config.journal.file().and_then(|file| file.backups.clone()));
    let chains = connect::all(&config, machine).await?;
    let (journal, lobby) = standby::in_turn(&config, &chains, &mut sockets).await?;
    let Assembled {
        engine,
        watchers,
        door,
        router,
        health_router,
        handshakes,
        closing,
        webhook,
        refusals,
    } = put_together(config.clone(), machine, (&chains, journal)).await?;
    // The journal is open: the process before this one has closed it, and left what it had to.
    handover::take_up(&config.journal, &engine.journal, machine.clock, &door);
    sleep(door.opens_in()).await;
    drop(lobby);
    let (listener, address) = sockets.listen(limits.listen)?;
    let watch = Watch::begin(watchers);
    let (others, stop_others) = (TaskTracker::new(), CancellationToken::new());
    let backups = backups.and_then(|plan| copies::keep(&engine.journal, plan));
    webhook.map_or(Ok(()), |told| tell_webhook(&config, told, &engine, stop_others.clone()))?;
    keep_house((&others, &stop_others), &engine, &door, refusals);
    let gives_way = GivesWay::begin(&config.journal, &engine, (&others, &stop_others));
    let (server, stop_server) = (TaskTracker::new(), closing);
    if let (Some(router), Some(at)) = (health_router, limits.health_listen) {
        let (listener, address) = sockets.listen(at)?;
        server.spawn(serve(listener, router, limits.health_manners(), None, stop_server.clone()));
        info!(%address, "health and metrics");
    }
    if let Some(warning) = limits.in_the_clear() {
        warn!(%address, "{warning}");
    }
    if let Some(tls) = &limits.tls {
        info!(%address, "TLS: {tls}");
        others.spawn(renewal::follow(Arc::clone(tls), stop_others.clone()));
    }
    server.spawn(serve(listener, router, limits.manners(), handshakes, stop_server.clone()));
    info!(%address, chains = engine.lanes().of_chains.len(), "ready for requests");
    sockets.supervisor.ready("serving");
    Ok(Running {
        address,
        server,
        stop_server,
        others,
        stop_others,
        watch,
        engine,
        door,
        config,
        backups,
        gives_way,
        supervisor: sockets.supervisor,
    })
}

/// Begins to send events to the webhook, if one is configured.
fn tell_webhook(
    config: &Config,
    figures: Arc<WebhookFigures>,
    engine: &Arc<Engine>,
    stop: CancellationToken,
) -> Result<(), StartError> {
    let Some(told) = config.webhook.clone() else { return Ok(()) };
    let (outbound, engine) = (config.outbound, Arc::clone(engine));
    let cursor = WebhookCursor::beside(&config.journal);
    let webhook = Webhook { config: told, outbound, engine, cursor, figures };
    webhook.begin(stop).map_err(StartError::Webhook)
}

/// Begins what is done beside requests, until it is told to stop.
fn keep_house(
    (others, stop): (&TaskTracker, &CancellationToken),
    engine: &Arc<Engine>,
    door: &Arc<AppState>,
    refusals: Option<Refusals>,
) {
    others.spawn(head::tell(engine.journal.clone(), stop.clone()));
    others.spawn(http::watch_troubles(Arc::clone(door), stop.clone()));
    others.spawn(http::forget_answers(Arc::clone(door), stop.clone()));
    others.spawn(refusals::keep(refusals, engine.journal.clone(), stop.clone()));
    others.spawn(gates::note(Arc::clone(engine), stop.clone()));
}

/// Puts a Signer together: keys, journal, every batch that is still open, and a first look at all chains.
pub async fn assemble(config: Config, machine: Machine<'_>) -> Result<Assembled, StartError> {
    let chains = connect::all(&config, machine).await?;
    let journal = (machine.journal)(&config.journal)?;
    put_together(config, machine, (&chains, journal)).await
}

/// The same with chains and a journal.
async fn put_together(
    config: Config,
    machine: Machine<'_>,
    (chains, journal): (&[Connected], Journal),
) -> Result<Assembled, StartError> {
    if mark_shares_the_disk(&config.journal) {
        warn!(
            "the mark is on the disk of the journal: a snapshot of that disk that is put back brings both \
             back, and what waited in a pool since may be charged twice. Set journal.mark_path to a file on \
             another disk"
        );
    }
    let journal = journal.dated_within(config.widest_clock_tolerance());
    let Lanes { set, watchers } = lanes::take_up(chains, &journal).await?;
    set.of_chains.values().for_each(|lanes| limits::tell(lanes.any()));
    look_once(&watchers).await;
    let engine = Arc::new(Engine::new(set, journal));
    let callers =
        if config.callers.is_empty() { None } else { Some(Callers::new(config.callers)?) };
    let default_chain = chains.iter().find(|chain| chain.config.default).map(Connected::id);
    let explorer = |chain: &Connected| Some((chain.id(), chain.config.explorer.clone()?));
    let explorers = chains.iter().filter_map(explorer).collect();
    let closing = CancellationToken::new();
    let door =
        AppState::new(Arc::clone(&engine), callers, config.http, default_chain, closing.clone());
    let webhook = config.webhook.as_ref().map(|_| Arc::new(WebhookFigures::default()));
    let refusals = Refusals::of(&config.journal, machine.clock);
    let door = door.linked_to(explorers).telling(webhook.clone());
    let door = Arc::new(door.keeping(refusals.clone()).opened(engine.journal.opens_ms()));
    let (router, health_router) = (http::router(&door), http::health_router(&door));
    let handshakes = http::handshakes_of(&door);
    Ok(Assembled {
        engine,
        watchers,
        door,
        router,
        health_router,
        handshakes,
        closing,
        webhook,
        refusals,
    })
}

/// Takes up what an earlier process left open, before anybody can ask: first the accounts that take no new
/// work, since the others open when it is known what those did; then the others, and once more whoever among
/// them has waited for one that was looked at after it.
async fn look_once(watchers: &[Watcher]) {
    let looks = |takes_new_work: bool| {
        let some = watchers
            .iter()
            .filter(move |watcher| watcher.lane.settings.role.signs() == takes_new_work);
        join_all(some.map(Watcher::look))
    };
    let all = async {
        looks(false).await;
        looks(true).await;
        let waiting = watchers.iter().filter(|watcher| watcher.lane.waits_for_another());
        join_all(waiting.map(Watcher::look)).await;
    };
    if timeout(FIRST_LOOK, all).await.is_err() {
        warn!("not every chain answered in time; it is tried again in the background");
    }
}

impl Running {
    /// Tells when another Signer is to serve in this one's place.
    pub fn gives_way(&self) -> GivesWay {
        self.gives_way.clone()
    }

    /// Stops taking requests, finishes those that have begun, and ends. The next process takes up the batches that
    /// the chain has not decided.
    pub async fn shutdown(self) {
        info!("shutting down: no new requests; those that have begun are finished");
        self.supervisor.stopping();
        self.stop_server.cancel();
        self.server.close();
        let drained = async {
            self.server.wait().await;
            self.engine.tasks.close();
            self.engine.tasks.wait().await;
        };
        if timeout(self.config.http.shutdown_grace, drained).await.is_ok() {
            handover::leave(&self.config.journal, &self.engine.journal, &self.door.judged());
        } else {
            warn!("some requests were not finished in time; what they committed is not lost");
        }
        self.watch.end().await;
        self.stop_others.cancel();
        self.others.close();
        self.others.wait().await;
        if let Some(backups) = self.backups {
            backups.finish().await;
        }
        self.engine.journal.close().await;
    }
}
