//! Blocks, transactions, receipts and logs as the protocol writes them.
//!
//! The hash of a block is the chain's own and not that of its header's RLP, and there is no state root.

use super::jsonrpc::{Answer, value};
use crate::chain::{Block, Chain, Header, Included, Place};
use crate::evm::{Evm, Tx};
use alloy::consensus::constants::EMPTY_WITHDRAWALS;
use alloy::consensus::{
    Header as Sealed, Receipt, ReceiptEnvelope, Transaction as _, TxEnvelope, TxReceipt as _,
    proofs,
};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{B256, Bloom, U256};
use alloy::rpc::types::{
    Block as RpcBlock, BlockTransactions, Header as RpcHeader, Log, Transaction, TransactionReceipt,
};
use serde_json::Value;

/// A shape of the transactions in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bodies {
    /// Their hashes alone.
    Hashes,
    /// All of each.
    Whole,
}

/// A block, with whole transactions or their hashes.
pub fn block(block: &Block<Evm>, bodies: Bodies) -> RpcBlock {
    let transactions = if bodies == Bodies::Whole {
        let all = 0..block.body.len();
        BlockTransactions::Full(all.map(|index| transaction(block, index)).collect())
    } else {
        let hashes = block.body.iter().map(|included| *included.tx.tx_hash());
        BlockTransactions::Hashes(hashes.collect())
    };
    let header = header(&block.header, block.id, &block.body);
    RpcBlock { header, uncles: vec![], transactions, withdrawals: Some(vec![].into()) }
}

/// The block that is next, as far as it is known: without a hash, and with what waits in the pool.
pub fn pending(chain: &Chain<Evm>, bodies: Bodies) -> Answer {
    let header = header(&chain.next_header(), B256::ZERO, &[]);
    let waiting = chain.pool().iter().map(|pending| &pending.tx);
    let transactions = if bodies == Bodies::Whole {
        BlockTransactions::Full(waiting.map(waits).collect())
    } else {
        BlockTransactions::Hashes(waiting.map(|tx| *tx.tx_hash()).collect())
    };
    let block = RpcBlock { header, uncles: vec![], transactions, withdrawals: Some(vec![].into()) };
    let mut block = value(block)?;
    for unknown in ["hash", "nonce", "logsBloom", "miner"] {
        block[unknown] = Value::Null;
    }
    Ok(block)
}

/// The header of a block with this body.
pub fn header(header: &Header, hash: B256, body: &[Included<Evm>]) -> RpcHeader {
    let signed: Vec<&TxEnvelope> = body.iter().map(|included| included.tx.inner()).collect();
    let envelopes: Vec<_> = body.iter().map(|included| envelope(included, vec![])).collect();
    let bytes: usize = signed.iter().copied().map(Encodable2718::encode_2718_len).sum();
    let inner = Sealed {
        parent_hash: header.parent,
        beneficiary: header.producer,
        transactions_root: proofs::calculate_transaction_root(&signed),
        logs_bloom: envelopes.iter().fold(Bloom::ZERO, |all, receipt| all | receipt.bloom()),
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used: body.last().map_or(0, |last| last.receipt.cumulative_gas_used),
        timestamp: header.time_ms / 1000,
        base_fee_per_gas: Some(header.price),
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        ..Sealed::default()
    };
    // About the length of a header in RLP.
    let size = Some(U256::from(bytes + 600));
    RpcHeader { hash, inner, total_difficulty: None, size }
}

/// A transaction in a block.
pub fn transaction(block: &Block<Evm>, index: usize) -> Transaction {
    let included = &block.body[index];
    Transaction {
        inner: included.tx.clone(),
        block_hash: Some(block.id),
        block_number: Some(block.header.number),
        transaction_index: Some(wide(index)),
        effective_gas_price: Some(included.receipt.gas_price),
        block_timestamp: Some(block.header.time_ms / 1000),
    }
}

/// A transaction that waits in the pool.
pub fn waits(tx: &Tx) -> Transaction {
    Transaction {
        inner: tx.clone(),
        block_hash: None,
        block_number: None,
        transaction_index: None,
        effective_gas_price: None,
        block_timestamp: None,
    }
}

/// The receipt of a transaction in a block.
pub fn receipt(place: &Place<Evm>) -> TransactionReceipt {
    let (block, included) = (&place.block, place.included());
    let mine = logs(block).filter(|log| log.transaction_index == Some(wide(place.index)));
    TransactionReceipt {
        inner: envelope(included, mine.collect()),
        transaction_hash: *included.tx.tx_hash(),
        transaction_index: Some(wide(place.index)),
        block_hash: Some(block.id),
        block_number: Some(block.header.number),
        gas_used: included.receipt.gas_used,
        effective_gas_price: included.receipt.gas_price,
        blob_gas_used: None,
        blob_gas_price: None,
        from: included.tx.signer(),
        to: included.tx.to(),
        contract_address: included.receipt.created,
    }
}

/// The receipt by type of transaction. The bloom is that of the transaction's logs, whichever are listed.
fn envelope(included: &Included<Evm>, listed: Vec<Log>) -> ReceiptEnvelope<Log> {
    let result = &included.receipt.result;
    let logs_bloom = result.logs().iter().collect();
    let receipt = Receipt {
        status: result.is_success().into(),
        cumulative_gas_used: included.receipt.cumulative_gas_used,
        logs: listed,
    };
    ReceiptEnvelope::from_typed(
        included.tx.tx_type(),
        receipt.into_with_bloom_unchecked(logs_bloom),
    )
}

/// All logs of a block, in order.
pub fn logs(block: &Block<Evm>) -> impl Iterator<Item = Log> {
    let by_transaction = block.body.iter().enumerate();
    let all = by_transaction.flat_map(|(index, included)| {
        let hash = *included.tx.tx_hash();
        let logs =
            if included.receipt.result.is_success() { included.receipt.result.logs() } else { &[] };
        logs.iter().map(move |log| (index, hash, log.clone()))
    });
    all.enumerate().map(|(log_index, (index, hash, inner))| Log {
        inner,
        block_hash: Some(block.id),
        block_number: Some(block.header.number),
        block_timestamp: Some(block.header.time_ms / 1000),
        transaction_hash: Some(hash),
        transaction_index: Some(wide(index)),
        log_index: Some(wide(log_index)),
        removed: false,
    })
}

fn wide(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
