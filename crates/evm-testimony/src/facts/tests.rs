//! Every change of a node's words is noticed, and the truth is not taken for one.

use super::*;
use crate::conclude::{Receipt, TxCall};
use alloy::consensus::proofs::{calculate_receipt_root, calculate_transaction_root};
use alloy::consensus::transaction::SignerRecoverable as _;
use alloy::consensus::{
    Header, Receipt as Outcome, ReceiptEnvelope, SignableTransaction as _, TxEnvelope, TxLegacy,
};
use alloy::primitives::{Bloom, Bytes, LogData, Signature, U256};
use evm_proofs::answer::{BlockAnswer, ReceiptAnswer};
use serde_json::{Value, json};

/// The nonce of the transaction that is judged: the second of two in its block.
const NONCE: u64 = 8;

fn transaction(nonce: u64) -> TxEnvelope {
    let (to, input) = (Address::repeat_byte(7).into(), Bytes::from_static(&[1, 2, 3]));
    let tx =
        TxLegacy { chain_id: Some(1), nonce, gas_limit: 100_000, to, input, ..TxLegacy::default() };
    tx.into_signed(Signature::test_signature()).into()
}

fn log() -> Log {
    let data = LogData::new_unchecked(vec![B256::repeat_byte(3)], Bytes::from_static(&[4; 32]));
    Log { address: Address::repeat_byte(7), data }
}

/// A block with two transactions, of which the second logs something.
fn block() -> ProvenBlock {
    let transactions = [transaction(3), transaction(NONCE)];
    let receipt = |gas, logs| {
        let outcome = Outcome { status: true.into(), cumulative_gas_used: gas, logs };
        ReceiptEnvelope::Legacy(outcome.with_bloom())
    };
    let receipts = [receipt(21_000, vec![]), receipt(71_000, vec![log()])];
    let header = Header {
        number: 80,
        timestamp: 800,
        transactions_root: calculate_transaction_root(&transactions),
        receipts_root: calculate_receipt_root(&receipts),
        logs_bloom: receipts.iter().fold(Bloom::ZERO, |all, one| all | *one.logs_bloom()),
        ..Header::default()
    };
    let mut told = json!(header);
    told["hash"] = json!(header.hash_slow());
    told["transactions"] = json!(transactions);
    let told: BlockAnswer = serde_json::from_str(&told.to_string()).unwrap();
    let outcomes: Vec<Value> = receipts
        .iter()
        .zip(&transactions)
        .map(|(receipt, tx)| {
            json!({
                "type": "0x0",
                "status": "0x1",
                "cumulativeGasUsed": format!("{:#x}", receipt.cumulative_gas_used()),
                "logs": receipt.logs(),
                "transactionHash": tx.tx_hash(),
            })
        })
        .collect();
    let outcomes: Vec<ReceiptAnswer> = serde_json::from_value(json!(outcomes)).unwrap();
    told.prove(&outcomes, None).unwrap()
}

/// The judged transaction's hash, and the account that signed it.
fn judged() -> (B256, Address) {
    let tx = transaction(NONCE);
    (*tx.tx_hash(), tx.recover_signer().unwrap())
}

fn place() -> Block {
    Block { number: 80, hash: block().header().hash(), time: 800 }
}

/// An honest node's words about the transaction, which it found to have taken the account's nonce.
fn honest() -> EvmTestimony {
    let (hash, _) = judged();
    let (block, call) = (
        place(),
        TxCall { to: Some(Address::repeat_byte(7)), input: Bytes::from_static(&[1, 2, 3]) },
    );
    let receipt = Receipt { block: 80, block_hash: block.hash, succeeded: true, logs: vec![log()] };
    EvmTestimony {
        head: 100,
        final_block: 90,
        receipts: [(hash, receipt)].into(),
        costs: [(hash, (50_000, U256::from(7)))].into(),
        canonical: [(80, block)].into(),
        identified: [(NONCE, Identified::Transaction { hash, call })].into(),
        ..EvmTestimony::default()
    }
}

/// Returns true if the block bears out all that a node states of it.
fn holds(told: &EvmTestimony) -> bool {
    let (_, account) = judged();
    let statements = told.statements();
    assert!(!statements.is_empty(), "it states something");
    statements.into_iter().all(|Statement { subject, .. }| {
        Fact::of(&block(), subject, account).bears_out(told, subject, account)
    })
}

#[test]
fn the_truth_is_borne_out_and_every_change_of_it_is_not() {
    type Change = fn(&mut EvmTestimony);
    let (hash, _) = judged();
    assert!(holds(&honest()));
    let untold: Change = |told| told.costs.clear();
    let harmless: [Change; 2] = [untold, |told| told.identified.clear()];
    for change in harmless {
        let mut told = honest();
        change(&mut told);
        assert!(holds(&told), "{told:?}");
    }
    let lies: [Change; 9] = [
        |told| told.receipts.values_mut().for_each(|receipt| receipt.succeeded = false),
        |told| told.receipts.values_mut().for_each(|receipt| receipt.logs.clear()),
        |told| told.receipts.values_mut().for_each(|receipt| receipt.logs.push(log())),
        |told| told.costs.values_mut().for_each(|cost| cost.0 = 71_000),
        |told| told.canonical.values_mut().for_each(|block| block.time += 7_200),
        |told| {
            told.canonical = [(81, Block { number: 81, ..place() })].into();
            told.receipts.values_mut().for_each(|receipt| receipt.block = 81);
        },
        |told| {
            let who = told.identified.remove(&NONCE).unwrap();
            told.identified.insert(NONCE + 1, who);
        },
        |told| {
            let call = TxCall { to: None, input: Bytes::new() };
            let hash = judged().0;
            told.identified.insert(NONCE, Identified::Transaction { hash, call });
        },
        |told| {
            let receipt = told.receipts.remove(&judged().0).unwrap();
            told.receipts.insert(B256::repeat_byte(9), receipt);
        },
    ];
    for (at, lie) in lies.into_iter().enumerate() {
        let mut told = honest();
        lie(&mut told);
        assert!(!holds(&told), "lie {at}: {told:?}");
    }
    let mut told = honest();
    told.take_back(Subject::Transaction(hash));
    assert!(told.statements().is_empty() && told.costs.is_empty() && told.identified.is_empty());
}

#[test]
fn another_account_did_not_take_the_place() {
    let subject = Subject::Transaction(judged().0);
    let other = Address::repeat_byte(1);
    assert!(!Fact::of(&block(), subject, other).bears_out(&honest(), subject, other));
}

#[test]
fn that_no_transaction_has_a_nonce_is_borne_out_by_a_block_that_holds_none() {
    let nobody = |place: u64| EvmTestimony {
        final_block: 90,
        identified: [(place, Identified::Nobody(self::place()))].into(),
        ..EvmTestimony::default()
    };
    assert!(holds(&nobody(NONCE + 1)));
    assert!(holds(&nobody(3)), "that transaction is another account's");
    assert!(!holds(&nobody(NONCE)));
    let mut told = nobody(NONCE + 1);
    told.take_back(Subject::Nonce(NONCE + 1));
    assert!(told.statements().is_empty());
}

#[test]
fn nothing_is_stated_of_blocks_that_are_not_final_or_not_those_that_the_node_holds() {
    let changes: [fn(&mut EvmTestimony); 3] = [
        |told| told.final_block = 79,
        |told| told.canonical.clear(),
        |told| told.canonical.values_mut().for_each(|block| block.hash = B256::repeat_byte(1)),
    ];
    for change in changes {
        let mut told = honest();
        change(&mut told);
        assert!(told.statements().is_empty(), "{told:?}");
    }
}

#[test]
fn a_fact_is_as_large_as_the_call_and_the_logs_in_it() {
    let size = |subject| Fact::of(&block(), subject, Address::ZERO).size();
    let named = block().records()[1].transaction.hash();
    let (of_call, of_logs) = (3, 32 + LOG);
    let nothing = size(Subject::Nonce(NONCE + 1));
    assert_eq!(size(Subject::Transaction(named)), nothing + of_call + of_logs);
}
