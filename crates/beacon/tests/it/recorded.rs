//! Real answers: of Sepolia, and of test networks that consensus clients ran (`tests/vectors/README.md`).

use alloy::primitives::B256;
use beacon::answer::{
    Answer, BeaconHeader, CommitteeAnswer, ExecutionHeader, FinalityUpdate, SyncAggregate,
};
use beacon::committee::Committee;
use beacon::network::{Fork, ForkName, Network, period_of};
use beacon::ssz::{
    ExecutionForm, GeneralizedIndex, committee_root, execution_root, header_root, stands_below,
};
use beacon::unproven::Obstacle;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn recorded(name: &str) -> Value {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

fn network(recorded: &Value) -> Network {
    let electra = Fork { name: ForkName::Electra, epoch: 0, version: [5, 0, 0, 0] };
    Network {
        genesis_validators_root: read(&recorded["genesis_validators_root"]),
        genesis_time: 0,
        seconds_per_slot: 6,
        forks: vec![electra],
    }
}

/// A committee, whose members the recording numbers.
fn committee(recorded: &Value, told: &Value) -> CommitteeAnswer {
    let number = |digit: char| usize::try_from(digit.to_digit(10).unwrap()).unwrap();
    let places = told["places"].as_str().unwrap().chars();
    let keys: Vec<&Value> = places.map(|digit| &recorded["keys"][number(digit)]).collect();
    read(&json!({ "pubkeys": keys, "aggregate_pubkey": told["aggregate_pubkey"] }))
}

#[test]
fn a_test_networks_committees_are_proven_one_by_the_other_and_sign_what_they_signed() {
    let recorded = recorded("electra-testnet.json");
    let network = network(&recorded);
    let start = &recorded["bootstrap"];
    let header: BeaconHeader = read(&start["header"]);
    let branch: Vec<B256> = read(&start["current_sync_committee_branch"]);
    let first = committee(&recorded, &start["current_sync_committee"]);
    let place = GeneralizedIndex::CURRENT_COMMITTEE_ELECTRA;
    assert!(stands_below(committee_root(&first), &branch, place, header.state_root));

    let mut committees = vec![Committee::new(&first).unwrap()];
    for update in recorded["updates"].as_array().unwrap() {
        let signed = verify(&network, &committees, update);
        let next = committee(&recorded, &update["next_sync_committee"]);
        let branch: Vec<B256> = read(&update["next_sync_committee_branch"]);
        let place = GeneralizedIndex::NEXT_COMMITTEE_ELECTRA;
        assert!(stands_below(committee_root(&next), &branch, place, signed.state_root));
        committees.push(Committee::new(&next).unwrap());
    }
    for update in recorded["finality_updates"].as_array().unwrap() {
        verify(&network, &committees, update);
    }
}

/// The header that the committee of its period signed, once each part of the claim was found true, and false otherwise.
fn verify(network: &Network, committees: &[Committee], update: &Value) -> BeaconHeader {
    let [attested, finalized]: [BeaconHeader; 2] =
        [read(&update["attested_header"]), read(&update["finalized_header"])];
    let branch: Vec<B256> = read(&update["finality_branch"]);
    let place = GeneralizedIndex::FINALIZED_ROOT_ELECTRA;
    assert!(stands_below(header_root(&finalized), &branch, place, attested.state_root));
    let slot: u64 = update["signature_slot"].as_str().unwrap().parse().unwrap();
    let aggregate: SyncAggregate = read(&update["sync_aggregate"]);
    let committee = &committees[usize::try_from(period_of(slot)).unwrap()];
    let root = network.signing_root(header_root(&attested), slot).unwrap();
    committee.verify(&aggregate, root).unwrap();
    let other = network.signing_root(header_root(&finalized), slot).unwrap();
    assert_eq!(committee.verify(&aggregate, other), Err(Obstacle::Signature));
    attested
}

#[test]
fn an_execution_header_of_the_test_network_stands_in_its_block() {
    let recorded = &recorded("electra-testnet.json")["execution"];
    let header: BeaconHeader = read(&recorded["beacon"]);
    let execution: ExecutionHeader = read(&recorded["execution"]);
    let branch: Vec<B256> = read(&recorded["execution_branch"]);
    let form = ExecutionForm::Deneb {
        blob_gas_used: execution.blob_gas_used.unwrap(),
        excess_blob_gas: execution.excess_blob_gas.unwrap(),
    };
    let place = GeneralizedIndex::EXECUTION;
    let root = execution_root(&execution, form);
    assert!(stands_below(root, &branch, place, header.body_root));
    let capella = execution_root(&execution, ExecutionForm::Capella);
    assert!(!stands_below(capella, &branch, place, header.body_root));
}

#[test]
fn a_final_block_of_capella_stands_in_the_state_and_its_execution_header_in_its_body() {
    let recorded = recorded("capella-testnet.json");
    let told = &recorded["finalized_header"];
    let [attested, finalized]: [BeaconHeader; 2] =
        [read(&recorded["attested_header"]), read(&told["beacon"])];
    let branch: Vec<B256> = read(&recorded["finality_branch"]);
    let place = GeneralizedIndex::FINALIZED_ROOT;
    assert!(stands_below(header_root(&finalized), &branch, place, attested.state_root));
    let root = execution_root(&read(&told["execution"]), ExecutionForm::Capella);
    let branch: Vec<B256> = read(&told["execution_branch"]);
    assert!(stands_below(root, &branch, GeneralizedIndex::EXECUTION, finalized.body_root));
}

#[test]
fn a_final_block_of_sepolia_is_proven_but_for_a_committee_that_is_not_recorded() {
    let recorded = recorded("sepolia-deneb.json");
    let data = &recorded["data"];
    for header in ["attested_header", "finalized_header"] {
        let told = &data[header];
        let beacon: BeaconHeader = read(&told["beacon"]);
        let execution: ExecutionHeader = read(&told["execution"]);
        let form = ExecutionForm::Deneb {
            blob_gas_used: execution.blob_gas_used.unwrap(),
            excess_blob_gas: execution.excess_blob_gas.unwrap(),
        };
        let root = execution_root(&execution, form);
        let branch: Vec<B256> = read(&told["execution_branch"]);
        assert!(stands_below(root, &branch, GeneralizedIndex::EXECUTION, beacon.body_root));
        assert_eq!(Network::sepolia().time_of(beacon.slot), Some(execution.timestamp));
    }
    let [attested, finalized]: [BeaconHeader; 2] =
        [read(&data["attested_header"]["beacon"]), read(&data["finalized_header"]["beacon"])];
    let branch: Vec<B256> = read(&data["finality_branch"]);
    let place = GeneralizedIndex::FINALIZED_ROOT;
    assert!(stands_below(header_root(&finalized), &branch, place, attested.state_root));
    let answer: Answer<FinalityUpdate> = read(&recorded);
    assert_eq!(answer.signature_slot(), 6_553_726);
}
