//! Blocks in JSON.

use super::super::family::{Tron, root};
use super::Sparse;
use super::transactions::transaction;
use crate::chain::Block;
use crate::tron::witness::in_header;
use serde_json::{Value, json};

/// A block, with its transactions if `detail` is asked for.
pub fn block(rules: &Tron, block: &Block<Tron>, detail: bool, visible: bool) -> Value {
    let header = &block.header;
    let raw = Sparse::new()
        .number("number", header.number)
        .put("txTrieRoot", Some(json!(hex::encode(root(&block.body)))))
        .text("witness_address", super::account(&in_header(header), visible))
        .put("parentHash", Some(json!(hex::encode(header.parent))))
        .number("version", if header.number == 0 { 0 } else { 32 })
        .number("timestamp", if header.number == 0 { 0 } else { header.time_ms })
        .done();
    let header = Sparse::new()
        .put("raw_data", Some(raw))
        .bytes("witness_signature", &rules.signature(block))
        .done();
    let txs = block
        .body
        .iter()
        .map(|included| transaction(&included.tx, Some(included.receipt.ret()), visible));
    Sparse::new()
        .put("blockID", Some(json!(hex::encode(block.id))))
        .put("block_header", Some(header))
        .put("transactions", (detail && !block.body.is_empty()).then(|| txs.collect()))
        .done()
}
