//! The chain of the recordings: the same keys, the same contracts at the same addresses, the same subscriptions.

use crate::recording::{Moment, Recording, go_to};
use alloy::primitives::{Address, B256, U256, keccak256};
use sandbox::state::State;
use sandbox::tron::ledger::Permission;
use sandbox::tron::tvm::Ending;
use sandbox::tron::tx::sha256;
use sandbox::tron::{Tron, TronNode, address};
use serde_json::Value;
use std::path::Path;

/// The genesis of the recorded chains.
const GENESIS: &str = "0000000000000000d7cf487df380a00bf740b3c1e5c11e0cac48146729d6a48c";
const TRX: u64 = 1_000_000;
pub(crate) const TOKEN: &str = "018fe837d17b73a359fa872f989d74236de64212";
pub(crate) const USDT: &str = "34ceb3ad4b5fe61e17ebf399dfd7c0e90cbd53c3";
pub(crate) const PROBE: &str = "c0723721b059d35515ddc7c974bbb2e305ce2c52";
pub(crate) const PLAN: &str = "a931a6ca2aabe2cc49a1bb494bf9f2df133d6a87";
const MULTICALL: &str = "c2282bcda4cb0b4ffa91e60797af0a372988261d";

pub(crate) fn at(hex: &str) -> Address {
    hex.parse().unwrap()
}

/// The address of a key named in the recordings.
pub(crate) fn who(name: &str) -> Address {
    let key = match name {
        "A" => [1; 32],
        "B" => [3; 32],
        "N" => [4; 32],
        name => sha256(format!("tron golden {name}").as_bytes()).0,
    };
    address::of_key(&key).unwrap()
}

/// A chain like the recorded one, at the moment when the recording begins.
pub(crate) fn world(recording: &Recording) -> TronNode {
    let node = empty(recording);
    people(&node);
    contracts(&node);
    go_to(&node, recording.start());
    node
}

/// A chain with the recorded ids and times and nobody in it.
pub(crate) fn empty(recording: &Recording) -> TronNode {
    let Moment { head, head_ms, .. } = recording.start();
    let mut rules = Tron::default();
    rules.scripted =
        recording.ids().into_iter().map(|(number, id)| (number, id.parse().unwrap())).collect();
    rules.scripted.insert(0, GENESIS.parse::<B256>().unwrap());
    TronNode::new(rules, head_ms - 3000 * head, 3, State::default())
}

fn people(node: &TronNode) {
    for (name, sun) in
        [("A", 89_999_000_000 * TRX), ("B", 10_000 * TRX), ("biller", 10_000 * TRX), ("zero", 0)]
    {
        node.fund(who(name), sun);
    }
    node.make_genesis(who("A"));
    node.use_free_bandwidth(who("A"), 5000);
    node.fund(who("poor"), 2 * TRX);
    node.fund(who("stake"), 3500 * TRX);
    node.stake(who("stake"), 500 * TRX, 1000 * TRX);
    node.fund(who("multi"), 1000 * TRX);
    let both = Permission { keys: vec![(who("B"), 1), (who("biller"), 1)], threshold: 2 };
    node.set_active(who("multi"), both);
    for index in 0..50 {
        node.fund(who(&format!("user {index}")), 200 * TRX);
    }
}

fn contracts(node: &TronNode) {
    let owner = who("A");
    let all = [
        (TOKEN, "Trc20"),
        (USDT, "UsdtLike"),
        (PROBE, "Probe"),
        (PLAN, "SubscribePlan"),
        (MULTICALL, "Multicall3"),
    ];
    for (place, name) in all {
        node.deploy_at(at(place), owner, name, &bytecode(name)).unwrap();
    }
    for index in 0..50u64 {
        let user = who(&format!("user {index}"));
        let units = U256::from((index + 1) * 1_000_000);
        let allowance = match index {
            index if index % 3 == 0 => U256::MAX,
            5 => U256::from(1_000_000),
            _ => U256::from(18_000_000),
        };
        for token in [TOKEN, USDT] {
            call(node, owner, token, "mint(address,uint256)", &[word(user), units]);
            call(node, user, token, "approve(address,uint256)", &[word(at(PLAN)), allowance]);
        }
    }
    let plenty = U256::from(10).pow(U256::from(18));
    for token in [TOKEN, USDT] {
        call(node, owner, token, "mint(address,uint256)", &[word(owner), plenty]);
    }
    call(node, owner, TOKEN, "setBlackList(address,bool)", &[word(who("user 6")), U256::from(1)]);
}

pub(crate) fn word(address: Address) -> U256 {
    U256::from_be_slice(address.as_slice())
}

/// A call that nobody pays and that must succeed.
pub(crate) fn call(node: &TronNode, from: Address, to: &str, signature: &str, words: &[U256]) {
    let mut data = keccak256(signature)[..4].to_vec();
    for word in words {
        data.extend(word.to_be_bytes::<32>());
    }
    let done = node.impersonate(from, at(to), data);
    assert_eq!(done.ending, Ending::Success, "{signature}: {}", done.message);
}

fn bytecode(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/tron/contracts");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    hex::decode(json["bytecode"].as_str().unwrap().trim_start_matches("0x")).unwrap()
}
