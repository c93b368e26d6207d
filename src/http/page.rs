//! The page for operators: its files, and one answer of numbers. The page asks for everything about charges itself,
//! signed by the person who looks at it; the secret stays in the browser.

use super::AppState;
use super::answer::Success;
use super::obstacles::StandingObstacle;
use super::{figures, tokens};
use alloy::primitives::U256;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use billing::{FailCode, coin_symbol};
use chain::Vitals;
use engine::{LaneSet, SigningLanes};
use serde::Serialize;
use std::sync::Arc;
use strum::IntoEnumIterator as _;

/// The page is its own files and asks its own server, and nothing may be laid over it or around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The files of the page: path, kind, text.
const FILES: [(&str, &str, &str); 15] = [
    ("/", HTML, include_str!("page/index.html")),
    ("/page.css", CSS, looks::STYLE),
    ("/page/main.js", SCRIPT, include_str!("page/main.js")),
    ("/page/copy.js", SCRIPT, looks::COPY),
    ("/page/uplot.js", SCRIPT, looks::CHART),
    ("/page/words.js", SCRIPT, include_str!("page/words.js")),
    ("/page/ask.js", SCRIPT, include_str!("page/ask.js")),
    ("/page/chains.js", SCRIPT, include_str!("page/chains.js")),
    ("/page/overview.js", SCRIPT, include_str!("page/overview.js")),
    ("/page/charts.js", SCRIPT, include_str!("page/charts.js")),
    ("/page/ledger.js", SCRIPT, include_str!("page/ledger.js")),
    ("/page/past.js", SCRIPT, include_str!("page/past.js")),
    ("/page/certificate.html", HTML, certificate::page::PAGE),
    ("/page/certificate.js", SCRIPT, certificate::page::VERIFIER),
    ("/page/certificate-page.js", SCRIPT, certificate::page::SCRIPT),
];
const HTML: &str = "text/html";
const CSS: &str = "text/css";
const SCRIPT: &str = "text/javascript";

/// The routes of the page.
pub(super) fn routes(router: Router<Arc<AppState>>) -> Router<Arc<AppState>> {
    let served = |router: Router<Arc<AppState>>, (path, kind, text): (&str, &'static str, _)| {
        router.route(path, get(async move || file(kind, text)))
    };
    FILES
        .into_iter()
        .fold(router, served)
        .route("/page/numbers", get(numbers))
        .route("/page/figures", get(figures::figures))
        .route("/page/token", get(tokens::token))
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

/// The numbers that the page shows and no other path tells. Like metrics they have nothing secret.
#[derive(Serialize)]
struct Numbers {
    version: &'static str,
    /// True if requests have to be signed.
    signed: bool,
    /// Every reason for a refusal, in the order of precedence.
    reasons: Vec<&'static str>,
    chains: Vec<ChainNumbers>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ChainNumbers {
    chain_id: u32,
    name: String,
    family: &'static str,
    explorer: Option<String>,
    /// The symbol of its own coin.
    coin: &'static str,
    coin_decimals: u8,
    /// Obstacles of the chain.
    #[serde(rename = "troubles")]
    obstacles: Vec<StandingObstacle>,
    /// Balance of the chain's accounts, and the part of it that their open transactions may take: wei or sun,
    /// digits in text.
    balance: Option<String>,
    in_flight: Option<String>,
    /// Number of billings left until the first of the accounts cannot pay for one.
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
    fn of(state: &AppState, set: &LaneSet, lanes: &SigningLanes) -> Self {
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
            family: facts.family.into(),
            explorer: state.explorers.get(&facts.id).cloned(),
            coin: coin_symbol(facts.family, facts.network),
            obstacles: state.obstacles.of(lanes, state.engine.journal.now_ms().div_euclid(1000)),
            coin_decimals: facts.family.coin_decimals(),
            balance: sum(|vitals| vitals.balance),
            in_flight: sum(|vitals| vitals.in_flight),
            billings_left: lanes.billings_left(),
            oldest_open: set.of_chain(lanes).filter_map(|lane| lane.batches.oldest_ms()).min(),
            limits: limits.collect(),
        }
    }
}

/// `GET /page/numbers`: how the chains stand.
async fn numbers(State(state): State<Arc<AppState>>) -> Response {
    let set = state.engine.lanes();
    let numbers = Numbers {
        version: env!("CARGO_PKG_VERSION"),
        signed: state.callers.is_some(),
        reasons: FailCode::iter().map(FailCode::token).collect(),
        chains: set
            .chains()
            .into_iter()
            .map(|lanes| ChainNumbers::of(&state, set, lanes))
            .collect(),
    };
    Success(numbers).into_response()
}
