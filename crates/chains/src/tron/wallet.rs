//! A key that makes signed transactions: for people who play with the sandbox, and for tests.

use super::address;
use super::node::TronNode;
use super::proto::{Any, Contract, Create, Raw, SmartContract, Transaction, Transfer, Trigger};
use super::tx::Tx;
use k256::ecdsa::SigningKey;
use prost::Message;
use revm::primitives::Address;
use std::fmt;

/// Lifetime of a wallet's transactions unless stated otherwise (ms).
const LIFE_MS: u64 = 60_000;

/// A key, and how its transactions are made.
#[derive(Clone)]
pub struct Wallet {
    key: SigningKey,
    /// Ceiling of the energy bill (sun).
    pub fee_limit: i64,
    /// Time from the head to the expiry of a transaction (ms).
    pub life_ms: u64,
    /// Goes into `timestamp`, so that equal requests become different transactions.
    pub salt: i64,
}

impl fmt::Debug for Wallet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wallet")
            .field("address", &address::base58(&self.address()))
            .finish_non_exhaustive()
    }
}

impl Wallet {
    /// The wallet of a private key; None if it is not one.
    pub fn new(key: &[u8; 32]) -> Option<Self> {
        let key = SigningKey::from_slice(key).ok()?;
        Some(Self { key, fee_limit: 100_000_000, life_ms: LIFE_MS, salt: 1 })
    }

    /// Its address.
    pub fn address(&self) -> Address {
        Address::from_public_key(self.key.verifying_key())
    }

    /// A call of a contract.
    pub fn call(&self, node: &TronNode, to: Address, data: impl Into<Vec<u8>>) -> Tx {
        let call = Trigger {
            owner_address: address::to21(&self.address()),
            contract_address: address::to21(&to),
            data: data.into(),
            ..Trigger::default()
        };
        self.sign(node, 31, "TriggerSmartContract", call.encode_to_vec())
    }

    /// A call that carries a token of the older kind (TRC-10), which nobody has here.
    pub fn call_with_token(&self, node: &TronNode, to: Address, value: i64, id: i64) -> Tx {
        let call = Trigger {
            owner_address: address::to21(&self.address()),
            contract_address: address::to21(&to),
            call_token_value: value,
            token_id: id,
            ..Trigger::default()
        };
        self.sign(node, 31, "TriggerSmartContract", call.encode_to_vec())
    }

    /// A transfer of TRX (sun).
    pub fn transfer(&self, node: &TronNode, to: Address, sun: i64) -> Tx {
        let (owner_address, to_address) = (address::to21(&self.address()), address::to21(&to));
        let body = Transfer { owner_address, to_address, amount: sun };
        self.sign(node, 1, "TransferContract", body.encode_to_vec())
    }

    /// A deployment; the contract's address is [`address::deployed`] of the id and this wallet's address.
    pub fn deploy(&self, node: &TronNode, name: &str, bytecode: &[u8]) -> Tx {
        let owner_address = address::to21(&self.address());
        let new = SmartContract {
            origin_address: owner_address.clone(),
            bytecode: bytecode.to_vec(),
            consume_user_resource_percent: 100,
            name: name.to_owned(),
            origin_energy_limit: 10_000_000,
            ..SmartContract::default()
        };
        let body = Create { owner_address, new_contract: Some(new), ..Create::default() };
        self.sign(node, 30, "CreateSmartContract", body.encode_to_vec())
    }

    fn sign(&self, node: &TronNode, kind: i32, name: &str, value: Vec<u8>) -> Tx {
        let (reference, head_ms) = {
            let chain = node.node().chain();
            (chain.solid().id, chain.head().header.time_ms)
        };
        let any = Any { type_url: format!("type.googleapis.com/protocol.{name}"), value };
        let raw = Raw {
            ref_block_bytes: reference[6..8].to_vec(),
            ref_block_hash: reference[8..16].to_vec(),
            expiration: i64::try_from(head_ms + self.life_ms).unwrap_or(i64::MAX),
            contract: vec![Contract { r#type: kind, parameter: Some(any), ..Contract::default() }],
            timestamp: self.salt,
            fee_limit: if kind == 1 { 0 } else { self.fee_limit },
            ..Raw::default()
        };
        let unsigned = Tx::new(Transaction { raw_data: Some(raw), signature: vec![] });
        let signed = self.key.sign_prehash_recoverable(unsigned.id.as_slice());
        let signature =
            signed.map(|(rs, id)| [rs.to_bytes().to_vec(), vec![27 + id.to_byte()]].concat());
        Tx::new(Transaction { signature: signature.into_iter().collect(), ..unsigned.message })
    }
}

impl Tx {
    /// The bytes of `broadcasthex`.
    pub fn encode(&self) -> Vec<u8> {
        self.message.encode_to_vec()
    }
}
