//! Blocks in JSON.

use super::super::family::{Tron, root};
use super::transactions::transaction;
use super::{Sparse, Spelling};
use crate::chain::Block;
use crate::tron::witness::in_header;
use serde_json::{Value, json};

/// The part of a block that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The header alone.
    Header,
    /// The transactions, too.
    Transactions,
}

impl Detail {
    /// The part that a question asks for.
    pub fn of(question: &Value) -> Self {
        let is_whole = question.get("detail").and_then(Value::as_bool).unwrap_or(false);
        if is_whole { Self::Transactions } else { Self::Header }
    }
}

/// A block; with its transactions if the question has the field `detail`.
pub fn block(rules: &Tron, block: &Block<Tron>, detail: Detail, spelling: Spelling) -> Value {
    let header = &block.header;
    let raw = Sparse::new()
        .number("number", header.number)
        .put("txTrieRoot", Some(json!(hex::encode(root(&block.body)))))
        .text("witness_address", super::account(&in_header(header), spelling))
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
        .map(|included| transaction(&included.tx, Some(included.receipt.ret()), spelling));
    Sparse::new()
        .put("blockID", Some(json!(hex::encode(block.id))))
        .put("block_header", Some(header))
        .put(
            "transactions",
            (detail == Detail::Transactions && !block.body.is_empty()).then(|| txs.collect()),
        )
        .done()
}
