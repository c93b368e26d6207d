//! A town on a TRON chain: signed protobuf transactions broadcast to the node itself.

use super::{Call, Ground};
use crate::tron::TronNode;
use crate::tron::address::{deployed, to21};
use crate::tron::calls::{Question, Side};
use crate::tron::proto::{Any, Contract, Create, Raw, SmartContract, Transaction, Trigger};
use crate::tron::tvm::Ending;
use crate::tron::tx::{Tx, sha256};
use alloy::primitives::{Address, B256, Bytes};
use alloy::signers::SignerSync as _;
use alloy::signers::local::PrivateKeySigner;
use prost::Message;

/// What a transaction may burn (sun): the most that TRON allows.
const FEE_LIMIT: i64 = 1_000_000_000;

/// What an account is given (sun): ten thousand TRX.
const FUNDS: u64 = 10_000_000_000;

/// How long a transaction can land (ms of block time).
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
        let contract = SmartContract {
            origin_address: to21(&from.address()),
            bytecode: creation.to_vec(),
            consume_user_resource_percent: 100,
            origin_energy_limit: 10_000_000,
            ..SmartContract::default()
        };
        let create = Create {
            owner_address: to21(&from.address()),
            new_contract: Some(contract),
            ..Create::default()
        };
        let asked = (30, "CreateSmartContract", create.encode_to_vec());
        let id = submit(self, from, asked, 0);
        include(self, &[id]);
        deployed(id.as_slice(), &from.address())
    }

    fn execute(&self, calls: Vec<Call>) {
        let send = |(number, call): (i64, Call)| {
            let trigger = Trigger {
                owner_address: to21(&call.from.address()),
                contract_address: to21(&call.to),
                data: call.data.to_vec(),
                ..Trigger::default()
            };
            let asked = (31, "TriggerSmartContract", trigger.encode_to_vec());
            submit(self, &call.from, asked, number)
        };
        let ids: Vec<B256> = (0..).zip(calls).map(send).collect();
        include(self, &ids);
    }

    fn view(&self, to: Address, data: Bytes) -> Bytes {
        let question = Question { to: Some(to), data, ..Question::default() };
        let done = self.ask((Side::Full, 0), &question).expect("the node takes constant calls");
        assert_eq!(done.ending, Ending::Success, "a view of the town failed: {}", done.message);
        done.output
    }
}

/// Signs and broadcasts. `number` tells calls of one moment apart, which could otherwise be the same transaction.
fn submit(
    node: &TronNode,
    from: &PrivateKeySigner,
    (kind, name, message): (i32, &str, Vec<u8>),
    number: i64,
) -> B256 {
    let (solid, now_ms) = {
        let chain = node.node().chain();
        (std::sync::Arc::clone(chain.solid()), chain.head().header.time_ms)
    };
    let millis = |ms: u64| i64::try_from(ms).expect("a time");
    let parameter =
        Any { type_url: format!("type.googleapis.com/protocol.{name}"), value: message };
    let raw = Raw {
        ref_block_bytes: solid.header.number.to_be_bytes()[6..].to_vec(),
        ref_block_hash: solid.id[8..16].to_vec(),
        expiration: millis(now_ms + LIFE_MS),
        contract: vec![Contract {
            r#type: kind,
            parameter: Some(parameter),
            ..Contract::default()
        }],
        timestamp: millis(now_ms) + number,
        fee_limit: FEE_LIMIT,
        ..Raw::default()
    };
    let id = sha256(&raw.encode_to_vec());
    let signature = from.sign_hash_sync(&id).expect("a key signs any digest");
    let signature = vec![signature.as_bytes().to_vec()];
    let tx = Tx::new(Transaction { raw_data: Some(raw), signature });
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
