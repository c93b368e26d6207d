//! True certificates show what they are said to show, and each lie is refused by name.

use crate::elsewhere::{verified, verified_event};
use crate::made::{TRANSFER, evm_block, of_evm, of_tvm, statement, tvm_blocks};
use crate::mutations::with_digest;
use alloy::primitives::{Address, B256, b256};
use certificate::event::Declaration;
use certificate::evm::Named;
use certificate::form::Certificate;
use certificate::invalid::Invalid;
use prost::Message as _;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use tron_primitives::answer::BlockAnswer;
use tron_primitives::block::{ProvenHeader, block_id};
use tron_primitives::transaction::txid;

/// The same event, by the names that entry fields have.
const CHARGED: &str =
    "event Transfer(address indexed tokenAddress, address indexed userWallet, uint256 amount)";

#[test]
fn a_certificate_shows_who_was_charged_to_whoever_trusts_the_block() {
    for many in [1, 2, 150] {
        let made = of_evm(many);
        assert_eq!(made.len(), usize::try_from(many).unwrap());
        for (certificate, value) in made.iter().zip(1..) {
            let read = Certificate::read(&certificate.text()).unwrap();
            assert_eq!(read, *certificate);
            let shown = read.verify(read.block()).unwrap();
            assert_eq!(shown.event["value"], format!("{value}"));
            assert_eq!(shown.event["from"], format!("{:#x}", Address::ZERO));
            let stranger = B256::repeat_byte(1);
            assert_eq!(read.verify(stranger), Err(Invalid::OtherBlock(read.block())));
        }
    }
}

#[test]
fn on_tron_it_shows_the_call_and_the_blocks_on_top() {
    let made = of_tvm(5);
    for certificate in &made {
        let read = Certificate::read(&certificate.text()).unwrap();
        let shown = read.verify(read.block()).unwrap();
        let producers: BTreeSet<_> = shown.standing.iter().map(ProvenHeader::producer).collect();
        assert_eq!(producers.len(), 19, "enough of 27 to be irrevocable");
        assert_eq!(shown.standing[0].number(), shown.number);
        assert!(shown.event.is_empty());
    }
    let transactions: BTreeSet<_> =
        made.iter().map(|one| one.verify(one.block()).unwrap().transaction).collect();
    assert_eq!(transactions.len(), 5);
}

/// Certificates that were given out stay valid, in both verifiers.
#[test]
fn what_was_certified_once_stays_so() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/certificates");
    let kept = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let evm = b256!("a66b2f2d07698f87795fb7b6415c4fa33bd67ffac4e9be971ec95204302a1e13");
    let tvm = b256!("00000000000000028f88bc6ca729ed4164e6eb004f27d1e36a132945a12f5110");
    let texts = [(evm, kept("evm.json")), (tvm, kept("tvm.json"))];
    let shown = texts
        .each_ref()
        .map(|(block, text)| Certificate::read(text).and_then(|read| read.verify(*block)).unwrap());
    assert_eq!(shown[0].event["value"], "2");
    assert_eq!(shown[1].standing.len(), 19);
    assert_eq!(verified(texts.each_ref().map(|(block, text)| (*block, text))), [true; 2]);
}

/// The topic of a log is the same with any names.
#[test]
fn a_declaration_with_two_names_swapped_shows_nothing() {
    let made = of_evm(1).remove(0);
    let (block, text) = (made.block(), made.text());
    let swapped = "event Transfer(address indexed to, address indexed from, uint256 value)";
    let mut told: Value = serde_json::from_str(&text).unwrap();
    let event = &mut told["proof"]["evm"]["event"];
    event["declaration"] = json!(swapped);
    let values = &event["values"];
    event["values"] = json!({"from": values["to"], "to": values["from"], "value": values["value"]});
    let lie = with_digest(told);
    let read = Certificate::read(&lie).unwrap();
    assert_eq!(read.verify(block).unwrap().declaration.as_deref(), Some(swapped));
    let declared = Some(swapped.to_owned());
    assert_eq!(read.verify_event(block, TRANSFER), Err(Invalid::Declared(declared)));
    assert!(!verified_event(block, &lie, TRANSFER));
    let spaced = "event  Transfer ( address indexed from,address indexed to ,\tuint256 value )\n";
    for published in [TRANSFER, spaced] {
        assert!(
            made.verify_event(block, published).is_ok()
                && made.verify_event(B256::ZERO, published).is_err()
        );
        assert!(verified_event(block, &text, published));
    }
    let unindexed = TRANSFER.replacen(" indexed", "", 1);
    assert!(made.verify_event(block, &unindexed).is_err());
    assert!(!verified_event(block, &text, &unindexed));
}

#[test]
fn a_certificate_without_an_event_shows_none_of_a_given_declaration() {
    let (block, token) = evm_block(1);
    let hash = block.records()[0].transaction.hash();
    let bare = Certificate::of_evm(&block, hash, None, statement(31_337, token)).unwrap();
    for made in [bare, of_tvm(1).remove(0)] {
        let block = made.block();
        assert_eq!(made.verify_event(block, TRANSFER), Err(Invalid::Declared(None)));
        assert!(!verified_event(block, &made.text(), TRANSFER));
        assert_eq!(made.verify(block).unwrap().declaration, None);
    }
}

#[test]
fn an_event_with_words_of_any_length_leaves_a_certificate_without_it() {
    let (block, token) = evm_block(1);
    let hash = block.records()[0].transaction.hash();
    let event = Named::of(0, "event Charged(uint64 indexed subscribeId, string memo)");
    let made = Certificate::of_evm(&block, hash, event, statement(31_337, token)).unwrap();
    let shown = made.verify(made.block()).unwrap();
    assert_eq!((shown.contract, shown.declaration), (token, None));
    assert_eq!(verified([(made.block(), made.text())]), [true]);
}

/// A claim's `billing` is a row of the journal: a contract means something else by the name. The same holds for `period`
/// where another field names the period, and for a name with a type that the claim's value cannot have.
#[test]
fn a_parameter_called_billing_is_no_contradiction() {
    let (block, token) = evm_block(1);
    let hash = block.records()[0].transaction.hash();
    let mut claim = statement(31_337, token);
    for name in ["billing", "amount"] {
        claim.claim.insert(name.to_owned(), "17".to_owned());
    }
    let made = |names: [&str; 3]| {
        let [from, to, value] = names;
        let event = format!(
            "event Transfer(address indexed {from}, address indexed {to}, uint256 {value})"
        );
        Certificate::of_evm(&block, hash, Named::of(0, &event), claim.clone())
    };
    for names in [["a", "b", "billing"], ["amount", "subscribeId", "period"]] {
        let made = made(names).unwrap();
        assert_eq!(made.verify(made.block()).unwrap().event[names[2]], "1");
        assert_eq!(verified([(made.block(), made.text())]), [true], "{names:?}");
    }
    let otherwise = Err(Invalid::Claim("amount".to_owned()));
    assert_eq!(made(["userWallet", "to", "amount"]), otherwise);
}

/// A file is as short as a mail: in the median 8 kB on EVM in a block of 150, and 25 kB on TRON.
#[test]
fn a_certificate_is_short() {
    let median = |made: Vec<Certificate>| {
        let mut sizes: Vec<usize> = made.iter().map(|one| one.text().len()).collect();
        sizes.sort_unstable();
        sizes[sizes.len() / 2]
    };
    let (evm, tvm) = (median(of_evm(150)), median(of_tvm(50)));
    assert!(evm <= 8_000 && tvm <= 25_000, "{evm} and {tvm}");
}

#[test]
fn nothing_is_certified_that_the_block_does_not_bear_out() {
    let (block, token) = evm_block(2);
    let hash = block.records()[0].transaction.hash();
    let event = Named::of(0, TRANSFER);
    let made = |event, statement| Certificate::of_evm(&block, hash, event, statement);
    assert!(made(event, statement(31_337, token)).is_ok());
    let shown = made(None, statement(31_337, token)).unwrap();
    assert_eq!(shown.verify(block.header().hash()).unwrap().contract, token);
    assert_eq!(made(event, statement(1, token)), Err(Invalid::Network));
    let elsewhere = statement(31_337, Address::ZERO);
    assert_eq!(made(event, elsewhere), Err(Invalid::Claim("contract".to_owned())));
    let mut other = statement(31_337, token);
    other.claim.insert("amount".to_owned(), "2".to_owned());
    assert_eq!(made(Named::of(0, CHARGED), other), Err(Invalid::Claim("amount".to_owned())));
    let mut bare = statement(31_337, token);
    bare.claim.clear();
    assert_eq!(made(event, bare), Err(Invalid::Claim("contract".to_owned())));
    let events = [
        (1, TRANSFER),
        (0, "event Approval(address indexed from, address indexed to, uint256 value)"),
        (0, "event Transfer(address indexed from, address to, uint256 value)"),
        (0, "event Transfer(address indexed from, address indexed to, uint128 value)"),
    ];
    for (log, declaration) in events {
        let event = Named::of(log, declaration);
        assert!(event.is_some(), "{declaration}");
        let said = made(event, statement(31_337, token));
        assert_eq!(said, Err(Invalid::Event), "{declaration}");
    }
    let unknown = Certificate::of_evm(&block, B256::ZERO, event, statement(31_337, token));
    assert_eq!(unknown, Err(Invalid::Transaction));
}

#[test]
fn on_tron_nothing_is_certified_that_the_blocks_do_not_bear_out() {
    let (blocks, token) = tvm_blocks(2);
    let (own, above) = blocks.split_first().unwrap();
    let id = own.transactions[0].tx_id;
    let made = |above: &[_], contract| Certificate::of_tvm(own, above, id, statement(1, contract));
    assert!(made(above, token).is_ok() && made(&[], token).is_ok());
    assert_eq!(made(above, Address::ZERO), Err(Invalid::Claim("contract".to_owned())));
    assert_eq!(made(&above[1..], token), Err(Invalid::Above));
    let mut failed = own.clone();
    failed.transactions[0].ret[0].contract_ret = "REVERT".to_owned();
    let said = Certificate::of_tvm(&failed, above, id, statement(1, token));
    assert_eq!(said, Err(Invalid::Path), "another outcome is another block");
}

/// The block with other results of its first transaction, as if it had been made so. The signature is somebody's.
fn with_results(block: &BlockAnswer, results: Value) -> BlockAnswer {
    let mut block = block.clone();
    block.transactions[0].ret = serde_json::from_value(results).unwrap();
    let path = block.path(block.transactions[0].tx_id).unwrap().unwrap();
    let raw = &mut block.block_header.raw_data;
    raw.tx_trie_root = path.root().unwrap();
    block.block_id = block_id(raw.number, txid(&raw.message().unwrap().encode_to_vec()));
    block
}

#[test]
fn on_tron_the_first_result_decides_whatever_a_relay_put_beside_it() {
    let (blocks, token) = tvm_blocks(2);
    let made = |results| {
        let block = with_results(&blocks[0], results);
        let id = block.transactions[0].tx_id;
        Certificate::of_tvm(&block, &[], id, statement(1, token)).map(|made| (made, block.block_id))
    };
    let valid = [
        json!([{ "contractRet": "SUCCESS", "ret": "FAILED" }]),
        json!([{ "contractRet": "SUCCESS", "assetIssueID": "7", "orderDetails": [{}] }]),
        json!([{ "contractRet": "SUCCESS" }, { "contractRet": "REVERT" }]),
    ];
    let texts = valid.map(|results| {
        let (made, block) = made(results).unwrap();
        assert!(Certificate::read(&made.text()).unwrap().verify(block).is_ok());
        (block, made.text())
    });
    assert_eq!(verified(texts), [true; 3]);
    for results in [json!([{ "contractRet": "REVERT" }, { "contractRet": "SUCCESS" }]), json!([])] {
        assert_eq!(made(results).unwrap_err(), Invalid::Failed);
    }
}

#[test]
fn a_declaration_has_one_spelling() {
    let bad = [
        "Transfer(address from)",
        "event (address from)",
        "event Transfer(address)",
        "event Transfer(address  from)",
        "event Transfer(address from) ",
        "event Transfer(string from)",
        "event Transfer(uint7 from)",
        "event Transfer(uint08 from)",
        "event Transfer(uint264 from)",
        "event Transfer(bytes0 from)",
        "event Transfer(bytes33 from)",
        "event Transfer(bytes from)",
        "event Transfer(uint256[] from)",
        "event Transfer(uint256 1st)",
        "event Transfer(uint256 indexed)  x",
        "event Transfer(address from,address to)",
        "event Transfer(address from, address from)",
    ];
    for text in bad {
        assert_eq!(Declaration::read(text), Err(Invalid::Event), "{text}");
        assert_eq!(Named::of(0, text), None, "{text}");
    }
    assert!(
        Declaration::read("event A_1(address indexed from, bool b, bytes3 c, uint8 d)").is_ok()
    );
}
