//! Blocks, transactions, receipts and logs as the protocol writes them.
//!
//! Headers, roots and blooms are true ones, but for the state's root.

use super::jsonrpc::{Answer, value};
use crate::chain::{Block, Chain, Header, Included, Place};
use crate::evm::{Evm, Tx, sealed};
use alloy::consensus::Transaction as _;
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{B256, U256};
use alloy::rpc::types::{
    Block as RpcBlock, BlockTransactions, Header as RpcHeader, Log, Transaction, TransactionReceipt,
};
use serde_json::Value;
use std::sync::Arc;

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
    let bytes: usize = body.iter().map(|included| included.tx.encode_2718_len()).sum();
    // About the length of a header in RLP.
    let size = Some(U256::from(bytes + 600));
    RpcHeader { hash, inner: sealed::header(header), total_difficulty: None, size }
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
    let earlier = &block.body[..place.index];
    let first: usize = earlier.iter().map(|one| sealed::logs(&one.receipt).len()).sum();
    let mut places = first..;
    let placed = |inner| log(place, places.next().unwrap_or_default(), inner);
    TransactionReceipt {
        inner: sealed::receipt(&included.tx, &included.receipt).map_logs(placed),
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

/// All logs of a block, in order.
pub fn logs(block: &Arc<Block<Evm>>) -> Vec<Log> {
    let places = (0..block.body.len()).map(|index| Place { block: Arc::clone(block), index });
    let own = |place: Place<Evm>| {
        let logs = sealed::logs(&place.included().receipt).to_vec();
        logs.into_iter().map(move |inner| (place.clone(), inner))
    };
    let all = places.flat_map(own).enumerate();
    all.map(|(log_index, (place, inner))| log(&place, log_index, inner)).collect()
}

/// A log of the transaction at a place, by its index among the logs of the block.
fn log(place: &Place<Evm>, log_index: usize, inner: alloy::primitives::Log) -> Log {
    let block = &place.block;
    Log {
        inner,
        block_hash: Some(block.id),
        block_number: Some(block.header.number),
        block_timestamp: Some(block.header.time_ms / 1000),
        transaction_hash: Some(*place.included().tx.tx_hash()),
        transaction_index: Some(wide(place.index)),
        log_index: Some(wide(log_index)),
        removed: false,
    }
}

fn wide(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
