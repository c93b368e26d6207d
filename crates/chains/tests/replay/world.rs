//! The chain of the recordings: the same keys, the same contracts at the same addresses, the same subscriptions.

use crate::recording::{Recording, go_to};
use alloy::primitives::{Address, B256, U256, keccak256};
use sandbox_chains::chain::Header;
use sandbox_chains::state::State;
use sandbox_chains::tron::ledger::Permission;
use sandbox_chains::tron::tvm::Ending;
use sandbox_chains::tron::tx::sha256;
use sandbox_chains::tron::{Cpu, Tron, TronNode, address};
use serde_json::Value;
use std::path::Path;

/// The genesis of the recorded chains.
const GENESIS: &str = "0000000000000000d7cf487df380a00bf740b3c1e5c11e0cac48146729d6a48c";
const TRX: u64 = 1_000_000;
/// What the recorded node managed in 50 ms, in steps.
const CPU_STEPS: u64 = 500_000;
pub(crate) const TOKEN: &str = "018fe837d17b73a359fa872f989d74236de64212";
pub(crate) const USDT: &str = "34ceb3ad4b5fe61e17ebf399dfd7c0e90cbd53c3";
pub(crate) const PROBE: &str = "c0723721b059d35515ddc7c974bbb2e305ce2c52";
pub(crate) const PLAN: &str = "a931a6ca2aabe2cc49a1bb494bf9f2df133d6a87";
const SINGLE_TOKEN: &str = "1ebc64fbe1a7b22b9c29c95bde74abfda4b3f7ed";
pub(crate) const SINGLE_PROBE: &str = "eb4d1a6aa84e125f9cc37c2e4d0b92c815b0ef38";
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

/// A chain like the recorded one, at the moment when the first of the recordings begins.
pub(crate) fn world(recordings: &[Recording]) -> TronNode {
    let node = empty(recordings);
    people(&node);
    if recordings[0].single {
        single_contracts(&node);
    } else {
        node.use_free_bandwidth(who("A"), 5000);
        contracts(&node);
        subscriptions(&node);
    }
    go_to(&node, recordings[0].start(), &recordings[0].times(0));
    node
}

/// The same chain before anything was deployed.
pub(crate) fn bare_world(recordings: &[Recording]) -> TronNode {
    let node = empty(recordings);
    people(&node);
    go_to(&node, recordings[0].start(), &recordings[0].times(0));
    node
}

/// A chain with the recorded ids and times and nobody in it.
fn empty(recordings: &[Recording]) -> TronNode {
    let mut rules = Tron { lag_alone: true, cpu: Cpu::of(CPU_STEPS), ..Tron::default() };
    let ids = recordings.iter().flat_map(Recording::ids);
    rules.scripted = ids.map(|(number, id)| (number, id.parse().unwrap())).collect();
    rules.scripted.insert(0, GENESIS.parse::<B256>().unwrap());
    if recordings[0].single {
        rules.witnesses.truncate(1);
        rules.params.set("getMaintenanceTimeInterval", 60_000);
        rules.params.set("getDynamicEnergyThreshold", 100_000);
    }
    let genesis_ms = genesis_ms(&rules, &recordings[0]);
    let node = TronNode::new(rules, genesis_ms, 3, State::default());
    // Where the solid head stood is in the recordings.
    node.node().chain().set_stride(1);
    node
}

/// The latest genesis from which the first recorded block is reached in time: before it, no slot was missed but after maintenance.
fn genesis_ms(rules: &Tron, recording: &Recording) -> u64 {
    let (known, start) = (recording.times(0), recording.start());
    let (first, first_ms) = known.range(1..).next().unwrap_or((&start.head, &start.head_ms));
    let arrives = |genesis_ms: u64| {
        let mut header = Header { time_ms: genesis_ms, ..Header::default() };
        for number in 1..=*first {
            header = Header {
                number,
                parent_ms: header.time_ms,
                time_ms: rules.next_slot(&header),
                ..header
            };
        }
        header.time_ms <= *first_ms
    };
    (0..1000)
        .map(|early| first_ms - 3000 * (first + early))
        .find(|genesis_ms| arrives(*genesis_ms))
        .unwrap()
}

fn people(node: &TronNode) {
    for (name, sun) in
        [("A", 89_999_000_000 * TRX), ("B", 10_000 * TRX), ("biller", 10_000 * TRX), ("zero", 0)]
    {
        node.fund(who(name), sun);
    }
    node.make_genesis(who("A"));
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

fn single_contracts(node: &TronNode) {
    let owner = who("A");
    node.deploy_at(at(SINGLE_TOKEN), owner, "Trc20", &bytecode("Trc20")).unwrap();
    node.deploy_at(at(SINGLE_PROBE), owner, "Probe", &bytecode("Probe")).unwrap();
    for holder in [owner, who("user 1")] {
        let words = [word(holder), U256::from(1_000_000_000)];
        call(node, owner, SINGLE_TOKEN, "mint(address,uint256)", &words);
    }
}

fn subscriptions(node: &TronNode) {
    let (admin, merchant) = (who("A"), word(who("payee")));
    let month = U256::from(30 * 24 * 3600);
    let terms = "setPlan(address,uint64,uint32,(address,uint128,uint64,uint32,address))";
    let one = U256::from(1);
    for (plan, token, amount, periods) in
        [(7u64, TOKEN, 1_500_000u64, 12u64), (8, USDT, 1_000_000, 12)]
    {
        let numbers = [U256::from(amount), month, U256::from(periods)];
        let words =
            [&[merchant, U256::from(plan), one, word(at(token))], &numbers[..], &[merchant]]
                .concat();
        call(node, admin, PLAN, terms, &words);
    }
    call(
        node,
        admin,
        PLAN,
        "setBiller(address,address,bool)",
        &[merchant, word(who("biller")), one],
    );
    for (plan, users) in [(7u64, 25), (8, 3)] {
        for index in 0..users {
            let words =
                [merchant, U256::from(plan), one, keccak256(format!("user-{index}")).into()];
            call(
                node,
                who(&format!("user {index}")),
                PLAN,
                "subscribe(address,uint64,uint32,bytes32)",
                &words,
            );
        }
    }
    let words = [merchant, U256::from(7), keccak256("user-20").into()];
    call(node, who("user 20"), PLAN, "cancelSubscribe(address,uint64,bytes32)", &words);
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tron/contracts");
    let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    hex::decode(json["bytecode"].as_str().unwrap().trim_start_matches("0x")).unwrap()
}
