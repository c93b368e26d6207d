//! `/PayTool/control`: pausing and resuming chains, and what is used up of their limits. For callers
//! with `control = true` alone.

use super::answer::{Reply, TurnedAway, envelope, integer};
use super::{Authentic, Door, authenticate};
use crate::billing::{Family, PlatformChainId, spell_address};
use crate::engine::{Lane, NoVerdict};
use alloy::primitives::Address;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// `GET /PayTool/control`
pub(super) async fn show(State(door): State<Arc<Door>>, request: Request) -> Response {
    let shown = async {
        admit(&door, request).await?;
        report(&door).await
    };
    shown.await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /PayTool/control/pause`
pub(super) async fn pause(State(door): State<Arc<Door>>, request: Request) -> Response {
    set(&door, request, true).await.unwrap_or_else(IntoResponse::into_response)
}

/// `POST /PayTool/control/resume`
pub(super) async fn resume(State(door): State<Arc<Door>>, request: Request) -> Response {
    set(&door, request, false).await.unwrap_or_else(IntoResponse::into_response)
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

/// The caller's key and body, if it may control.
async fn admit(door: &Door, request: Request) -> Result<(String, Which), Reply> {
    if request.uri().query().is_some() {
        return Err(Reply::TurnedAway(TurnedAway::Query));
    }
    let Authentic { body, caller, controls, .. } =
        authenticate(door, request).await.map_err(Reply::TurnedAway)?;
    let by = caller.filter(|_| controls).ok_or(Reply::TurnedAway(TurnedAway::NoControl))?;
    if body.is_empty() {
        return Ok((by, Which::default()));
    }
    let unclear = |why: String| Reply::TurnedAway(TurnedAway::Control(why));
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(unclear("it is no object".to_owned()));
    }
    let which = serde_json::from_slice(&body).map_err(|why| unclear(why.to_string()))?;
    Ok((by, which))
}

async fn set(door: &Door, request: Request, paused: bool) -> Result<Response, Reply> {
    let (by, which) = admit(door, request).await?;
    let chain = which.chain_id.map(PlatformChainId);
    door.engine.set_paused(chain, paused, &by).await.map_err(Reply::NoVerdict)?;
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

async fn report(door: &Door) -> Result<Response, Reply> {
    let mut lanes: Vec<&Arc<Lane>> = door.engine.lanes.values().collect();
    lanes.sort_by_key(|lane| lane.chain.facts().id);
    let mut chains = Vec::with_capacity(lanes.len());
    for lane in lanes {
        let spent = door.engine.spent(lane).await;
        let spent = spent.map_err(|error| Reply::NoVerdict(NoVerdict::Journal(error)))?;
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
