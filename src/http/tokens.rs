//! In which units the page shows a token: asked of a node once, and remembered. The operator's name for it goes before
//! its own.

use super::AppState;
use super::answer::Success;
use super::guard::{Authenticated, handle_signed};
use super::purpose::Purpose;
use super::rejection::Rejection;
use alloy::primitives::Address;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use billing::{PlatformChainId, parse_address};
use chain::TokenUnits;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of tokens remembered. A merchant has a handful; a question about more tokens is answered with nothing.
const MOST_TOKENS: usize = 256;

/// The units that tokens told; none if a token does not tell them.
#[derive(Debug, Default)]
pub(super) struct KnownTokens(Mutex<HashMap<(PlatformChainId, Address), Option<TokenUnits>>>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TokenQuery {
    chain_id: u32,
    token: String,
}

#[derive(Debug, Serialize)]
struct ToldUnits {
    symbol: String,
    decimals: u8,
}

/// `GET /page/token?chainId=&token=`: for callers with `read`; null where the token does not tell.
pub(super) async fn token(State(state): State<Arc<AppState>>, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default().to_owned();
    handle_signed(state, request, Purpose::Ask, async move |state, Authenticated { caller, .. }| {
        let read = serde_urlencoded::from_str(&query).map_err(|why| why.to_string());
        let asked: TokenQuery = match read {
            Ok(asked) => asked,
            Err(why) => return Rejection::Page(why).into_response(),
        };
        let chain = PlatformChainId(asked.chain_id);
        if caller.is_some_and(|caller| !caller.rights.covers_chain(chain)) {
            return Rejection::NotItsChain(chain).into_response();
        }
        let units = units(&state, chain, &asked.token).await;
        let told = units.map(|TokenUnits { symbol, decimals }| ToldUnits { symbol, decimals });
        Success(told).into_response()
    })
    .await
}

async fn units(state: &AppState, chain: PlatformChainId, token: &str) -> Option<TokenUnits> {
    let lanes = state.engine.lanes();
    let adapter = Arc::clone(&lanes.of_chains.get(&chain)?.any().chain);
    let token = parse_address(adapter.facts().family, token).ok()?;
    {
        let known = state.tokens.0.lock();
        if let Some(told) = known.get(&(chain, token)) {
            return told.clone();
        }
        if known.len() >= MOST_TOKENS {
            return None;
        }
    }
    // Of silence nothing is remembered.
    let mut told = adapter.token_units(token).await.ok()?;
    if let (Some(units), Some(name)) = (&mut told, adapter.policy().token_name(token)) {
        name.clone_into(&mut units.symbol);
    }
    state.tokens.0.lock().insert((chain, token), told.clone());
    told
}
