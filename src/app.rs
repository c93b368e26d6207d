//! One way to start: `main` and every test call [`start`], and differ by their configuration only.

pub mod check;
mod connect;

pub use connect::ConnectError;

use crate::auth::{CallerError, Callers};
use crate::config::Config;
use crate::engine::{Engine, Lane, Watcher};
use crate::http::{self, Door};
use crate::journal::{Journal, JournalError, OpenError};
use crate::node::Dial;
use crate::telemetry::Metrics;
use connect::Connected;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

/// How long the first look at all chains may take before the port opens all the same.
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
    /// A caller is not usable.
    #[error("callers: {0}")]
    Caller(#[from] CallerError),
    /// The port is not to be had.
    #[error("cannot listen on {address}: {problem}")]
    Listen {
        /// `http.listen`.
        address: SocketAddr,
        /// What the system says.
        problem: std::io::Error,
    },
}

/// A Signer at work.
#[derive(Debug)]
pub struct Running {
    /// Where it listens.
    pub address: SocketAddr,
    server: TaskTracker,
    stop_server: CancellationToken,
    watchers: TaskTracker,
    stop_watchers: CancellationToken,
    engine: Arc<Engine>,
    grace: Duration,
}

/// Starts: keys, journal, every batch that is still open, and only then the port. Every endpoint of
/// the configuration is reached through `dial`.
pub async fn start(config: Config, dial: &dyn Dial) -> Result<Running, StartError> {
    let chains = connect::all(&config, dial).await?;
    let journal = Journal::open(&config.journal)?;
    let (watchers, stop_watchers) = (TaskTracker::new(), CancellationToken::new());
    let engine = Arc::new(Engine {
        lanes: chains.iter().map(|chain| (chain.id, lane(chain, &journal))).collect(),
        journal,
        tasks: TaskTracker::new(),
    });
    let mut looks = Vec::new();
    for chain in &chains {
        if let Some(lane) = engine.lanes.get(&chain.id) {
            lane.resume().await?;
            tell_limits(lane);
            looks.push(Watcher { lane: Arc::clone(lane), every: chain.poll_interval });
        }
    }
    look_once(&looks).await;
    let address = config.http.listen;
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|problem| StartError::Listen { address, problem })?;
    let address = listener.local_addr().unwrap_or(address);
    for watcher in looks {
        watchers.spawn(watcher.run(stop_watchers.clone()));
    }
    let door = Door {
        engine: Arc::clone(&engine),
        callers: if config.callers.is_empty() { None } else { Some(Callers::new(config.callers)?) },
        default_chain: chains.iter().find(|chain| chain.default).map(|chain| chain.id),
        places: Semaphore::new(config.http.max_concurrent_requests),
        metrics: Metrics::new(),
        limits: config.http.clone(),
    };
    let (server, stop_server) = (TaskTracker::new(), CancellationToken::new());
    let router = http::router(Arc::new(door));
    server.spawn(http::serve(listener, router, config.http.header_timeout, stop_server.clone()));
    info!(%address, chains = chains.len(), "ready for requests");
    let grace = config.http.shutdown_grace;
    Ok(Running { address, server, stop_server, watchers, stop_watchers, engine, grace })
}

fn lane(chain: &Connected, journal: &Journal) -> Arc<Lane> {
    Arc::new(Lane::new(chain.as_chain(), journal.clone(), chain.rules, chain.guard))
}

/// Says what may be signed, and louder where an amount or a fee has no limit.
fn tell_limits(lane: &Lane) {
    let (chain, policy) = (&lane.chain.facts().name, lane.chain.policy());
    match policy.describe() {
        (limits, false) => info!(chain, "policy: {limits}"),
        (limits, true) => {
            let section = policy.key("");
            let section = section.trim_end_matches('.');
            warn!(chain, "policy: {limits}. Not everything is limited: see [{section}]");
        }
    }
    if let Some(why) = lane.paused() {
        warn!(chain, "paused {why}: nothing new is signed");
    }
}

/// Takes up what an earlier process left open, before anybody can ask.
async fn look_once(watchers: &[Watcher]) {
    let all = futures_util::future::join_all(watchers.iter().map(Watcher::look));
    if timeout(FIRST_LOOK, all).await.is_err() {
        warn!("not every chain answered in time; it is tried again in the background");
    }
}

impl Running {
    /// Stops taking requests, finishes those that have begun, and ends. What the chain has not
    /// decided is taken up by the next process.
    pub async fn shutdown(self) {
        info!("shutting down: no new requests; those that have begun are finished");
        self.stop_server.cancel();
        self.server.close();
        let drained = async {
            self.server.wait().await;
            self.engine.tasks.close();
            self.engine.tasks.wait().await;
        };
        if timeout(self.grace, drained).await.is_err() {
            warn!("some requests were not finished in time; what they committed is not lost");
        }
        self.stop_watchers.cancel();
        self.watchers.close();
        self.watchers.wait().await;
        self.engine.journal.close().await;
    }
}
