//! `/PayTool/control`: pausing and resuming chains, what is used up of their limits, and the word of a
//! person where the chain has none. For callers with `control = true` alone.

use super::answer::{HttpReply, TurnedAway, envelope, integer};
use super::{AppState, Authentic, authenticate};
use crate::billing::{Family, PlatformChainId, SubscribeId, spell_address};
use crate::engine::{Lane, NoVerdict};
use crate::journal::{PersonsWord, Resolution, Unresolved};
use alloy::primitives::Address;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// `GET /PayTool/control`
pub(super) async fn show(State(door): State<Arc<AppState>>, request: Request) -> Response {
    let shown = async {
        admit(&door, request).await?;
        report(&door).await
    };
    shown.await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /PayTool/control/pause`
pub(super) async fn pause(State(door): State<Arc<AppState>>, request: Request) -> Response {
    set(&door, request, true).await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /PayTool/control/resume`
pub(super) async fn resume(State(door): State<Arc<AppState>>, request: Request) -> Response {
    set(&door, request, false).await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /PayTool/control/resolve`
pub(super) async fn resolve(State(door): State<Arc<AppState>>, request: Request) -> Response {
    settle(&door, request).await.unwrap_or_else(IntoResponse::into_response)
}

/// What a person found out about a charge that the chain does not tell of.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResolveRequest {
    /// The billing's number, any of its hashes, or its request id.
    billing: String,
    subscribe_id: i64,
    /// `charged` or `free`.
    outcome: String,
    why: String,
}

async fn settle(door: &AppState, request: Request) -> Result<Response, HttpReply> {
    let (by, body) = sent_by(door, request).await?;
    let unclear = |why: String| {
        let form =
            r#"{"billing": "…", "subscribeId": n, "outcome": "charged" or "free", "why": "…"}"#;
        let msg = format!("the body must be {form}: {why}");
        envelope(StatusCode::BAD_REQUEST, 0, msg, ())
    };
    let found: ResolveRequest = match serde_json::from_slice(&body) {
        Ok(found) => found,
        Err(why) => return Ok(unclear(why.to_string())),
    };
    let Some(resolution) = Resolution::from_word(&found.outcome) else {
        return Ok(unclear(format!("outcome is {:?}", found.outcome)));
    };
    let subscribe = SubscribeId(found.subscribe_id);
    let (billing, why, at_ms) = (found.billing, found.why, door.engine.journal.now_ms());
    let finding = PersonsWord { billing, subscribe, resolution, by, why, at_ms };
    let told = door.engine.resolve(finding).await.map_err(HttpReply::NoVerdict)?;
    Ok(match told {
        Ok(resolved) => {
            let word = if resolved.repeated { "resolved so before" } else { "resolved" };
            let report = super::status::report(door, &resolved.billing);
            envelope(StatusCode::OK, 1, word.to_owned(), report)
        }
        Err(why) => {
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

/// Which chain is meant; none for all of them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Which {
    #[serde(default, deserialize_with = "stated")]
    chain_id: Option<u32>,
}

/// `null` is no chain, and not all of them either.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    u32::deserialize(deserializer).map(Some)
}

/// The caller's key and what it sent, if it may control.
async fn sent_by(door: &AppState, request: Request) -> Result<(String, Bytes), HttpReply> {
    if request.uri().query().is_some() {
        return Err(HttpReply::TurnedAway(TurnedAway::Query));
    }
    let Authentic { body, caller, controls, .. } =
        authenticate(door, request).await.map_err(HttpReply::TurnedAway)?;
    let by = caller.filter(|_| controls).ok_or(HttpReply::TurnedAway(TurnedAway::NoControl))?;
    Ok((by, body))
}

/// The caller's key and the chain that it means, if it may control.
async fn admit(door: &AppState, request: Request) -> Result<(String, Which), HttpReply> {
    let (by, body) = sent_by(door, request).await?;
    if body.is_empty() {
        return Ok((by, Which::default()));
    }
    let unclear = |why: String| HttpReply::TurnedAway(TurnedAway::Control(why));
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(unclear("it is no object".to_owned()));
    }
    let which = serde_json::from_slice(&body).map_err(|why| unclear(why.to_string()))?;
    Ok((by, which))
}

async fn set(door: &AppState, request: Request, paused: bool) -> Result<Response, HttpReply> {
    let (by, which) = admit(door, request).await?;
    let chain = which.chain_id.map(PlatformChainId);
    door.engine.set_paused(chain, paused, &by).await.map_err(HttpReply::NoVerdict)?;
    report(door).await
}

/// A chain, as whoever controls it wants to know it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Control {
    chain_id: u32,
    name: String,
    /// Why nothing new is signed; null when it is.
    paused: Option<String>,
    /// The limits, in words.
    policy: String,
    /// What was let through today (UTC): base units by token address, wei or sun under `fee`.
    spent_today: BTreeMap<String, Option<Box<RawValue>>>,
}

/// A token as its family writes addresses; `fee` as it is.
fn spell(family: Family, unit: String) -> String {
    let token: Option<Address> = unit.parse().ok();
    token.map_or(unit, |token| spell_address(family, token))
}

async fn report(door: &AppState) -> Result<Response, HttpReply> {
    let mut lanes: Vec<&Arc<Lane>> = door.engine.lanes.values().collect();
    lanes.sort_by_key(|lane| lane.chain.facts().id);
    let mut chains = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let spent = door.engine.spent(lane).await;
        let spent = spent.map_err(|error| HttpReply::NoVerdict(NoVerdict::Journal(error)))?;
        let facts = lane.chain.facts();
        chains.push(Control {
            chain_id: facts.id.0,
            name: facts.name.clone(),
            paused: lane.paused(),
            policy: lane.chain.policy().describe().0,
            spent_today: spent
                .into_iter()
                .map(|sum| (spell(facts.family, sum.unit), integer(sum.amount)))
                .collect(),
        });
    }
    Ok(envelope(StatusCode::OK, 1, "success".to_owned(), chains))
}
