//! From a configuration to a Signer at work: keys, journal, every batch that is still open, and only then the ports.

use super::connect::{self, Connected};
use super::lanes::{self, Lanes};
use super::standby::{self, StandbyServer};
use super::{Machine, Sockets, StartError, journal_place, limits};
use crate::auth::Callers;
use crate::http::{self, AppState};
use crate::telemetry::WebhookFigures;
use axum::Router;
use config::Config;
use door::Handshakes;
use engine::{Engine, Watcher};
use futures_util::future::join_all;
use journal::mark_shares_the_disk;
use ledger::Refusals;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Time the first look at all chains may take before the port opens all the same.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// A Signer before its ports open: whatever of it is not run stands still.
#[derive(Debug)]
pub struct Assembled {
    /// The lanes and their journal.
    pub engine: Arc<Engine>,
    /// Watchers of the lanes, one for each. All have looked once.
    pub watchers: Vec<Watcher>,
    /// State that the routes share.
    pub state: Arc<AppState>,
    /// Answers requests.
    pub router: Router,
    /// Answers machines, where that has a port of its own.
    pub health_router: Option<Router>,
    /// TLS handshakes of callers' connections, if these are encrypted.
    pub handshakes: Option<Handshakes>,
    /// Cancelled when the process is to end: nobody waits for an event any longer.
    pub closing: CancellationToken,
    /// Figures of the webhook, if there is one.
    pub webhook: Option<Arc<WebhookFigures>>,
    /// Store of refusals, if refusals are kept.
    pub refusals: Option<Refusals>,
    pub(super) config: Config,
    /// Answers until the ports open, if this process has stood by.
    pub(super) standby_server: Option<StandbyServer>,
}

/// The first half of a start: everything but the ports. A standby listens on `sockets` until it is its turn.
pub async fn assemble(
    config: Config,
    machine: Machine<'_>,
    sockets: &mut Sockets,
) -> Result<Assembled, StartError> {
    journal_place::find(&config.journal)?;
    let chains = connect::all(&config, machine).await?;
    let (journal, standby_server) = standby::in_turn(&config, machine, &chains, sockets).await?;
    if mark_shares_the_disk(&config.journal) {
        warn!(
            "the mark is on the disk of the journal: a snapshot of that disk that is put back brings both \
             back, and what waited in a pool since may be charged twice. Set journal.mark_path to a file on \
             another disk"
        );
    }
    let journal = journal.dated_within(config.widest_clock_tolerance());
    let Lanes { set, watchers } = lanes::resume(&chains, &journal).await?;
    set.of_chains.values().for_each(|lanes| limits::report(lanes.any()));
    look_once(&watchers).await;
    let engine = Arc::new(Engine::new(set, journal));
    let callers =
        if config.callers.is_empty() { None } else { Some(Callers::new(config.callers.clone())?) };
    let default_chain = chains.iter().find(|chain| chain.config.default).map(Connected::id);
    let explorer = |chain: &Connected| Some((chain.id(), chain.config.explorer.clone()?));
    let explorers = chains.iter().filter_map(explorer).collect();
    let closing = CancellationToken::new();
    let limits = config.http.clone();
    let state = AppState::new(Arc::clone(&engine), callers, limits, default_chain, closing.clone());
    let webhook = config.webhook.as_ref().map(|_| Arc::new(WebhookFigures::default()));
    let refusals = Refusals::of(&config.journal, machine.clock);
    let state = state.linked_to(explorers).telling(webhook.clone());
    let state = Arc::new(state.keeping(refusals.clone()));
    let (router, health_router) = (http::router(&state), http::health_router(&state));
    let handshakes = http::handshakes_of(&state);
    Ok(Assembled {
        engine,
        watchers,
        state,
        router,
        health_router,
        handshakes,
        closing,
        webhook,
        refusals,
        config,
        standby_server,
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
