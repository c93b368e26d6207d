//! The door: routes, limits and the order of checks. Knows no chain and no database.

mod answer;
mod bill;
mod charges;
mod control;
mod health;
mod serve;
mod status;
mod wire;

use crate::auth::{Callers, SignedParts};
use crate::auth::{KEY_HEADER, SIGN_HEADER, TIMESTAMP_HEADER};
use crate::billing::{Family, PlatformChainId};
use crate::config::HttpConfig;
use crate::engine::Engine;
use crate::telemetry::Metrics;
pub use charges::{ChargeRow, LARGEST_PAGE, LedgerName, LedgerPage};
pub use serve::serve;

use answer::TurnedAway;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::routing::{get, post};
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

/// How much of a body that is too large is read for the sake of its sender, bytes.
const MOST_DISCARDED: usize = 64 << 20;

/// How long that may take.
const LONGEST_DISCARDING: Duration = Duration::from_secs(2);

/// What the handlers share.
#[derive(Debug)]
pub struct AppState {
    /// The engine behind it.
    pub engine: Arc<Engine>,
    /// Who may ask; none when anybody may, which the configuration allows on loopback only.
    pub callers: Option<Callers>,
    /// Sizes and times.
    pub limits: HttpConfig,
    /// The chain that is meant when a request names none.
    pub default_chain: Option<PlatformChainId>,
    /// How many requests may be served at once.
    pub places: Semaphore,
    /// What is counted.
    pub metrics: Metrics,
}

/// All routes.
pub fn router(door: Arc<AppState>) -> Router {
    Router::new()
        .route("/PayTool/EVM/subscribe/signProcessSubscribePlan", post(bill::evm))
        .route("/PayTool/TVM/subscribe/signProcessSubscribePlan", post(bill::tvm))
        .route("/PayTool/billings/{id}", get(status::billings))
        .route("/PayTool/charges", get(charges::charges))
        .route("/PayTool/control", get(control::show))
        .route("/PayTool/control/pause", post(control::pause))
        .route("/PayTool/control/resume", post(control::resume))
        .route("/PayTool/control/resolve", post(control::resolve))
        .route("/health/live", get(health::live))
        .route("/health/ready", get(health::ready))
        .route("/metrics", get(health::metrics))
        .route("/openapi.json", get(health::openapi))
        .fallback(async || TurnedAway::NotFound("there is nothing at this path"))
        .method_not_allowed_fallback(async || TurnedAway::WrongMethod)
        .with_state(door)
}

/// A request whose sender is known, with its body.
struct Authentic {
    body: Bytes,
    deadline: Instant,
    /// The key of the caller; none where nobody has to sign requests.
    caller: Option<String>,
    /// Whether the caller may pause and resume chains.
    controls: bool,
}

/// Reads the body, once and bounded, and checks who sent it. Nothing is parsed before.
async fn authenticate(door: &AppState, request: Request) -> Result<Authentic, TurnedAway> {
    let deadline =
        Instant::now().checked_add(door.limits.request_deadline).ok_or(TurnedAway::Slow)?;
    let (parts, body) = request.into_parts();
    let body = read(door, body, deadline).await?;
    let (mut known, mut controls) = (None, false);
    if let Some(callers) = &door.callers {
        let now = door.engine.journal.now_ms().div_euclid(1000);
        let caller = callers.identify(&signed_parts(&parts, &body), now)?;
        (known, controls) = (Some(caller.key.clone()), caller.control);
    }
    Ok(Authentic { body, deadline, caller: known, controls })
}

async fn read(door: &AppState, mut body: Body, deadline: Instant) -> Result<Bytes, TurnedAway> {
    let limit = door.limits.body_limit_bytes;
    let whole = timeout_at(deadline, collect(&mut body, limit)).await;
    let whole = whole.map_err(|_| TurnedAway::Slow)?;
    if let Err(TurnedAway::TooLarge { .. }) = whole {
        discard(body).await;
    }
    whole
}

async fn collect(body: &mut Body, limit: usize) -> Result<Bytes, TurnedAway> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| TurnedAway::Unreadable)?.into_data() else { continue };
        if whole.len().saturating_add(data.len()) > limit {
            return Err(TurnedAway::TooLarge { limit });
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// Reads on for a while and keeps nothing: a connection that is closed on somebody who is still
/// sending is reset, and the answer is lost.
async fn discard(mut body: Body) {
    let mut left = MOST_DISCARDED;
    let rest = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    // However it ends, the answer is the same.
    drop(timeout(LONGEST_DISCARDING, rest).await);
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
    door: &AppState,
    family: Family,
    stated: Option<PlatformChainId>,
) -> Result<PlatformChainId, TurnedAway> {
    let family_of = |id| door.engine.lanes.get(id).map(|lane| lane.chain.facts().family);
    if !door.engine.lanes.keys().any(|id| family_of(id) == Some(family)) {
        return Err(TurnedAway::NoChain(family));
    }
    let chain = stated.or(door.default_chain).ok_or(TurnedAway::NoDefaultChain)?;
    match family_of(&chain) {
        Some(other) if other != family => Err(TurnedAway::WrongFamily { chain, family }),
        Some(_) | None => Ok(chain),
    }
}

#[cfg(test)]
mod tests;
