//! Blocks made here, and answers to alter.

use alloy::consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy::consensus::transaction::SignerRecoverable as _;
use alloy::consensus::{
    Header, Receipt, ReceiptEnvelope, SignableTransaction as _, TxEip1559, TxEip2930, TxEip4844,
    TxEip4844Variant, TxEip7702, TxEnvelope, TxLegacy,
};
use alloy::primitives::{Address, B256, Bloom, Bytes, Log, LogData, Signature, TxKind, U256};
use evm_proofs::answer::{BlockAnswer, ReceiptAnswer};
use evm_proofs::block::ProvenBlock;
use evm_proofs::header::HeaderShape;
use evm_proofs::unproven::Unproven;
use serde_json::{Value, json};

/// The answers of a node that tell one block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answers {
    pub(crate) block: Value,
    pub(crate) receipts: Vec<Value>,
}

impl Answers {
    pub(crate) fn prove(&self, known: Option<HeaderShape>) -> Result<ProvenBlock, Unproven> {
        block(&self.block).prove(&receipts(&self.receipts), known)
    }

    /// The same, where headers of this shape are known.
    pub(crate) fn judge(&self) -> Result<ProvenBlock, Unproven> {
        self.prove(Some(made(1).prove(None).unwrap().header().shape()))
    }
}

pub(crate) fn block(told: &Value) -> BlockAnswer {
    serde_json::from_str(&told.to_string()).unwrap()
}

pub(crate) fn receipts(told: &[Value]) -> Vec<ReceiptAnswer> {
    serde_json::from_value(json!(told)).unwrap()
}

/// A transaction of each known type in turn.
fn transaction(seed: u64) -> TxEnvelope {
    let signature = Signature::test_signature();
    let (nonce, gas_limit, value) = (seed, 100_000 + seed, U256::from(seed));
    let to = Address::repeat_byte(7);
    let input = Bytes::from(vec![seed.to_le_bytes()[0]; 40]);
    match seed % 5 {
        0 => {
            let tx = TxLegacy {
                chain_id: Some(1),
                nonce,
                gas_limit,
                to: to.into(),
                input,
                ..TxLegacy::default()
            };
            tx.into_signed(signature).into()
        }
        1 => {
            let tx = TxEip1559 {
                chain_id: 1,
                nonce,
                gas_limit,
                value,
                to: TxKind::Create,
                input,
                ..TxEip1559::default()
            };
            tx.into_signed(signature).into()
        }
        2 => {
            let tx = TxEip2930 {
                chain_id: 1,
                nonce,
                gas_limit,
                to: to.into(),
                input,
                ..TxEip2930::default()
            };
            tx.into_signed(signature).into()
        }
        3 => with_blobs(nonce, gas_limit).into_signed(signature).into(),
        _ => {
            let tx = TxEip7702 {
                chain_id: 1,
                nonce,
                gas_limit,
                value,
                to,
                input,
                ..TxEip7702::default()
            };
            tx.into_signed(signature).into()
        }
    }
}

/// A transaction with a blob, as blocks have it: without the blob.
fn with_blobs(nonce: u64, gas_limit: u64) -> TxEip4844Variant {
    TxEip4844Variant::TxEip4844(TxEip4844 {
        chain_id: 1,
        nonce,
        gas_limit,
        to: Address::repeat_byte(7),
        blob_versioned_hashes: vec![B256::repeat_byte(1)],
        max_fee_per_blob_gas: 1,
        ..TxEip4844::default()
    })
}

fn logs(seed: u64) -> Vec<Log> {
    let topic = |at: u64| B256::from(U256::from(seed * 10 + at));
    let log = |at: u64| {
        let topics = (0..=at).map(topic).collect();
        let data = LogData::new_unchecked(topics, Bytes::from(vec![9; 32]));
        Log { address: Address::repeat_byte(7), data }
    };
    (0..seed % 3).map(log).collect()
}

/// A block with so many transactions, as an honest node tells it.
pub(crate) fn made(many: u64) -> Answers {
    let transactions: Vec<TxEnvelope> = (0..many).map(transaction).collect();
    let envelope = |(seed, transaction): (u64, &TxEnvelope)| {
        let receipt = Receipt {
            status: (seed % 5 != 4).into(),
            cumulative_gas_used: 21_000 * (seed + 1),
            logs: logs(seed),
        };
        ReceiptEnvelope::from_typed(transaction.tx_type(), receipt.with_bloom())
    };
    let envelopes: Vec<ReceiptEnvelope> = (0..).zip(&transactions).map(envelope).collect();
    let bloom = envelopes.iter().fold(Bloom::ZERO, |all, one| all | *one.logs_bloom());
    let header = Header {
        number: 100,
        timestamp: 1_700_000_000,
        transactions_root: calculate_transaction_root(&transactions),
        receipts_root: calculate_receipt_root(&envelopes),
        logs_bloom: bloom,
        gas_used: 21_000 * many,
        base_fee_per_gas: Some(7),
        withdrawals_root: Some(B256::repeat_byte(1)),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(B256::repeat_byte(2)),
        ..Header::default()
    };
    let hash = header.hash_slow();
    let mut block = json!(header);
    block["hash"] = json!(hash);
    block["size"] = json!("0x100");
    block["uncles"] = json!([]);
    block["transactions"] = transactions.iter().map(|tx| told(tx, hash)).collect();
    let mut first_log = 0;
    let receipts = (0..).zip(envelopes.iter().zip(&transactions)).map(|(index, (one, tx))| {
        let told = receipt(Placed { index, hash, first_log }, one, tx);
        first_log += one.logs().len();
        told
    });
    let receipts = receipts.collect();
    Answers { block, receipts }
}

fn told(tx: &TxEnvelope, block: B256) -> Value {
    let mut told = json!(tx);
    told["from"] = json!(tx.recover_signer().unwrap());
    told["blockHash"] = json!(block);
    told
}

#[derive(Clone, Copy)]
struct Placed {
    index: u64,
    hash: B256,
    first_log: usize,
}

fn receipt(at: Placed, one: &ReceiptEnvelope, tx: &TxEnvelope) -> Value {
    let index = format!("{:#x}", at.index);
    let log = |(place, log): (usize, &Log)| {
        let mut told = json!(log);
        told["blockHash"] = json!(at.hash);
        told["blockNumber"] = json!("0x64");
        told["transactionHash"] = json!(tx.tx_hash());
        told["transactionIndex"] = json!(index);
        told["logIndex"] = json!(format!("{:#x}", at.first_log + place));
        told["removed"] = json!(false);
        told
    };
    json!({
        "type": format!("{:#x}", u8::from(tx.tx_type())),
        "status": if one.status() { "0x1" } else { "0x0" },
        "cumulativeGasUsed": format!("{:#x}", one.cumulative_gas_used()),
        "gasUsed": format!("{:#x}", 21_000),
        "effectiveGasPrice": "0x7",
        "logsBloom": one.logs_bloom(),
        "logs": one.logs().iter().enumerate().map(log).collect::<Vec<_>>(),
        "blockHash": at.hash,
        "blockNumber": "0x64",
        "transactionHash": tx.tx_hash(),
        "transactionIndex": index,
        "from": tx.recover_signer().unwrap(),
        "to": Address::repeat_byte(7),
        "contractAddress": null,
    })
}
