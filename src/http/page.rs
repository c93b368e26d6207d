//! The page for operators: three files and one answer of numbers. Whatever it tells of charges it asks for
//! itself, signed by whoever looks at it; the secret stays in the browser.

use super::AppState;
use super::answer::{HttpReply, envelope};
use super::turned_away::TurnedAway;
use crate::billing::Family;
use crate::chain::Vitals;
use crate::engine::{LaneSet, SigningLanes};
use crate::telemetry::{EVERY, Sample, Trends};
use alloy::primitives::U256;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// The page is its own files and asks its own server, and nothing may be laid over it or around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The routes of the page.
pub(super) fn routes(router: Router<Arc<AppState>>) -> Router<Arc<AppState>> {
    router
        .route("/", get(async || file("text/html", include_str!("page/index.html"))))
        .route("/page.css", get(async || file("text/css", include_str!("page/style.css"))))
        .route("/page.js", get(async || file("text/javascript", include_str!("page/script.js"))))
        .route("/page/numbers", get(numbers))
}

/// Something for a browser, with what it may do with it.
pub(super) fn file(kind: &str, text: impl IntoResponse) -> Response {
    let headers: [(HeaderName, String); 5] = [
        (header::CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
    ];
    (headers, text).into_response()
}

/// What the page shows and no other path tells. Like metrics it has nothing secret.
#[derive(Serialize)]
struct Numbers {
    version: &'static str,
    /// Whether requests have to be signed.
    signed: bool,
    chains: Vec<ChainNumbers>,
    /// Seconds from one sample to the next.
    every: u64,
    /// Upper bounds of the counts in `took`, seconds.
    bounds: Vec<f64>,
    samples: Vec<Sample>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChainNumbers {
    chain_id: u32,
    name: String,
    family: &'static str,
    explorer: Option<String>,
    coin_decimals: u8,
    /// What its accounts hold and their open transactions may take of that: wei or sun, digits in text.
    balance: Option<String>,
    in_flight: Option<String>,
    /// How many more billings until the first of them cannot pay for one.
    billings_left: Option<u64>,
    /// When the oldest billing that is open was accepted, Unix ms.
    oldest_open: Option<i64>,
    limits: Vec<LimitNumbers>,
}

#[derive(Serialize)]
struct LimitNumbers {
    limit: String,
    taken: String,
    most: String,
}

impl ChainNumbers {
    fn of(door: &AppState, set: &LaneSet, lanes: &SigningLanes) -> Self {
        let facts = lanes.any().chain.facts();
        let vitals: Option<Vec<Vitals>> = lanes.all().map(|lane| lane.chain.vitals()).collect();
        let sum = |of: fn(&Vitals) -> U256| {
            let all = vitals.as_ref()?.iter().map(of);
            Some(all.fold(U256::ZERO, U256::saturating_add).to_string())
        };
        let limits = lanes.headrooms().into_iter().map(|room| LimitNumbers {
            limit: room.limit,
            taken: room.taken.to_string(),
            most: room.most.to_string(),
        });
        Self {
            chain_id: facts.id.0,
            name: facts.name.clone(),
            family: match facts.family {
                Family::Evm => "evm",
                Family::Tvm => "tvm",
            },
            explorer: door.explorers.get(&facts.id).cloned(),
            coin_decimals: facts.family.coin_decimals(),
            balance: sum(|vitals| vitals.balance),
            in_flight: sum(|vitals| vitals.in_flight),
            billings_left: lanes.billings_left(),
            oldest_open: set.of_chain(lanes).filter_map(|lane| lane.oldest_open_ms()).min(),
            limits: limits.collect(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NumbersQuery {
    /// Unix seconds.
    #[serde(default)]
    after: i64,
}

/// `GET /page/numbers?after=`: how the chains stand, and how counters have moved since that time.
async fn numbers(State(door): State<Arc<AppState>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let asked: NumbersQuery = match serde_urlencoded::from_str(query) {
        Ok(asked) => asked,
        Err(why) => {
            return HttpReply::TurnedAway(TurnedAway::Page(why.to_string())).into_response();
        }
    };
    let set = door.engine.lanes();
    let numbers = Numbers {
        version: env!("CARGO_PKG_VERSION"),
        signed: door.callers().is_some(),
        chains: set
            .chains()
            .into_iter()
            .map(|lanes| ChainNumbers::of(&door, &set, lanes))
            .collect(),
        every: EVERY.as_secs(),
        bounds: Trends::bounds().to_vec(),
        samples: door.metrics.samples(asked.after, &door.engine),
    };
    envelope(StatusCode::OK, 1, "success".to_owned(), numbers)
}

/// Keeps samples for the charts until `stop`, where there is a page to show them.
pub async fn keep_samples(door: Arc<AppState>, stop: CancellationToken) {
    if !door.limits.page {
        return;
    }
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        door.metrics.keep_sample(&door.engine);
    }
}
