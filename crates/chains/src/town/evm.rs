//! A town on an Ethereum chain: EIP-1559 transactions straight into the pool.

use super::{Call, Ground};
use crate::chain::Chain;
use crate::evm::{Checks, Evm, decode};
use crate::node::Node;
use alloy::consensus::{SignableTransaction as _, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718 as _;
use alloy::primitives::{Address, B256, Bytes, TxKind, U256};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use revm::context::TxEnv;

/// Gas for a call. A crowd of them has to fit into a block.
const CALL_GAS: u64 = 400_000;

/// Gas for the largest deployment.
const DEPLOY_GAS: u64 = 8_000_000;

/// One ether (wei).
const ETHER: u128 = 1_000_000_000_000_000_000;

impl Ground for Node<Evm> {
    fn chain_id(&self) -> u64 {
        self.chain().family().chain_id
    }

    fn endow(&self, accounts: &[Address]) {
        self.chain().edit(|state| {
            for who in accounts {
                state.account_mut(*who).balance += U256::from(100 * ETHER);
            }
        });
    }

    fn deploy(&self, from: &PrivateKeySigner, creation: Bytes) -> Address {
        let id = submit(&mut self.chain(), from, TxKind::Create, creation, DEPLOY_GAS);
        include(self, &[id]);
        let place = self.chain().find(&id).expect("it is in a block");
        place.included().receipt.created.expect("a deployment creates")
    }

    fn execute(&self, calls: Vec<Call>) {
        let send = |call: Call| {
            submit(&mut self.chain(), &call.from, TxKind::Call(call.to), call.data, CALL_GAS)
        };
        let ids: Vec<B256> = calls.into_iter().map(send).collect();
        include(self, &ids);
    }

    fn view(&self, to: Address, data: Bytes) -> Bytes {
        let chain = self.chain();
        let (header, state) = (chain.head().header.clone(), chain.head_state());
        let tx = TxEnv { kind: TxKind::Call(to), data, gas_limit: 10_000_000, ..TxEnv::default() };
        let done = chain.family().run(&header, state, &*chain, tx, Checks::Off);
        done.expect("a view runs").result.into_output().expect("a view answers")
    }
}

fn submit(
    chain: &mut Chain<Evm>,
    from: &PrivateKeySigner,
    to: TxKind,
    input: Bytes,
    gas_limit: u64,
) -> B256 {
    let tx = TxEip1559 {
        chain_id: chain.family().chain_id,
        nonce: crate::eth::pool::next_nonce(chain, &from.address()),
        gas_limit,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to,
        input,
        ..TxEip1559::default()
    };
    let signature = from.sign_hash_sync(&tx.signature_hash()).expect("a key signs any digest");
    let raw = TxEnvelope::from(tx.into_signed(signature)).encoded_2718();
    let tx = decode(&raw).expect("it was encoded just now");
    Evm::admit(chain, tx).expect("the pool takes it")
}

/// Makes blocks until all are in one, and sees that they succeeded.
fn include(node: &Node<Evm>, ids: &[B256]) {
    while !node.chain().pool().is_empty() {
        node.step();
    }
    let chain = node.chain();
    for id in ids {
        let place = chain.find(id).expect("it is in a block");
        let included = place.included();
        assert!(
            included.receipt.result.is_success(),
            "a transaction of the town failed: {:?}",
            included.receipt.result
        );
    }
}
