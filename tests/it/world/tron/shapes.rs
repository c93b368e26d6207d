//! Blocks, receipts and logs as Ethereum's libraries read them.

use alloy::primitives::{Address, B256, Bloom, Log, U256};
use sandbox_chains::tron::TronNode;
use serde_json::{Value, json};

/// What was done, and how it went.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) succeeded: bool,
    pub(super) logs: Vec<Log>,
    pub(super) contract: Option<Address>,
}

pub(super) fn receipt(hash: B256, done: &Done) -> Value {
    let zero = U256::ZERO;
    let logs: Vec<Value> = done.logs.iter().enumerate().map(|(n, l)| log(hash, n, l)).collect();
    json!({
        "type": "0x2", "status": U256::from(u8::from(done.succeeded)), "cumulativeGasUsed": zero,
        "logsBloom": Bloom::ZERO, "logs": logs, "transactionHash": hash, "transactionIndex": zero,
        "blockHash": B256::ZERO, "blockNumber": zero, "gasUsed": zero, "effectiveGasPrice": zero,
        "from": Address::ZERO, "to": null, "contractAddress": done.contract,
    })
}

pub(super) fn log(hash: B256, index: usize, log: &Log) -> Value {
    json!({
        "address": log.address, "topics": log.topics(), "data": log.data.data,
        "blockHash": B256::ZERO, "blockNumber": U256::ZERO, "transactionHash": hash,
        "transactionIndex": U256::ZERO, "logIndex": U256::from(index), "removed": false,
    })
}

/// As much of a block as the world asks for, by tag or number.
pub(super) fn block(node: &TronNode, which: &Value) -> Value {
    let chain = node.node().chain();
    let header = match serde_json::from_value::<U256>(which.clone()) {
        Ok(number) => chain.block(number.to()).map(|block| block.header.clone()),
        Err(_) => Some(chain.head().header.clone()),
    };
    let header = header.expect("the block is there");
    json!({"number": U256::from(header.number), "timestamp": U256::from(header.time_ms / 1000)})
}
