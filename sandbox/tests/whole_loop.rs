//! The whole loop: platform, Signer, scheduler and inbox, each a program of its own but the platform,
//! killed again and again. Nobody pays twice, no event is lost, and the books agree in the end.
//!
//! `LOOP_MONTHS` makes it longer than its three months, up to 11: an allowance covers 12 periods.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test may panic, and is told how long to run by its environment"
)]

use merchant::Client;
use merchant::client::LinkRequest;
use merchant::sign::Credentials;
use merchant::types::{ChainId, PlanId};
use sandbox_chains::town::wallet;
use sandbox_platform::platform::EVM_CHAIN;
use sandbox_platform::{Options, Pace, Platform, Ports, Running};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const USERS: [&str; 3] = ["ada", "ben", "cleo"];
const SECRET: &str = "everybody-knows-this-secret";
/// How long one month may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// A program that is killed and started again.
struct Victim {
    start: Box<dyn Fn() -> Command>,
    child: Child,
}

impl Victim {
    fn new(start: impl Fn() -> Command + 'static) -> Self {
        let child = start().spawn().unwrap();
        Self { start: Box::new(start), child }
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn again(&mut self) {
        self.kill();
        self.child = (self.start)().spawn().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The programs as they are built for this test.
fn programs() -> PathBuf {
    let build = ["build", "-q", "-p", "merchant-signer", "-p", "merchant", "--bins"];
    assert!(Command::new(env!("CARGO")).args(build).status().unwrap().success());
    // target/debug/deps/whole_loop-…
    std::env::current_exe().unwrap().ancestors().nth(2).unwrap().to_owned()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

struct World {
    folder: tempfile::TempDir,
    programs: PathBuf,
    running: Running,
    signer: u16,
    callbacks: u16,
    feed: u16,
}

impl World {
    async fn new() -> Self {
        let options =
            Options { pace: Pace::Fast(Duration::from_millis(150)), ..Options::default() };
        let found = move || Platform::found(&options).unwrap();
        let platform = tokio::task::spawn_blocking(found).await.unwrap();
        let running = platform.serve(Ports::default()).await.unwrap();
        let programs = tokio::task::spawn_blocking(programs).await.unwrap();
        let [signer, callbacks, feed] = [free_port(), free_port(), free_port()];
        let folder = tempfile::tempdir().unwrap();
        let world = Self { folder, programs, running, signer, callbacks, feed };
        world.install();
        world
    }

    /// The Signer's configuration, key and journal.
    fn install(&self) {
        let place = self.folder.path();
        let key = place.join("billing.key");
        let mut options = std::fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&key).unwrap();
        std::io::Write::write_all(&mut &file, hex::encode(wallet("biller").to_bytes()).as_bytes())
            .unwrap();
        let side = self.running.platform.side(EVM_CHAIN).unwrap();
        let text = CONFIG
            .replace("PORT", &self.signer.to_string())
            .replace("PLACE", &place.display().to_string())
            .replace("RPC", &self.running.evm_url)
            .replace("CONTRACT", &side.town.billing.to_string())
            .replace("MULTICALL", &side.town.multicall.to_string())
            .replace("MERKEY", &side.town.mer_key.to_string());
        std::fs::write(place.join("signer.toml"), text).unwrap();
        let init = self.signer_command().arg("init").status().unwrap();
        assert!(init.success());
    }

    fn signer_command(&self) -> Command {
        let mut command = Command::new(self.programs.join("merchant-signer"));
        command.current_dir(self.folder.path()).args(["--config", "signer.toml"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn merchant(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join("merchant"));
        command.current_dir(self.folder.path()).args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let platform = self.running.platform.credentials();
        let base = format!("http://127.0.0.1:{}", self.signer);
        for (name, value) in [
            ("PLATFORM__BASE_URL", self.running.base_url.as_str()),
            ("PLATFORM__PAYMENT_URL", &self.running.payment_url),
            ("PLATFORM__KEY", &platform.key),
            ("PLATFORM__SECRET", &platform.secret),
            ("SIGNER__URL", &base),
            ("SIGNER__KEY", "scheduler"),
            ("SIGNER__SECRET", SECRET),
            ("INBOX__URL", &format!("http://127.0.0.1:{}", self.feed)),
            ("INBOX__KEY", "inbox"),
            ("INBOX__SECRET", SECRET),
        ] {
            command.env(format!("MERCHANT__{name}"), value);
        }
        command
    }

    fn scheduler(&self, more: &[&str]) -> Command {
        let plain = ["schedule", "--chain", "139=EVM", "--interval", "1", "--pace", "1000"];
        self.merchant(&[&plain, more].concat())
    }

    fn inbox(&self) -> Command {
        let [callbacks, feed] = [self.callbacks, self.feed].map(|p| format!("127.0.0.1:{p}"));
        self.merchant(&["inbox", "--listen", &callbacks, "--private", &feed, "--pace", "100"])
    }

    async fn control(&self, name: &str, body: &Value) -> Value {
        let url = format!("{}/sandbox/{name}", self.running.admin_url);
        let request = reqwest::Client::new().post(url).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{name}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    fn client(&self) -> Client {
        let known = self.running.platform.credentials();
        let credentials = Credentials::new(known.key.clone(), known.secret.clone());
        Client::new(&self.running.base_url, &self.running.payment_url, credentials).unwrap()
    }

    /// A user opens a link, signs and authorises.
    async fn subscribe(&self, user: &str) {
        let request = LinkRequest {
            chain_id: ChainId(i64::from(EVM_CHAIN)),
            plan_id: PlanId(7),
            external_user_id: user.to_owned(),
            redirection_url: "https://shop.example/thanks".to_owned(),
            notify_url: format!("http://127.0.0.1:{}/callbacks", self.callbacks),
        };
        let link = self.client().create_link(&request).await.unwrap();
        let answer: Value = serde_json::from_str(link.answer.raw().get()).unwrap();
        self.control("follow-link", &json!({"paymentUrl": answer["paymentUrl"], "wallet": user}))
            .await;
    }

    /// How many periods each order has paid, by the platform's own reading of the chain.
    async fn paid(&self) -> Vec<u64> {
        let page = self.client().subscription_page(1, 100).await.unwrap();
        let rows = page.list.into_iter().map(|row| {
            let row = row.unwrap();
            let fields: Value = serde_json::from_str(row.raw().get()).unwrap();
            fields["paidPeriods"].as_u64().unwrap()
        });
        rows.collect()
    }

    /// What the inbox has kept.
    fn events(&self) -> Vec<Value> {
        let mut list = self.merchant(&["events", "list", "--limit", "10000", "--json"]);
        let output = list.stdout(Stdio::piped()).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Runs the scheduler once, with the daemon stopped, and answers its line.
    fn run_once(&self) -> String {
        let output = self.scheduler(&["--once"]).stdout(Stdio::piped()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_program_is_killed_and_the_books_agree() {
    let months: u64 = std::env::var("LOOP_MONTHS").map_or(3, |text| text.parse().unwrap());
    let world = std::sync::Arc::new(World::new().await);
    let start = |command: fn(&World) -> Command| {
        let world = std::sync::Arc::clone(&world);
        Victim::new(move || command(&world))
    };
    let mut victims =
        [start(World::signer_command), start(World::inbox), start(|world| world.scheduler(&[]))];
    for user in USERS {
        world.subscribe(user).await;
    }
    let mut step = 0_usize;
    for month in 1..=months {
        let began = Instant::now();
        loop {
            let paid = world.paid().await;
            assert!(paid.iter().all(|periods| *periods <= month), "somebody paid twice: {paid:?}");
            if paid == vec![month; USERS.len()] {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "month {month}: {paid:?}");
            // Long enough that something is under way, never the same twice in a row.
            let pause = 400 + 370 * u64::try_from(step % 8).unwrap();
            tokio::time::sleep(Duration::from_millis(pause)).await;
            victims[step % 3].again();
            step += 1;
        }
        world.control("advance", &json!({"months": 1})).await;
    }
    world.agree(&mut victims, months).await;
}

impl World {
    /// Nobody is disturbed any more: the last month is billed, every book is closed.
    async fn agree(&self, [_, _, scheduler]: &mut [Victim; 3], months: u64) {
        scheduler.kill();
        let (began, mut line) = (Instant::now(), String::new());
        let periods = months + 1;
        let wanted = periods * u64::try_from(USERS.len()).unwrap();
        loop {
            let quiet = line.contains(": 0 accepted")
                && line.contains(" 0 transactions open, 0 differences\n");
            let told = self.billings();
            let held = told.iter().any(|event| event["handedOn"] == "held");
            if quiet && !held && u64::try_from(told.len()).unwrap() >= wanted {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{line} {told:?}");
            tokio::time::sleep(Duration::from_millis(500)).await;
            line = self.run_once();
        }
        assert_eq!(self.paid().await, vec![periods; USERS.len()]);
        let told = self.billings();
        assert_eq!(u64::try_from(told.len()).unwrap(), wanted, "each charge is told of once");
        assert!(told.iter().all(|event| event["outcome"]["state"] == "charged"), "{told:?}");
    }

    fn billings(&self) -> Vec<Value> {
        let mut events = self.events();
        events.retain(|event| event["type"] == "SubscriptionBilling");
        events
    }
}

/// The Signer's configuration. Words in capitals are filled in.
const CONFIG: &str = r#"
[http]
listen = "127.0.0.1:PORT"

[journal]
path = "PLACE/journal.sqlite"
min_free = "16MiB"

[callers.scheduler]
key = "scheduler"
secret = "everybody-knows-this-secret"

[chains.139]
name = "sandbox-evm"
family = "evm"
test = true
eip155_id = 31337
rpc = "RPC"
contract = "CONTRACT"
multicall = "MULTICALL"
key = "file:PLACE/billing.key"
poll_interval = "100ms"

[chains.139.fees]
max_fee_per_gas = "100 gwei"
max_priority_fee_per_gas = "2 gwei"
max_tx_cost = "1 ether"

[chains.139.billing]
call = "processSubscribePlan(address merKey, (uint64 subscribeId, uint64 planId, uint32 planVersion, bytes32 userHash, uint32 period, uint128 amount)[] items, uint256 deadline) returns (uint8[] reasons)"
lookup = "subscribeOf(address merKey, uint64 planId, bytes32 userHash) view returns (address userWallet, address tokenAddress, uint128 amount, uint32 planVersion, uint32 period)"
charged = "event SubscriptionBilling(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint128 amount, address userWallet, address tokenAddress)"
skipped = "event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason)"

[chains.139.billing.constants]
merKey = "MERKEY"

[chains.139.billing.reasons]
1 = "SUBSCRIPTION_NOT_FOUND"
2 = "SUBSCRIPTION_CANCELLED"
3 = "TERMS_MISMATCH"
4 = "ALREADY_CHARGED"
5 = "SUBSCRIPTION_ENDED"
6 = "NOT_DUE_YET"
7 = "PERIOD_PASSED"
8 = "PLAN_INACTIVE"
9 = "TOKEN_PAUSED"
10 = "HOLDER_BLOCKED"
11 = "PAYEE_BLOCKED"
12 = "ALLOWANCE_INSUFFICIENT"
13 = "BALANCE_INSUFFICIENT"
14 = "TOKEN_TRANSFER_FAILED"
"NotBiller(address,address)" = "NOT_AUTHORIZED"
"#;
