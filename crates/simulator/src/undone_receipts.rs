//! Receipts of blocks that were undone, which some nodes on EVM go on telling.

use crate::dice::Fault;
use crate::world::World;
use alloy::primitives::B256;
use sandbox_chains::eth;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The receipts that transactions ever had, each with the block's hash in it.
pub(crate) type Receipts = BTreeMap<B256, Vec<Value>>;

impl World {
    /// Keeps what can still be undone.
    pub(crate) fn keep_receipts(&mut self) {
        if !self.dice.faults || !self.dice.knows(Fault::OrphanedReceipt) {
            return;
        }
        let young: Vec<B256> = {
            let chain = self.evm.truth.chain();
            let from = chain.solid().header.number;
            let blocks = (from..=chain.head().header.number).filter_map(|at| chain.block(at));
            blocks.flat_map(|block| block.body.iter().map(|one| *one.tx.tx_hash())).collect()
        };
        for hash in young {
            let Some(told) = self.receipt(&hash) else { continue };
            let kept = self.watch.receipts.entry(hash).or_default();
            if !kept.iter().any(|one| one["blockHash"] == told["blockHash"]) {
                kept.push(told);
            }
        }
    }

    fn receipt(&self, hash: &B256) -> Option<Value> {
        let asked = json!({"jsonrpc": "2.0", "id": 1, "method": "eth_getTransactionReceipt", "params": [hash]});
        let mut said = eth::respond_to(&self.evm.truth, asked)?;
        Some(said["result"].take()).filter(Value::is_object)
    }

    /// A receipt that a transaction had in a block which was undone.
    pub(crate) fn orphaned(&self, hash: &B256) -> Option<Value> {
        let now = self.receipt(hash).unwrap_or_default();
        let kept = self.watch.receipts.get(hash)?;
        kept.iter().rev().find(|one| one["blockHash"] != now["blockHash"]).cloned()
    }
}
