//! As much of anvil's dialect as the world speaks, over a TRON node.

use super::shapes::{Done, block, log, receipt};
use super::{SLOT_MS, deploy, peek, succeeded, transactions_of};
use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use axum::{Router, body, routing::post};
use parking_lot::Mutex;
use sandbox_chains::chain::Orphans;
use sandbox_chains::tron::TronNode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::net::TcpListener;

/// What an account of the world is given (sun): a million TRX.
const FUNDS: u64 = 1_000_000_000_000;

#[derive(Debug)]
struct Face {
    node: TronNode,
    /// What was done without a transaction, by a hash of our making.
    done: Mutex<HashMap<B256, Done>>,
    /// Whether calls happen at once; else they wait for the next block.
    at_once: Mutex<bool>,
    waiting: Mutex<Vec<(B256, Asked)>>,
}

#[derive(Clone, Debug, Deserialize)]
struct Asked {
    #[serde(default)]
    from: Address,
    to: Option<Address>,
    #[serde(alias = "data", default)]
    input: Bytes,
}

/// Listens, for as long as the runtime lives.
pub(super) async fn serve(node: TronNode) -> String {
    let (done, at_once, waiting) = (Mutex::default(), Mutex::new(true), Mutex::default());
    let face = Arc::new(Face { node, done, at_once, waiting });
    let router = Router::new().route(
        "/",
        post(move |body: body::Bytes| {
            let face = Arc::clone(&face);
            async move {
                let asked: Value = serde_json::from_slice(&body).unwrap();
                let answer = match asked.as_array() {
                    Some(all) => all.iter().map(|one| face.answer(one)).collect(),
                    None => face.answer(&asked),
                };
                ([("content-type", "application/json")], answer.to_string())
            }
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    #[expect(clippy::disallowed_methods, reason = "lives as long as the test")]
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{value}: {error}"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| read::<U256>(value).to())
}

impl Face {
    fn answer(&self, asked: &Value) -> Value {
        let method = asked["method"].as_str().unwrap();
        match self.result(method, &asked["params"]) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}),
        }
    }

    fn result(&self, method: &str, params: &Value) -> Result<Value, Value> {
        let node = &self.node;
        let chain_id = sandbox_chains::town::Ground::chain_id(node);
        Ok(match method {
            "eth_accounts" => json!([super::somebody("deployer")]),
            "eth_chainId" => json!(U256::from(chain_id)),
            "eth_blockNumber" => json!(U256::from(node.node().chain().head().header.number)),
            "eth_getBlockByNumber" => block(node, &params[0]),
            "eth_getLogs" => self.logs(&params[0]),
            "eth_call" => return self.call(&read(&params[0])),
            "eth_sendTransaction" => json!(self.send(read(&params[0]))),
            "eth_getTransactionReceipt" => self.receipt(read(&params[0])),
            "eth_getTransactionCount" => self.count(read(&params[0]), params[1] == "pending"),
            "eth_getTransactionByHash" => self.transaction(read(&params[0])),
            "anvil_setBalance" => {
                let coins = read::<U256>(&params[1]);
                node.fund(read(&params[0]), if coins.is_zero() { 0 } else { FUNDS });
                Value::Null
            }
            "anvil_dropTransaction" => {
                json!(node.node().chain().pool_mut().remove(&read::<B256>(&params[0])))
            }
            "anvil_dropAllTransactions" => {
                node.node().chain().pool_mut().clear();
                Value::Null
            }
            "anvil_reorg" => {
                let depth = number(&params[0]);
                node.reorg(depth, Orphans::Lose);
                node.steps(depth);
                Value::Null
            }
            "anvil_mine" => {
                for _ in 0..number(&params[0]) {
                    self.happen();
                    node.step();
                }
                Value::Null
            }
            "evm_increaseTime" => {
                node.skip(number(&params[0]) * 1000 / SLOT_MS);
                Value::Null
            }
            "evm_setAutomine" => {
                *self.at_once.lock() = params[0] == json!(true);
                Value::Null
            }
            "anvil_autoImpersonateAccount" | "evm_setIntervalMining" => Value::Null,
            _ => return Err(json!({"code": -32601, "message": format!("no {method} on TRON")})),
        })
    }

    fn call(&self, asked: &Asked) -> Result<Value, Value> {
        let to = asked.to.expect("a contract");
        let outcome = peek(&self.node, asked.from, to, asked.input.clone());
        if succeeded(&outcome) {
            return Ok(json!(outcome.output));
        }
        let message = format!("execution reverted: {}", outcome.message);
        Err(json!({"code": 3, "message": message, "data": outcome.output}))
    }

    fn send(&self, asked: Asked) -> B256 {
        let mut done = self.done.lock();
        let mut waiting = self.waiting.lock();
        let number = done.len() + waiting.len();
        let hash = keccak256(format!("done {number}"));
        if *self.at_once.lock() || asked.to.is_none() {
            done.insert(hash, self.act(number, &asked));
        } else {
            waiting.push((hash, asked));
        }
        hash
    }

    fn act(&self, number: usize, asked: &Asked) -> Done {
        let Some(to) = asked.to else {
            let contract = Some(deploy(&self.node, number, &asked.input));
            return Done { succeeded: true, logs: vec![], contract };
        };
        let outcome = self.node.impersonate(asked.from, to, asked.input.clone());
        Done { succeeded: succeeded(&outcome), logs: outcome.logs, contract: None }
    }

    /// What waited for a block happens before it.
    fn happen(&self) {
        for (hash, asked) in std::mem::take(&mut *self.waiting.lock()) {
            let done = self.act(usize::MAX, &asked);
            self.done.lock().insert(hash, done);
        }
    }

    fn receipt(&self, hash: B256) -> Value {
        let known = self.done.lock().get(&hash).cloned();
        let known = known.or_else(|| {
            let place = self.node.node().chain().find(&hash)?;
            let info = &place.included().receipt;
            let (succeeded, logs) = (info.succeeded(), info.logs.clone());
            Some(Done { succeeded, logs, contract: None })
        });
        known.map_or(Value::Null, |done| receipt(hash, &done))
    }

    /// Those of the chain, and those of what was done without a transaction.
    fn logs(&self, asked: &Value) -> Value {
        let (at, topic): (Address, B256) = (read(&asked["address"]), read(&asked["topics"][0]));
        let chain = self.node.node().chain();
        let blocks = (0..=chain.head().header.number).filter_map(|number| chain.block(number));
        let included = blocks.flat_map(|block| &block.body);
        let logs = included.flat_map(|included| &included.receipt.logs);
        let done = self.done.lock();
        let logs = logs.chain(done.values().flat_map(|done| &done.logs));
        let logs = logs.filter(|log| log.address == at && log.topics().first() == Some(&topic));
        logs.enumerate().map(|(index, l)| log(B256::ZERO, index, l)).collect()
    }

    fn count(&self, owner: Address, pending: bool) -> Value {
        let (included, waiting) = transactions_of(&self.node, owner);
        json!(U256::from(included.len() + if pending { waiting.len() } else { 0 }))
    }

    fn transaction(&self, hash: B256) -> Value {
        let chain = self.node.node().chain();
        let known = chain.pool().get(&hash).is_some() || chain.find(&hash).is_some();
        if known { json!({"hash": hash}) } else { Value::Null }
    }
}
