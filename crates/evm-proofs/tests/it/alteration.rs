//! Every alteration of a block on its way is noticed, and the step that failed is named.

use crate::made::{Answers, block, made};
use evm_proofs::block::ProvenBlock;
use evm_proofs::header::ProvenHeader;
use evm_proofs::unproven::{Contradiction, Unproven};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// Fields on which nothing rests: they are not read, or they repeat what another field says.
const UNREAD: [&str; 9] = [
    "size",
    "from",
    "to",
    "logsBloom",
    "effectiveGasPrice",
    "contractAddress",
    "gasPrice",
    "v",
    "blockHash",
];

fn fault(answers: &Answers) -> Contradiction {
    match answers.judge() {
        Err(Unproven::False(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_true_block_proves_itself_with_all_that_is_in_it() {
    for many in [0, 1, 2, 3, 16, 17, 127, 128, 129, 200] {
        let answers = made(many);
        let proven = answers.prove(None).unwrap();
        assert_eq!(proven.records().len(), answers.receipts.len());
        for (record, told) in proven.records().iter().zip(&answers.receipts) {
            assert_eq!(json!(record.transaction.hash()), told["transactionHash"]);
            assert_eq!(json!(record.transaction.sender()), told["from"]);
            assert_eq!(record.receipt.succeeded(), Some(told["status"] == "0x1"));
            assert_eq!(record.receipt.logs().len(), told["logs"].as_array().unwrap().len());
            let path = proven.path(record.transaction.hash()).unwrap();
            assert_eq!(path.record(proven.header()).as_ref(), Some(record));
        }
    }
}

#[test]
fn transactions_that_are_hidden_added_swapped_or_repeated_are_missed() {
    let honest = made(5);
    let altered = |change: fn(&mut Vec<Value>)| {
        let mut answers = honest.clone();
        change(answers.block["transactions"].as_array_mut().unwrap());
        fault(&answers)
    };
    assert_eq!(altered(Vec::clear), Contradiction::Transactions);
    assert_eq!(altered(|all| all.swap(1, 2)), Contradiction::Transactions);
    assert_eq!(altered(|all| all.push(all[0].clone())), Contradiction::Transactions);
    assert_eq!(altered(|all| drop(all.pop())), Contradiction::Transactions);
    let mut renamed = honest.clone();
    let hash = honest.receipts[3]["transactionHash"].clone();
    renamed.block["transactions"][2]["hash"] = hash.clone();
    let named: alloy::primitives::B256 = serde_json::from_value(hash).unwrap();
    assert_eq!(fault(&renamed), Contradiction::Transaction(named));
}

#[test]
fn another_outcome_is_another_block() {
    let honest = made(6);
    let lies: [(&str, Value); 4] = [
        ("status", json!("0x0")),
        ("cumulativeGasUsed", json!("0x1")),
        ("logs", json!([])),
        ("type", json!("0x3")),
    ];
    for (field, lie) in lies {
        let mut answers = honest.clone();
        answers.receipts[5][field] = lie;
        assert_eq!(fault(&answers), Contradiction::Receipts, "{field}");
    }
    let changes: [fn(&mut Vec<Value>); 3] =
        [|all| all.swap(0, 1), |all| drop(all.pop()), Vec::clear];
    for change in changes {
        let mut answers = honest.clone();
        change(&mut answers.receipts);
        assert_eq!(fault(&answers), Contradiction::Receipts);
    }
}

/// A receipt is bound to its transaction, its block and its place, and so is each of its logs.
#[test]
fn a_receipt_under_another_name_is_noticed() {
    let honest = made(6);
    let other = honest.receipts[2]["transactionHash"].clone();
    let lies = [
        ("/transactionHash", other.clone()),
        ("/transactionIndex", json!("0x4")),
        ("/blockHash", other.clone()),
        ("/blockNumber", json!("0x65")),
        ("/gasUsed", json!("0x5209")),
        ("/logs/1/transactionHash", other.clone()),
        ("/logs/1/transactionIndex", json!("0x4")),
        ("/logs/1/logIndex", json!("0x0")),
        ("/logs/1/blockHash", other),
        ("/logs/1/blockNumber", json!("0x65")),
    ];
    for (place, lie) in lies {
        let mut answers = honest.clone();
        *answers.receipts[5].pointer_mut(place).unwrap() = lie;
        assert_eq!(fault(&answers), Contradiction::Place(5), "{place}");
    }
    let mut answers = honest;
    for index in 0..2 {
        // Two empty receipts that are told as each other's: their logs cannot say whose they are.
        let hash = answers.receipts[index * 3]["transactionHash"].clone();
        answers.receipts[3 - index * 3]["transactionHash"] = hash;
    }
    assert!(matches!(fault(&answers), Contradiction::Place(_)));
}

#[test]
fn a_header_with_another_field_is_another_header() {
    let honest = made(2);
    let fields = honest.block.as_object().unwrap().clone();
    for name in
        fields.keys().filter(|name| !["transactions", "size", "uncles"].contains(&name.as_str()))
    {
        let mut answers = honest.clone();
        answers.block[name] = match fields[name].as_str().unwrap() {
            "0x" | "0x0" => json!("0x01"),
            text => json!(flipped(text, 0)),
        };
        assert_eq!(fault(&answers), Contradiction::Hash, "{name}");
    }
}

/// A text of hexadecimal digits with one bit changed.
fn flipped(text: &str, bit: usize) -> String {
    let mut digits: Vec<u32> = text[2..].chars().map(|digit| digit.to_digit(16).unwrap()).collect();
    let at = bit / 4 % digits.len();
    digits[at] ^= 1 << (bit % 4);
    let digit = |digit: u32| char::from_digit(digit, 16).unwrap();
    format!("0x{}", digits.into_iter().map(digit).collect::<String>())
}

/// The places of all texts of digits in an answer.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| places(value, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places(item, &format!("{at}/{index}"), found);
            }
        }
        Value::String(text) if text.len() > 2 => found.push(at.to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A true block, its proof, and all that can be altered in it.
static HONEST: LazyLock<(Value, ProvenBlock, Vec<String>)> = LazyLock::new(|| {
    let answers = made(9);
    let proven = answers.prove(None).unwrap();
    let both = json!({"block": answers.block, "receipts": answers.receipts});
    let mut found = vec![];
    places(&both, "", &mut found);
    (both, proven, found)
});

fn is_unread(place: &str) -> bool {
    let name = place.rsplit('/').next().unwrap_or_default();
    let header = place.matches('/').count() == 2;
    let of_log = place.contains("/logs/");
    let receipt = place.starts_with("/receipts");
    UNREAD.contains(&name)
        && match name {
            "logsBloom" => !header,
            "blockHash" => !receipt,
            "to" | "gasPrice" => receipt || place.ends_with("gasPrice"),
            _ => !of_log,
        }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn any_changed_bit_is_noticed(which in any::<usize>(), bit in any::<usize>()) {
        let (both, proven, found) = &*HONEST;
        let place = &found[which % found.len()];
        let mut altered = both.clone();
        let text = altered.pointer_mut(place).unwrap();
        let lie = flipped(text.as_str().unwrap(), bit);
        *text = json!(lie);
        let Ok(answers) = read(&altered) else { return Ok(()) };
        let shape = proven.header().shape();
        match answers.prove(Some(shape)) {
            Ok(other) => {
                prop_assert!(is_unread(place), "{} was altered to {}", place, lie);
                prop_assert_eq!(&other, proven, "{}", place);
            }
            Err(Unproven::False(_)) => {}
            // A type that is not known, or a transaction of another form.
            Err(Unproven::Unjudged(_)) => {
                let name = place.rsplit('/').next().unwrap_or_default();
                let form = ["type", "status", "gasUsed"].contains(&name);
                prop_assert!(form || place.contains("/transactions/"), "{}", place);
            }
        }
    }
}

/// The answers, if they can still be read as such.
fn read(both: &Value) -> serde_json::Result<Answers> {
    let receipts: Vec<Value> = serde_json::from_value(both["receipts"].clone())?;
    Ok(Answers { block: both["block"].clone(), receipts })
}

/// Of the bytes of a header each bit counts.
#[test]
fn a_header_of_other_bytes_is_another_header() {
    let header = block(&made(3).block).prove_header(None).unwrap();
    let bytes = header.rlp();
    for at in 0..bytes.len() * 8 {
        let mut altered = bytes.clone();
        altered[at / 8] ^= 1 << (at % 8);
        let hash = ProvenHeader::of_rlp(&altered).map(|header| header.hash());
        assert_ne!(hash, Some(header.hash()), "bit {at}");
    }
}
