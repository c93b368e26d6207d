//! `/jsonrpc`: the Ethereum-like door of a TRON node, with its own ideas.

mod logs;

use super::address;
use super::calls::{Estimate, Question, Seen, Side};
use super::family::{Tron, chain_id};
use super::http::Request;
use super::json::accounts;
use super::node::TronNode;
use super::tvm::Ending;
use super::tx::{Action, Tx};
use crate::chain::{Block, Chain, Place};
use revm::primitives::{Address, B256, Log};
use serde_json::{Value, json};
use std::sync::Arc;

/// An error of JSON-RPC.
type Failure = (i64, String);
/// A bloom filter with nothing in it.
const EMPTY_BLOOM: &str = "0x00";

impl TronNode {
    /// Answers one request or a batch.
    pub(super) fn json_rpc(&self, side: Side, request: &Request) -> Value {
        if !request.parsed {
            let error = json!({"code": -32700, "message": "JSON parse error"});
            return json!({"jsonrpc": "2.0", "id": "null", "error": error});
        }
        let one = |one| self.one(side, request, one);
        request
            .json
            .as_array()
            .map_or_else(|| one(&request.json), |batch| batch.iter().map(one).collect())
    }

    fn one(&self, side: Side, request: &Request, one: &Value) -> Value {
        let method = one.get("method").and_then(Value::as_str).unwrap_or_default();
        let params = one.get("params").and_then(Value::as_array).cloned().unwrap_or_default();
        let id = one.get("id").cloned().unwrap_or(Value::Null);
        match self.method(Seen { side, lag: request.lag }, method, &params, request.timeout) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err((code, message)) if message == INVALID => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
            }
            Err((code, message)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": "{}"}})
            }
        }
    }

    fn method(
        &self,
        seen: Seen,
        method: &str,
        params: &[Value],
        timeout: bool,
    ) -> Result<Value, Failure> {
        match method {
            "eth_call" => return self.eth_call(seen, params, timeout),
            "eth_estimateGas" => return self.eth_estimate(seen, params, timeout),
            _ => {}
        }
        let mut chain = self.node().chain();
        let (block, state) = self.view(&mut chain, seen);
        let newest = block.header.number;
        let id =
            || params.first().and_then(Value::as_str).and_then(|text| text.parse::<B256>().ok());
        let place = |id: B256| chain.find(&id).filter(|place| place.block.header.number <= newest);
        let who = || {
            params.first().and_then(Value::as_str).map_or_else(|| Err(bad_address()), parse_address)
        };
        Ok(match method {
            "eth_blockNumber" => hex_number(newest),
            "eth_chainId" | "net_version" => hex_number(chain_id(&*chain)),
            "eth_gasPrice" => hex_number(chain.family().params.energy_price()),
            "eth_syncing" => json!(false),
            "eth_getBlockByNumber" => block_by(&chain, seen, newest, params)?,
            "eth_getBlockByHash" => {
                let found = id().and_then(|id| chain.block_by_id(&id));
                found.map_or(Value::Null, block_json)
            }
            "eth_getCode" => {
                json!(format!("0x{}", hex::encode(accounts::runtime(&state, &who()?))))
            }
            "eth_getBalance" => json!(format!("{:#x}", state.balance(&who()?))),
            "eth_getTransactionReceipt" => {
                id().and_then(place).map_or(Value::Null, |place| receipt(&place))
            }
            "eth_getTransactionByHash" => match id() {
                Some(id) => place(id)
                    .map(|place| transaction(&place.included().tx, Some(&place)))
                    .or_else(|| {
                        let pending = chain.pool().get(&id).filter(|_| seen == Seen::NEWEST);
                        pending.map(|pending| transaction(&pending.tx, None))
                    })
                    .unwrap_or(Value::Null),
                None => Value::Null,
            },
            "eth_getLogs" => logs::found(&chain, newest, params.first().unwrap_or(&Value::Null))?,
            "web3_clientVersion" => json!("TRON/v4.8.0/sandbox"),
            "net_listening" => json!(true),
            _ => {
                return Err((
                    -32601,
                    format!("the method {method} does not exist/is not available"),
                ));
            }
        })
    }

    fn eth_call(&self, seen: Seen, params: &[Value], timeout: bool) -> Result<Value, Failure> {
        let question = Question { out_of_time: timeout, ..self.question(params)? };
        match params.get(1) {
            Some(Value::String(tag)) if tag == "latest" => {}
            Some(Value::String(tag))
                if ["earliest", "pending", "finalized"].contains(&tag.as_str()) =>
            {
                return Err((
                    -32602,
                    "TAG [earliest | pending | finalized] not supported".to_owned(),
                ));
            }
            Some(Value::String(tag)) if tag.starts_with("0x") => {
                return Err((
                    -32602,
                    "QUANTITY not supported, just support TAG as latest".to_owned(),
                ));
            }
            Some(Value::Object(_)) => {} // checked for existence by the node, then run on latest
            _ => return Err((-32602, "invalid block number".to_owned())),
        }
        let done = self.ask(seen, &question).map_err(|why| (-32600, why.to_owned()))?;
        if done.ending == Ending::Success {
            return Ok(json!(format!("0x{}", hex::encode(&done.output))));
        }
        let reverted = done.ending == Ending::Revert;
        Err((-32000, if reverted { reason(&done.output) } else { done.message }))
    }

    fn eth_estimate(&self, seen: Seen, params: &[Value], timeout: bool) -> Result<Value, Failure> {
        let question = Question { out_of_time: timeout, ..self.question(params)? };
        let done = self.estimate(seen, &question).map_err(|why| (-32600, why.to_owned()))?;
        match done {
            Estimate::Enough(energy) => Ok(hex_number(energy)),
            Estimate::Fails(done) => Err((-32000, done.message)),
        }
    }

    fn question(&self, params: &[Value]) -> Result<Question, Failure> {
        let known = ["from", "to", "gas", "gasPrice", "value", "data", "nonce"];
        let call = params
            .first()
            .and_then(Value::as_object)
            .ok_or_else(|| (-32602, INVALID.to_owned()))?;
        let alias = self.options().input_alias;
        if !call.keys().all(|key| known.contains(&key.as_str()) || (alias && key == "input")) {
            return Err((-32602, INVALID.to_owned()));
        }
        let text = |key: &str| call.get(key).and_then(Value::as_str);
        let data = text("data").or_else(|| text("input")).unwrap_or_default();
        let data =
            super::http::lenient(data).ok_or_else(|| (-32602, "invalid hex data".to_owned()))?;
        let value = text("value")
            .map_or(Some(0), |text| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok());
        Ok(Question {
            from: text("from").map_or(Ok(Address::ZERO), parse_address)?,
            to: text("to").map(parse_address).transpose()?,
            value: value.ok_or_else(|| (-32602, "invalid value".to_owned()))?,
            data: data.into(),
            out_of_time: false,
        })
    }
}

const INVALID: &str = "method parameters invalid";

fn bad_address() -> Failure {
    (-32602, "invalid address hash value".to_owned())
}

/// 20 or 21 bytes in hex.
fn parse_address(text: &str) -> Result<Address, Failure> {
    let bytes = hex::decode(text.trim_start_matches("0x")).map_err(|_| bad_address())?;
    address::from21(&bytes)
        .or_else(|| Address::try_from(bytes.as_slice()).ok())
        .ok_or_else(bad_address)
}

fn reason(output: &[u8]) -> String {
    let reason = output.strip_prefix(&[0x08, 0xc3, 0x79, 0xa0]).and_then(|rest| {
        let length = usize::from_str_radix(&hex::encode(rest.get(32..64)?), 16).ok()?;
        String::from_utf8(rest.get(64..64 + length)?.to_vec()).ok()
    });
    reason.map_or_else(
        || "REVERT opcode executed".to_owned(),
        |reason| format!("REVERT opcode executed: {reason}"),
    )
}

fn hex_number(number: u64) -> Value {
    json!(format!("{number:#x}"))
}

fn hex_index(index: usize) -> Value {
    json!(format!("{index:#x}"))
}

fn block_by(
    chain: &Chain<Tron>,
    seen: Seen,
    newest: u64,
    params: &[Value],
) -> Result<Value, Failure> {
    let number = match params.first().and_then(Value::as_str).unwrap_or_default() {
        "latest" => newest,
        "finalized" => chain.solid().header.number.saturating_sub(seen.lag),
        "earliest" => 0,
        "pending" => return Err((-32602, "TAG pending not supported".to_owned())),
        text => u64::from_str_radix(text.trim_start_matches("0x"), 16)
            .map_err(|_| (-32602, "invalid block number".to_owned()))?,
    };
    Ok(chain.block(number).filter(|_| number <= newest).map_or(Value::Null, block_json))
}

fn block_json(block: &Arc<Block<Tron>>) -> Value {
    let zeros = format!("0x{}", "0".repeat(64));
    let ids: Vec<_> = block.body.iter().map(|included| format!("{}", included.tx.id)).collect();
    let used = block.body.iter().map(|included| included.receipt.energy_total).sum();
    json!({
        "baseFeePerGas": "0x0",
        "difficulty": "0x0",
        "extraData": "0x",
        "gasLimit": "0x0",
        "gasUsed": hex_number(used),
        "hash": format!("{}", block.id),
        "logsBloom": bloom(),
        "miner": format!("{:#x}", block.header.producer),
        "mixHash": zeros,
        "nonce": "0x0000000000000000",
        "number": hex_number(block.header.number),
        "parentHash": format!("{}", block.header.parent),
        "receiptsRoot": zeros,
        "sha3Uncles": zeros,
        "size": hex_number(block.body.iter().map(|included| included.tx.size()).sum::<u64>() + 0xae),
        "stateRoot": "0x",
        "timestamp": hex_number(block.header.time_ms / 1000),
        "totalDifficulty": "0x0",
        "transactions": ids,
        "transactionsRoot": format!("{}", super::family::root(&block.body)),
        "uncles": [],
    })
}

fn bloom() -> String {
    format!("0x{}", EMPTY_BLOOM.trim_start_matches("0x").repeat(256))
}

/// Sender, target, call data and value of a transaction.
fn parts(tx: &Tx) -> (Option<Address>, Option<Address>, Vec<u8>, i64) {
    match &tx.action {
        Action::Trigger(call) => (
            tx.owner(),
            address::from21(&call.contract_address),
            call.data.clone(),
            call.call_value,
        ),
        Action::Transfer(body) => {
            (tx.owner(), address::from21(&body.to_address), vec![], body.amount)
        }
        Action::Create(_) | Action::Other => (tx.owner(), None, vec![], 0),
    }
}

fn address_json(address: Option<Address>) -> Value {
    address.map_or(Value::Null, |address| json!(format!("{address:#x}")))
}

fn transaction(tx: &Tx, place: Option<&Place<Tron>>) -> Value {
    let (from, to, data, value) = parts(tx);
    let empty = || json!("0x");
    let signature = tx.message.signature.first().cloned().unwrap_or_default();
    let piece = |range: std::ops::Range<usize>| {
        format!("0x{}", hex::encode(signature.get(range).unwrap_or_default()))
    };
    let energy = place.map_or(0, |place| place.included().receipt.energy_total);
    json!({
        "blockHash": place.map_or_else(empty, |place| json!(format!("{}", place.block.id))),
        "blockNumber": place.map_or_else(empty, |place| hex_number(place.block.header.number)),
        "from": address_json(from),
        "gas": hex_number(energy),
        "gasPrice": place.map_or_else(empty, |place| hex_number(place.block.header.price)),
        "hash": format!("{}", tx.id),
        "input": format!("0x{}", hex::encode(data)),
        "nonce": "0x0000000000000000",
        "r": piece(0..32),
        "s": piece(32..64),
        "to": address_json(to),
        "transactionIndex": place.map_or_else(empty, |place| hex_index(place.index)),
        "type": "0x0",
        "v": piece(64..65),
        "value": format!("{value:#x}"),
    })
}

fn receipt(place: &Place<Tron>) -> Value {
    let included = place.included();
    let (from, to, _, _) = parts(&included.tx);
    let before = &place.block.body[..=place.index];
    let cumulative = before.iter().map(|included| included.receipt.energy_total).sum();
    let first = first_log(place);
    let logs: Vec<_> = included
        .receipt
        .logs
        .iter()
        .enumerate()
        .map(|(index, log)| log_json(log, place, first + index))
        .collect();
    json!({
        "blockHash": format!("{}", place.block.id),
        "blockNumber": hex_number(place.block.header.number),
        "contractAddress": address_json(included.receipt.contract.filter(|_| included.receipt.deployed)),
        "cumulativeGasUsed": hex_number(cumulative),
        "effectiveGasPrice": hex_number(place.block.header.price),
        "from": address_json(from),
        "gasUsed": hex_number(included.receipt.energy_total),
        "logs": logs,
        "logsBloom": bloom(),
        "status": if included.receipt.succeeded() { "0x1" } else { "0x0" },
        "to": address_json(to),
        "transactionHash": format!("{}", included.tx.id),
        "transactionIndex": hex_index(place.index),
        "type": "0x0",
    })
}

/// The index of a transaction's first log in its block.
fn first_log(place: &Place<Tron>) -> usize {
    place.block.body[..place.index].iter().map(|included| included.receipt.logs.len()).sum()
}

fn log_json(log: &Log, place: &Place<Tron>, index: usize) -> Value {
    let topics: Vec<_> = log.data.topics().iter().map(|topic| format!("{topic}")).collect();
    json!({
        "address": format!("{:#x}", log.address),
        "blockHash": format!("{}", place.block.id),
        "blockNumber": hex_number(place.block.header.number),
        "data": format!("{}", log.data.data),
        "logIndex": hex_index(index),
        "removed": false,
        "topics": topics,
        "transactionHash": format!("{}", place.included().tx.id),
        "transactionIndex": hex_index(place.index),
    })
}
