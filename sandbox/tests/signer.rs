//! The Signer's own adapter on the Ethereum face, where a node can do less than in the demonstration.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use alloy::primitives::{Address, U256};
use config::Config;
use merchant_signer::app::{self, Machine, Sockets, check, journal_place};
use node::Http;
use sandbox_chains::chain::{Chain, Header, Settings};
use sandbox_chains::eth;
use sandbox_chains::evm::Evm;
use sandbox_chains::node::Node;
use sandbox_chains::state::State;
use sandbox_chains::town::{Founding, Ground as _, PLAN, Person, Town, wallet};
use serde_json::{Value, json};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::Duration;
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

struct World {
    node: Node<Evm>,
    town: Town,
    _place: TempDir,
    config: Config,
}

impl World {
    /// A town of three; the Signer is told of Multicall3 at `multicall`.
    async fn new(multicall: Option<Address>) -> Self {
        let genesis = Header {
            time_ms: 1_700_000_000_000,
            gas_limit: 30_000_000,
            price: 1_000_000_000,
            ..Header::default()
        };
        let settings = Settings { slot_ms: 1000, lag: 2, ..Settings::default() };
        let node = Node::new(Chain::new(Evm::default(), settings, genesis, State::new(())));
        let biller = wallet("biller").address();
        let wanted = Founding { biller, decimals: 18, price: 1 << 70, people: 3, trial: 0 };
        let town = Town::found(&node, wanted);
        node.execute(vec![town.allowance(&town.people[1], U256::from(7))]);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = eth::router(node.clone());
        TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
        node.run(Duration::from_millis(50));
        let place = tempfile::tempdir().unwrap();
        put_key(&place);
        let text = config(&url, &town, multicall.unwrap_or(town.multicall), &place);
        let config = Config::from_toml(&text, &[]).unwrap();
        journal_place::create(&config.journal, None).unwrap();
        Self { node, town, _place: place, config }
    }
}

fn put_key(place: &TempDir) {
    use std::io::Write as _;
    let path = place.path().join("key");
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    writeln!(file.unwrap(), "{}", hex::encode(wallet("biller").to_bytes())).unwrap();
}

fn config(url: &str, town: &Town, multicall: Address, place: &TempDir) -> String {
    let (contract, mer_key, place) = (town.billing, town.mer_key, place.path().display());
    format!(
        r#"allow_unauthenticated = true
http.listen = "127.0.0.1:0"
journal = {{ path = "{place}/journal.sqlite", min_free = "1MiB" }}
[chains.139]
name = "sandbox"
family = "evm"
test = true
eip155_id = 31337
rpc = "{url}"
contract = "{contract}"
multicall = "{multicall}"
key = "file:{place}/key"
poll_interval = "50ms"
idle_poll_interval = "50ms"
clock_tolerance = "3650d"
fees = {{ max_fee_per_gas = "100 gwei", max_priority_fee_per_gas = "2 gwei", max_tx_cost = "1 ether" }}
[chains.139.billing]
profile = "reference"
lookup = "none"
constants = {{ merKey = "{mer_key}" }}
"#
    )
}

fn entry(town: &Town, person: &Person) -> Value {
    json!({
        "subscribeId": person.subscribe_id, "chainId": 139, "planId": PLAN,
        "planVersion": town.version, "userHash": person.user_hash,
        "userWallet": person.wallet.address(), "tokenAddress": town.token,
        "period": 1, "amount": town.price.to_string(),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_with_everything_is_found_ready() {
    let world = World::new(None).await;
    let report = check::run(&world.config, Machine::real(&Http::default())).await;
    assert!(report.passed(), "{report}");
    let said = report.to_string();
    assert!(said.contains("in one eth_call") && said.contains("deployed at"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_multicall_reads_are_done_by_creation_code() {
    let world = World::new(Some(Address::repeat_byte(0xEE))).await;
    let said = check::run(&world.config, Machine::real(&Http::default())).await.to_string();
    assert!(said.contains("not deployed"), "{said}");
    let running =
        app::start(world.config.clone(), Machine::real(&Http::default()), Sockets::default())
            .await
            .unwrap();
    let url = format!("http://{}", running.address);
    let client = reqwest::Client::new();
    let (town, node) = (&world.town, &world.node);
    let list: Vec<Value> = town.people.iter().map(|person| entry(town, person)).collect();
    let body = json!({"mode": "partial", "list": list}).to_string();
    let path = "PayTool/EVM/subscribe/signProcessSubscribePlan";
    let answer = client.post(format!("{url}/{path}")).body(body).send().await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
    assert_eq!(answer["code"], 1, "{answer}");
    let failed = &answer["data"]["failed"];
    assert_eq!(failed[0]["failCode"], "ALLOWANCE_INSUFFICIENT", "{answer}");
    assert_eq!((&failed[0]["tokenAllowance"], &failed[1]), (&json!("7"), &Value::Null));
    let hash = answer["data"]["txHash"].as_str().unwrap();
    let ask = async || {
        let asked = client.get(format!("{url}/PayTool/billings/{hash}")).send().await.unwrap();
        let said: Value = serde_json::from_slice(&asked.bytes().await.unwrap()).unwrap();
        said["data"][0]["state"].clone()
    };
    let decided = tokio::time::timeout(Duration::from_secs(30), async {
        while ask().await == "open" {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    decided.await.unwrap();
    assert_eq!(ask().await, "charged");
    let paid = town.people.iter().map(|person| town.was_charged(node, person, 1));
    assert_eq!(paid.collect::<Vec<_>>(), [true, false, true]);
    running.shutdown().await;
}
