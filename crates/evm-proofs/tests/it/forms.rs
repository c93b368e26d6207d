//! Forms that nodes and other chains have, and what each is taken for: nobody is convicted for a form.

use crate::made::{Answers, block, made};
use evm_proofs::block::ProvenBlock;
use evm_proofs::unproven::{Contradiction, Obstacle, Unproven};
use serde_json::{Value, json};

fn obstacle(said: Result<ProvenBlock, Unproven>) -> Obstacle {
    match said {
        Err(Unproven::Unjudged(found)) => found,
        other => panic!("{other:?}"),
    }
}

fn altered(change: impl FnOnce(&mut Answers)) -> Answers {
    let mut answers = made(6);
    change(&mut answers);
    answers
}

/// Makes each receipt what `change` makes of it.
fn each(change: impl Fn(&mut Value)) -> Answers {
    altered(|answers| answers.receipts.iter_mut().for_each(change))
}

fn without(told: &mut Value, names: &[&str]) {
    for name in names {
        told.as_object_mut().unwrap().remove(*name);
    }
}

/// A field that is left out, null or more proves as well, as long as nothing is computed from it.
#[test]
fn what_nodes_leave_out_or_add_changes_nothing() {
    let honest = made(6).prove(None).unwrap();
    let forms: [(&str, Answers); 9] = [
        ("null root", each(|receipt| receipt["root"] = Value::Null)),
        ("empty root", each(|receipt| receipt["root"] = json!("0x"))),
        ("null bloom", each(|receipt| receipt["logsBloom"] = Value::Null)),
        ("no bloom", each(|receipt| without(receipt, &["logsBloom", "effectiveGasPrice", "from"]))),
        ("fees of another chain", each(|receipt| receipt["l1Fee"] = json!("0x1"))),
        ("unknown field", each(|receipt| receipt["aField"] = json!("0x1"))),
        (
            "no places",
            each(|receipt| {
                without(receipt, &["blockHash", "blockNumber", "transactionIndex", "gasUsed"]);
                for log in receipt["logs"].as_array_mut().unwrap() {
                    without(
                        log,
                        &[
                            "blockHash",
                            "blockNumber",
                            "transactionHash",
                            "transactionIndex",
                            "logIndex",
                            "removed",
                        ],
                    );
                }
            }),
        ),
        (
            "null fields of forks",
            altered(|answers| {
                answers.block["blockAccessListHash"] = Value::Null;
                answers.block["slotNumber"] = Value::Null;
            }),
        ),
        (
            "extras",
            altered(|answers| {
                answers.block["totalDifficulty"] = json!("0x0");
                answers.block["milliTimestamp"] = json!("0x0");
                answers.block["aField"] = json!({"of": ["another", "chain"]});
                without(&mut answers.block, &["size", "uncles"]);
            }),
        ),
    ];
    for (name, answers) in forms {
        assert_eq!(answers.prove(None).as_ref(), Ok(&honest), "{name}");
    }
}

#[test]
fn a_fork_to_come_is_no_lie() {
    // A header of more fields than are known here, whose hash is another than the known ones give.
    let ahead = altered(|answers| {
        answers.block["futureRoot"] = json!("0x01");
        answers.block["hash"] = json!(alloy::primitives::B256::repeat_byte(1));
    });
    assert_eq!(obstacle(ahead.judge()), Obstacle::UnknownField("futureRoot".to_owned()));
    // Receipts of more fields than are known here.
    let ahead = each(|receipt| {
        receipt["gasSpent"] = json!("0x1");
        receipt["cumulativeGasUsed"] = json!("0x1");
    });
    assert_eq!(obstacle(ahead.judge()), Obstacle::UnknownField("gasSpent".to_owned()));
    let long = each(|receipt| {
        receipt["x".repeat(5_000)] = json!(1);
        receipt["status"] = json!("0x0");
    });
    assert_eq!(obstacle(long.judge()), Obstacle::UnknownField("x".repeat(40)));
    for kind in [0x5_u64, 0x64, 0x6a, 0x7e, 0x7f, 0x1ff] {
        let told = format!("{kind:#x}");
        let ahead = altered(|answers| answers.block["transactions"][2]["type"] = json!(told));
        assert_eq!(obstacle(ahead.judge()), Obstacle::TransactionType(kind));
        let ahead = altered(|answers| answers.receipts[2]["type"] = json!(told));
        assert_eq!(obstacle(ahead.judge()), Obstacle::ReceiptType(kind));
    }
}

#[test]
fn a_transaction_of_another_form_is_no_lie() {
    let unsigned = altered(|answers| without(&mut answers.block["transactions"][2], &["r", "s"]));
    assert_eq!(obstacle(unsigned.judge()), Obstacle::TransactionForm(2));
    let unnamed = altered(|answers| without(&mut answers.block["transactions"][2], &["hash"]));
    assert_eq!(obstacle(unnamed.judge()), Obstacle::MissingField("hash"));
    let hashes = altered(|answers| {
        let all = answers.block["transactions"].as_array_mut().unwrap();
        for one in all {
            *one = one["hash"].take();
        }
    });
    assert_eq!(obstacle(hashes.judge()), Obstacle::MissingField("transactions"));
}

/// Polygon told state-syncs beside the transactions of the root, and anvil tells the acts of accounts that it plays: of
/// a known type, without a signature.
#[test]
fn a_transaction_that_nobody_signed_is_no_lie() {
    let with = altered(|answers| {
        let mut own = answers.block["transactions"][1].clone();
        for name in ["r", "s", "v", "yParity"] {
            own[name] = json!("0x0");
        }
        own["hash"] = json!(alloy::primitives::B256::repeat_byte(1));
        answers.block["transactions"].as_array_mut().unwrap().push(own);
    });
    assert_eq!(obstacle(with.judge()), Obstacle::Unsigned(6));
}

/// Polygon told receipts of state-syncs beside those of the root: from nobody, without gas.
#[test]
fn a_receipt_of_the_chain_itself_is_no_lie() {
    let with = altered(|answers| {
        let mut own = answers.receipts[5].clone();
        own["gasUsed"] = json!("0x0");
        own["transactionIndex"] = json!("0x6");
        answers.receipts.push(own);
    });
    assert_eq!(obstacle(with.judge()), Obstacle::SystemReceipt);
}

#[test]
fn a_header_that_lacks_a_field_is_no_lie() {
    let names = [
        "parentHash",
        "sha3Uncles",
        "miner",
        "stateRoot",
        "transactionsRoot",
        "receiptsRoot",
        "logsBloom",
        "difficulty",
        "number",
        "gasLimit",
        "gasUsed",
        "timestamp",
        "extraData",
        "mixHash",
        "nonce",
        "hash",
    ];
    for name in names {
        let left_out = altered(|answers| without(&mut answers.block, &[name]));
        assert_eq!(obstacle(left_out.judge()), Obstacle::MissingField(name));
        let null = altered(|answers| answers.block[name] = Value::Null);
        assert_eq!(obstacle(null.judge()), Obstacle::MissingField(name));
    }
    // The newest fields, which not every node tells.
    for name in ["requestsHash", "parentBeaconBlockRoot"] {
        let null = altered(|answers| answers.block[name] = Value::Null);
        assert_eq!(obstacle(null.judge()), Obstacle::Shape, "{name}");
    }
}

/// Without a header that was proven before, a header that does not give its hash may lack fields.
#[test]
fn a_header_is_convicted_by_those_before_it() {
    let lie = altered(|answers| answers.block["timestamp"] = json!("0x1"));
    assert_eq!(obstacle(lie.prove(None)), Obstacle::Shape);
    assert_eq!(lie.judge(), Err(Contradiction::Hash.into()));
}

#[test]
fn a_receipt_without_what_is_computed_from_is_no_lie() {
    for name in ["cumulativeGasUsed", "logs", "transactionHash", "status"] {
        let left_out = altered(|answers| without(&mut answers.receipts[2], &[name]));
        assert_eq!(obstacle(left_out.judge()), Obstacle::MissingField(name));
    }
    // Without their types receipts are taken for those of the oldest form, and may be of another.
    let untyped = each(|receipt| without(receipt, &["type"]));
    assert_eq!(obstacle(untyped.judge()), Obstacle::MissingField("type"));
    let strange = altered(|answers| answers.receipts[2]["status"] = json!("0x2"));
    assert_eq!(obstacle(strange.judge()), Obstacle::OwnRules);
}

/// A block whose header breaks a rule of Ethereum is of a chain with other rules, or made up: its hash decides.
#[test]
fn a_block_with_rules_of_its_own_is_no_lie() {
    let answers = altered(|answers| {
        answers.block["logsBloom"] = json!(alloy::primitives::Bloom::repeat_byte(0xff));
        let header: alloy::consensus::Header =
            serde_json::from_value(answers.block.clone()).unwrap();
        answers.block["hash"] = json!(header.hash_slow());
        for receipt in &mut answers.receipts {
            receipt["blockHash"] = answers.block["hash"].clone();
        }
    });
    assert_eq!(obstacle(answers.judge()), Obstacle::OwnRules);
    assert_eq!(block(&answers.block).prove_transactions(None).unwrap().len(), 6);
}
