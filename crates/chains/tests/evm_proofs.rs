//! Every block of the Ethereum node proves itself, by code that shares nothing with it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, B256, Bytes, TxKind, U256};
use alloy::signers::SignerSync as _;
use alloy::sol_types::SolCall as _;
use evm_proofs::answer::BlockAnswer;
use evm_proofs::block::ProvenBlock;
use evm_proofs::header::ProvenHeader;
use sandbox_chains::chain::{Chain, Header, Orphans, Settings};
use sandbox_chains::contracts::{self, Token};
use sandbox_chains::eth;
use sandbox_chains::evm::{Evm, decode};
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Call, Ground as _, wallet};
use serde_json::{Value, json};
use std::sync::Arc;

fn node() -> Node<Evm> {
    let genesis = Header {
        time_ms: 1_700_000_000_000,
        gas_limit: 30_000_000,
        price: 1_000_000_000,
        ..Header::default()
    };
    let settings = Settings { slot_ms: 1000, lag: 40, ..Settings::default() };
    Node::new(Chain::new(Evm::default(), settings, genesis, State::new(())))
}

fn ask(node: &Node<Evm>, method: &str, params: &Value) -> Value {
    let asked = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    eth::respond_to(node, asked).unwrap()["result"].take()
}

fn proven(node: &Node<Evm>, number: u64) -> ProvenBlock {
    let tag = format!("{number:#x}");
    let block = ask(node, "eth_getBlockByNumber", &json!([tag, true]));
    let receipts = ask(node, "eth_getBlockReceipts", &json!([tag]));
    let block: BlockAnswer = serde_json::from_value(block).unwrap();
    let receipts: Vec<_> = serde_json::from_value(receipts).unwrap();
    block.prove(&receipts, None).unwrap()
}

/// Puts transactions of Ann's into the pool: transfers, and every third a call that runs out of gas.
fn transactions(node: &Node<Evm>, token: Address, many: u64) {
    let first = node.chain().head_state().nonce(&wallet("Ann").address());
    for nonce in first..first + many {
        let transfer = nonce % 3 != 0;
        let mint = Token::mintCall { to: wallet("Ann").address(), value: U256::from(1) };
        let tx = TxEip1559 {
            chain_id: 31_337,
            nonce,
            gas_limit: 25_000,
            max_fee_per_gas: 10_000_000_000,
            max_priority_fee_per_gas: 1_000_000_000,
            to: TxKind::Call(if transfer { wallet("Bob").address() } else { token }),
            input: if transfer { Bytes::new() } else { mint.abi_encode().into() },
            ..TxEip1559::default()
        };
        let signature = wallet("Ann").sign_hash_sync(&tx.signature_hash()).unwrap();
        let raw = TxEnvelope::from(tx.into_signed(signature)).encoded_2718();
        Evm::admit(&mut node.chain(), decode(&raw).unwrap()).unwrap();
    }
}

#[test]
fn every_block_proves_itself_with_all_that_is_in_it() {
    let node = node();
    node.endow(&[wallet("Ann").address()]);
    let token = node.deploy(&wallet("Ann"), contracts::token(18));
    let mint = |value| Token::mintCall { to: wallet("Ann").address(), value: U256::from(value) };
    let calls = (1..=5).map(|value| Call::new(&wallet("Ann"), token, &mint(value)));
    node.execute(calls.collect());
    transactions(&node, token, 20);
    node.steps(3);
    let head = node.chain().head().header.number;
    let blocks: Vec<ProvenBlock> = (0..=head).map(|number| proven(&node, number)).collect();
    for (block, number) in blocks.iter().zip(0..) {
        let own = Arc::clone(node.chain().block(number).unwrap());
        assert_eq!(block.header().hash(), own.id);
        assert_eq!(block.records().len(), own.body.len());
        for (record, included) in block.records().iter().zip(&own.body) {
            assert_eq!(record.transaction.hash(), *included.tx.tx_hash());
            assert_eq!(record.transaction.sender(), Some(included.tx.signer()));
            assert_eq!(record.receipt.succeeded(), Some(included.receipt.result.is_success()));
        }
    }
    assert!(blocks.windows(2).all(|pair| pair[1].header().follows(pair[0].header())));
    let records = || blocks.iter().flat_map(ProvenBlock::records);
    assert_eq!(records().count(), 26);
    let failed = records().filter(|one| one.receipt.succeeded() == Some(false));
    assert_eq!(failed.count(), 7);
    assert_eq!(records().map(|one| one.receipt.logs().len()).sum::<usize>(), 5);
}

#[test]
fn blocks_of_another_branch_are_others() {
    let node = node();
    node.steps(4);
    let hash = |number| -> B256 { proven(&node, number).header().hash() };
    let before: Vec<B256> = (0..=4).map(hash).collect();
    node.reorg(2, Orphans::Lose);
    node.steps(2);
    let after: Vec<B256> = (0..=4).map(hash).collect();
    let same: Vec<bool> = before.iter().zip(&after).map(|(old, new)| old == new).collect();
    assert_eq!(same, [true, true, true, false, false]);
    let headers: Vec<ProvenHeader> = (0..=4).map(|n| proven(&node, n).header().clone()).collect();
    assert!(headers.windows(2).all(|pair| pair[1].follows(&pair[0])));
}
