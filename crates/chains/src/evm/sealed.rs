//! The header of an Ethereum block as the protocol has it, and the roots and the bloom in it over what the block holds.
//!
//! All of it is true but the state's root: the accounts are kept in no trie.

use super::{Evm, Receipt as Outcome, Tx};
use crate::chain::{Commitments, Header, Included};
use alloy::consensus::constants::EMPTY_WITHDRAWALS;
use alloy::consensus::{Header as Sealed, Receipt, ReceiptEnvelope, TxEnvelope, proofs};
use alloy::eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy::primitives::{B256, Bloom, Bytes, Log, keccak256};

/// The sums over a body that its header commits to.
pub fn commitments(body: &[Included<Evm>]) -> Commitments {
    if body.is_empty() {
        return Commitments::default();
    }
    let signed: Vec<&TxEnvelope> = body.iter().map(|included| included.tx.inner()).collect();
    let receipts: Vec<_> =
        body.iter().map(|included| receipt(&included.tx, &included.receipt)).collect();
    let blooms = receipts.iter().map(ReceiptEnvelope::logs_bloom);
    Commitments {
        transactions: proofs::calculate_transaction_root(&signed),
        receipts: proofs::calculate_receipt_root(&receipts),
        bloom: blooms.fold(Bloom::ZERO, |all, one| all | *one),
        gas_used: body.last().map_or(0, |last| last.receipt.cumulative_gas_used),
    }
}

/// The receipt as the block commits to it.
pub fn receipt(tx: &Tx, outcome: &Outcome) -> ReceiptEnvelope {
    let receipt = Receipt {
        status: outcome.result.is_success().into(),
        cumulative_gas_used: outcome.cumulative_gas_used,
        logs: logs(outcome).to_vec(),
    };
    ReceiptEnvelope::from_typed(tx.tx_type(), receipt.with_bloom())
}

/// The logs of a transaction: none if it was undone.
pub fn logs(outcome: &Outcome) -> &[Log] {
    if outcome.result.is_success() { outcome.result.logs() } else { &[] }
}

/// The header as the protocol has it, whose hash is the block's id.
pub fn header(header: &Header) -> Sealed {
    let Commitments { transactions, receipts, bloom, gas_used } = header.commitments;
    Sealed {
        parent_hash: header.parent,
        beneficiary: header.producer,
        transactions_root: transactions,
        receipts_root: receipts,
        logs_bloom: bloom,
        number: header.number,
        gas_limit: header.gas_limit,
        gas_used,
        timestamp: header.time_ms / 1000,
        extra_data: branch(header),
        mix_hash: randomness(header),
        base_fee_per_gas: Some(header.price),
        withdrawals_root: Some(EMPTY_WITHDRAWALS),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(EMPTY_REQUESTS_HASH),
        ..Sealed::default()
    }
}

/// The number that contracts read as random in a block.
pub fn randomness(header: &Header) -> B256 {
    keccak256(header.parent)
}

/// The bytes that make the blocks of a new branch differ from those that they replace, and blocks of one second from
/// each other.
fn branch(header: &Header) -> Bytes {
    [header.fork.to_be_bytes(), (header.time_ms % 1000).to_be_bytes()].concat().into()
}
