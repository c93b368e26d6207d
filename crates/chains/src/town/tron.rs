//! A town on a TRON chain: signed transactions broadcast to the node itself.

use super::{Call, Ground};
use crate::tron::address::deployed;
use crate::tron::calls::{Question, Seen};
use crate::tron::tvm::Ending;
use crate::tron::tx::Tx;
use crate::tron::{TronNode, Wallet};
use alloy::primitives::{Address, B256, Bytes};
use alloy::signers::local::PrivateKeySigner;

/// The most that a transaction may burn (sun): the maximum that TRON allows.
const FEE_LIMIT: i64 = 1_000_000_000;

/// Funds that an account is given (sun): ten thousand TRX.
const FUNDS: u64 = 10_000_000_000;

/// Time within which a transaction can land (ms of block time).
const LIFE_MS: u64 = 600_000;

impl Ground for TronNode {
    fn chain_id(&self) -> u64 {
        let chain = self.node().chain();
        let genesis = chain.block(0).expect("there is a genesis block").id;
        u64::from(u32::from_be_bytes([genesis[28], genesis[29], genesis[30], genesis[31]]))
    }

    fn endow(&self, accounts: &[Address]) {
        for who in accounts {
            self.fund(*who, FUNDS);
        }
    }

    fn deploy(&self, from: &PrivateKeySigner, creation: Bytes) -> Address {
        let id = send(self, wallet(from, 0).deploy(self, "", &creation));
        include(self, &[id]);
        deployed(id.as_slice(), &from.address())
    }

    fn execute(&self, calls: Vec<Call>) {
        let send = |(salt, call): (i64, Call)| {
            send(self, wallet(&call.from, salt).call(self, call.to, call.data))
        };
        let ids: Vec<B256> = (0..).zip(calls).map(send).collect();
        include(self, &ids);
    }

    fn view(&self, to: Address, data: Bytes) -> Bytes {
        let question = Question { to: Some(to), data, ..Question::default() };
        let done = self.ask(Seen::NEWEST, &question).expect("the node takes constant calls");
        assert_eq!(done.ending, Ending::Success, "a view of the town failed: {}", done.message);
        done.output
    }
}

/// `salt` tells calls of one moment apart, which could otherwise be the same transaction.
fn wallet(of: &PrivateKeySigner, salt: i64) -> Wallet {
    let mut wallet = Wallet::new(&of.to_bytes()).expect("a key is a key");
    (wallet.fee_limit, wallet.life_ms, wallet.salt) = (FEE_LIMIT, LIFE_MS, salt);
    wallet
}

fn send(node: &TronNode, tx: Tx) -> B256 {
    let id = tx.id;
    node.broadcast(tx).expect("the node takes it");
    id
}

/// Makes blocks until all are in one, and sees that they succeeded.
fn include(node: &TronNode, ids: &[B256]) {
    while !node.node().chain().pool().is_empty() {
        node.step();
    }
    let chain = node.node().chain();
    for id in ids {
        let place = chain.find(id).expect("it is in a block");
        let receipt = &place.included().receipt;
        assert!(receipt.succeeded(), "a transaction of the town failed: {}", receipt.message);
    }
}
