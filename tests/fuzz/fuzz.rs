//! Bytes that others send, read as the program reads them: whatever they are, nothing panics, and what is taken for
//! proven is what was told. `tests/fuzz/run` says how it is run; TARGET names one of [`TARGETS`].

#![no_main]

mod claims_file;
mod keystore;
mod request;
mod server_rows;

use alloy::primitives::{Address, B256, keccak256};
use beacon::answer::{Answer, Bootstrap, FinalityUpdate, Update};
use beacon::client::LightClient;
use beacon::network::Network;
use billing::Family;
use certificate::form::Certificate;
use config::Config;
use evm_proofs::answer::{AccountAnswer, BlockAnswer, ReceiptAnswer};
use evm_proofs::header::ProvenHeader;
use evm_proofs::receipts::ProvenReceipt;
use evm_proofs::transactions::ProvenTransaction;
use libfuzzer_sys::fuzz_target;
use node::{NodeError, decode};
use parlia::seal::{ChainId, SealedHeader};
use std::sync::OnceLock;
use tron_primitives::answer::BlockAnswer as TronBlockAnswer;
use tron_primitives::transaction::{SignedBytes, Unsigned};

/// Reads some bytes.
type Read = fn(&[u8]);

const TARGETS: [(&str, Read); 15] = [
    ("beacon", beacon_answers),
    ("certificate", certificates),
    ("claims-file", claims_file::take),
    ("config", configurations),
    ("error", error_texts),
    ("evm-account", evm_accounts),
    ("evm-block", evm_blocks),
    ("evm-bytes", evm_bytes),
    ("keystore", keystore::open),
    ("parlia", sealed_headers),
    ("profile", profiles),
    ("request", request::answer),
    ("server-row", server_rows::read),
    ("tron-block", tron_blocks),
    ("tron-transaction", tron_transactions),
];

static TARGET: OnceLock<Read> = OnceLock::new();

fuzz_target!(|data: &[u8]| {
    let read = TARGET.get_or_init(|| {
        let named = std::env::var("TARGET").unwrap_or_default();
        let known = TARGETS.iter().find(|(name, _)| *name == named);
        known.unwrap_or_else(|| panic!("TARGET is one of {:?}", TARGETS.map(|(name, _)| name))).1
    });
    read(data);
});

fn beacon_answers(data: &[u8]) {
    if let Ok(answer) = decode::<Answer<Bootstrap>>(data) {
        let begun = LightClient::begin(Network::mainnet(), B256::ZERO, &answer);
        assert!(begun.is_err(), "no header has this root");
    }
    if let Ok(answers) = decode::<Vec<Answer<Update>>>(data) {
        assert!(answers.len() <= data.len());
    }
    if let Ok(answer) = decode::<Answer<FinalityUpdate>>(data) {
        answer.signature_slot();
    }
}

fn certificates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(read) = Certificate::read(text) {
        assert_eq!(read.text(), text, "it is spelt in one way");
        let _shown = read.verify(read.block());
    }
}

fn configurations(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Err(errors) = Config::from_toml(text, &[]) {
        assert!(!errors.to_string().is_empty(), "an error says what is wrong");
    }
}

fn error_texts(data: &[u8]) {
    let error = NodeError::of(String::from_utf8_lossy(data));
    evm_testimony::errors::meaning_of(&error);
}

fn evm_accounts(data: &[u8]) {
    let Ok(answer) = decode::<AccountAnswer>(data) else { return };
    let proven = answer.prove(Address::repeat_byte(7), B256::repeat_byte(7));
    assert!(proven.is_err(), "no trie has this root");
}

/// A block, or a block and its receipts.
fn evm_blocks(data: &[u8]) {
    let both = decode::<(BlockAnswer, Vec<ReceiptAnswer>)>(data);
    let alone = || decode::<BlockAnswer>(data).map(|block| (block, vec![]));
    let Ok((block, receipts)) = both.or_else(|_| alone()) else { return };
    if let Ok(header) = block.prove_header(None) {
        assert_eq!(keccak256(header.rlp()), header.hash());
    }
    let Ok(body) = block.prove_body(None) else { return };
    let hashes: Vec<B256> = body.transactions().iter().map(ProvenTransaction::hash).collect();
    if let Ok(proven) = body.with_receipts(&receipts) {
        for hash in hashes {
            assert!(proven.record(hash).is_some(), "each transaction has its receipt");
        }
    }
}

fn evm_bytes(data: &[u8]) {
    if let Some(header) = ProvenHeader::of_rlp(data) {
        assert_eq!(header.rlp(), data, "a header has one spelling");
    }
    if let Some(transaction) = ProvenTransaction::of_bytes(data) {
        assert_eq!(keccak256(data), transaction.hash());
        transaction.sender();
    }
    ProvenReceipt::of_bytes(0, data);
}

fn sealed_headers(data: &[u8]) {
    let Ok(answer) = decode::<BlockAnswer>(data) else { return };
    if let Ok(header) = SealedHeader::read(&answer, None, ChainId::MAINNET) {
        let _list = header.validators();
    }
    if let Some(header) = ProvenHeader::of_rlp(data) {
        let _sealed = SealedHeader::of(header, ChainId::MAINNET);
    }
}

/// Configurations of one chain whose contract is described by the bytes.
fn profiles(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(config) = Config::from_toml(text, &[]) else { return };
    for chain in &config.chains {
        for family in [Family::Evm, Family::Tvm] {
            let _profile = contract::Profile::parse(chain.family.billing(), family);
        }
    }
}

fn tron_blocks(data: &[u8]) {
    let Ok(block) = decode::<TronBlockAnswer>(data) else { return };
    let header = block.prove_header();
    if let Ok(proven) = block.prove() {
        assert_eq!(header.map(|header| header.id()).ok(), Some(proven.header().id()));
        for transaction in proven.transactions() {
            assert!(proven.transaction(transaction.id()).is_some());
            transaction.ending();
        }
    }
}

fn tron_transactions(data: &[u8]) {
    if let Ok(read) = Unsigned::read(data) {
        assert_eq!(read.raw_data().as_deref(), Ok(data), "what is signed has one spelling");
    }
    if let Ok(signed) = SignedBytes::read(data) {
        signed.signer();
    }
}
