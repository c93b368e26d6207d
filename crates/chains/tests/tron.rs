//! What the recordings do not show: a node that is led into trouble on purpose, over its real doors.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use alloy::primitives::{Address, U256, keccak256};
use sandbox_chains::chain::Orphans;
use sandbox_chains::faults::{Fault, On};
use sandbox_chains::serve::{Ports, Served};
use sandbox_chains::state::State;
use sandbox_chains::tron::refusal::Code;
use sandbox_chains::tron::tx::Tx;
use sandbox_chains::tron::{Tron, TronNode, Wallet, address};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const TOKEN: Address = Address::repeat_byte(0x77);
const PAYEE: Address = Address::repeat_byte(0x22);
const GENESIS_MS: u64 = 1_795_253_256_000;

/// A chain with a rich account, a token and a few blocks.
fn town() -> (TronNode, Wallet) {
    let node = TronNode::new(Tron::default().with_witnesses(1), GENESIS_MS, 2, State::default());
    // These tests say which block is solid.
    node.node().chain().set_stride(1);
    let rich = Wallet::new(&[1; 32]).unwrap();
    node.fund(rich.address(), 1_000_000_000_000);
    node.deploy_at(TOKEN, rich.address(), "Trc20", &bytecode("Trc20")).unwrap();
    node.impersonate(
        rich.address(),
        TOKEN,
        call("mint(address,uint256)", rich.address(), 1_000_000),
    );
    node.steps(5);
    (node, rich)
}

fn bytecode(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tron/contracts");
    let json: Value = serde_json::from_str(
        &std::fs::read_to_string(folder.join(format!("{name}.json"))).unwrap(),
    )
    .unwrap();
    hex::decode(json["bytecode"].as_str().unwrap().trim_start_matches("0x")).unwrap()
}

fn call(signature: &str, to: Address, amount: u64) -> Vec<u8> {
    let words = [to.into_word().to_vec(), U256::from(amount).to_be_bytes_vec()].concat();
    [keccak256(signature)[..4].to_vec(), words].concat()
}

fn payment(node: &TronNode, wallet: &Wallet) -> Tx {
    wallet.call(node, TOKEN, call("transfer(address,uint256)", PAYEE, 1))
}

/// Somebody who talks to the node over HTTP.
struct Client {
    http: reqwest::Client,
    doors: Served,
}

impl Client {
    async fn of(node: &TronNode) -> Self {
        let http = reqwest::Client::builder().timeout(Duration::from_secs(2)).build().unwrap();
        Self { http, doors: node.serve(Ports::default()).await.unwrap() }
    }

    async fn text(&self, path: &str, body: Value) -> Result<(u16, String), reqwest::Error> {
        let door = if path.starts_with("/walletsolidity") {
            &self.doors.solidity
        } else {
            &self.doors.full
        };
        let reply = self.http.post(format!("{door}{path}")).body(body.to_string()).send().await?;
        Ok((reply.status().as_u16(), reply.text().await?))
    }

    async fn ask(&self, path: &str, body: Value) -> Value {
        serde_json::from_str(&self.text(path, body).await.unwrap().1).unwrap()
    }

    async fn send(&self, tx: &Tx) -> Result<(u16, String), reqwest::Error> {
        self.text("/wallet/broadcasthex", json!({"transaction": hex::encode(tx.encode())})).await
    }

    async fn code(&self, tx: &Tx) -> String {
        let (_, text) = self.send(tx).await.unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["code"].as_str().unwrap().to_owned()
    }

    async fn info(&self, tx: &Tx) -> Value {
        self.ask("/wallet/gettransactioninfobyid", json!({"value": hex::encode(tx.id)})).await
    }
}

fn pending(node: &TronNode) -> usize {
    node.node().chain().pool().len()
}

#[tokio::test]
async fn an_answer_may_be_lost_before_or_after_the_deed() {
    let (node, mut rich) = town();
    let client = Client::of(&node).await;
    for (fault, taken) in
        [(Fault::ActThenHang, 1), (Fault::Hang, 1), (Fault::ActThenReset, 2), (Fault::Reset, 2)]
    {
        rich.salt += 1;
        node.faults().add(On::Broadcast, fault);
        assert!(client.send(&payment(&node, &rich)).await.is_err());
        assert_eq!(pending(&node), taken);
    }
    assert_eq!(node.step().body.len(), 2);
}

#[tokio::test]
async fn an_answer_may_be_anything() {
    let (node, mut rich) = town();
    let client = Client::of(&node).await;
    let answers = [
        (Fault::refuse("SERVER_BUSY", "Server busy."), "SERVER_BUSY", 0),
        (Fault::refuse("OTHER_ERROR", "Other error."), "OTHER_ERROR", 0),
        (Fault::RateLimit, "lack of computing resources", 0),
        (Fault::status(429, r#"{"Error":"suspended"}"#), "suspended", 0),
        (Fault::status(503, "busy"), "busy", 0),
        (Fault::Lite, "lite fullnode", 0),
        (Fault::PoolButNotRelay, "P2P broadcast failed.", 1),
        (Fault::ActThenHtml, "<html>", 1),
        (Fault::ActTwice, "DUP_TRANSACTION_ERROR", 1),
        (Fault::ActThenTruncate, "", 1),
        (Fault::ActThenDrop, "SUCCESS", 0),
    ];
    for (fault, text, taken) in answers {
        rich.salt += 1;
        let before = pending(&node);
        node.faults().add(On::Broadcast, fault.clone());
        let (_, answer) = client.send(&payment(&node, &rich)).await.unwrap();
        assert!(answer.contains(text), "{fault:?}: {answer}");
        assert_eq!(pending(&node) - before, taken, "{fault:?}");
    }
    assert_eq!(node.faults().waiting(), 0);
}

#[tokio::test]
async fn a_lagging_replica_sees_the_past() {
    let (node, rich) = town();
    let client = Client::of(&node).await;
    let tx = payment(&node, &rich);
    assert_eq!(client.code(&tx).await, "SUCCESS");
    let block = node.step();
    node.faults().set(On::Any, Fault::Lag(3));
    let seen = client.ask("/wallet/getblock", json!({})).await;
    assert_eq!(seen["block_header"]["raw_data"]["number"], block.header.number - 3);
    assert_eq!(client.info(&tx).await, json!({}));
    let balance = json!({"owner_address": address::hex21(&PAYEE), "contract_address": address::hex21(&TOKEN),
        "function_selector": "balanceOf(address)", "parameter": hex::encode(PAYEE.into_word())});
    let answer = client.ask("/wallet/triggerconstantcontract", balance.clone()).await;
    assert_eq!(answer["constant_result"][0], "0".repeat(64));
    assert_eq!(client.code(&payment(&node, &rich)).await, "TAPOS_ERROR");
    node.faults().clear();
    assert_eq!(client.info(&tx).await["receipt"]["result"], "SUCCESS");
    let answer = client.ask("/wallet/triggerconstantcontract", balance).await;
    assert_eq!(answer["constant_result"][0], format!("{:064}", 1));
}

#[tokio::test]
async fn infos_may_be_missing_although_the_block_is_there() {
    let (node, rich) = town();
    let client = Client::of(&node).await;
    let tx = payment(&node, &rich);
    client.send(&tx).await.unwrap();
    let number = node.step().header.number;
    node.faults().set(On::Path("gettransactioninfobyid".to_owned()), Fault::NoInfo);
    assert_eq!(client.info(&tx).await, json!({}));
    let block = client
        .ask("/wallet/getblock", json!({"id_or_num": number.to_string(), "detail": true}))
        .await;
    assert_eq!(block["transactions"][0]["txID"], hex::encode(tx.id));
}

#[tokio::test]
async fn a_call_may_run_out_of_time() {
    let (node, rich) = town();
    let client = Client::of(&node).await;
    let body = json!({"owner_address": address::hex21(&rich.address()), "contract_address": address::hex21(&TOKEN),
        "data": "313ce567"});
    node.faults().add(On::Read, Fault::CpuTimeout);
    let answer = client.ask("/wallet/triggerconstantcontract", body.clone()).await;
    assert_eq!(answer["result"]["code"], "OTHER_ERROR");
    let message = hex::decode(answer["result"]["message"].as_str().unwrap()).unwrap();
    assert!(String::from_utf8(message).unwrap().contains("OutOfTimeException : CPU timeout for"));
    assert_eq!(client.ask("/wallet/triggerconstantcontract", body).await["energy_used"], 263);
}

#[tokio::test]
async fn the_fifty_first_connection_waits() {
    let (node, _) = town();
    let doors = node.serve(Ports::default()).await.unwrap();
    let address = doors.full.trim_start_matches("http://").to_owned();
    let mut open = vec![];
    for _ in 0..50 {
        open.push(tokio::net::TcpStream::connect(&address).await.unwrap());
    }
    let http = reqwest::Client::builder().timeout(Duration::from_millis(200)).build().unwrap();
    let url = format!("{}/wallet/getnowblock", doors.full);
    assert!(http.post(&url).send().await.unwrap_err().is_timeout());
    open.clear();
    let http = reqwest::Client::new();
    assert_eq!(http.post(&url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_running_node_makes_blocks_until_it_is_frozen() {
    let (node, _) = town();
    node.run(Duration::from_millis(1));
    while node.node().chain().head().header.number < 20 {
        tokio::task::yield_now().await;
    }
    node.freeze();
}

#[test]
fn what_waits_too_long_is_dropped() {
    let (node, mut rich) = town();
    rich.life_ms = 3_600_000;
    node.configure(|options| options.isolated = true);
    let tx = payment(&node, &rich);
    node.broadcast(tx.clone()).unwrap();
    node.steps(19);
    assert_eq!(pending(&node), 1);
    node.step(); // 60 s of block time
    assert_eq!(pending(&node), 0);
    node.configure(|options| options.isolated = false);
    node.broadcast(tx).unwrap(); // it is not a duplicate: nobody knows it
    assert_eq!(node.step().body.len(), 1);
}

#[test]
fn what_no_block_takes_is_dropped_without_a_trace() {
    let (node, mut rich) = town();
    rich.fee_limit = -1;
    let refused = payment(&node, &rich);
    node.node().chain().submit(refused);
    assert!(node.step().body.is_empty());
    assert_eq!(pending(&node), 0);
}

#[test]
fn a_transaction_may_land_after_its_expiry_but_not_after_a_later_parent() {
    let (node, mut rich) = town();
    rich.life_ms = 3000;
    let tx = payment(&node, &rich);
    node.broadcast(tx.clone()).unwrap();
    node.skip(3);
    let block = node.step();
    assert!(block.header.time_ms > u64::try_from(tx.raw().expiration).unwrap());
    assert_eq!(block.body.len(), 1);
    node.reorg(1, Orphans::Return);
    assert_eq!(pending(&node), 1);
    rich.salt += 1;
    node.reorg(9, Orphans::Return);
    node.steps(2);
    assert!(node.node().chain().find(&tx.id).is_some());
    // the same again, but a block without it comes first
    rich.life_ms = 3000;
    let late = payment(&node, &rich);
    node.step();
    node.node().chain().submit(late.clone());
    node.step();
    assert!(node.node().chain().find(&late.id).is_none());
    assert_eq!(node.broadcast(late).unwrap_err().code, Code::TransactionExpirationError);
}

#[test]
fn what_does_not_fit_into_a_block_is_lost() {
    let (node, mut rich) = town();
    let fat = vec![0; 450_000];
    let mut last = None;
    for _ in 0..5 {
        rich.salt += 1;
        rich.fee_limit = 0;
        let tx = rich.call(&node, TOKEN, fat.clone());
        node.broadcast(tx.clone()).unwrap();
        last = Some(tx);
    }
    assert_eq!(node.step().body.len(), 4);
    assert_eq!(pending(&node), 0);
    node.steps(3);
    assert!(node.node().chain().find(&last.unwrap().id).is_none());
}

#[test]
fn a_full_pool_is_busy() {
    let (node, mut rich) = town();
    node.configure(|options| options.max_pending = 1);
    for _ in 0..2 {
        rich.salt += 1;
        node.broadcast(payment(&node, &rich)).unwrap();
    }
    rich.salt += 1;
    let refused = payment(&node, &rich);
    assert_eq!(node.broadcast(refused.clone()).unwrap_err().code, Code::ServerBusy);
    node.step();
    node.broadcast(refused).unwrap();
}

#[test]
fn a_reorganisation_never_reaches_the_solid_block() {
    let (node, rich) = town();
    let tx = payment(&node, &rich);
    node.broadcast(tx.clone()).unwrap();
    node.solidify();
    node.step();
    node.solidify();
    let solid = node.node().chain().solid().header.number;
    node.reorg(99, Orphans::Lose);
    let chain = node.node().chain();
    assert_eq!(chain.head().header.number, solid);
    assert!(chain.find(&tx.id).is_some());
}

#[test]
fn a_restart_loses_the_pool_and_what_was_not_solid() {
    let (node, mut rich) = town();
    let first = payment(&node, &rich);
    node.broadcast(first.clone()).unwrap();
    node.step();
    rich.salt += 1;
    node.broadcast(payment(&node, &rich)).unwrap();
    node.restart();
    assert_eq!(pending(&node), 0);
    assert!(node.node().chain().find(&first.id).is_none());
    node.broadcast(first.clone()).unwrap();
    node.step();
    assert!(node.node().chain().find(&first.id).is_some());
}

#[test]
fn parameters_and_heat_change_what_a_call_costs() {
    let (node, mut rich) = town();
    let fee = |node: &TronNode, rich: &Wallet| {
        let tx = payment(node, rich);
        node.broadcast(tx.clone()).unwrap();
        node.step();
        let place = node.node().chain().find(&tx.id).unwrap();
        let receipt = place.included().receipt.clone();
        (receipt.energy_fee, receipt.penalty)
    };
    fee(&node, &rich); // the payee's slot is fresh
    rich.salt += 1;
    let (plain, none) = fee(&node, &rich);
    node.set_param("getEnergyFee", 420);
    rich.salt += 1;
    let (dear, _) = fee(&node, &rich);
    assert_eq!(dear, plain / 100 * 420);
    node.set_energy_factor(TOKEN, 2000);
    rich.salt += 1;
    let (hot, penalty) = fee(&node, &rich);
    assert_eq!(none, 0);
    assert!(penalty > 0);
    assert_eq!(hot, dear + penalty * 420);
}

#[test]
fn a_deployer_may_share_the_bill() {
    let (node, rich) = town();
    let origin = Wallet::new(&[5; 32]).unwrap().address();
    node.fund(origin, 0);
    node.stake(origin, 0, 1_000_000_000);
    node.node().chain().edit_all(|state| {
        let contract = state.ledger_mut().contract_mut(TOKEN);
        (contract.origin, contract.percent) = (origin, 40);
    });
    let tx = payment(&node, &rich);
    node.broadcast(tx.clone()).unwrap();
    node.step();
    let receipt = node.node().chain().find(&tx.id).unwrap().included().receipt.clone();
    assert_eq!(receipt.origin_energy_usage, receipt.energy_total * 60 / 100);
    assert_eq!(receipt.energy_fee, (receipt.energy_total - receipt.origin_energy_usage) * 100);
}

#[test]
fn a_transfer_activates_its_payee() {
    let (node, rich) = town();
    let tx = rich.transfer(&node, PAYEE, 5);
    node.broadcast(tx.clone()).unwrap();
    node.step();
    let chain = node.node().chain();
    assert_eq!(chain.find(&tx.id).unwrap().included().receipt.fee, 100_000);
    assert!(chain.head_state().ledger().account(&PAYEE).is_some());
}
