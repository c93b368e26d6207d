//! Whole blocks that the sole provider on EVM makes up: each in the place of a true one, with another fate of a
//! transaction and with roots that are right. No proof can tell the two apart; whoever holds the true one can.

use crate::dice::Fault;
use crate::exchange::Question;
use crate::false_records::hex;
use crate::world::{Side, World};
use alloy::consensus::{Receipt, ReceiptEnvelope, proofs};
use alloy::primitives::{B256, Bloom};
use sandbox_chains::eth;
use sandbox_chains::evm::sealed;
use serde_json::{Value, json};

/// A block that was made up, as it is told.
#[derive(Clone, Debug)]
pub(crate) struct MadeUp {
    block: Value,
    receipts: Vec<Value>,
}

impl MadeUp {
    fn is(&self, hash: &Value) -> bool {
        self.block["hash"] == *hash
    }

    fn stands_in_for(&self, number: &Value) -> bool {
        self.block["number"] == *number
    }

    fn receipt(&self, hash: &Value) -> Option<&Value> {
        self.receipts.iter().find(|receipt| receipt["transactionHash"] == *hash)
    }
}

impl World {
    /// Returns the answer of a liar that has made up a block, or makes up one now; none where the true answer is given.
    pub(crate) fn tells_made_up(&mut self, question: &Question, body: &[u8]) -> Option<Value> {
        let known = self.dice.faults && self.dice.knows(Fault::MadeUpBlock);
        if !known || !self.is_liar(question.at) || !self.is_alone(Side::Evm) {
            self.made_up = None;
            return None;
        }
        if self.dice.one_in(150) {
            self.made_up = None;
        }
        let asked = &question.json["params"][0];
        let said: Value = serde_json::from_slice(body).ok()?;
        let told = &said["result"];
        let result = match question.name.as_str() {
            "eth_getTransactionReceipt" if told.is_object() => {
                self.other_receipt(question, told)?
            }
            "eth_getBlockByNumber" => {
                self.made_up.as_ref().filter(|it| it.stands_in_for(&told["number"]))?.block.clone()
            }
            "eth_getBlockByHash" => self.made_up.as_ref().filter(|it| it.is(asked))?.block.clone(),
            "eth_getBlockReceipts" => {
                json!(self.made_up.as_ref().filter(|it| it.is(asked))?.receipts)
            }
            _ => return None,
        };
        Some(json!({"jsonrpc": "2.0", "id": said["id"], "result": result}))
    }

    /// Returns the receipt in the made-up block; a block is made up for it if there is none.
    fn other_receipt(&mut self, question: &Question, told: &Value) -> Option<Value> {
        if self.made_up.is_none() && self.fault(Side::Evm.name(), Fault::MadeUpBlock) {
            self.made_up = self.make_up(question.at.number(), told);
        }
        let made_up = self.made_up.as_ref()?;
        made_up.receipt(&told["transactionHash"]).cloned()
    }

    /// Makes up a block in the place of the one that a receipt names, in which that transaction has failed.
    fn make_up(&self, liar: usize, told: &Value) -> Option<MadeUp> {
        let node = &self.evm.members[liar];
        let ask = |method: &str, params: Value| {
            let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
            Some(eth::respond_to(node, asked)?["result"].take())
        };
        let true_hash = &told["blockHash"];
        let mut block = ask("eth_getBlockByHash", json!([true_hash, true]))?;
        let mut receipts = ask("eth_getBlockReceipts", json!([true_hash]))?.as_array()?.clone();
        let (mut header, mut envelopes) = {
            let chain = node.chain();
            let kept = chain.block(hex(&told["blockNumber"]))?;
            let envelopes: Vec<ReceiptEnvelope> =
                kept.body.iter().map(|one| sealed::receipt(&one.tx, &one.receipt)).collect();
            (sealed::header(&kept.header), envelopes)
        };
        let at =
            receipts.iter().position(|one| one["transactionHash"] == told["transactionHash"])?;
        let failed = envelopes.get_mut(at)?;
        let cumulative_gas_used = failed.cumulative_gas_used();
        let receipt = Receipt { status: false.into(), cumulative_gas_used, logs: vec![] };
        *failed = ReceiptEnvelope::from_typed(failed.tx_type(), receipt.with_bloom());
        header.receipts_root = proofs::calculate_receipt_root(&envelopes);
        header.logs_bloom = envelopes.iter().fold(Bloom::ZERO, |all, one| all | *one.logs_bloom());
        let hash: B256 = header.hash_slow();
        block["receiptsRoot"] = json!(header.receipts_root);
        block["logsBloom"] = json!(header.logs_bloom);
        block["hash"] = json!(hash);
        receipts[at]["status"] = json!("0x0");
        receipts[at]["logs"] = json!([]);
        let mut logs = 0_u64;
        for receipt in &mut receipts {
            receipt["blockHash"] = json!(hash);
            for log in receipt["logs"].as_array_mut().into_iter().flatten() {
                log["blockHash"] = json!(hash);
                log["logIndex"] = json!(format!("{logs:#x}"));
                logs += 1;
            }
        }
        for transaction in block["transactions"].as_array_mut().into_iter().flatten() {
            transaction["blockHash"] = json!(hash);
        }
        Some(MadeUp { block, receipts })
    }
}
