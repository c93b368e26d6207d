//! Every alteration of an answer on its way is noticed, and the step that failed is named.

use crate::made::{Claim, PERIOD, bootstrap, network, read_bootstrap, read_finality, read_update};
use crate::walks::client_in;
use alloy::primitives::hex;
use beacon::client::LightClient;
use beacon::unproven::{Contradiction, Obstacle, Unproven};
use serde_json::{Value, json};

const BEACON: [&str; 5] = ["slot", "proposer_index", "parent_root", "state_root", "body_root"];

/// All versions of the answer with one byte of this text changed, or its number.
fn altered(told: &Value, path: &str) -> Vec<Value> {
    let text = told.pointer(path).unwrap_or_else(|| panic!("{path}")).as_str().unwrap();
    let with = |text: String| {
        let mut told = told.clone();
        *told.pointer_mut(path).unwrap() = json!(text);
        told
    };
    let Some(digits) = text.strip_prefix("0x") else {
        let number: u64 = text.parse().unwrap();
        return vec![with((number + 1).to_string()), with((number - 1).to_string())];
    };
    let bytes = hex::decode(digits).unwrap();
    let flip = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        with(hex::encode_prefixed(bytes))
    };
    (0..bytes.len()).map(flip).collect()
}

/// All versions of the answer with this branch changed: a byte, an order, or its length.
fn altered_branch(told: &Value, path: &str) -> Vec<Value> {
    let branch = told.pointer(path).unwrap().as_array().unwrap().clone();
    let with = |branch: Vec<Value>| {
        let mut told = told.clone();
        *told.pointer_mut(path).unwrap() = json!(branch);
        told
    };
    let mut all: Vec<Value> =
        (0..branch.len()).flat_map(|at| altered(told, &format!("{path}/{at}"))).collect();
    let turned = branch.iter().rev().cloned().collect();
    let longer = [branch.clone(), vec![branch[0].clone()]].concat();
    let zero = json!(hex::encode_prefixed([0; 32]));
    let padded = [vec![zero], branch.clone()].concat();
    let twice = [branch.clone(), branch.clone()].concat();
    let [front, back] = [branch[1..].to_vec(), branch[..branch.len() - 1].to_vec()];
    all.extend([turned, longer, padded, twice, front, back, vec![]].map(with));
    all
}

fn fields(base: &str, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("{base}/{name}")).collect()
}

fn execution_fields(told: &Value, base: &str) -> Vec<String> {
    let header = told.pointer(base).unwrap().as_object().unwrap();
    header.keys().map(|name| format!("{base}/{name}")).collect()
}

/// Asserts that the client refuses each of these for this reason, and stays as it was.
fn all_refused(
    told: &[Value],
    reason: &Unproven,
    judge: impl Fn(&mut LightClient, &Value) -> Result<(), Unproven>,
    client: &LightClient,
) {
    assert!(!told.is_empty());
    for answer in told {
        let mut client = client.clone();
        let before = (client.period(), client.newest());
        assert_eq!(judge(&mut client, answer).as_ref(), Err(reason), "{answer}");
        assert_eq!((client.period(), client.newest()), before);
    }
}

fn finalize(client: &mut LightClient, told: &Value) -> Result<(), Unproven> {
    client.finalized(&read_finality(told)).map(drop)
}

fn advance(client: &mut LightClient, told: &Value) -> Result<(), Unproven> {
    client.advance(&read_update(told)).map(drop)
}

#[test]
fn a_changed_byte_of_a_finality_update_is_refused_by_the_step_that_reads_it() {
    for period in 0..4 {
        let client = client_in(period);
        let told = Claim::at(period, 320).finality();
        finalize(&mut client.clone(), &told).unwrap();
        let refused = |told: &[Value], reason: Unproven| {
            all_refused(told, &reason, finalize, &client);
        };
        let every = |paths: &[String]| -> Vec<Value> {
            paths.iter().flat_map(|path| altered(&told, path)).collect()
        };
        let finalized = "/data/finalized_header";
        refused(
            &every(&fields(&format!("{finalized}/beacon"), &BEACON)),
            Contradiction::Finality.into(),
        );
        refused(&altered_branch(&told, "/data/finality_branch"), Contradiction::Finality.into());
        refused(
            &every(&execution_fields(&told, &format!("{finalized}/execution"))),
            Contradiction::Execution.into(),
        );
        refused(
            &altered_branch(&told, &format!("{finalized}/execution_branch")),
            Contradiction::Execution.into(),
        );
        let attested = "/data/attested_header/beacon";
        refused(&every(&fields(attested, &["state_root"])), Contradiction::Finality.into());
        let signed = fields(attested, &["slot", "proposer_index", "parent_root", "body_root"]);
        refused(&every(&signed), Obstacle::Signature.into());
        let aggregate =
            fields("/data/sync_aggregate", &["sync_committee_bits", "sync_committee_signature"]);
        refused(&every(&aggregate), Obstacle::Signature.into());
    }
}

#[test]
fn what_is_not_signed_changes_nothing() {
    let mut told = Claim::at(3, 320).finality();
    let block = client_in(3).finalized(&read_finality(&told)).unwrap();
    told["data"]["attested_header"]["execution"]["block_number"] = json!("1");
    told["data"]["attested_header"]["execution_branch"] = json!([]);
    told["data"]["signature_slot"] = json!((3 * PERIOD + 500).to_string());
    told["data"]["new"] = json!("unknown");
    told["new"] = json!({ "finalized": false });
    let answer = read_finality(&told);
    assert_eq!(answer.signature_slot(), 3 * PERIOD + 500);
    assert_eq!(client_in(3).finalized(&answer).unwrap(), block);
}

#[test]
fn a_changed_byte_of_an_update_is_refused_by_the_step_that_reads_it() {
    for period in [1, 3] {
        let client = client_in(period);
        let told = Claim::at(period, 320).update();
        advance(&mut client.clone(), &told).unwrap();
        let refused = |told: &[Value], reason: Unproven| {
            all_refused(told, &reason, advance, &client);
        };
        let next = Contradiction::NextCommittee;
        refused(&altered_branch(&told, "/data/next_sync_committee_branch"), next.clone().into());
        refused(&altered(&told, "/data/next_sync_committee/aggregate_pubkey"), next.clone().into());
        let keys = [0, 256, 511].map(|at| format!("/data/next_sync_committee/pubkeys/{at}"));
        let keys: Vec<Value> = keys.iter().flat_map(|path| altered(&told, path)).collect();
        refused(&keys, next.clone().into());
        let mut swapped = told.clone();
        swapped["data"]["next_sync_committee"]["pubkeys"].as_array_mut().unwrap().swap(3, 4);
        refused(&[swapped], next.clone().into());
        let state = altered(&told, "/data/attested_header/beacon/state_root");
        refused(&state, next.into());
        let finality = altered(&told, "/data/finalized_header/beacon/body_root");
        refused(&finality, Contradiction::Finality.into());
        let execution = altered(&told, "/data/finalized_header/execution/block_hash");
        refused(&execution, Contradiction::Execution.into());
        let signature = altered(&told, "/data/sync_aggregate/sync_committee_signature");
        refused(&signature, Obstacle::Signature.into());
    }
}

#[test]
fn a_changed_byte_of_a_bootstrap_is_refused_by_the_step_that_reads_it() {
    for period in [0, 3] {
        let (root, told) = bootstrap(period * PERIOD + 32);
        let begin = |told: &Value| LightClient::begin(network(), root, &read_bootstrap(told));
        begin(&told).unwrap();
        let refused = |told: Vec<Value>, reason: Unproven| {
            assert!(!told.is_empty());
            for told in &told {
                assert_eq!(begin(told).map(drop).as_ref(), Err(&reason), "{told}");
            }
        };
        for path in fields("/data/header/beacon", &BEACON) {
            for told in altered(&told, &path) {
                let found = begin(&told).map(drop);
                assert!(matches!(found, Err(Unproven::Unjudged(Obstacle::OtherBlock(_)))));
            }
        }
        let current = Contradiction::CurrentCommittee;
        refused(
            altered_branch(&told, "/data/current_sync_committee_branch"),
            current.clone().into(),
        );
        for at in [0, 511] {
            let path = format!("/data/current_sync_committee/pubkeys/{at}");
            refused(altered(&told, &path), current.clone().into());
        }
        let aggregate = "/data/current_sync_committee/aggregate_pubkey";
        refused(altered(&told, aggregate), current.into());
        for path in execution_fields(&told, "/data/header/execution") {
            refused(altered(&told, &path), Contradiction::Execution.into());
        }
        refused(
            altered_branch(&told, "/data/header/execution_branch"),
            Contradiction::Execution.into(),
        );
    }
}
