//! Reports if the process lives, if it can do its work, and its counters. For machines inside the merchant's
//! network: nothing here is secret, and nothing needs a signature.

use super::AppState;
use super::instances::shown as shown_instances;
use super::rejection::Rejection;
use crate::telemetry::classic;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use billing::PlatformChainId;
use engine::{Lane, LaneSet, SigningLanes};
use host::tls::{Tls, Validity, shown};
use node::NodeView;
use serde_json::{Value, json};
use std::sync::Arc;

/// The process answers.
pub(super) async fn live() -> Response {
    body(StatusCode::OK, &json!({"status": "up"}))
}

/// 200 when every lane can take new work and the journal would take a commit; 503 with the reasons
/// otherwise. A pause is shown and changes nothing: whoever is to resume has to get through.
pub(super) async fn ready(State(state): State<Arc<AppState>>) -> Response {
    let set = state.engine.lanes();
    let lanes = set.chains();
    let chains: Vec<Value> = lanes.iter().map(|lanes| chain(set, lanes)).collect();
    let now = state.engine.journal.now_ms().div_euclid(1000);
    let encrypted = state.limits.tls.as_ref();
    let Itself { journal, let_in } = Itself::of(&state, now);
    let up = let_in && journal.is_none() && lanes.iter().all(|lanes| lanes.not_ready().is_empty());
    let word = if up { "ready" } else { "not ready" };
    let journal = journal.map_or_else(|| json!("ok"), |problem| json!(problem));
    let tls = encrypted.map(|tls| certificate(tls, now));
    let instances = shown_instances(&state.engine.journal.instances().all());
    let answer = json!({
        "status": word, "journal": journal, "instances": instances, "tls": tls, "chains": chains,
    });
    body(status(up), &answer)
}

/// The state of the process itself: it tells if the process serves, whatever its chains do.
struct Itself {
    /// Why the journal would take no commit.
    journal: Option<String>,
    /// True if callers can come in.
    let_in: bool,
}

impl Itself {
    /// At `now`, Unix seconds.
    fn of(state: &AppState, now: i64) -> Self {
        let journal = state.engine.journal.ready().err().map(|error| error.to_string());
        let tls = state.limits.tls.as_ref();
        Self { journal, let_in: tls.is_none_or(|tls| tls.validity(now) != Validity::Over) }
    }

    fn serves(&self) -> bool {
        self.let_in && self.journal.is_none()
    }
}

/// 200 while callers reach a process that has the journal, and that would take a commit: what a load balancer asks. A
/// chain that cannot be billed on takes no other down, and whoever is to resume, or asks the ledger, gets through.
pub(super) async fn serving(State(state): State<Arc<AppState>>) -> Response {
    let now = state.engine.journal.now_ms().div_euclid(1000);
    let itself = Itself::of(&state, now);
    let tls = state.limits.tls.as_ref().map(|tls| certificate(tls, now));
    let status = status(itself.serves());
    let word = if status.is_success() { "serving" } else { "not serving" };
    let journal = itself.journal.unwrap_or_else(|| "ok".to_owned());
    body(status, &json!({"status": word, "journal": journal, "tls": tls}))
}

/// 200 while this chain takes new work: `serving`, of one chain.
pub(super) async fn of_chain(
    State(state): State<Arc<AppState>>,
    Path(asked): Path<String>,
) -> Response {
    let set = state.engine.lanes();
    let found = asked.parse().ok().and_then(|id| set.of_chains.get(&PlatformChainId(id)));
    let Some(lanes) = found else {
        return Rejection::NotFound("no chain of this id is configured").into_response();
    };
    let now = state.engine.journal.now_ms().div_euclid(1000);
    let up = Itself::of(&state, now).serves() && lanes.not_ready().is_empty();
    let word = if up { "ready" } else { "not ready" };
    body(status(up), &json!({"status": word, "chain": chain(set, lanes)}))
}

fn status(up: bool) -> StatusCode {
    if up { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// Until when the certificate of the port is good at `now` (Unix seconds), and what is to be known of it.
pub(super) fn certificate(tls: &Tls, now: i64) -> Value {
    let trouble = tls.trouble(now);
    json!({"until": shown(tls.until()), "status": trouble.unwrap_or_else(|| "ok".to_owned())})
}

fn chain(set: &LaneSet, lanes: &SigningLanes) -> Value {
    let lane = lanes.any();
    let (facts, view, nodes) = (lane.chain.facts(), lane.head(), lane.chain.nodes());
    let all = || set.of_chain(lanes).map(AsRef::as_ref);
    let followers = set.followers_of(facts.id).map(AsRef::as_ref);
    let obstacles: Vec<String> = lanes.not_ready().into_iter().map(|(_, said)| said).collect();
    let held_up = all().flat_map(|lane| lane.batches.held_up());
    let held_up = held_up.map(|(batch, why)| json!({"batch": batch.0, "why": why.sentence()}));
    let disputed = all().flat_map(Lane::disputed);
    let disputed = disputed.map(|(batch, nodes)| json!({"batch": batch.0, "nodes": nodes}));
    let status = if obstacles.is_empty() { "ok".to_owned() } else { obstacles.join("; ") };
    json!({
        "chainId": facts.id.0,
        "name": facts.name,
        "status": status,
        "warnings": lanes.warnings(),
        "accounts": lanes.all().map(|lane| account(lane)).collect::<Vec<_>>(),
        "head": view.map(|view| view.head),
        "lookedSecondsAgo": lanes.all().map(|lane| age(lane)).max().flatten(),
        "paused": lane.paused_since(),
        "retired": !lane.settings.role.signs(),
        "undecided": all().map(|lane| lane.batches.count()).sum::<usize>(),
        "heldUp": held_up.collect::<Vec<_>>(),
        "disputed": disputed.collect::<Vec<_>>(),
        "following": followers.filter(|lane| !lane.rests()).map(following).collect::<Vec<_>>(),
        "nodes": nodes.iter().map(node).collect::<Vec<_>>(),
        "witnesses": lane.chain.witnesses().iter().map(node).collect::<Vec<_>>(),
        "trust": lane.chain.trust().sentence(),
        "records": all().filter_map(|lane| lane.chain.proof_mode()).max().map(|mode| mode.to_string()),
    })
}

/// Returns the age of the report on a lane and its nodes, whole seconds.
fn age(lane: &Lane) -> Option<u64> {
    Some(lane.chain.vitals()?.age.as_secs())
}

/// A lane that takes new work.
fn account(lane: &Lane) -> Value {
    json!({
        "address": lane.account(),
        "key": lane.chain.key_held(),
        "status": trouble(lane).unwrap_or_else(|| "ok".to_owned()),
        "warnings": lane.runway.warnings(),
        "undecided": lane.batches.count(),
        "billingsLeft": lane.runway.billings_left(),
    })
}

/// A lane that only ends what it has begun.
fn following(lane: &Lane) -> Value {
    json!({
        "address": lane.account(),
        "undecided": lane.batches.count(),
        "status": trouble(lane).unwrap_or_else(|| "ok".to_owned()),
        "why": lane.settings.role.only_follows().map(|why| why.to_string()),
    })
}

fn node(node: &NodeView) -> Value {
    json!({
        "node": node.label,
        "provider": node.provider,
        "state": node.state.word(),
        "head": node.head,
        "sendOnly": node.send_only,
        "caught": node.reproach,
    })
}

fn trouble(lane: &Lane) -> Option<String> {
    lane.not_ready().map(|(_, said)| said)
}

/// Counters and gauges in the text format that Prometheus reads, or as `OpenMetrics` where that is asked for.
pub(super) async fn metrics(State(state): State<Arc<AppState>>, headers: HeaderMap) -> Response {
    if let Some(tls) = &state.limits.tls {
        state.metrics.certificate(tls.until());
    }
    let webhook = state.webhook.as_deref();
    readable(state.metrics.render(&state.engine, webhook, state.refusals.as_ref()), &headers)
}

/// A scrape, as whoever asks for it reads it.
pub(super) fn readable(text: String, headers: &HeaderMap) -> Response {
    let asked = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let open = asked.into_iter().any(|accepted| accepted.contains("application/openmetrics-text"));
    let (kind, text) = if open {
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", text)
    } else {
        ("text/plain; version=0.0.4; charset=utf-8", classic(&text))
    };
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

/// The interface, for machines.
pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], include_str!("openapi.json")).into_response()
}

fn body(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
