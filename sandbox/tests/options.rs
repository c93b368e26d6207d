//! How programs start a sandbox: its addresses for them, and the date that it begins with.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use futures_util::TryStreamExt as _;
use merchant::client::{Client, LinkRequest};
use merchant::sign::Credentials;
use merchant::types::{ChainId, PlanId};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A date that is ahead of any machine on which this runs.
const AT: &str = "2096-01-31T12:00:00Z";
const AT_S: i64 = 3_978_849_600;

/// A sandbox on ports that are free.
fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
    for port in ["--signer-port", "--platform-port", "--evm-port", "--tron-port"] {
        command.args([port, "0"]);
    }
    command.args(words);
    command
}

/// A sandbox for tests, which takes free ports by itself.
fn for_tests(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
    command.arg("--ci").args(words);
    command
}

/// One that runs, until this is dropped.
struct Sandbox {
    child: Child,
    /// What it has printed first.
    said: Value,
}

impl Sandbox {
    fn start(words: &[&str]) -> Self {
        Self::of(&mut command(words))
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let said = first_line(&mut child);
        Self { child, said }
    }

    fn at(&self, name: &str) -> &str {
        self.said[name].as_str().unwrap_or_else(|| panic!("{name}: {}", self.said))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().unwrap().success());
        self.child.wait().unwrap();
    }
}

/// What a program prints first.
fn first_line(child: &mut Child) -> Value {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

async fn get(url: &str) -> Value {
    let body = reqwest::get(url).await.unwrap().bytes().await.unwrap();
    serde_json::from_slice(&body).unwrap()
}

/// When the newest block of the EVM chain was made, Unix seconds.
async fn newest_block(node: &str) -> i64 {
    let asked =
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}"#;
    let sent = reqwest::Client::new().post(node).header("content-type", "application/json");
    let body = sent.body(asked).send().await.unwrap().bytes().await.unwrap();
    let told: Value = serde_json::from_slice(&body).unwrap();
    let time = told["result"]["timestamp"].as_str().unwrap().trim_start_matches("0x").to_owned();
    i64::from_str_radix(&time, 16).unwrap()
}

/// The id of a block of the EVM chain, once it is there.
async fn block_id(node: &str, number: u64) -> String {
    let asked = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["{number:#x}",false]}}"#
    );
    loop {
        let sent = reqwest::Client::new().post(node).header("content-type", "application/json");
        let body = sent.body(asked.clone()).send().await.unwrap().bytes().await.unwrap();
        let told: Value = serde_json::from_slice(&body).unwrap();
        if let Some(id) = told["result"]["hash"].as_str() {
            return id.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The order numbers of everybody who is due to a merchant that has made its first link.
async fn orders(sandbox: &Sandbox) -> Vec<String> {
    let client = client(sandbox);
    client.create_link(&link()).await.unwrap();
    let due: Vec<_> = client.chargeable().try_collect().await.unwrap();
    let order = |raw: &str| -> Value { serde_json::from_str(raw).unwrap() };
    due.iter().map(|entry| order(entry.raw().get())["outTradeNo"].to_string()).collect()
}

fn client(sandbox: &Sandbox) -> Client {
    let api = &sandbox.said["api"];
    let credentials =
        Credentials::new(api["key"].as_str().unwrap(), api["secret"].as_str().unwrap());
    Client::new(sandbox.at("baseUrl"), sandbox.at("paymentUrl"), credentials).unwrap()
}

fn link() -> LinkRequest {
    LinkRequest {
        chain_id: ChainId(139),
        plan_id: PlanId(7),
        external_user_id: "user-1".to_owned(),
        redirection_url: "https://shop.example/thanks".to_owned(),
        notify_url: "https://shop.example/hooks".to_owned(),
    }
}

fn refused(told: &Output, why: &str) {
    let said = String::from_utf8_lossy(&told.stderr);
    assert!(!told.status.success() && said.contains(why), "{said}");
}

#[tokio::test]
async fn the_whole_sandbox_tells_programs_where_everything_is_and_begins_at_the_date_that_is_asked()
{
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("ready.json");
    let words = ["--no-story", "--json", "--at", AT, "--ready-file", file.to_str().unwrap()];
    let sandbox = Sandbox::start(&words);
    assert_eq!(read(&file), sandbox.said, "the file has what the line says");
    assert!(!file.with_extension("part").exists());

    let ready = get(&format!("{}/health/ready", sandbox.at("signerUrl"))).await;
    assert_eq!(ready["status"], "ready", "it is told when everything is up: {ready}");
    let now = get(sandbox.at("clock")).await["now"].as_i64().unwrap();
    let begun = AT_S..AT_S + 3600;
    assert!(begun.contains(&now), "the date is {now}");
    let block = newest_block(sandbox.at("evm")).await;
    assert!(begun.contains(&block), "the newest block is of {block}");

    assert!(
        !orders(&sandbox).await.is_empty(),
        "with the first link its subscribers are on the list, and nobody was billed"
    );
}

#[tokio::test]
async fn the_chains_alone_have_no_signer_and_a_state_keeps_its_own_date() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().to_str().unwrap();
    let sandbox = Sandbox::start(&["--bare", "--json", "--at", AT, "--state", state]);
    assert_eq!(sandbox.said["signerUrl"], Value::Null);
    assert!(Path::new(sandbox.at("signerConfig")).is_file());
    let now = get(sandbox.at("clock")).await["now"].as_i64().unwrap();
    assert!((AT_S..AT_S + 3600).contains(&now), "the date is {now}");
    drop(sandbox);
    let again = command(&["--bare", "--at", AT, "--state", state]).output().unwrap();
    refused(&again, "--at is for a new state");
}

#[test]
fn a_date_that_has_passed_and_a_file_that_nobody_could_read_in_time_are_refused() {
    let past = command(&["--bare", "--at", "2020-01-01"]).output().unwrap();
    refused(&past, "--at is in the past");
    let ended = command(&["--once", "--ready-file", "ready.json"]).output().unwrap();
    refused(&ended, "cannot be used with");
    let told = command(&["--once", "--beat", "5"]).output().unwrap();
    refused(&told, "required arguments were not provided");
    for kind in [&["--bare"][..], &["--once"], &["--no-story"], &[]] {
        let seed = command(&[kind, &["--seed", "5"]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&seed.stderr);
        assert!(said.starts_with("error: ") && said.contains("Usage: "), "{kind:?}: {said}");
    }
    refused(&for_tests(&["--beat", "0"]).output().unwrap(), "0 is not in 1..");
    let nowhere = for_tests(&["--ready-file", "no/ready.json"]).output().unwrap();
    refused(&nowhere, "--ready-file no/ready.json: there is no directory no");
}

#[tokio::test]
async fn sandboxes_of_one_seed_and_date_are_equal_at_once_and_of_another_seed_number_otherwise() {
    let [one, same, other] = ["7", "7", "8"].map(|seed| {
        Sandbox::of(&mut for_tests(&["--seed", seed, "--at", AT, "--subscribers", "2"]))
    });
    assert_eq!(one.said["families"], serde_json::json!({"139": "EVM", "136": "TVM"}));
    for sandbox in [&one, &same, &other] {
        let ready = get(&format!("{}/health/ready", sandbox.at("signerUrl"))).await;
        assert_eq!(ready["status"], "ready", "{ready}");
    }
    let far = 60;
    let ids = [block_id(one.at("evm"), far).await, block_id(same.at("evm"), far).await];
    assert_eq!(ids[0], ids[1], "time passes by blocks alone: also those that came since are equal");
    let due: Vec<_> = client(&one).chargeable().try_collect().await.unwrap();
    assert!(due.is_empty(), "nobody is due before there is an address for callbacks");
    let [one, same, other] = [orders(&one).await, orders(&same).await, orders(&other).await];
    assert_eq!((one.len(), &one), (4, &same), "two on each chain");
    assert!(other.iter().all(|order| !one.contains(order)), "{other:?}");
}

#[test]
fn a_command_that_would_do_nothing_or_harm_says_so() {
    let sandbox = Sandbox::start(&["--bare", "--json"]);
    let port = sandbox.at("adminUrl").rsplit(':').next().unwrap();
    let ask = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
        command.args(["--admin-port", port]).args(words).output().unwrap()
    };
    refused(&ask(&["fault", "signer"]), "say --how down, slow, lost or garbled");
    assert!(ask(&["fault", "signer", "--off"]).status.success());
    let send = |amount| {
        ask(&["transfer", "--chain", "139", "--from", "ada", "--to", "dan", "--amount", amount])
    };
    refused(&send("123456789000"), "ada holds ");
    assert!(send("0.5").status.success());
    let curl = Command::new(env!("CARGO_BIN_EXE_sandbox")).args(["curl", "evm", "none"]).output();
    refused(&curl.unwrap(), "none cannot be read");
}

#[tokio::test]
async fn it_ends_with_the_program_that_started_it_however_that_ends() {
    let script = r#""$0" --ci & wait"#;
    let mut parent = Command::new("sh");
    parent.args(["-c", script, env!("CARGO_BIN_EXE_sandbox")]).stdout(Stdio::piped());
    let mut parent = parent.spawn().unwrap();
    let said = first_line(&mut parent);
    let url = format!("{}/health", said["signerUrl"].as_str().unwrap());
    assert!(reqwest::get(&url).await.is_ok());
    parent.kill().unwrap();
    parent.wait().unwrap();
    let began = Instant::now();
    while reqwest::get(&url).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(30), "it outlives its parent");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn it_lives_as_long_as_a_command_that_finds_the_addresses_and_ends_by_its_success() {
    let run = |script: &str| for_tests(&["--", "sh", "-c", script]).output().unwrap();
    let good = run(r#"printf %s "$SANDBOX""#);
    assert!(good.status.success(), "{good:?}");
    let told: Value = serde_json::from_slice(&good.stdout).unwrap();
    assert!(told["api"]["secret"].is_string(), "{told}");
    assert!(!run("exit 3").status.success());
    let none = for_tests(&["--", "no-such-program"]).output().unwrap();
    refused(&none, "no-such-program: No such file");
    let said = String::from_utf8_lossy(&none.stderr);
    assert!(!said.contains("was removed"), "the Signer ends before its journal goes: {said}");
    refused(&for_tests(&["--once"]).output().unwrap(), "cannot be used with");
}
