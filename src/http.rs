//! Routes, limits and the order of checks. Knows no chain and no database.

mod answer;
mod bill;
mod budgets;
mod certificate;
mod charges;
mod control;
mod events;
mod figures;
mod guard;
mod handshakes;
mod health;
mod instances;
mod kept_response;
mod obstacles;
mod page;
mod purpose;
mod query;
mod rejection;
mod rejection_log;
mod standby;
mod status;
mod tokens;
mod trace;
mod used_up;
mod visible;
mod wire;

use crate::auth::{AuthError, Callers, JudgedMessages, Replays, SignedParts};
use crate::auth::{KEY_HEADER, SIGN_HEADER, TIMESTAMP_HEADER};
use crate::telemetry::{Metrics, WebhookFigures};
use billing::{Family, PlatformChainId};
pub use charges::{ChargeRow, JournalName, LARGEST_PAGE, LedgerPage, TokenNames, table};
use config::HttpConfig;
use engine::Engine;
pub use events::{EventCharge, EventPage, EventRow, EventsUnread, NEWEST, events_after};
pub use guard::forget_answers;
pub use handshakes::{handshakes_of, uncounted_handshakes};
use ledger::{Ledger, Refusals};
pub use obstacles::watch_obstacles;
pub use standby::StandbyState;

use axum::Router;
use axum::http::request::Parts;
use axum::middleware::from_fn;
use axum::routing::{get, post};
use budgets::Budgets;
use door::PendingBodies;
use figures::KeptFigures;
use kept_response::KeptResponse;
use obstacles::Obstacles;
use rejection::Rejection;
use rejection_log::RejectionLog;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use strum::VariantNames as _;
use tokens::KnownTokens;
use tokio_util::sync::CancellationToken;
use used_up::CallerBudget;

/// Messages bear whole seconds: of the second in which the journal was opened another process may have judged
/// some. The port waits for its end, and for no longer: a clock that was ahead is no reason to wait for it.
const LONGEST_OPENING: Duration = Duration::from_secs(1);

/// The first second, Unix, of which no message can have been judged before `opens_ms`.
fn opens_after(opens_ms: i64) -> i64 {
    opens_ms.div_euclid(1000).saturating_add(1)
}

/// The state that the handlers share.
#[derive(Debug)]
pub struct AppState {
    /// The engine behind it.
    engine: Arc<Engine>,
    /// Callers that may ask; none if anybody may, which the configuration allows on loopback only.
    callers: Option<Callers>,
    /// Figures of the webhook, if there is one.
    webhook: Option<Arc<WebhookFigures>>,
    /// Store of refusals, if refusals are kept.
    refusals: Option<Refusals>,
    /// Sizes and times.
    limits: HttpConfig,
    /// The chain that is meant when a request names none.
    default_chain: Option<PlatformChainId>,
    /// Explorer link for transactions of each chain: a URL with `{hash}` in it.
    explorers: HashMap<PlatformChainId, String>,
    /// Amount of work each caller may have done at once.
    budgets: Budgets,
    /// Cancelled when the process ends: nobody waits any longer then.
    closing: CancellationToken,
    /// Bodies of which nobody knows yet who sends them.
    bodies: PendingBodies,
    /// Recent requests with their answers.
    replays: Replays<Arc<KeptResponse>>,
    /// Which lines of the log are written of those that anybody can cause.
    rejection_log: RejectionLog,
    /// Counters and measurements.
    metrics: Metrics,
    /// Obstacles of each chain, for the page.
    obstacles: Obstacles,
    /// Sums that the page has added up.
    figures: KeptFigures,
    /// In which units the page shows tokens.
    tokens: KnownTokens,
}

impl AppState {
    /// The state of `engine`'s handlers, until `closing`. Without `callers` anybody may ask.
    pub fn new(
        engine: Arc<Engine>,
        callers: Option<Callers>,
        limits: HttpConfig,
        default_chain: Option<PlatformChainId>,
        closing: CancellationToken,
    ) -> Self {
        let started_ms = engine.journal.now_ms();
        let opens_ms = engine.journal.instances().opens_ms();
        let labels = callers.as_ref().map(Callers::labels).unwrap_or_default();
        let chains: Vec<_> = engine.lanes().of_chains.keys().copied().collect();
        let bodies = PendingBodies::new(limits.body_limit_bytes, engine.tasks.clone());
        let replays = Replays::new(opens_after(opens_ms));
        replays.share_among(labels.len());
        Self {
            engine,
            callers,
            webhook: None,
            refusals: None,
            default_chain,
            explorers: HashMap::new(),
            budgets: Budgets::new(&limits),
            closing,
            bodies,
            replays,
            rejection_log: RejectionLog::default(),
            obstacles: Obstacles::default(),
            figures: KeptFigures::default(),
            tokens: KnownTokens::default(),
            metrics: Metrics::new(
                &labels,
                &chains,
                &AuthError::WORDS,
                CallerBudget::VARIANTS,
                started_ms,
            ),
            limits,
        }
    }

    /// Shows the figures of this webhook.
    #[must_use]
    pub fn telling(self, webhook: Option<Arc<WebhookFigures>>) -> Self {
        Self { webhook, ..self }
    }

    /// Returns the time until any new signature can be known to be from after the start.
    pub fn opens_in(&self) -> Duration {
        let next = self.replays.oldest().saturating_mul(1000);
        let wait = next.saturating_sub(self.engine.journal.now_ms());
        u64::try_from(wait).map_or(Duration::ZERO, Duration::from_millis).min(LONGEST_OPENING)
    }

    /// Goes on where the process before this one ended.
    pub fn take_over(&self, judged: JudgedMessages) {
        self.replays.take_over(judged);
    }

    /// Returns the messages that were judged, once nothing is judged any more.
    pub fn judged(&self) -> JudgedMessages {
        self.replays.judged(self.engine.journal.now_ms().div_euclid(1000))
    }

    /// Keeps what is refused.
    #[must_use]
    pub fn keeping(self, refusals: Option<Refusals>) -> Self {
        Self { refusals, ..self }
    }

    fn ledger(&self) -> Ledger {
        Ledger { journal: self.engine.journal.clone(), refusals: self.refusals.clone() }
    }

    /// Returns the number of callers that share the room and the budgets.
    fn known_callers(&self) -> usize {
        self.callers.as_ref().map_or(1, |callers| callers.labels().len())
    }

    /// The same, with links to where people look up transactions of chains.
    #[must_use]
    pub fn linked_to(self, explorers: HashMap<PlatformChainId, String>) -> Self {
        Self { explorers, ..self }
    }
}

/// Everything that callers ask for, and what machines and operators ask for where that has no port of its own.
pub fn router(state: &Arc<AppState>) -> Router {
    let router = Router::new()
        .route("/PayTool/EVM/subscribe/signProcessSubscribePlan", post(bill::evm))
        .route("/PayTool/TVM/subscribe/signProcessSubscribePlan", post(bill::tvm))
        .route("/openapi.json", get(health::openapi));
    let router = for_callers(router);
    let router = match state.limits.health_listen {
        Some(_) => router,
        None => with_page(for_machines(router), state),
    };
    finished(router, state)
}

/// Builds the routes for machines and operators of the merchant's own network, if they have a port of their own.
/// With a page, the routes that the page asks in the name of a caller are there too: a page asks its own server
/// alone.
pub fn health_router(state: &Arc<AppState>) -> Option<Router> {
    state.limits.health_listen?;
    let router = for_machines(Router::new());
    let router = if state.limits.page { for_callers(router) } else { router };
    Some(finished(with_page(router, state), state))
}

/// Everything that a signature is needed for, but billing.
fn for_callers(router: Router<Arc<AppState>>) -> Router<Arc<AppState>> {
    router
        .route("/PayTool/billings/{id}", get(status::billings))
        .route("/PayTool/charges", get(charges::charges))
        .route("/PayTool/charges/{id}/certificate", get(certificate::certificate))
        .route("/PayTool/events", get(events::events))
        .route("/PayTool/control", get(control::show))
        .route("/PayTool/control/pause", post(control::pause))
        .route("/PayTool/control/resume", post(control::resume))
        .route("/PayTool/control/resolve", post(control::resolve))
}

fn for_machines(router: Router<Arc<AppState>>) -> Router<Arc<AppState>> {
    router
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/health/serving", get(health::serving))
        .route("/health/chains/{id}", get(health::of_chain))
        .route("/metrics", get(health::metrics))
}

fn with_page(router: Router<Arc<AppState>>, state: &AppState) -> Router<Arc<AppState>> {
    if state.limits.page { page::routes(router) } else { router }
}

fn finished(router: Router<Arc<AppState>>, state: &Arc<AppState>) -> Router {
    router
        .fallback(async || Rejection::NotFound("there is nothing at this path"))
        .method_not_allowed_fallback(async || Rejection::WrongMethod)
        .layer(from_fn(trace::name))
        .with_state(Arc::clone(state))
}

fn signed_parts<'a>(parts: &'a Parts, body: &'a [u8]) -> SignedParts<'a> {
    let header = |name| {
        let mut values = parts.headers.get_all(name).iter();
        let only = values.next().filter(|_| values.next().is_none());
        only.and_then(|value| value.to_str().ok())
    };
    SignedParts {
        key: header(KEY_HEADER),
        timestamp: header(TIMESTAMP_HEADER),
        sign: header(SIGN_HEADER),
        method: parts.method.as_str(),
        path_and_query: parts.uri.path_and_query().map_or("", |p| p.as_str()),
        body,
    }
}

/// The chain that a request is for.
fn chain_for(
    state: &AppState,
    family: Family,
    stated: Option<PlatformChainId>,
) -> Result<PlatformChainId, Rejection> {
    let lanes = state.engine.lanes();
    let family_of = |id| lanes.of_chains.get(id).map(|lanes| lanes.any().chain.facts().family);
    if !lanes.of_chains.keys().any(|id| family_of(id) == Some(family)) {
        return Err(Rejection::NoChain(family));
    }
    let chain = stated.or(state.default_chain).ok_or(Rejection::NoDefaultChain)?;
    match family_of(&chain) {
        Some(other) if other != family => Err(Rejection::WrongFamily { chain, family }),
        Some(_) | None => Ok(chain),
    }
}

#[cfg(test)]
mod tests;
