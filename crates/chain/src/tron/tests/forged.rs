//! True blocks, made by a witness whose key everybody knows.

use super::recorded::Double;
use alloy::primitives::{Address, B256};
use k256::ecdsa::SigningKey;
use prost::Message;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tron_primitives::address::{prefixed, to_hex};
use tron_primitives::block::Producer;
use tron_primitives::finality::Witnesses;
use tron_primitives::messages::{HeaderRaw, Ret, Transaction};
use tron_primitives::result::ContractResult;

fn key() -> SigningKey {
    SigningKey::from_slice(&[0x77; 32]).unwrap()
}

/// The list with this one witness on it.
pub(super) fn alone(witness: Address) -> Witnesses {
    Witnesses::new([Producer { witness, signer: witness }]).unwrap()
}

/// The list with the maker of the blocks here on it.
pub(super) fn maker() -> Witnesses {
    alone(Address::from_public_key(key().verifying_key()))
}

fn sha(bytes: &[u8]) -> B256 {
    B256::from_slice(&Sha256::digest(bytes))
}

/// The place of a block in its chain.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) number: u64,
    /// Unix ms.
    pub(super) time_ms: u64,
    /// The id of the block before.
    pub(super) parent: B256,
}

/// A block with one transaction, given as it was sent and with the word for how it went, or with none.
/// Its id, and what a node says of it.
pub(super) fn block(place: Place, holds: Option<(&[u8], &str)>) -> (B256, Value) {
    let Place { number, time_ms, parent } = place;
    let (mut root, mut transactions) = (B256::ZERO, vec![]);
    if let Some((raw, word)) = holds {
        let sent = Transaction::decode(raw).unwrap();
        let contract_ret = ContractResult::of_word(word).unwrap().number();
        let ret = vec![Ret { contract_ret, ..Ret::default() }];
        root = sha(&Transaction { ret, ..sent.clone() }.encode_to_vec());
        transactions.push(json!({
            "txID": hex::encode(sha(&sent.raw_data)),
            "raw_data_hex": hex::encode(&sent.raw_data),
            "signature": sent.signature.iter().map(hex::encode).collect::<Vec<_>>(),
            "ret": [{ "contractRet": word }],
        }));
    }
    let maker = Address::from_public_key(key().verifying_key());
    let raw = HeaderRaw {
        timestamp: i64::try_from(time_ms).unwrap(),
        tx_trie_root: root.to_vec(),
        parent_hash: parent.to_vec(),
        number: i64::try_from(number).unwrap(),
        witness_address: prefixed(maker).to_vec(),
        version: 32,
        ..HeaderRaw::default()
    };
    let mut id = sha(&raw.encode_to_vec());
    let (signature, recovery) = key().sign_prehash_recoverable(id.as_slice()).unwrap();
    id[..8].copy_from_slice(&number.to_be_bytes());
    let signature = [&signature.to_bytes()[..], &[recovery.to_byte()]].concat();
    let told = json!({
        "blockID": hex::encode(id),
        "block_header": {
            "raw_data": {
                "number": number, "timestamp": time_ms, "version": 32,
                "txTrieRoot": hex::encode(root), "parentHash": hex::encode(parent),
                "witness_address": to_hex(maker),
            },
            "witness_signature": hex::encode(signature),
        },
        "transactions": transactions,
    });
    (id, told)
}

/// Has the node show this block by its number, on both sides.
pub(super) fn show(double: &Double, number: u64, block: &Value) {
    for service in ["wallet", "walletsolidity"] {
        for detail in [true, false] {
            let asked = json!({ "detail": detail, "id_or_num": number.to_string() });
            double.says(&format!("/{service}/getblock {asked}"), 200, &block.to_string());
        }
    }
}

/// Has the node know nothing of the blocks with these numbers.
pub(super) fn lacks(double: &Double, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        show(double, number, &json!({}));
    }
}
