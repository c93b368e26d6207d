//! The Ethereum face: JSON-RPC over HTTP, as common wallets, libraries and the Signer ask it.
//!
//! Left out: subscriptions, filters, traces, proofs, and everything for which a node would hold a key.

pub mod at;
pub mod calls;
pub mod fees;
pub mod jsonrpc;
pub mod pool;
pub mod shapes;
pub mod simulate;

use crate::chain::{Chain, Place};
use crate::evm::Evm;
use crate::local;
use crate::node::Node;
use alloy::eips::{BlockId, BlockNumberOrTag};
use alloy::primitives::{Address, B256, Bytes, U64, U128, U256};
use alloy::rpc::types::state::StateOverride;
use alloy::rpc::types::{BlockOverrides, Filter, FilterBlockOption, Log, TransactionRequest};
use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use jsonrpc::{Answer, Args, Error, value};
use revm::state::Bytecode;
use serde_json::{Value, json};
use shapes::Bodies;
use std::sync::Arc;

/// The longest body that is read, bytes; geth's limit.
const BODY_LIMIT: usize = 5 << 20;

/// The face of a node, at `/`.
pub fn router(node: Node<Evm>) -> Router {
    let answers = Router::new().route("/", post(answer)).layer(DefaultBodyLimit::max(BODY_LIMIT));
    answers.layer(from_fn(local::only)).with_state(node)
}

async fn answer(State(node): State<Node<Evm>>, body: axum::body::Bytes) -> Response {
    match respond(&node, &body) {
        Some(said) => {
            ([(header::CONTENT_TYPE, "application/json")], said.to_string()).into_response()
        }
        None => StatusCode::OK.into_response(),
    }
}

/// Answers a body without a socket; None when it holds nothing but notifications.
pub fn respond(node: &Node<Evm>, body: &[u8]) -> Option<Value> {
    jsonrpc::respond(body, |method, args| dispatch(&mut node.chain(), method, args))
}

/// The same of a body that was read already.
pub fn respond_to(node: &Node<Evm>, body: Value) -> Option<Value> {
    jsonrpc::respond_to(body, |method, args| dispatch(&mut node.chain(), method, args))
}

/// Answers one request.
pub fn dispatch(chain: &mut Chain<Evm>, method: &str, args: Args) -> Answer {
    match method {
        "eth_sendRawTransaction" => {
            let (raw,): (Bytes,) = args.read(1)?;
            value(pool::send(chain, &raw)?)
        }
        "eth_call" | "eth_estimateGas" | "eth_simulateV1" => run(chain, method, args),
        "eth_getBalance" | "eth_getCode" | "eth_getTransactionCount" | "eth_getStorageAt" => {
            account(chain, method, args)
        }
        "eth_gasPrice" | "eth_maxPriorityFeePerGas" | "eth_feeHistory" => cost(chain, method, args),
        "eth_getLogs" => {
            let (filter,): (Filter,) = args.read(1)?;
            value(logs(chain, &filter)?)
        }
        "eth_getBlockByNumber"
        | "eth_getBlockByHash"
        | "eth_getBlockReceipts"
        | "eth_getBlockTransactionCountByNumber"
        | "eth_getBlockTransactionCountByHash" => block(chain, method, args),
        "eth_getTransactionByHash"
        | "eth_getTransactionReceipt"
        | "eth_getTransactionBySenderAndNonce" => transaction(chain, method, args),
        "txpool_contentFrom" => {
            let (who,): (Address,) = args.read(1)?;
            Ok(pool::content(chain, &who))
        }
        _ => node(chain, method),
    }
}

/// Questions about the node, without arguments.
fn node(chain: &Chain<Evm>, method: &str) -> Answer {
    let chain_id = chain.family().chain_id;
    Ok(match method {
        "eth_chainId" => json!(U64::from(chain_id)),
        "net_version" => json!(chain_id.to_string()),
        "web3_clientVersion" => json!(concat!("sandbox/", env!("CARGO_PKG_VERSION"))),
        "eth_blockNumber" => json!(U64::from(chain.head().header.number)),
        "eth_syncing" => json!(false),
        "net_listening" => json!(true),
        "eth_accounts" => json!([]),
        _ => {
            let words = format!("the method {method} does not exist/is not available");
            return Err(Error::new(-32_601, words));
        }
    })
}

type Asked = (TransactionRequest, Option<BlockId>, Option<StateOverride>, Option<BlockOverrides>);

fn run(chain: &Chain<Evm>, method: &str, args: Args) -> Answer {
    if method == "eth_simulateV1" {
        let (payload, id): (_, Option<BlockId>) = args.read(2)?;
        return simulate::simulate(chain, at::at(chain, id)?, payload);
    }
    let (call, id, accounts, block): Asked = args.read(4)?;
    let mut at = calls::overridden(at::at(chain, id)?, accounts)?;
    if let Some(wanted) = block {
        let header = &mut at.header;
        header.number = wanted.number.map_or(header.number, |number| number.saturating_to());
        header.time_ms = wanted.time.map_or(header.time_ms, |seconds| seconds * 1000);
        header.producer = wanted.coinbase.unwrap_or(header.producer);
        header.gas_limit = wanted.gas_limit.unwrap_or(header.gas_limit);
    }
    if method == "eth_call" {
        return value(calls::call(chain, &at, call)?);
    }
    value(U64::from(calls::estimate(chain, &at, call)?))
}

fn account(chain: &Chain<Evm>, method: &str, args: Args) -> Answer {
    if method == "eth_getStorageAt" {
        let (who, slot, id): (Address, U256, Option<BlockId>) = args.read(3)?;
        return value(B256::from(at::at(chain, id)?.state.slot(&who, slot)));
    }
    let (who, id): (Address, Option<BlockId>) = args.read(2)?;
    if method == "eth_getTransactionCount" && id.is_some_and(|id| id.is_pending()) {
        return value(U64::from(pool::next_nonce(chain, &who)));
    }
    let state = at::at(chain, id)?.state;
    match method {
        "eth_getBalance" => value(state.balance(&who)),
        "eth_getTransactionCount" => value(U64::from(state.nonce(&who))),
        _ => value(state.code(&who).map(Bytecode::original_bytes).unwrap_or_default()),
    }
}

fn cost(chain: &Chain<Evm>, method: &str, args: Args) -> Answer {
    match method {
        "eth_gasPrice" => value(U128::from(fees::price(chain))),
        "eth_maxPriorityFeePerGas" => value(U128::from(fees::tip(chain))),
        _ => {
            let (count, newest, percentiles): (Value, BlockNumberOrTag, Option<Vec<f64>>) =
                args.read(3)?;
            let count = match count.as_u64() {
                Some(count) => count,
                None => serde_json::from_value::<U64>(count)
                    .map_err(|error| Error::params(error.to_string()))?
                    .to(),
            };
            value(fees::history(chain, count, newest, percentiles.as_deref())?)
        }
    }
}

fn block(chain: &Chain<Evm>, method: &str, args: Args) -> Answer {
    let (id, full): (BlockId, Option<bool>) = args.read(2)?;
    let bodies = if full == Some(true) { Bodies::Whole } else { Bodies::Hashes };
    let found = at::block(chain, id);
    match method {
        "eth_getBlockByNumber" if id.is_pending() => shapes::pending(chain, bodies),
        "eth_getBlockByNumber" | "eth_getBlockByHash" => {
            value(found.map(|block| shapes::block(&block, bodies)))
        }
        "eth_getBlockReceipts" => value(found.map(|block| {
            let places = 0..block.body.len();
            let place = |index| Place { block: Arc::clone(&block), index };
            places.map(|index| shapes::receipt(&place(index))).collect::<Vec<_>>()
        })),
        _ => value(found.map(|block| U256::from(block.body.len()))),
    }
}

fn transaction(chain: &Chain<Evm>, method: &str, args: Args) -> Answer {
    let hash = if method == "eth_getTransactionBySenderAndNonce" {
        let (who, nonce): (Address, U64) = args.read(2)?;
        pool::by_nonce(chain, &who, nonce.to())
    } else {
        let (hash,): (B256,) = args.read(1)?;
        Some(hash)
    };
    let Some(hash) = hash else { return Ok(Value::Null) };
    let place = chain.find(&hash);
    if method == "eth_getTransactionReceipt" {
        return value(place.as_ref().map(shapes::receipt));
    }
    match place {
        Some(place) => value(shapes::transaction(&place.block, place.index)),
        None => value(chain.pool().get(&hash).map(|pending| shapes::waits(&pending.tx))),
    }
}

fn logs(chain: &Chain<Evm>, filter: &Filter) -> Result<Vec<Log>, Error> {
    let blocks = match filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => {
            let block = chain.block_by_id(&hash).ok_or_else(|| Error::node("unknown block"))?;
            block.header.number..=block.header.number
        }
        FilterBlockOption::Range { from_block, to_block } => {
            let head = chain.head().header.number;
            let height = |tag: Option<BlockNumberOrTag>| {
                at::height(chain, tag.unwrap_or_default()).unwrap_or(head)
            };
            let (from, to) = (height(from_block), height(to_block));
            if from > to {
                return Err(Error::params("invalid block range params"));
            }
            from..=to.min(head)
        }
    };
    let all = blocks.filter_map(|number| chain.block(number)).flat_map(shapes::logs);
    Ok(all.filter(|log| filter.matches(&log.inner)).collect())
}
