//! A block of Ethereum's main network proves itself, and the account in its state.

use crate::made::{block, receipts};
use alloy::primitives::{Address, B256, Bytes, U256, address, b256};
use evm_proofs::answer::AccountAnswer;
use evm_proofs::header::ProvenHeader;
use evm_proofs::receipts::ProvenReceipt;
use evm_proofs::trie;
use evm_proofs::unproven::{Contradiction, Obstacle, Unproven};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::LazyLock;

/// The deposit contract of the beacon chain.
const ACCOUNT: Address = address!("00000000219ab540356cbb839cbe05303d7705fa");

fn golden(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/evm");
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

static BLOCK: LazyLock<Value> = LazyLock::new(|| golden("block.json"));

static RECEIPTS: LazyLock<Vec<Value>> =
    LazyLock::new(|| golden("receipts.json").as_array().unwrap().clone());

fn header() -> &'static ProvenHeader {
    static HEADER: LazyLock<ProvenHeader> =
        LazyLock::new(|| block(&BLOCK).prove_header(None).unwrap());
    &HEADER
}

/// The bytes of the receipts, as the trie has them.
static BYTES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    use alloy::consensus::ReceiptEnvelope;
    use alloy::eips::eip2718::Encodable2718 as _;
    let read = |told: &Value| -> ReceiptEnvelope { serde_json::from_value(told.clone()).unwrap() };
    RECEIPTS.iter().map(|told| read(told).encoded_2718()).collect()
});

/// The nodes that lead to each of them.
static PATHS: LazyLock<Vec<Vec<Bytes>>> =
    LazyLock::new(|| (0..BYTES.len()).map(|index| trie::path(&BYTES, index).unwrap()).collect());

#[test]
fn the_header_gives_its_hash() {
    let header = header();
    let hash = b256!("92dabfa3f61ff1c349d12f5fd0dd4c99760a0a41b77dee8f0a80f83efdcb307a");
    assert_eq!((header.hash(), header.fields().number), (hash, 21_925_176));
    assert_eq!(ProvenHeader::of_rlp(&header.rlp()), Some(header.clone()));
    let mut longer = header.rlp();
    longer.push(0);
    assert_eq!(ProvenHeader::of_rlp(&longer), None);
}

#[test]
fn the_receipts_give_the_headers_root() {
    let proven = header().prove_receipts(&receipts(&RECEIPTS)).unwrap();
    assert_eq!(proven.len(), 202);
    let logs: usize = proven.iter().map(|one| one.logs().len()).sum();
    assert_eq!(logs, 463);
    let failed = proven.iter().filter(|one| one.succeeded() == Some(false)).count();
    let told = RECEIPTS.iter().filter(|one| one["status"] == "0x0").count();
    assert_eq!(failed, told);
    assert_eq!(proven.last().unwrap().cumulative_gas(), header().fields().gas_used);
}

#[test]
fn each_receipt_is_proven_without_the_others() {
    let root = header().fields().receipts_root;
    let proven = header().prove_receipts(&receipts(&RECEIPTS)).unwrap();
    let mut sizes = vec![];
    for (index, bytes) in BYTES.iter().enumerate() {
        let path = &PATHS[index];
        assert_eq!(trie::item(root, index, path).as_ref(), Some(bytes));
        assert_eq!(trie::item(root, index + 1, path), None, "it is the proof of no other place");
        assert_eq!(ProvenReceipt::of_bytes(index, bytes).as_ref(), proven.get(index));
        sizes.push(path.iter().map(|node| node.len()).sum::<usize>());
    }
    assert_eq!(trie::path(&BYTES, BYTES.len()), None);
    sizes.sort_unstable();
    assert!(sizes[101] < 2_200 && sizes[201] < 6_500, "{} and {}", sizes[101], sizes[201]);
}

#[test]
fn an_account_is_proven_below_the_state_root() {
    let state = header().fields().state_root;
    let told = golden("proof.json");
    let read = |told: &Value| -> AccountAnswer { serde_json::from_value(told.clone()).unwrap() };
    let account = read(&told).prove(ACCOUNT, state).unwrap();
    let balance = U256::from_str_radix("2fb161afe600a5b2605040", 16).unwrap();
    assert_eq!((account.nonce, account.balance), (1, balance));
    let lies = [
        ("nonce", json!("0x2")),
        ("nonce", json!("0x0")),
        ("balance", json!("0x0")),
        ("codeHash", json!(B256::ZERO)),
        ("storageHash", json!(B256::ZERO)),
        ("accountProof", json!(told["accountProof"].as_array().unwrap()[..7])),
    ];
    for (field, lie) in lies {
        let mut altered = told.clone();
        altered[field] = lie;
        let said = read(&altered).prove(ACCOUNT, state);
        assert_eq!(said, Err(Contradiction::Account.into()), "{field}");
    }
    let other = read(&told).prove(Address::ZERO, state);
    assert_eq!(other, Err(Contradiction::Account.into()), "the nodes are of another account");
    let elsewhere = read(&told).prove(ACCOUNT, B256::ZERO);
    assert_eq!(elsewhere, Err(Unproven::Unjudged(Obstacle::OtherState)));
}

/// An account that is not there has the nonce 0, which the end of its path proves.
#[test]
fn an_account_that_is_not_there_is_proven_too() {
    let state = header().fields().state_root;
    let mut told = golden("proof.json");
    for (field, none) in [("nonce", json!("0x0")), ("balance", json!("0x0"))] {
        told[field] = none;
    }
    let nodes = told["accountProof"].as_array().unwrap().clone();
    // The root alone leads nowhere, whatever account is asked about.
    told["accountProof"] = json!(nodes[..1]);
    let read: AccountAnswer = serde_json::from_value(told.clone()).unwrap();
    assert_eq!(read.prove(ACCOUNT, state), Err(Contradiction::Account.into()));
    let empty = json!({"nonce": "0x0", "balance": "0x0", "codeHash": B256::ZERO, "storageHash": B256::ZERO, "accountProof": []});
    let read: AccountAnswer = serde_json::from_value(empty).unwrap();
    let nothing = alloy::trie::EMPTY_ROOT_HASH;
    assert_eq!(read.prove(ACCOUNT, nothing).unwrap().nonce, 0);
    assert_eq!(read.prove(ACCOUNT, state), Err(Obstacle::OtherState.into()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// One bit of the nodes that lead to a receipt: it leads nowhere.
    #[test]
    fn a_changed_bit_of_a_path_leads_nowhere(index in 0_usize..202, bit in any::<usize>()) {
        let mut path = PATHS[index].clone();
        let length: usize = path.iter().map(|node| node.len()).sum();
        let mut at = bit / 8 % length;
        let node = path.iter_mut().find(|node| {
            let here = at < node.len();
            at -= if here { 0 } else { node.len() };
            here
        });
        let node = node.unwrap();
        let mut bytes = node.to_vec();
        bytes[at] ^= 1 << (bit % 8);
        *node = bytes.into();
        prop_assert_eq!(trie::item(header().fields().receipts_root, index, &path), None);
    }
}
