//! Blocks, heads, forks and the pool, shown on the Ethereum family.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Address, TxKind, U256};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::chain::{Chain, Header, Orphans, Settings};
use sandbox_chains::evm::{Evm, Refusal, decode};
use sandbox_chains::state::State;

const PAYEE: Address = Address::repeat_byte(0x22);

fn chain(rich: &PrivateKeySigner) -> Chain<Evm> {
    let mut state = State::new(());
    state.account_mut(rich.address()).balance = U256::from(10).pow(U256::from(18));
    let genesis = Header { gas_limit: 30_000_000, price: 1_000_000_000, ..Header::default() };
    Chain::new(Evm::default(), Settings { lag: 2, ..Settings::default() }, genesis, state)
}

fn transfer(from: &PrivateKeySigner, nonce: u64, tip: u128) -> Vec<u8> {
    let tx = TxEip1559 {
        chain_id: 31_337,
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 2_000_000_000 + tip,
        max_priority_fee_per_gas: tip,
        to: TxKind::Call(PAYEE),
        value: U256::from(7),
        ..TxEip1559::default()
    };
    let signature = from.sign_hash_sync(&tx.signature_hash()).unwrap();
    TxEnvelope::from(tx.into_signed(signature)).encoded_2718()
}

#[test]
fn a_transaction_is_included_reorganised_away_and_included_again() {
    let rich = PrivateKeySigner::random();
    let mut chain = chain(&rich);
    let id = Evm::admit(&mut chain, decode(&transfer(&rich, 0, 1)).unwrap()).unwrap();
    assert!(chain.find(&id).is_none());
    let first = chain.step();
    assert_eq!(chain.find(&id).unwrap().included().receipt.gas_used, 21_000);
    assert_eq!(chain.head_state().balance(&PAYEE), U256::from(7));
    assert_eq!(chain.solid_state().balance(&PAYEE), U256::ZERO);
    chain.reorg(9, Orphans::Return);
    assert!(chain.find(&id).is_none());
    assert_eq!(chain.head_state().balance(&PAYEE), U256::ZERO);
    let second = chain.step();
    assert_ne!(first.id, second.id);
    assert_eq!(chain.find(&id).unwrap().block.id, second.id);
    chain.step();
    chain.step();
    assert_eq!(chain.reorg(9, Orphans::Lose).len(), 2);
    assert!(chain.find(&id).is_some());
}

#[test]
fn the_pool_keeps_nonces_apart_and_wants_a_tenth_more() {
    let rich = PrivateKeySigner::random();
    let mut chain = chain(&rich);
    let mut admit =
        |nonce, tip| Evm::admit(&mut chain, decode(&transfer(&rich, nonce, tip)).unwrap());
    admit(1, 100_000_000).unwrap();
    admit(0, 100_000_000).unwrap();
    assert_eq!(admit(0, 100_000_000), Err(Refusal::AlreadyKnown));
    assert_eq!(admit(0, 101_000_000), Err(Refusal::Underpriced));
    let winner = admit(0, 400_000_000).unwrap();
    let block = chain.step();
    assert_eq!(block.body.len(), 2);
    assert!(chain.find(&winner).is_some());
    let late = Evm::admit(&mut chain, decode(&transfer(&rich, 0, 1)).unwrap());
    assert_eq!(late, Err(Refusal::NonceTooLow { next: 2 }));
}

#[test]
fn a_node_that_follows_late_has_the_blocks_it_has_heard_of_and_drops_those_of_a_lost_fork() {
    let rich = PrivateKeySigner::random();
    let mut producer = chain(&rich);
    let mut late = producer.clone();
    producer.step();
    let tx = decode(&transfer(&rich, 0, 1)).unwrap();
    let id = Evm::admit(&mut producer, tx.clone()).unwrap();
    Evm::admit(&mut late, tx).unwrap();
    let lost = producer.step();
    late.follow(&producer, 1);
    assert_eq!((late.head().header.number, late.pool().len()), (1, 1));
    late.follow(&producer, 9);
    assert_eq!((late.head().id, late.pool().len()), (lost.id, 0));
    assert_eq!(late.head_state().balance(&PAYEE), U256::from(7));
    producer.reorg(1, Orphans::Lose);
    producer.step_empty();
    producer.step_empty();
    late.follow(&producer, 9);
    assert_eq!(late.head().id, producer.head().id);
    assert!(late.find(&id).is_none() && late.block_by_id(&lost.id).is_none());
    assert_eq!(late.head_state().balance(&PAYEE), U256::ZERO);
    late.follow(&producer, 1);
    assert_eq!(late.head().id, producer.head().id, "a height that is known takes nothing back");
}

#[test]
fn the_solid_head_moves_several_blocks_at_once_and_never_back() {
    let mut chain = chain(&PrivateKeySigner::random());
    chain.set_stride(3);
    let mut seen = vec![];
    for _ in 0..10 {
        chain.step();
        seen.push(chain.solid().header.number);
    }
    assert_eq!(seen, [0, 0, 0, 0, 3, 3, 3, 6, 6, 6], "two blocks behind, three at a time");
    chain.set_stride(1);
    assert_eq!(chain.solid().header.number, 8);
}
