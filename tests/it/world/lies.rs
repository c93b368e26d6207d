//! What a node that lies, lags or forgets makes of an answer: for [`super::proxy::Act::Rewrite`].

use alloy::primitives::{Bytes, U256};
use alloy::sol_types::SolValue as _;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answers to the questions of one call, as words. None for one that failed.
type Words = Vec<Option<Vec<U256>>>;

/// Changes every answer to the questions of one call: of an aggregate, or of the reader.
fn change_words(answer: &mut Value, change: fn(&mut Vec<U256>)) {
    let Some(bytes) = answer.as_str().and_then(|text| text.parse::<Bytes>().ok()) else { return };
    if let Ok((answers,)) = <(Vec<(bool, Bytes)>,)>::abi_decode_params(&bytes) {
        let changed = |(good, said): (bool, Bytes)| {
            let mut words: Vec<U256> = said.chunks(32).map(U256::from_be_slice).collect();
            change(&mut words);
            (good, Bytes::from(words.iter().flat_map(U256::to_be_bytes::<32>).collect::<Vec<u8>>()))
        };
        let told: Vec<(bool, Bytes)> = answers.into_iter().map(changed).collect();
        *answer = json!(Bytes::from((told,).abi_encode_params()));
    } else if let Some(told) = changed_by_reader(&bytes, change) {
        *answer = json!(Bytes::from(told));
    }
}

/// The same of `crates/chain/src/reads/Reader.yul`: either the billing call and then funds, or lookups alone.
fn changed_by_reader(told: &[u8], change: fn(&mut Vec<U256>)) -> Option<Vec<u8>> {
    let looked = *told.first()? > 1;
    let (billing, mut rest) = if looked {
        told.split_at_checked(0)?
    } else {
        let length = u32::from_be_bytes(told.get(9..13)?.try_into().ok()?);
        told.split_at_checked(13 + usize::try_from(length).ok()?)?
    };
    let mut answers = Words::new();
    while let Some((count, words)) = rest.split_first() {
        if *count == 255 {
            answers.push(None);
            rest = words;
            continue;
        }
        let count = if looked {
            rest = words;
            usize::from(*count)
        } else {
            1
        };
        let mut answer = Vec::new();
        for _ in 0..count {
            let (length, words) = rest.split_first()?;
            let (word, behind) = words.split_at_checked(usize::from(*length))?;
            answer.push(U256::try_from_be_slice(word)?);
            rest = behind;
        }
        answers.push(Some(answer));
    }
    let mut lie = billing.to_vec();
    for answer in answers {
        let Some(mut words) = answer else {
            lie.push(255);
            continue;
        };
        change(&mut words);
        if looked {
            lie.push(u8::try_from(words.len()).ok()?);
        }
        for word in words {
            let bytes = word.to_be_bytes_trimmed_vec();
            lie.push(u8::try_from(bytes.len()).ok()?);
            lie.extend(bytes);
        }
    }
    Some(lie)
}

/// Every word in the answers becomes zero: nobody holds or allows anything.
pub(crate) fn nobody_has_anything(answer: &mut Value) {
    change_words(answer, |words| words.fill(U256::ZERO));
}

/// The last word of every longer answer grows by one: in a lookup, the period.
pub(crate) fn the_next_period(answer: &mut Value) {
    change_words(answer, |words| {
        if let [_, .., last] = words.as_mut_slice()
            && *last < U256::from(u8::MAX)
        {
            *last += U256::ONE;
        }
    });
}

pub(crate) fn a_thousand(answer: &mut Value) {
    *answer = json!("0x3e8");
}

pub(crate) fn another_chain(answer: &mut Value) {
    *answer = json!("0x38");
}

pub(crate) fn another_hash(answer: &mut Value) {
    *answer = json!(format!("0x{}", "ab".repeat(32)));
}

pub(crate) fn another_txid(answer: &mut Value) {
    answer["txid"] = json!("ab".repeat(32));
}

fn older(answer: &mut Value, by: u64) {
    for field in ["number", "timestamp"] {
        let Some(digits) = answer[field].as_str().and_then(|text| text.strip_prefix("0x")) else {
            return;
        };
        let then = u64::from_str_radix(digits, 16).unwrap().saturating_sub(by);
        answer[field] = json!(format!("0x{then:x}"));
    }
}

pub(crate) fn twenty_blocks_ago(answer: &mut Value) {
    older(answer, 20);
}

pub(crate) fn reverted(receipt: &mut Value) {
    if receipt.is_object() {
        (receipt["status"], receipt["logs"]) = (json!("0x0"), json!([]));
    }
}

pub(crate) fn in_another_block(receipt: &mut Value) {
    if receipt.is_object() {
        receipt["blockHash"] = json!(format!("0x{}", "ab".repeat(32)));
    }
}

pub(crate) fn nothing(answer: &mut Value) {
    *answer = Value::Null;
}

pub(crate) fn of_another_hash(transaction: &mut Value) {
    if transaction.is_object() {
        transaction["hash"] = json!(format!("0x{}", "cd".repeat(32)));
    }
}

/// The block and its time, from a node that is far ahead of everybody.
pub(crate) fn a_thousand_blocks_ahead(block: &mut Value) {
    if let Some(number) = quantity(&block["number"]) {
        block["number"] = json!(number + U256::from(1000));
    }
}

/// The same block, by its own word two hours younger.
pub(crate) fn two_hours_later(block: &mut Value) {
    if let Some(time) = quantity(&block["timestamp"]) {
        block["timestamp"] = json!(time + U256::from(7200));
    }
}

pub(crate) fn a_hundred_times_dearer(block: &mut Value) {
    if let Some(fee) = quantity(&block["baseFeePerGas"]) {
        block["baseFeePerGas"] = json!(fee * U256::from(100));
    }
}

pub(crate) fn zero(answer: &mut Value) {
    *answer = json!("0x0");
}

/// Every third time, three blocks ago.
pub(crate) fn now_and_then_an_older_block(block: &mut Value) {
    if now_and_then() && block.is_object() {
        older(block, 3);
    }
}

/// Every third time, one less.
pub(crate) fn now_and_then_one_less(answer: &mut Value) {
    if let Some(count) = quantity(answer).filter(|_| now_and_then()) {
        *answer = json!(count.saturating_sub(U256::ONE));
    }
}

/// Every third time, nothing.
pub(crate) fn now_and_then_nothing(answer: &mut Value) {
    if now_and_then() {
        nothing(answer);
    }
}

fn now_and_then() -> bool {
    static TURN: AtomicUsize = AtomicUsize::new(0);
    TURN.fetch_add(1, Ordering::Relaxed).is_multiple_of(3)
}

fn quantity(answer: &Value) -> Option<U256> {
    serde_json::from_value(answer.clone()).ok()
}

/// Every event of a charge by the reference contract tells of one base unit more. On both families.
pub(crate) fn one_unit_more_was_taken(record: &mut Value) {
    let logs = if record["logs"].is_array() { &mut record["logs"] } else { &mut record["log"] };
    for log in logs.as_array_mut().into_iter().flatten() {
        let Some(data) = log["data"].as_str() else { continue };
        let prefix = if data.starts_with("0x") { "0x" } else { "" };
        let mut words = hex::decode(data.trim_start_matches("0x")).unwrap();
        // planId, userHash, period, amount, userWallet, tokenAddress
        if words.len() == 6 * 32 {
            words[4 * 32 - 1] ^= 1;
            log["data"] = json!(format!("{prefix}{}", hex::encode(words)));
        }
    }
}

/// On TRON: the record of a transaction says that its call failed.
pub(crate) fn failed_on_tron(record: &mut Value) {
    if record["receipt"].is_object() {
        (record["receipt"]["result"], record["result"]) = (json!("REVERT"), json!("FAILED"));
        record["log"] = json!([]);
    }
}

/// On TRON: the record carries a word that means nothing.
pub(crate) fn a_word_of_its_own(record: &mut Value) {
    if record["receipt"].is_object() {
        (record["receipt"]["result"], record["result"]) = (json!("WHATEVER"), json!("FAILED"));
    }
}

/// On TRON: the record, or the transaction, does not say how its call went.
pub(crate) fn without_a_result(answer: &mut Value) {
    if let Some(receipt) = answer["receipt"].as_object_mut() {
        receipt.remove("result");
    }
    if let Some(answer) = answer.as_object_mut() {
        answer.remove("result");
        answer.remove("ret");
    }
}

/// On TRON: there is nothing.
pub(crate) fn nothing_at_all(answer: &mut Value) {
    *answer = json!({});
}

/// On TRON: a block without transactions, whose header says that there are none.
pub(crate) fn an_empty_block(block: &mut Value) {
    if block["blockID"].is_string() {
        block["block_header"]["raw_data"]["txTrieRoot"] = json!("00".repeat(32));
        if let Some(block) = block.as_object_mut() {
            block.remove("transactions");
        }
    }
}
