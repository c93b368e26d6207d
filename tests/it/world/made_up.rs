//! A block that a node made up in the place of a real one: its only transaction failed, and all its roots are right.

use super::anvil::Rpc;
use super::proxy::{Act, Proxy};
use alloy::consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope, proofs};
use alloy::primitives::Bloom;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Mutex as Turn, MutexGuard};

/// The block with its whole transaction, and the receipt of that.
static MADE_UP: Mutex<Option<(Value, Value)>> = Mutex::new(None);

/// Tests that use it run one after the other.
static TURN: Turn<()> = Turn::const_new(());

/// A block that was made up, until this is dropped.
pub(crate) struct Lie {
    _turn: MutexGuard<'static, ()>,
}

impl Lie {
    /// From now on, this node tells it.
    pub(crate) fn told_by(&self, node: &Proxy) -> &Self {
        node.fault("eth_getTransactionReceipt", Act::Rewrite(receipt));
        node.fault("eth_getBlockReceipts", Act::Say(receipts));
        node.fault("eth_getBlockByHash", Act::Say(block));
        node.fault("eth_getBlockByNumber", Act::Rewrite(header));
        self
    }
}

/// Makes up a block in the place of the one that holds a transaction alone.
pub(crate) async fn in_place_of(rpc: &Rpc, transaction: &str) -> Lie {
    let turn = TURN.lock().await;
    let mut receipt: Value = rpc.call("eth_getTransactionReceipt", json!([transaction])).await;
    let mut block: Value =
        rpc.call("eth_getBlockByHash", json!([receipt["blockHash"], true])).await;
    assert_eq!(block["transactions"].as_array().map(Vec::len), Some(1));
    let mut header: Header = serde_json::from_value(block.clone()).expect("a header");
    let failed: Receipt = Receipt {
        status: Eip658Value::Eip658(false),
        cumulative_gas_used: header.gas_used,
        logs: vec![],
    };
    header.receipts_root =
        proofs::calculate_receipt_root(&[ReceiptEnvelope::Eip1559(failed.into())]);
    header.logs_bloom = Bloom::ZERO;
    let hash = json!(header.hash_slow());
    block["receiptsRoot"] = json!(header.receipts_root);
    for told in [&mut block, &mut receipt] {
        told["logsBloom"] = json!(Bloom::ZERO);
    }
    block["hash"] = hash.clone();
    block["transactions"][0]["blockHash"] = hash.clone();
    receipt["blockHash"] = hash;
    receipt["status"] = json!("0x0");
    receipt["logs"] = json!([]);
    *MADE_UP.lock() = Some((block, receipt));
    Lie { _turn: turn }
}

fn told() -> (Value, Value) {
    MADE_UP.lock().clone().expect("a block was made up")
}

fn answer(question: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()
}

/// The receipt of its transaction.
fn receipt(real: &mut Value) {
    if !real.is_null() {
        *real = told().1;
    }
}

/// All its receipts.
fn receipts(question: &Value) -> String {
    answer(question, &json!([told().1]))
}

/// The block.
fn block(question: &Value) -> String {
    answer(question, &told().0)
}

/// Its header, in the place of the real one.
fn header(real: &mut Value) {
    let made_up = told().0;
    if real["number"] == made_up["number"] {
        *real = made_up;
    }
}
