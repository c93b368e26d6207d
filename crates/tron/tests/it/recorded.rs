//! Every block that was recorded of a running node proves itself.

use alloy::primitives::{B256, address};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tron_primitives::answer::BlockAnswer;
use tron_primitives::block::{Producer, prove_genesis};
use tron_primitives::finality::{Following, Witnesses};
use tron_primitives::result::Ending;

/// Who produced on the recorded chains.
const WITNESSES: [alloy::primitives::Address; 5] = [
    address!("5050a4f4b3f9338c3472dcc01a87c76a144b3c9c"),
    address!("99c851eaa3c3976914d63b822c67e201ec0bfbb8"),
    address!("4a62316623ad457f02cdc5d997ded67a383ec569"),
    address!("58da990a8f4a3a6ca7cb6315d68a140105917352"),
    address!("0cb030d11a8be48b60418857874deee61d1071e0"),
];

fn collect(value: &Value, found: &mut Vec<Value>) {
    if value.get("block_header").is_some() {
        found.push(value.clone());
    }
    match value {
        Value::Object(fields) => fields.values().for_each(|value| collect(value, found)),
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Every answer that shows a block, by file.
fn blocks() -> BTreeMap<String, Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tron");
    let mut found = BTreeMap::new();
    for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = file.file_name().into_string().unwrap();
        if file.path().extension().is_some_and(|ending| ending == "json") {
            let read: Value =
                serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
            let mut of_file = vec![];
            collect(&read, &mut of_file);
            found.insert(name, of_file);
        }
    }
    found
}

fn number(block: &Value) -> u64 {
    block["block_header"]["raw_data"]["number"].as_u64().unwrap_or(0)
}

#[test]
fn every_recorded_header_is_its_producers_own() {
    let all: Vec<_> = blocks().into_values().flatten().collect();
    assert_eq!(all.len(), 51);
    let mut distinct = BTreeSet::new();
    for mut block in all {
        // Some bodies were shortened for the file; headers never were.
        block.as_object_mut().unwrap().remove("transactions");
        let answer: BlockAnswer = serde_json::from_value(block.clone()).unwrap();
        distinct.insert(answer.block_id);
        if number(&block) == 0 {
            assert_eq!(prove_genesis(&answer).unwrap(), answer.block_id);
            assert!(answer.prove_header().is_err(), "nobody signed it");
            continue;
        }
        let header = answer.prove_header().unwrap();
        let Producer { witness, signer } = header.producer();
        assert_eq!(witness, signer);
        assert!(WITNESSES.contains(&witness));
        assert_eq!(header.id(), answer.block_id);
        assert_eq!(header.number(), number(&block));
        assert!(header.time_ms() > 0);
    }
    assert_eq!(distinct.len(), 37);
}

#[test]
fn every_recorded_body_is_what_its_header_commits_to() {
    let mut with_transactions = BTreeSet::new();
    let mut empty = 0;
    for block in blocks().into_values().flatten() {
        let shortened = block["transactions"][0].get("raw_data_hex").is_none();
        let root = block["block_header"]["raw_data"]["txTrieRoot"].as_str().unwrap();
        let without = block.get("transactions").is_none();
        let answer: BlockAnswer = match serde_json::from_value(block.clone()) {
            Ok(answer) if number(&block) > 0 => answer,
            Ok(_) | Err(_) => continue,
        };
        if without && root.trim_matches('0').is_empty() {
            assert!(answer.prove().unwrap().transactions().is_empty());
            empty += 1;
        } else if !shortened {
            let id: B256 = block["transactions"][0]["txID"].as_str().unwrap().parse().unwrap();
            let proven = answer.prove().unwrap();
            let transaction = proven.transaction(id).unwrap();
            assert_eq!(transaction.ending(), Ending::Succeeded);
            with_transactions.insert(id);
        } else {
            assert!(answer.prove().is_err(), "it holds transactions and shows none");
        }
    }
    assert_eq!(with_transactions.len(), 3);
    assert!(empty > 30, "{empty}");
}

/// In a row of 16 recorded blocks, each is solidified by the first four witnesses from it on.
#[test]
fn the_recorded_producers_solidify_the_recorded_row() {
    let mut row: BTreeMap<u64, BlockAnswer> = BTreeMap::new();
    for mut block in blocks().remove("24_dropped_from_a_full_block.json").unwrap() {
        block.as_object_mut().unwrap().remove("transactions");
        let answer: BlockAnswer = serde_json::from_value(block).unwrap();
        row.insert(answer.block_header.raw_data.number, answer);
    }
    assert_eq!(row.len(), 15);
    let own = |witness| Producer { witness, signer: witness };
    let mut following = Following::from(Witnesses::new(WITNESSES.map(own)).unwrap());
    for (number, answer) in &row {
        following.read(&answer.prove_header().unwrap()).unwrap();
        assert_eq!(following.next(), Some(number + 1));
    }
    let (last, _) = row.last_key_value().unwrap();
    let (solid, id) = following.solid().unwrap();
    assert!((last - 5..last - 2).contains(&solid), "{solid} of {last}");
    assert_eq!(id, row[&solid].block_id);
    assert_eq!(following.witnesses().len(), 5);
}
