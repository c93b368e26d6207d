//! Forms of answers, and what each is taken for.

use crate::made::{Claim, PERIOD, bootstrap, network, read_bootstrap, read_finality, read_update};
use crate::walks::{client_in, refused};
use beacon::answer::{Answer, Bootstrap, FinalityUpdate, Update};
use beacon::client::LightClient;
use beacon::network::{Fork, ForkName};
use beacon::unproven::{Contradiction, Obstacle};
use serde_json::{Value, json};

fn reads(told: &Value) -> bool {
    serde_json::from_value::<Answer<FinalityUpdate>>(told.clone()).is_ok()
}

#[test]
fn an_answer_without_a_field_or_with_bytes_of_another_length_is_not_read() {
    let told = Claim::at(3, 320).finality();
    assert!(reads(&told));
    for (parent, fields) in [
        ("", vec!["version", "data"]),
        ("/data", vec!["attested_header", "finalized_header", "finality_branch"]),
        ("/data", vec!["sync_aggregate", "signature_slot"]),
        ("/data/finalized_header", vec!["beacon", "execution", "execution_branch"]),
        ("/data/finalized_header/beacon", vec!["slot", "proposer_index", "state_root"]),
        ("/data/finalized_header/execution", vec!["block_hash", "base_fee_per_gas", "extra_data"]),
        ("/data/sync_aggregate", vec!["sync_committee_bits", "sync_committee_signature"]),
    ] {
        for field in fields {
            let mut told = told.clone();
            told.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(field).unwrap();
            assert!(!reads(&told), "{parent}/{field}");
        }
    }
    let bits = "/data/sync_aggregate/sync_committee_bits";
    let signature = "/data/sync_aggregate/sync_committee_signature";
    for (path, lengths) in [(bits, [0, 63, 65]), (signature, [0, 95, 97])] {
        for length in lengths {
            let mut told = told.clone();
            *told.pointer_mut(path).unwrap() = json!(format!("0x{}", "ff".repeat(length)));
            assert!(!reads(&told), "{path} {length}");
        }
    }
}

#[test]
fn numbers_are_texts_of_decimal_digits() {
    let told = Claim::at(3, 320).finality();
    let beyond = json!("18446744073709551616");
    for number in
        [json!(7), json!(""), json!("+7"), json!("-7"), json!("0x7"), json!("7_0"), beyond]
    {
        let mut slot = told.clone();
        slot["data"]["signature_slot"] = number.clone();
        assert!(!reads(&slot), "{number}");
        if number != json!("18446744073709551616") {
            let mut fee = told.clone();
            fee["data"]["finalized_header"]["execution"]["base_fee_per_gas"] = number.clone();
            assert!(!reads(&fee), "{number}");
        }
        let mut told = told.clone();
        told["data"]["finalized_header"]["execution"]["blob_gas_used"] = number.clone();
        assert!(!reads(&told), "{number}");
    }
}

#[test]
fn a_committee_has_512_keys() {
    let update = Claim::at(3, 320).update();
    let (_, start) = bootstrap(3 * PERIOD + 32);
    for change in [
        |keys: &mut Vec<Value>| drop(keys.pop()),
        |keys: &mut Vec<Value>| keys.push(keys[0].clone()),
        |keys: &mut Vec<Value>| keys.clear(),
    ] {
        let mut told = update.clone();
        change(told["data"]["next_sync_committee"]["pubkeys"].as_array_mut().unwrap());
        assert!(serde_json::from_value::<Answer<Update>>(told).is_err());
        let mut told = start.clone();
        change(told["data"]["current_sync_committee"]["pubkeys"].as_array_mut().unwrap());
        assert!(serde_json::from_value::<Answer<Bootstrap>>(told).is_err());
    }
}

#[test]
fn an_execution_header_has_the_fields_of_its_fork() {
    for field in ["blob_gas_used", "excess_blob_gas"] {
        let mut told = Claim::at(3, 320).finality();
        let header = told.pointer_mut("/data/finalized_header/execution").unwrap();
        header.as_object_mut().unwrap().remove(field).unwrap();
        let found = client_in(3).finalized(&read_finality(&told));
        assert_eq!(found, refused(Obstacle::MissingField(field)));
    }
    // In Capella there are none, and a node that tells them as zero changes nothing.
    let mut told = Claim::at(0, 320).finality();
    told["data"]["finalized_header"]["execution"]["blob_gas_used"] = json!("0");
    client_in(0).finalized(&read_finality(&told)).unwrap();
}

#[test]
fn extra_data_has_32_bytes_at_most() {
    let mut told = Claim::at(3, 320).finality();
    for length in [33, 300] {
        told["data"]["finalized_header"]["execution"]["extra_data"] =
            json!(format!("0x{}", "00".repeat(length)));
        let found = client_in(3).finalized(&read_finality(&told));
        assert_eq!(found, Err(Contradiction::Execution.into()));
    }
}

#[test]
fn a_header_before_capella_proves_no_execution_block() {
    let (root, told) = bootstrap(32);
    for name in [ForkName::Phase0, ForkName::Altair, ForkName::Bellatrix] {
        let mut network = network();
        network.forks = vec![Fork { name, epoch: 0, version: [3, 0, 0, 1] }];
        let begun = LightClient::begin(network.clone(), root, &read_bootstrap(&told));
        assert_eq!(begun.map(drop), refused(Obstacle::BeforeCapella(32)));
        network.forks.clear();
        let begun = LightClient::begin(network, root, &read_bootstrap(&told));
        assert_eq!(begun.map(drop), refused(Obstacle::BeforeCapella(32)));
    }
}

#[test]
fn the_order_in_which_forks_are_named_changes_nothing() {
    let (root, told) = bootstrap(3 * PERIOD + 32);
    let mut network = network();
    network.forks.reverse();
    let mut client = LightClient::begin(network, root, &read_bootstrap(&told)).unwrap();
    client.finalized(&read_finality(&Claim::at(3, 320).finality())).unwrap();
    client.advance(&read_update(&Claim::at(3, 320).update())).unwrap();
}
