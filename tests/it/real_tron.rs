//! The main job on a TRON node that is asked for everything over its HTTP API, and gives nothing out
//! of nowhere: contracts are deployed, people endowed and enrolled by signed transactions.
//!
//! With `TRON_FULL_URL`, `TRON_SOLIDITY_URL` and `TRON_TEST_KEY` (and `TRON_JSONRPC_URL` and
//! `TRON_API_KEY`, where there are) in the environment this is a real node, else the sandbox's, so
//! that the same lines run in every case. `TRON_FULL_URL_2` and `TRON_SOLIDITY_URL_2` (`TRON_JSONRPC_URL_2`)
//! are a second provider of the same chain, under another host. What a real node does not let a test control is
//! printed.

use crate::world::anvil::Mining;
use crate::world::patience::unix_ms;
use crate::world::proxy::{Act, Proxy, SEND};
use crate::world::signer::{Heard, Installation, Signer};
use crate::world::town::{CHAIN, Doors, KEY, profile, tron_chain, with_tron_nodes};
use crate::world::tron::TronWorld;
use crate::world::tron::remote::Remote;
use alloy::primitives::{U256, hex};
use alloy::signers::local::PrivateKeySigner;
use sandbox_chains::serve::{Ports, Served};
use sandbox_chains::town::{Founding, Ground, Town};
use sandbox_chains::tron::address::base58;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::Arc;
use std::time::Duration;

/// A month of the plan (base units of a token with 6 decimals).
const PRICE: u128 = 10_000_000;

const PEOPLE: u64 = 9;

/// What takes control over blocks or over what a node says, and runs on the sandbox alone.
const NOT_CONTROLLED: [&str; 9] = [
    "blocks that are undone, and slots that stay empty (scenarios::tron::death)",
    "expiry: death, renewal, and a charge that lands after its expiry (scenarios::tron::death)",
    "a chain that stands still, and finality that does (scenarios::tron::death, doors)",
    "each answer to a broadcast (scenarios::tron::delivery)",
    "rate limits and suspensions (scenarios::tron::delivery)",
    "an index or a solidity node that lags, no history, a lite node (scenarios::tron::sightings)",
    "an account that runs dry, prices that change (scenarios::tron::money)",
    "random kills and random orders of events (scenarios::crash, scenarios::tron::random)",
    "tokens that are paused, plans that end (scenarios::refusals)",
];

/// A node, by its environment or by the sandbox.
struct Place {
    remote: Remote,
    jsonrpc: String,
    /// A row of `nodes` for the second provider, if there is one.
    second: Option<String>,
    real: bool,
    double: Option<TronWorld>,
}

fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).and_then(|text| text.into_string().ok())
}

impl Place {
    async fn found() -> Self {
        match variable("TRON_FULL_URL") {
            Some(full) => Self::named(&full, variable),
            None => Self::double().await,
        }
    }

    /// The node at `full`, and what else the variables say.
    fn named(full: &str, variable: impl Fn(&str) -> Option<String>) -> Self {
        let need = |name: &str| variable(name).unwrap_or_else(|| panic!("{name} is missing"));
        let bank = need("TRON_TEST_KEY").parse().expect("TRON_TEST_KEY is a private key");
        let mut remote = Remote::new(full, &need("TRON_SOLIDITY_URL"), bank);
        remote.api_key = variable("TRON_API_KEY");
        let jsonrpc = variable("TRON_JSONRPC_URL").unwrap_or_default();
        let second = variable("TRON_FULL_URL_2").map(|full| {
            row(&full, &need("TRON_SOLIDITY_URL_2"), variable("TRON_JSONRPC_URL_2").as_deref())
        });
        Self { remote, jsonrpc, second, real: true, double: None }
    }

    async fn double() -> Self {
        let (world, _) = TronWorld::start().await;
        let bank: PrivateKeySigner = KEY.parse().unwrap();
        world.node.fund(bank.address(), 1_000_000_000_000);
        world.open(Mining::EachTransaction, 30_000);
        let served = &world.served;
        let remote = Remote::new(&served.full, &served.solidity, bank);
        let rules = world.node.node().chain().family().params.clone();
        assert_eq!(rules.get("getMaxFeeLimit"), 1_000_000_000, "as on a private chain: 1,000 TRX");
        let jsonrpc = served.jsonrpc.clone();
        Self { remote, jsonrpc, second: None, real: false, double: Some(world) }
    }
}

/// A chain at TRON's pace, and the doors of a second node to it, as the variables name two providers.
async fn two_providers() -> (TronWorld, Served, Place) {
    let (world, _) = TronWorld::start().await;
    let bank: PrivateKeySigner = KEY.parse().unwrap();
    world.node.fund(bank.address(), 5_000_000_000);
    world.open(Mining::EverySeconds(3), 0);
    let (first, second) = (&world.served, world.node.serve(Ports::default()).await.unwrap());
    let variables = [
        ("TRON_SOLIDITY_URL", &first.solidity),
        ("TRON_JSONRPC_URL", &first.jsonrpc),
        ("TRON_FULL_URL_2", &second.full),
        ("TRON_SOLIDITY_URL_2", &second.solidity),
        ("TRON_JSONRPC_URL_2", &second.jsonrpc),
        ("TRON_TEST_KEY", &hex::encode(bank.to_bytes())),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let variables = BTreeMap::from(variables);
    let place = Place::named(&first.full, |name| variables.get(name).cloned());
    (world, second, place)
}

/// A row of `nodes`.
fn row(full: &str, solidity: &str, jsonrpc: Option<&str>) -> String {
    let jsonrpc = jsonrpc.map(|url| format!(", jsonrpc = {url:?}")).unwrap_or_default();
    format!("{{ full = {full:?}, solidity = {solidity:?}{jsonrpc} }}")
}

/// A merchant on that node.
struct Merchant {
    town: Town,
    ground: Arc<Remote>,
    proxy: Proxy,
    installation: Installation,
    before: U256,
    double: Option<TronWorld>,
}

/// Does what asks the node and waits, beside the runtime that carries the questions.
async fn aside<T: Send + 'static>(
    ground: &Arc<Remote>,
    work: impl FnOnce(&Remote) -> T + Send + 'static,
) -> T {
    let ground = Arc::clone(ground);
    tokio::task::spawn_blocking(move || work(&ground)).await.unwrap()
}

impl Merchant {
    async fn settle(place: Place) -> Self {
        let Place { remote, jsonrpc, second, double, .. } = place;
        let ground = Arc::new(remote);
        let biller = ground.bank.address();
        let wanted = Founding { biller, decimals: 6, price: PRICE, people: PEOPLE, trial: 0 };
        let town = aside(&ground, move |ground| Town::found(ground, wanted)).await;
        let proxy = Proxy::before(&ground.full).await;
        let doors = Doors {
            solidity: proxy.and_before(&ground.solidity).await,
            jsonrpc,
            chain_id: aside(&ground, Ground::chain_id).await,
        };
        let places = [town.billing, town.multicall];
        // As a merchant has it, but for faster looks.
        let keys = "poll_interval = \"1s\"\nrebroadcast_interval = \"3s\"";
        let mut config = tron_chain(&proxy.url, &doors, places, keys);
        if let Some(second) = second {
            let jsonrpc = Some(doors.jsonrpc.as_str()).filter(|url| !url.is_empty());
            let first = row(&proxy.url, &doors.solidity, jsonrpc);
            config = with_tron_nodes(&config, &[first, second]);
        }
        write!(config, "{}", profile(&base58(&town.mer_key))).unwrap();
        let mut installation = Installation::new(&config);
        let mut file = std::fs::OpenOptions::new();
        let key = file.write(true).create_new(true).mode(0o600);
        let key = key.open(installation.path().join("evm.key")).unwrap();
        std::io::Write::write_all(&mut &key, hex::encode(ground.bank.to_bytes()).as_bytes())
            .unwrap();
        if let Some(api_key) = &ground.api_key {
            installation = installation.env("SIGNER__CHAINS__139__API_KEY", api_key);
        }
        let before = balance(&ground, town.token, town.payee).await;
        Self { town, ground, proxy, installation, before, double }
    }

    fn entry(&self, place: usize) -> Value {
        let who = &self.town.people[place];
        json!({
            "subscribeId": who.subscribe_id, "chainId": CHAIN, "planId": who.plan,
            "planVersion": self.town.version, "userHash": who.user_hash, "period": 1,
            "userWallet": base58(&who.wallet.address()), "tokenAddress": base58(&self.town.token),
            "amount": u64::try_from(self.town.price).unwrap(),
        })
    }

    async fn bill(&self, signer: &Signer, mode: &str, places: &[usize]) -> Heard {
        let list: Vec<Value> = places.iter().map(|place| self.entry(*place)).collect();
        signer.scheduler.bill(&json!({"mode": mode, "list": list})).await
    }

    /// A new journal opens its lane when nothing can be on its way any more that the account did before: the life of
    /// a transaction, a minute or more.
    async fn ready(&self, signer: &Signer) {
        let until = unix_ms() + 300_000;
        loop {
            let ready = signer.scheduler.get("/health/ready").await;
            if ready.status == 200 {
                return;
            }
            let why = ready.body["chains"][0]["status"].to_string();
            assert!(!why.contains("old copy"), "the journal is new: {why}");
            assert!(unix_ms() < until, "it does not become ready: {why}\n{}", signer.log());
            self.step().await;
        }
    }

    async fn step(&self) {
        if let Some(double) = &self.double
            && double.wants_a_block()
        {
            double.node.step();
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    /// The journal that is left holds in itself, and can be copied.
    async fn audited(&self) {
        for words in [&["audit"][..], &["backup", "copy.sqlite"]] {
            let ended = self.installation.run(words).await;
            let said = [ended.stdout, ended.stderr].concat();
            assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said));
        }
    }

    /// Waits until the chain has decided; a real one takes a minute.
    async fn charged(&self, signer: &Signer, hash: &str) {
        let until = unix_ms() + 300_000;
        while unix_ms() < until {
            let billing = signer.scheduler.billings(hash).await.body["data"][0].clone();
            // A machine that has much else to do may not answer in time.
            if !billing.is_null() && billing["state"] != "open" {
                assert_eq!(billing["state"], "charged", "{billing}");
                return;
            }
            self.step().await;
        }
        panic!("{hash} was never decided:\n{}", signer.log());
    }

    /// How many months arrived at the merchant's.
    async fn months(&self) -> U256 {
        let now = balance(&self.ground, self.town.token, self.town.payee).await;
        (now - self.before) / U256::from(PRICE)
    }
}

async fn balance(
    ground: &Arc<Remote>,
    token: alloy::primitives::Address,
    who: alloy::primitives::Address,
) -> U256 {
    use alloy::sol_types::SolCall as _;
    let call = crate::world::contracts::AnyToken::balanceOfCall { who }.abi_encode();
    let answer = aside(ground, move |ground| ground.view(token, call.into())).await;
    U256::from_be_slice(&answer)
}

#[tokio::test]
async fn the_main_job_on_a_node_that_gives_nothing_away() {
    let place = Place::found().await;
    let real = place.real;
    println!("on {}", if real { "the node of TRON_FULL_URL" } else { "the sandbox's node" });
    the_main_job(place).await;
    if real {
        println!("not controlled on this node, and so not tried on it:");
        for what in NOT_CONTROLLED {
            println!("  {what}");
        }
    }
}

#[tokio::test]
async fn the_main_job_at_the_pace_of_the_chain_where_two_providers_have_to_agree() {
    let (_world, _second, place) = two_providers().await;
    the_main_job(place).await;
}

async fn the_main_job(place: Place) {
    let merchant = Merchant::settle(place).await;
    let check = merchant.installation.run(&["check"]).await;
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    let signer = merchant.installation.start().await;
    merchant.ready(&signer).await;

    // A batch is one transaction, told once and charged once.
    let hash = merchant.bill(&signer, "all", &[0, 1]).await.tx_hash();
    assert_eq!(merchant.bill(&signer, "all", &[1, 0]).await.tx_hash(), hash, "a repeat");
    let dry = json!({"dryRun": true, "list": [merchant.entry(0), merchant.entry(2)]});
    let dry = signer.scheduler.bill(&dry).await;
    assert_eq!(dry.body["data"]["wouldCharge"].as_array().map(Vec::len), Some(1), "{dry:?}");

    // Each entry hears its own reason, and money moves for the good ones alone.
    let town = &merchant.town;
    let [revoked, gone] = [&town.people[2], &town.people[3]];
    let calls = vec![town.allowance(revoked, U256::from(1)), town.cancel(gone)];
    aside(&merchant.ground, move |ground| ground.execute(calls)).await;
    let heard = merchant.bill(&signer, "all", &[2, 3, 4]).await;
    let id = |place: usize| i64::try_from(town.people[place].subscribe_id).unwrap();
    let reasons =
        [(id(2), "ALLOWANCE_INSUFFICIENT".into()), (id(3), "SUBSCRIPTION_CANCELLED".into())];
    assert_eq!((heard.code(), heard.failures()), (2, reasons.to_vec()));
    let partial = merchant.bill(&signer, "partial", &[2, 3, 4]).await;
    assert_eq!(partial.failures(), reasons);
    let dry = json!({"dryRun": true, "list": [merchant.entry(5)]});
    let dry = signer.scheduler.bill(&dry).await;
    assert_eq!(dry.body["data"]["wouldCharge"], json!([id(5)]), "{dry:?}");

    // A lost answer, and bytes that never left, are promises all the same.
    let mut promised = vec![hash, partial.tx_hash()];
    for (place, act) in [(5, Act::PassOnAndBreak), (6, Act::Break)] {
        merchant.proxy.fault(SEND, act);
        promised.push(merchant.bill(&signer, "all", &[place]).await.tx_hash());
        merchant.proxy.heal();
    }
    // Killed after the answer, and killed between commit and send.
    promised.push(merchant.bill(&signer, "all", &[7]).await.tx_hash());
    merchant.proxy.fault(SEND, Act::Swallow);
    let (scheduler, list) = (signer.scheduler.clone(), json!([merchant.entry(8)]));
    let body = json!({"requestId": "unheard", "list": list});
    tokio::join!(scheduler.try_bill(&body), async {
        merchant.proxy.struck().await;
        signer.kill()
    });
    merchant.proxy.heal();
    let signer = merchant.installation.start().await;
    // What was swallowed may have been offered for another request: this one repeats, as callers do.
    assert_eq!(signer.scheduler.bill(&body).await.code(), 1);
    promised.push("unheard".to_owned());
    for id in &promised {
        merchant.charged(&signer, id).await;
    }
    assert_eq!(merchant.months().await, U256::from(7), "0, 1, 4, 5, 6, 7 and 8 paid once");
    signer.terminate().await;
    merchant.audited().await;
}
