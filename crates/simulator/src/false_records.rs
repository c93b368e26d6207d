//! Lies about what stands in the blocks of EVM: outcomes, logs and places of transactions, and the fields of headers.

use crate::dice::Dice;
use alloy::primitives::B256;
use alloy::sol_types::SolEvent as _;
use sandbox_chains::contracts::Careless;
use serde_json::{Value, json};

/// A number in hex; 0 if it is none.
pub(crate) fn hex(value: &Value) -> u64 {
    let text = value.as_str().unwrap_or("0x0").trim_start_matches("0x");
    u64::from_str_radix(text, 16).unwrap_or(0)
}

/// Adds to a number in hex.
fn add(value: &mut Value, more: u64) {
    *value = json!(format!("{:#x}", hex(value) + more));
}

/// Tells something of a transaction that is not so.
pub(crate) fn alter_receipt(dice: &mut Dice, told: &mut Value) {
    match dice.below(8) {
        0..3 => {
            let other = if told["status"] == json!("0x1") { "0x0" } else { "0x1" };
            told["status"] = json!(other);
            told["logs"] = json!([]);
        }
        3 => told["logs"] = json!([]),
        4 => turn_events(told),
        5 => {
            add(&mut told["transactionIndex"], 1);
            logs(told).for_each(|log| add(&mut log["transactionIndex"], 1));
        }
        6 => logs(told).for_each(|log| add(&mut log["logIndex"], 1)),
        _ => ["gasUsed", "cumulativeGasUsed"].iter().for_each(|gas| add(&mut told[*gas], 1)),
    }
}

/// Hides a receipt of a block, tells one in the place of another, or alters one.
pub(crate) fn alter_receipts(dice: &mut Dice, told: &mut Value) {
    let Some(all) = told.as_array_mut().filter(|all| !all.is_empty()) else { return };
    let at = dice.place(all.len());
    match dice.below(4) {
        0 => drop(all.remove(at)),
        1 => all.swap(at, 0),
        _ => alter_receipt(dice, &mut all[at]),
    }
}

/// Alters a header: what it commits to, what it stands on, or the hash by which it goes.
pub(crate) fn alter_header(dice: &mut Dice, told: &mut Value) {
    let fields = ["hash", "parentHash", "stateRoot", "transactionsRoot", "receiptsRoot", "mixHash"];
    let field = fields[dice.place(fields.len())];
    told[field] = json!(B256::repeat_byte(0x66));
}

/// Tells a header as of a fork that is not known yet, which hashes something else.
pub(crate) fn unhash(told: &mut Value) {
    told["fieldOfAForkToCome"] = json!("0x1");
    told["mixHash"] = json!(B256::repeat_byte(0x66));
}

/// Tells transactions or receipts as of a type that is not known yet.
pub(crate) fn retype(told: &mut Value) {
    for one in told.as_array_mut().into_iter().flatten() {
        one["type"] = json!("0x7e");
    }
}

/// Takes one of the transactions out of a block, or all of them.
pub(crate) fn empty(dice: &mut Dice, told: &mut Value) {
    let Some(all) = told["transactions"].as_array_mut().filter(|all| !all.is_empty()) else {
        return;
    };
    if dice.one_in(2) {
        all.clear();
    } else {
        let at = dice.place(all.len());
        all.remove(at);
    }
}

fn logs(told: &mut Value) -> impl Iterator<Item = &mut Value> {
    told["logs"].as_array_mut().into_iter().flatten()
}

/// Says of everybody who was charged that the contract passed over them.
fn turn_events(told: &mut Value) {
    let [charged, skipped] =
        [Careless::Charged::SIGNATURE_HASH, Careless::NotCharged::SIGNATURE_HASH];
    for log in logs(told).filter(|log| log["topics"][0] == json!(charged)) {
        log["topics"][0] = json!(skipped);
        // The last word of the data is the amount, in whose place the reason stands.
        let data = log["data"].as_str().unwrap_or_default();
        let kept = data.len().saturating_sub(64);
        log["data"] = json!(format!("{}{:064x}", &data[..kept], 1));
    }
}
