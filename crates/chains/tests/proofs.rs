//! What the TRON node says of blocks proves itself, by code that shares nothing with the node's.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use sandbox_chains::chain::Orphans;
use sandbox_chains::state::State;
use sandbox_chains::tron::http::Port;
use sandbox_chains::tron::{Tron, TronNode, Wallet, Witness};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tron_primitives::answer::BlockAnswer;
use tron_primitives::block::{Producer, ProvenBlock, prove_genesis};
use tron_primitives::finality::{Following, Witnesses};
use tron_primitives::result::{ContractResult, Ending};

const GENESIS_MS: u64 = 1_795_253_256_000;
const HOUR_MS: u64 = 3_600_000;

fn ask(node: &TronNode, port: Port, question: &str, body: &Value) -> Value {
    let door = if port == Port::Full { "wallet" } else { "walletsolidity" };
    let reply = node.answer(port, "POST", &format!("/{door}/{question}"), &body.to_string());
    assert_eq!(reply.status, 200, "{question}");
    serde_json::from_str(&reply.body).unwrap()
}

fn read(answer: Value) -> BlockAnswer {
    serde_json::from_value(answer).unwrap()
}

fn block(node: &TronNode, number: u64) -> ProvenBlock {
    let asked = json!({"id_or_num": number.to_string(), "detail": true});
    read(ask(node, Port::Full, "getblock", &asked)).prove().unwrap()
}

fn chain(witnesses: u8, lag: u64) -> (TronNode, Wallet) {
    let rules = Tron::default().with_witnesses(witnesses);
    let node = TronNode::new(rules, GENESIS_MS, lag, State::default());
    // These tests say which block is solid.
    node.node().chain().set_stride(1);
    let rich = Wallet::new(&[91; 32]).unwrap();
    node.fund(rich.address(), 1_000_000_000_000);
    (node, rich)
}

/// Blocks with transactions that succeed, revert and run out of energy, and without any.
fn busy() -> (TronNode, Wallet) {
    let (node, mut rich) = chain(27, 19);
    // init code that leaves `REVERT(0, 0)` behind
    let reverting = hex::decode("6460006000fd6000526005601bf3").unwrap();
    let deployed = rich.deploy(&node, "Reverting", &reverting);
    let at = sandbox_chains::tron::address::deployed(deployed.id.as_slice(), &rich.address());
    node.broadcast(deployed).unwrap();
    node.step();
    for salt in 2..12 {
        rich.salt = salt;
        rich.fee_limit = if salt % 3 == 0 { 0 } else { 100_000_000 };
        node.broadcast(rich.call(&node, at, vec![])).unwrap();
        if salt % 2 == 0 {
            node.broadcast(rich.transfer(&node, [7; 20].into(), 1)).unwrap();
            node.step();
        }
    }
    node.steps(20);
    (node, rich)
}

#[test]
fn every_block_proves_itself_with_what_became_of_its_transactions() {
    let (node, _) = busy();
    let mut endings = BTreeSet::new();
    let mut parent = None;
    let head = node.node().chain().head().header.number;
    for number in 1..=head {
        let block = block(&node, number);
        if let Some((id, time_ms)) = parent {
            assert!(block.header().follows(id, time_ms), "{number}");
        }
        parent = Some((block.header().id(), block.header().time_ms()));
        let Producer { witness, signer } = block.header().producer();
        assert_eq!(witness, signer);
        endings.extend(block.transactions().iter().map(|one| format!("{:?}", one.ending())));
    }
    let failed = |result| format!("{:?}", Ending::Failed(result));
    let wanted = [
        format!("{:?}", Ending::Succeeded),
        failed(ContractResult::Revert),
        failed(ContractResult::OutOfEnergy),
    ];
    assert_eq!(endings, BTreeSet::from(wanted));
}

#[test]
fn every_door_and_question_shows_the_same_block() {
    let (node, _) = busy();
    let solid = node.node().chain().solid().header.number;
    for number in [1, 2, 4, solid] {
        let wanted = block(&node, number);
        let (text, id) = (number.to_string(), hex::encode(wanted.header().id()));
        for port in [Port::Full, Port::Solidity] {
            let answers = [
                ask(&node, port, "getblock", &json!({"id_or_num": text, "detail": true})),
                ask(&node, port, "getblock", &json!({"id_or_num": id, "detail": true})),
                ask(&node, port, "getblockbynum", &json!({"num": number})),
                ask(&node, port, "getblockbyid", &json!({"value": id})),
            ];
            for answer in answers {
                assert_eq!(read(answer).prove().unwrap(), wanted);
            }
            let bare = ask(&node, port, "getblock", &json!({"id_or_num": text}));
            assert_eq!(read(bare).prove_header().unwrap(), *wanted.header());
        }
    }
    for port in [Port::Full, Port::Solidity] {
        let newest = read(ask(&node, port, "getnowblock", &json!({}))).prove().unwrap();
        let asked = json!({"detail": true});
        assert_eq!(read(ask(&node, port, "getblock", &asked)).prove().unwrap(), newest);
        let latest = ask(&node, port, "getblockbylatestnum", &json!({"num": 3}));
        for answer in latest["block"].as_array().unwrap() {
            read(answer.clone()).prove().unwrap();
        }
    }
}

#[test]
fn block_0_follows_from_its_header_and_chains_differ_in_it() {
    let genesis = |began_ms| {
        let node = TronNode::new(Tron::default(), began_ms, 3, State::default());
        prove_genesis(&read(ask(&node, Port::Full, "getblock", &json!({"id_or_num": "0"}))))
            .unwrap()
    };
    assert_ne!(genesis(GENESIS_MS), genesis(GENESIS_MS + 3000));
}

fn listed(node: &TronNode) -> Vec<String> {
    let all = ask(node, Port::Solidity, "listwitnesses", &json!({}));
    let page =
        ask(node, Port::Full, "getpaginatednowwitnesslist", &json!({"offset": 0, "limit": 99}));
    assert_eq!(all, page);
    let all = all["witnesses"].as_array().unwrap().clone();
    assert!(all.iter().all(|one| one["isJobs"] == true));
    all.iter().map(|one| one["address"].as_str().unwrap().to_owned()).collect()
}

fn followed(node: &TronNode, from: u64, witnesses: Witnesses) -> Following {
    let mut following = Following::from(witnesses);
    let head = node.node().chain().head().header.number;
    for number in from..=head {
        following.read(block(node, number).header()).unwrap();
    }
    following
}

#[test]
fn solid_is_what_the_witnesses_make_so() {
    for (count, behind) in [(1, 0), (5, 3), (27, 18)] {
        let (node, _) = chain(count, 0);
        node.steps(30);
        let own = |number| Witness::numbered(number).address;
        let own = |number| Producer { witness: own(number), signer: own(number) };
        let list = Witnesses::new((1..=count).map(own)).unwrap();
        let solid = node.node().chain().solid().header.number;
        assert_eq!(solid, 30 - behind, "{count}");
        assert_eq!(followed(&node, 1, list).solid().unwrap().0, solid);
        assert_eq!(listed(&node).len(), usize::from(count));
    }
}

#[test]
fn maintenance_changes_the_list_and_it_can_be_followed() {
    let (node, _) = chain(27, 0);
    node.set_param("getMaintenanceTimeInterval", i64::try_from(HOUR_MS).unwrap());
    node.steps(30);
    let own = |number: u8| Witness::numbered(number);
    let plain = |number: u8| {
        let address = own(number).address;
        Producer { witness: address, signer: address }
    };
    let first = Witnesses::new((1..=27).map(plain)).unwrap();
    // Five are voted out, five in, and the ninth has given its witness permission away.
    let mut elected: Vec<_> = (6..=32).map(own).collect();
    elected[3] = elected[3].signing_with([200; 32]);
    node.elect(elected);
    node.steps(10);
    assert_eq!(listed(&node).len(), 27);
    let before = listed(&node);
    node.skip(HOUR_MS / 3000);
    node.steps(54);
    assert_ne!(listed(&node), before);
    let mut following = followed(&node, 1, first);
    // What the ninth signs counts from when its key is borne out, so until then a block less may stand.
    let solid = || node.node().chain().solid().header.number;
    let stands = following.solid().unwrap().0;
    assert!(solid() - 1 <= stands && stands <= solid(), "{stands} of {}", solid());
    let claims: Vec<_> = following.claims().collect();
    for claim in claims {
        following.bear_out(claim);
    }
    let read = node.node().chain().head().header.number;
    node.steps(54);
    let head = node.node().chain().head().header.number;
    for number in read + 1..=head {
        following.read(block(&node, number).header()).unwrap();
    }
    assert_eq!(following.solid().unwrap().0, solid());
    let moved = Producer { witness: own(9).address, signer: Witness::new([200; 32]).address };
    assert!(following.witnesses().has(moved) && !following.witnesses().has(plain(9)));
    assert!(following.witnesses().has(plain(32)) && !following.witnesses().has(plain(1)));
}

#[test]
fn blocks_after_a_reorganisation_are_others_and_prove_themselves_too() {
    let (node, _) = chain(5, 0);
    node.steps(20);
    let before: Vec<_> = (18..=20).map(|number| block(&node, number)).collect();
    assert_eq!(node.reorg(9, Orphans::Lose).len(), 3);
    node.steps(10);
    for old in before {
        let new = block(&node, old.header().number());
        assert_ne!(new.header().id(), old.header().id());
        assert!(new.header().number() > 17);
    }
}
