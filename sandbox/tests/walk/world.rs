//! The platform, the Signer and the merchant of a test.

use config::Config;
use merchant::Client;
use merchant::callback::{Callback, Event, Receiver, web};
use merchant::client::LinkRequest;
use merchant::sign::Credentials;
use merchant::signer::{BillingStatus, Family, Outcome, SignerClient};
use merchant::tls::Tls;
use merchant::types::{ChainId, Chargeable, PlanId, SubscriptionType};
use merchant::{CallError, Full};
use merchant_signer::app::{self, Machine, Sockets, journal_place};
use node::Http;
use parking_lot::Mutex;
use sandbox_chains::town::wallet;
use sandbox_platform::platform::{EVM_CHAIN, Side, TRON_CHAIN};
use sandbox_platform::{Options, Platform, Ports, Running};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

/// The chains, with where the Signer bills on them.
pub(crate) const CHAINS: [(ChainId, Family); 2] =
    [(ChainId(139), Family::Evm), (ChainId(136), Family::Tvm)];

/// The plan that is active from the start.
pub(crate) const PLAN: PlanId = PlanId(7);

/// How long the Signer may take to see what is final.
const PATIENCE: Duration = Duration::from_secs(30);

/// The world of a test.
pub(crate) struct World {
    pub(crate) running: Running,
    pub(crate) client: Client,
    pub(crate) notify: String,
    mailbox: Arc<Mailbox>,
    http: reqwest::Client,
}

#[derive(Debug, Default)]
struct Mailbox {
    kept: Mutex<Vec<Callback>>,
    deliveries: Mutex<u32>,
    full: Mutex<bool>,
}

impl Mailbox {
    fn keep(&self, callback: Callback) -> Result<(), &'static str> {
        *self.deliveries.lock() += 1;
        if *self.full.lock() {
            return Err("the disk is full");
        }
        self.kept.lock().push(callback);
        Ok(())
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let options = Options::default();
        let platform = tokio::task::spawn_blocking(move || Platform::found(&options).unwrap());
        let running = platform.await.unwrap().serve(Ports::default()).await.unwrap();
        let client = client(&running, &running.platform.credentials().secret);
        let mailbox = Arc::new(Mailbox::default());
        let keep = Arc::clone(&mailbox);
        let router =
            web::router("/hooks/pay", Receiver::new([credentials(&running)]), move |one| {
                std::future::ready(keep.keep(one))
            });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let notify = format!("http://{}/hooks/pay?shop=7", listener.local_addr().unwrap());
        TaskTracker::new().spawn(async move { axum::serve(listener, router).await });
        Self { running, client, notify, mailbox, http: reqwest::Client::new() }
    }

    /// A client that signs with another secret.
    pub(crate) fn stranger(&self) -> Client {
        client(&self.running, "not the secret of this merchant")
    }

    pub(crate) fn side(&self, chain: ChainId) -> &Side {
        self.running.platform.side(chain.0.try_into().unwrap()).unwrap()
    }

    /// What somebody does in the admin console, or the sandbox to the world.
    pub(crate) async fn control(&self, name: &str, body: Value) -> Result<Value, String> {
        let url = format!("{}/sandbox/{name}", self.running.admin_url);
        let request = self.http.post(url).header("content-type", "application/json");
        let response = request.body(body.to_string()).send().await.unwrap();
        let (ok, text) = (response.status().is_success(), response.text().await.unwrap());
        if ok { Ok(serde_json::from_str(&text).unwrap()) } else { Err(text) }
    }

    /// What a user does on a page: sends one of its forms.
    pub(crate) async fn press(&self, page: &str, form: &str) -> String {
        let request =
            self.http.post(page).header("content-type", "application/x-www-form-urlencoded");
        let response = request.body(form.to_owned()).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.status());
        let text = response.text().await.unwrap();
        assert!(!text.contains("role=\"alert\""), "{form}: {text}");
        self.running.platform.blocks(1).await.unwrap();
        text
    }

    /// Makes blocks until all is final, and delivers what follows.
    pub(crate) async fn finalise(&self) {
        self.running.platform.finalise().await.unwrap();
    }

    /// The callbacks that the merchant kept, and forgets.
    pub(crate) fn heard(&self) -> Vec<Callback> {
        std::mem::take(&mut self.mailbox.kept.lock())
    }

    /// How often a callback was delivered, kept or not.
    pub(crate) fn deliveries(&self) -> u32 {
        *self.mailbox.deliveries.lock()
    }

    /// Whether the merchant can keep what it is sent.
    pub(crate) fn set_disk_full(&self, full: bool) {
        *self.mailbox.full.lock() = full;
    }

    pub(crate) fn link_request(&self, chain: ChainId, plan: PlanId, user: &str) -> LinkRequest {
        LinkRequest {
            chain_id: chain,
            plan_id: plan,
            external_user_id: user.to_owned(),
            redirection_url: "https://shop.example/thanks".to_owned(),
            notify_url: self.notify.clone(),
        }
    }

    /// A user who has gone through the three steps of the page; the order's number.
    pub(crate) async fn subscribed(&self, chain: ChainId, user: &str, wallet: &str) -> String {
        let link = self.client.create_link(&self.link_request(chain, PLAN, user)).await.unwrap();
        for form in [
            &format!("step=confirm&wallet={}", self.tester(chain, wallet).await),
            "step=sign",
            "step=authorise&cap=year",
        ] {
            self.press(&link.url, form).await;
        }
        self.finalise().await;
        let events = self.heard();
        let Some(Event::Subscription(event)) = events.last().map(|last| &last.event) else {
            panic!("{events:?}")
        };
        event.out_trade_no.clone()
    }

    async fn state(&self) -> Value {
        let state = self.http.get(format!("{}/sandbox", self.running.admin_url)).send();
        serde_json::from_str(&state.await.unwrap().text().await.unwrap()).unwrap()
    }

    /// The accounts of the admin console.
    pub(crate) async fn admins(&self) -> Vec<String> {
        serde_json::from_value(self.state().await["admins"].clone()).unwrap()
    }

    /// The address of a built-in wallet.
    pub(crate) async fn tester(&self, chain: ChainId, name: &str) -> String {
        let state = self.state().await;
        let chains = state["chains"].as_array().unwrap();
        let chain = chains.iter().find(|one| one["chainId"] == chain.0).unwrap();
        let wallets = chain["wallets"].as_array().unwrap();
        let wallet = wallets.iter().find(|one| one["name"] == name).unwrap();
        wallet["address"].as_str().unwrap().to_owned()
    }

    /// What is due on a chain.
    pub(crate) async fn due(&self, chain: ChainId) -> Vec<Full<Chargeable>> {
        use futures_util::TryStreamExt as _;
        let all: Result<Vec<_>, CallError> = self.client.chargeable().try_collect().await;
        all.unwrap().into_iter().filter(|entry| entry.chain_id == Some(chain)).collect()
    }
}

/// The types of subscription callbacks, in the order of their arrival.
pub(crate) fn types(heard: &[Callback]) -> Vec<SubscriptionType> {
    let of = |callback: &Callback| match &callback.event {
        Event::Subscription(event) => event.subscription_type.clone(),
        Event::Recharge(_) | Event::Withdrawal(_) | Event::Unknown { .. } => {
            panic!("{callback:?}")
        }
    };
    heard.iter().map(of).collect()
}

fn credentials(running: &Running) -> Credentials {
    let known = running.platform.credentials();
    Credentials::new(known.key.as_str(), known.secret.as_str())
}

fn client(running: &Running, secret: &str) -> Client {
    let key = running.platform.credentials().key.as_str();
    let credentials = Credentials::new(key, secret);
    Client::new(&running.base_url, &running.payment_url, credentials).unwrap()
}

/// The Signer, on the chains of a world.
pub(crate) struct Signing {
    pub(crate) client: SignerClient,
    _place: TempDir,
    running: app::Running,
}

impl Signing {
    pub(crate) async fn start(world: &World) -> Self {
        Self::limited(world, "").await
    }

    /// The same, with lines of the policy of both chains.
    pub(crate) async fn limited(world: &World, policy: &str) -> Self {
        let of = |(chain, _): (ChainId, Family)| format!("[chains.{chain}.policy]\n{policy}\n");
        Self::installed(world, tempfile::tempdir().unwrap(), ["", &CHAINS.map(of).concat()]).await
    }

    /// The same, speaking TLS with `tls.pem` and `tls.key` to whoever shows what `callers.pem` has signed: all three lie in
    /// `place`.
    pub(crate) async fn encrypted(world: &World, place: TempDir, tls: &Tls) -> Self {
        let at = place.path().display();
        let files = format!(
            r#"http.tls = {{ certificate_file = "{at}/tls.pem", key_file = "{at}/tls.key", client_ca_file = "{at}/callers.pem" }}
"#
        );
        let mut signing = Self::installed(world, place, [&files, ""]).await;
        signing.client = signing.caller("https").with_tls(tls).unwrap();
        signing
    }

    /// Somebody who knows what a caller signs with.
    pub(crate) fn caller(&self, scheme: &str) -> SignerClient {
        caller(&self.running, scheme)
    }

    async fn installed(world: &World, place: TempDir, [before, after]: [&str; 2]) -> Self {
        put_key(&place);
        let text = [before, &config(world, &place), after].concat();
        let config = Config::from_toml(&text, &[]).unwrap();
        journal_place::create(&config.journal, None).unwrap();
        let running =
            app::start(config, Machine::real(&Http::default()), Sockets::default()).await.unwrap();
        Self { client: caller(&running, "http"), _place: place, running }
    }

    /// Waits until the Signer has seen the newest block of both chains, where it speaks in the clear.
    pub(crate) async fn sees(&self, world: &World) {
        let nodes = world.running.platform.nodes();
        let evm = nodes.evm.chain().head().header.number;
        let tron = nodes.tron.node().chain().head().header.number;
        let started = Instant::now();
        loop {
            let asked = reqwest::get(format!("http://{}/health/ready", self.running.address)).await;
            let ready: Value = serde_json::from_str(&asked.unwrap().text().await.unwrap()).unwrap();
            let seen = |chain: u32, head: u64| {
                let mut told = ready["chains"].as_array().unwrap().iter();
                told.any(|one| one["chainId"] == chain && one["head"].as_u64() >= Some(head))
            };
            if seen(EVM_CHAIN, evm) && seen(TRON_CHAIN, tron) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "not {evm} and {tron}: {ready}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How a billing stands, once the Signer has seen the end of it on a chain that goes on.
    pub(crate) async fn outcome(&self, world: &World, id: &str) -> Full<BillingStatus> {
        let started = Instant::now();
        loop {
            let billing = self.client.billings(id).await.unwrap().remove(0);
            if billing.state != Outcome::Open {
                return billing;
            }
            assert!(started.elapsed() < PATIENCE, "stays open: {}", billing.raw());
            world.running.platform.blocks(1).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn caller(running: &app::Running, scheme: &str) -> SignerClient {
    let credentials = Credentials::new("scheduler", "everybody-knows-this-secret");
    SignerClient::new(&format!("{scheme}://{}", running.address), credentials).unwrap()
}

fn put_key(place: &TempDir) {
    write_own(&place.path().join("key"), &hex::encode(wallet("biller").to_bytes()));
}

/// Writes a file that is its owner's alone.
pub(crate) fn write_own(path: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    writeln!(file.unwrap(), "{text}").unwrap();
}

fn config(world: &World, place: &TempDir) -> String {
    let (running, at) = (&world.running, place.path().display());
    let general = format!(
        r#"http.listen = "127.0.0.1:0"
journal = {{ path = "{at}/journal.sqlite", min_free = "1MiB" }}
callers.scheduler = {{ key = "scheduler", secret = "everybody-knows-this-secret" }}
"#
    );
    let evm = format!(
        r#"eip155_id = 31337
rpc = "{}"
clock_tolerance = "3650d"
fees = {{ max_fee_per_gas = "100 gwei", max_priority_fee_per_gas = "2 gwei", max_tx_cost = "1 ether" }}"#,
        running.evm_url
    );
    let tron = format!(
        r#"chain_id = "{:#010x}"
full = "{}"
solidity = "{}"
jsonrpc = "{}"
clock_tolerance = "3650d"
fees = {{ max_fee_limit = "500 TRX", max_run_percent = 1000000 }}"#,
        world.side(ChainId(TRON_CHAIN.into())).chain.chain_id(),
        running.tron.full,
        running.tron.solidity,
        running.tron.jsonrpc
    );
    [
        general,
        chain(world, EVM_CHAIN, "evm", &evm, place),
        chain(world, TRON_CHAIN, "tvm", &tron, place),
    ]
    .concat()
}

fn chain(world: &World, id: u32, family: &str, own: &str, place: &TempDir) -> String {
    let side = world.side(ChainId(id.into()));
    let (contract, multicall) = (side.spell(side.town.billing), side.spell(side.town.multicall));
    let (mer_key, place) = (side.spell(side.town.mer_key), place.path().display());
    format!(
        r#"
[chains.{id}]
name = "{family}"
family = "{family}"
test = true
contract = "{contract}"
multicall = "{multicall}"
key = "file:{place}/key"
poll_interval = "50ms"
idle_poll_interval = "50ms"
{own}
[chains.{id}.billing]
call = "processSubscribePlan(address merKey, (uint64 subscribeId, uint64 planId, uint32 planVersion, bytes32 userHash, uint32 period, uint128 amount)[] items, uint256 deadline) returns (uint8[] reasons)"
charged = "event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress)"
skipped = "event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason)"
constants = {{ merKey = "{mer_key}" }}
reasons = {{ 2 = "SUBSCRIPTION_CANCELLED", 4 = "ALREADY_CHARGED", 6 = "NOT_DUE_YET", 12 = "ALLOWANCE_INSUFFICIENT", 13 = "BALANCE_INSUFFICIENT" }}
"#
    )
}
