//! `/PayTool/control`: pausing and resuming chains, what is used up of their limits, and the word of a
//! person where the chain has none. For callers with `control = true` alone.

use super::AppState;
use super::answer::{HttpReply, Success, envelope, integer};
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::rejection::Rejection;
use super::visible::Visible;
use super::wire::WholeNumber;
use alloy::primitives::Address;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use billing::{Family, PlatformChainId, SubscribeId, spell_address};
use config::{Caller, Rights};
use engine::{NotDone, SigningLanes};
use journal::{PersonsWord, Resolution, Switch, Unresolved};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// `GET /PayTool/control`
pub(super) async fn show(State(state): State<Arc<AppState>>, request: Request) -> Response {
    controlled(state, request, Purpose::Inspect, async move |state, sent| {
        which(&sent)?;
        report(&state, &sent.by.rights).await
    })
    .await
}

/// `POST /PayTool/control/pause`
pub(super) async fn pause(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let pause = async move |state: Arc<AppState>, sent| begin(&state, sent).await;
    controlled(state, request, Purpose::Control, pause).await
}

/// `POST /PayTool/control/resume`
pub(super) async fn resume(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let resume = async move |state: Arc<AppState>, sent| end(&state, sent).await;
    controlled(state, request, Purpose::Control, resume).await
}

/// `POST /PayTool/control/resolve`
pub(super) async fn resolve(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let resolve = async move |state: Arc<AppState>, sent| settle(&state, sent).await;
    controlled(state, request, Purpose::Control, resolve).await
}

/// A request of a caller that may control.
pub(super) struct Instruction {
    pub(super) by: Arc<Caller>,
    pub(super) body: Bytes,
}

/// Has something done for somebody who may control, as the guard has seen to.
pub(super) async fn controlled<W, F>(
    state: Arc<AppState>,
    request: Request,
    purpose: Purpose,
    work: W,
) -> Response
where
    W: FnOnce(Arc<AppState>, Instruction) -> F + Send + 'static,
    F: Future<Output = Result<Response, HttpReply>> + Send + 'static,
{
    if request.uri().query().is_some() {
        return Rejection::Query.into_response();
    }
    handle_signed(
        state,
        request,
        purpose,
        async move |state, Authenticated { body, caller, .. }| {
            let Some(caller) = caller else {
                return Rejection::NoControl.into_response();
            };
            let sent = Instruction { by: caller, body };
            work(state, sent).await.into_response()
        },
    )
    .await
}

/// A person's finding on a charge that the chain does not tell of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResolveRequest {
    /// The billing's number, any of its hashes, or its request id.
    billing: String,
    subscribe_id: WholeNumber,
    /// `charged` or `free`.
    outcome: String,
    why: String,
}

async fn settle(
    state: &AppState,
    Instruction { by, body }: Instruction,
) -> Result<Response, HttpReply> {
    let unclear = |why: String| {
        let form =
            r#"{"billing": "…", "subscribeId": n, "outcome": "charged" or "free", "why": "…"}"#;
        let msg = format!("the body must be {form}: {}", Visible(why));
        envelope(StatusCode::BAD_REQUEST, 0, msg, ())
    };
    let found: ResolveRequest = match serde_json::from_slice(&body) {
        Ok(found) => found,
        Err(why) => return Ok(unclear(why.to_string())),
    };
    let Some(resolution) = Resolution::from_word(&found.outcome) else {
        return Ok(unclear(format!("outcome is {:?}", found.outcome)));
    };
    let subscribe = SubscribeId(found.subscribe_id.0);
    let lanes = state.engine.lanes();
    if let Some(chain) = lanes.of_chains.keys().find(|chain| !by.rights.covers_chain(**chain)) {
        return Err(Rejection::NotItsChain(*chain).into());
    }
    let (why, at_ms) = (in_one_line(&found.why), state.engine.journal.now_ms());
    let by = by.label.clone();
    let billing = found.billing;
    let finding = PersonsWord { billing, subscribe, resolution, by, why, at_ms };
    Ok(match state.engine.resolve(finding).await {
        Ok(resolved) => {
            let word = if resolved.repeated { "resolved so before" } else { "resolved" };
            let report = super::status::report(state, &resolved.billing);
            envelope(StatusCode::OK, 1, word.to_owned(), report)
        }
        Err(NotDone::NoVerdict(why)) => return Err(HttpReply::NoVerdict(why)),
        Err(NotDone::Refused(why)) => {
            let status = match why {
                Unresolved::NoBilling(_) | Unresolved::NotInIt { .. } => StatusCode::NOT_FOUND,
                Unresolved::NoReason => StatusCode::BAD_REQUEST,
                Unresolved::Ambiguous { .. }
                | Unresolved::Open
                | Unresolved::Told(_)
                | Unresolved::Otherwise(_) => StatusCode::CONFLICT,
            };
            envelope(status, 0, why.to_string(), ())
        }
    })
}

/// A reason as it is kept, and told wherever somebody asks for it, the log among them.
fn in_one_line(why: &str) -> String {
    Visible(why).to_string()
}

/// Longest reason for a pause, characters.
const MOST_WORDS: usize = 500;

/// Which chain is meant; none for all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Which {
    #[serde(default, deserialize_with = "stated")]
    chain_id: Option<PlatformChainId>,
    /// Of a pause: why.
    why: Option<String>,
}

/// `null` is no chain, and not all of them either.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PlatformChainId>, D::Error> {
    let WholeNumber(id) = WholeNumber::deserialize(deserializer)?;
    let id = u32::try_from(id).map_err(|_| D::Error::custom("chainId is no id of a chain"))?;
    Ok(Some(PlatformChainId(id)))
}

/// The chain that is meant.
pub(super) fn which(Instruction { body, .. }: &Instruction) -> Result<Which, Rejection> {
    if body.is_empty() {
        return Ok(Which::default());
    }
    let unclear = Rejection::Control;
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(unclear("it is no object".to_owned()));
    }
    serde_json::from_slice(body).map_err(|why| unclear(why.to_string()))
}

async fn begin(state: &AppState, sent: Instruction) -> Result<Response, HttpReply> {
    let which = which(&sent)?;
    let chains = match which.chain_id {
        Some(chain) => vec![chain],
        None => state.engine.lanes().of_chains.keys().copied().collect(),
    };
    if which
        .why
        .as_ref()
        .is_some_and(|why| why.trim().is_empty() || why.chars().count() > MOST_WORDS)
    {
        let why = format!("why is 1 to {MOST_WORDS} characters");
        return Err(Rejection::Control(why).into());
    }
    let why = which.why.as_deref().map(in_one_line);
    set(state, Switch::Pause(chains), &sent.by, why).await
}

/// The pauses that are to end: since when each is, Unix ms, by the platform's id of the chain.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Pauses {
    pauses: BTreeMap<u32, i64>,
}

async fn end(state: &AppState, sent: Instruction) -> Result<Response, HttpReply> {
    let read = serde_json::from_slice(&sent.body).map_err(|why| why.to_string());
    let named = read.and_then(|Pauses { pauses }| {
        if pauses.is_empty() { Err("it names no pause".to_owned()) } else { Ok(pauses) }
    });
    let named = named.map_err(Rejection::Resume)?;
    let named = named.into_iter().map(|(chain, since_ms)| (PlatformChainId(chain), since_ms));
    set(state, Switch::Resume(named.collect()), &sent.by, None).await
}

async fn set(
    state: &AppState,
    switch: Switch,
    by: &Caller,
    why: Option<String>,
) -> Result<Response, HttpReply> {
    let mut chains: Box<dyn Iterator<Item = &PlatformChainId> + Send> = match &switch {
        Switch::Pause(chains) => Box::new(chains.iter()),
        Switch::Resume(pauses) => Box::new(pauses.keys()),
    };
    if let Some(chain) = chains.find(|chain| !by.rights.covers_chain(**chain)) {
        return Err(Rejection::NotItsChain(*chain).into());
    }
    drop(chains);
    state.engine.set_paused(switch, &by.label, why).await.map_err(|not| match not {
        NotDone::Refused(other) => Rejection::OtherPause(other).into(),
        NotDone::NoVerdict(why) => HttpReply::NoVerdict(why),
    })?;
    report(state, &by.rights).await
}

/// A chain, as whoever controls it wants to know it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Control {
    chain_id: u32,
    name: String,
    /// Why nothing new is signed; null when it is.
    paused: Option<String>,
    /// Since when a caller has it paused, Unix ms: the name of that pause, to end it by.
    paused_since: Option<i64>,
    /// The limits, in words.
    policy: String,
    /// Amounts let through today (UTC): base units by token address, wei or sun under `fee`.
    spent_today: BTreeMap<String, Option<Box<RawValue>>>,
    /// The same in words.
    spent_in_words: Vec<String>,
}

/// A token as its family writes addresses; `fee` as it is.
fn spell(family: Family, unit: String) -> String {
    let token: Option<Address> = unit.parse().ok();
    token.map_or(unit, |token| spell_address(family, token))
}

async fn report(state: &AppState, rights: &Rights) -> Result<Response, HttpReply> {
    let set = state.engine.lanes();
    // The report on a chain is the same for all its accounts.
    let lanes = set.chains().into_iter().map(SigningLanes::any);
    let mut chains = Vec::new();
    for lane in lanes.filter(|lane| rights.covers_chain(lane.id().chain)) {
        let spent = state.engine.spent(lane.id().chain).await;
        let spent = spent?;
        let (facts, policy) = (lane.chain.facts(), lane.chain.policy());
        let words = spent.iter().map(|sum| policy.spent_in_words(&sum.unit, sum.amount)).collect();
        chains.push(Control {
            chain_id: facts.id.0,
            name: facts.name.clone(),
            paused: lane.paused(),
            paused_since: state.engine.journal.pauses().of(facts.id).map(|pause| pause.since_ms),
            policy: policy.describe().0,
            spent_in_words: words,
            spent_today: spent
                .into_iter()
                .map(|sum| (spell(facts.family, sum.unit), integer(sum.amount)))
                .collect(),
        });
    }
    Ok(Success(chains).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_of_a_pause_is_told_with_both_that_there_are() {
        let by = Caller {
            label: "operator".to_owned(),
            key: "operator".to_owned(),
            secret: "a secret of nobody".to_owned().into(),
            rights: Rights::default(),
        };
        let body = Bytes::from_static(br#"{"chain": 139}"#);
        let told = which(&Instruction { by: Arc::new(by), body }).err().map(|why| why.to_string());
        let told = told.unwrap_or_default();
        assert!(told.contains(r#"{"chainId": n, "why": "…"}"#), "{told}");
        assert!(told.contains("unknown field `chain`, expected `chainId` or `why`"), "{told}");
    }
}
