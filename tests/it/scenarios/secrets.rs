//! A secret is in no log line, no answer, no metric, no report and no journal, whatever goes wrong.

use crate::world::anvil::Family;
use crate::world::proxy::{ANYTHING, Act, BLOCK, OUTCOME, Proxy, SEND, SIMULATE};
use crate::world::search::Search;
use crate::world::signer::{SECRET, Scheduler, Signer, unix_seconds};
use crate::world::town::{Founding, KEY, Town};
use serde_json::json;
use std::fs;
use std::process::Output;

on_both_families![
    no_secret_is_shown_by_a_signer_at_work_whatever_the_node_does,
    no_secret_is_shown_by_a_signer_that_does_not_start,
    no_secret_is_shown_when_keys_are_stored_and_opened,
];

/// What URLs of nodes hold: a key in the path, one in the query, a user and a password.
const PATH_KEY: &str = "Zq8fT3pathkeyW7xLr2N";
const QUERY_KEY: &str = "m4Qv9querykeyB6tHs1Y";
const RPC_PASSWORD: &str = "Hk5rpcpassword2Jd8Cz";
const KEYSTORE_PASSWORD: &str = "p3Xkeystorepassword9Vg";

/// What a TRON node is sent in a header.
const API_KEY: &str = "b7e2tronapikeyQ4xW9sLz";

/// The keys of the second and the third node on EVM.
const OTHER_KEYS: [&str; 2] = ["Vb2Kdsecondnodekey9WsQ", "Xe6Nmthirdnodekey4TgRz"];

/// What each node says that quotes the URL it was asked at.
const INDISCREET: [&str; 3] = [
    "no project Zq8fT3pathkeyW7xLr2N: \
     http://u:Hk5rpcpassword2Jd8Cz@node.example/v3/Zq8fT3pathkeyW7xLr2N?token=m4Qv9querykeyB6tHs1Y",
    "no project Vb2Kdsecondnodekey9WsQ at https://second.example/Vb2Kdsecondnodekey9WsQ",
    "bad token Xe6Nmthirdnodekey4TgRz, see https://third.example/?key=Xe6Nmthirdnodekey4TgRz",
];

/// The same of a TRON node, which quotes its header too.
const INDISCREET_ON_TRON: &str = "Zq8fT3pathkeyW7xLr2N b7e2tronapikeyQ4xW9sLz \
     http://u:Hk5rpcpassword2Jd8Cz@node.example/v3/Zq8fT3pathkeyW7xLr2N?token=m4Qv9querykeyB6tHs1Y";

/// The answers of each node that quotes what it was asked with.
fn indiscreet(family: Family) -> [Act; 3] {
    match family {
        Family::Evm => INDISCREET.map(Act::Refuse),
        Family::Tron => [INDISCREET_ON_TRON; 3].map(Act::Refuse),
    }
}

fn search() -> Search {
    let mut search = Search::default();
    search.forbid_key("the signing key", KEY);
    search.forbid_text("the signing key as text", KEY);
    search.forbid_text("the caller's secret", SECRET);
    search.forbid_text("the API key in the path", PATH_KEY);
    search.forbid_text("the API key in the query", QUERY_KEY);
    search.forbid_text("the API key in a header", API_KEY);
    search.forbid_text("the password of the node", RPC_PASSWORD);
    search.forbid_text("the API key of the second node", OTHER_KEYS[0]);
    search.forbid_text("the API key of the third node", OTHER_KEYS[1]);
    search.forbid_text("the password of the keystore", KEYSTORE_PASSWORD);
    search
}

/// The variable that overrides a key of the chain.
fn variable(key: &str) -> String {
    format!("SIGNER__CHAINS__139__{key}")
}

/// The variables that hold the URL of the first node, the number of the chain and the signing key.
fn variables(family: Family) -> [String; 3] {
    match family {
        Family::Evm => [variable("RPC"), variable("EIP155_ID"), "EVM_PRIVATE_KEY".to_owned()],
        Family::Tron => [variable("FULL"), variable("CHAIN_ID"), "TVM_PRIVATE_KEY".to_owned()],
    }
}

fn with_secrets(url: &str) -> String {
    let host = url.strip_prefix("http://").unwrap();
    format!("http://user:{RPC_PASSWORD}@{host}/v3/{PATH_KEY}?token={QUERY_KEY}")
}

/// A town whose nodes are reached by URLs full of secrets, and whose Signer writes all it can.
async fn talkative(family: Family) -> (Town, Vec<Proxy>) {
    let mut town = Town::with(Founding::on(family)).await;
    town.installation = town.installation.env("SIGNER__LOG__FILTER", "trace");
    let mut nodes = vec![town.proxy.clone()];
    if family == Family::Evm {
        nodes.extend([Proxy::before(&town.anvil.url).await, Proxy::before(&town.anvil.url).await]);
        let urls = [
            with_secrets(&nodes[0].url),
            format!("{}/{}", nodes[1].url, OTHER_KEYS[0]),
            format!("{}/?key={}", nodes[2].url, OTHER_KEYS[1]),
        ];
        town.installation = town.installation.env(&variable("RPC"), &urls.join(" "));
        return (town, nodes);
    }
    let config = fs::read_to_string(town.installation.path().join("signer.toml")).unwrap();
    for (name, key) in [("full", "FULL"), ("solidity", "SOLIDITY"), ("jsonrpc", "JSONRPC")] {
        let line = config.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        let url = with_secrets(line.unwrap().trim_matches('"'));
        let url = if name == "jsonrpc" { url } else { url.replace("?token=", "/") };
        town.installation = town.installation.env(&variable(key), &url);
    }
    town.installation = town.installation.env(&variable("API_KEY"), API_KEY);
    (town, nodes)
}

fn add_output(search: &mut Search, place: &str, output: &Output) {
    search.add(place, &output.stdout);
    search.add(place, &output.stderr);
}

fn add_journal(search: &mut Search, town: &Town) {
    for entry in fs::read_dir(town.installation.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("journal.sqlite") {
            search.add(&path.display().to_string(), fs::read(&path).unwrap());
        }
    }
}

fn assert_clean(search: &Search) {
    let found = search.found();
    assert!(found.is_empty(), "{} leaks:\n{}", found.len(), found.join("\n"));
}

#[test]
fn the_search_finds_a_secret_in_every_spelling() {
    let bytes = hex::decode(KEY).unwrap();
    let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
    let planted = [
        KEY.to_owned(),
        KEY.to_uppercase(),
        hex::encode(&reversed),
        KEY[16..32].to_owned(),
        format!("Key({bytes:?})"),
        format!("https://node/v3/{PATH_KEY}"),
        hex::encode(SECRET),
        SECRET[..20].to_owned(),
    ];
    for output in planted {
        let mut search = search();
        search.add("here", format!("{{\"level\":\"INFO\"}}\n{{\"a\":\"{output}\"}}"));
        assert!(!search.found().is_empty(), "{output}");
    }
    for output in [bytes, reversed] {
        let mut search = search();
        search.add("here", [b"SQLite\0".as_slice(), &output, b"\0"].concat());
        assert!(!search.found().is_empty(), "{output:?}");
    }
}

async fn no_secret_is_shown_by_a_signer_at_work_whatever_the_node_does(family: Family) {
    let (mut town, nodes) = talkative(family).await;
    if family == Family::Tron {
        let [_, _, key] = variables(family);
        town.installation = town.installation.env(&variable("KEY"), "env").env(&key, KEY);
    }
    let mut search = search();
    let signer = town.signer().await;
    post_everything(&town, &signer, &mut search).await;
    let faults = [
        (ANYTHING, [const { Act::Break }; 3]),
        (ANYTHING, [const { Act::PassOnAndFail }; 3]),
        (ANYTHING, indiscreet(family)),
        (SEND, indiscreet(family)),
        (SEND, [const { Act::PassOnAndBreak }; 3]),
        (SIMULATE, indiscreet(family)),
        (OUTCOME, indiscreet(family)),
        (BLOCK, indiscreet(family)),
        ("eth_chainId", indiscreet(family)),
    ];
    for (method, acts) in faults {
        for (node, act) in nodes.iter().zip(acts) {
            node.fault(method, act);
        }
        post_everything(&town, &signer, &mut search).await;
        nodes.iter().for_each(Proxy::heal);
        signer.ready().await;
    }
    town.quiet(&signer).await;
    let log = signer.terminate().await;
    assert!(log.contains("\"TRACE\""), "the log holds all there is");
    search.add("the log", log);
    add_journal(&mut search, &town);
    for command in ["check", "audit"] {
        add_output(&mut search, command, &town.installation.run(&[command]).await);
    }
    println!("{} bytes searched", search.size());
    assert_clean(&search);
    town.assert_paid(&[1, 0, 0]).await;
}

/// Good, bad and strange requests, and every page.
async fn post_everything(town: &Town, signer: &Signer, search: &mut Search) {
    let honest = &signer.scheduler;
    let stranger = Scheduler { secret: "another secret, long enough".into(), ..honest.clone() };
    let mut broken = town.entries([1]);
    broken[0]["amount"] = json!("-1");
    let bodies = [json!(town.entries([0])), json!(town.entries([1, 1])), json!(broken), json!([])];
    for body in bodies {
        search.add("an answer", format!("{:?}", honest.try_bill(&body).await));
        search.add("an answer to a stranger", format!("{:?}", stranger.try_bill(&body).await));
    }
    let page = honest.send("GET", honest.path, b"", unix_seconds()).await;
    search.add("an answer", format!("{page:?}"));
    for page in ["/health/live", "/health/ready", "/metrics", "/openapi.json"] {
        search.add(page, format!("{:?}", honest.get(page).await));
    }
}

async fn no_secret_is_shown_by_a_signer_that_does_not_start(family: Family) {
    let (mut town, nodes) = talkative(family).await;
    let [node, number, _] = variables(family);
    let mut search = search();
    for (node, act) in nodes.iter().zip(indiscreet(family)) {
        node.fault(ANYTHING, act);
    }
    add_output(&mut search, "check without a node", &town.installation.run(&["check"]).await);
    nodes.iter().for_each(Proxy::heal);
    town.installation = town.installation.env(&number, "5656");
    add_output(&mut search, "check of another chain", &town.installation.run(&["check"]).await);
    add_output(&mut search, "start on another chain", &town.installation.run(&[]).await);
    town.installation = town.installation.env(&number, &town.anvil.chain_id().await.to_string());
    add_config_mistakes(&town, &mut search).await;
    for rest in ["two\nlines", "no ascii: ü", ""] {
        let spoilt = format!("{API_KEY}{rest}");
        town.installation = town.installation.env(&variable("API_KEY"), &spoilt);
        add_output(&mut search, "an API key", &town.installation.run(&["check"]).await);
    }
    let good = format!("http://node.example/{PATH_KEY}");
    let bad = [
        format!("ftp://x/{PATH_KEY}"),
        PATH_KEY.to_owned(),
        format!("{good} ftp://x/{}", OTHER_KEYS[0]),
        format!("{good} {good}"),
    ];
    for url in bad {
        town.installation = town.installation.env(&node, &url);
        let output = town.installation.run(&["check"]).await;
        assert!(!output.status.success(), "{url}");
        add_output(&mut search, "a URL of no use", &output);
    }
    assert_clean(&search);
}

/// Secrets in the wrong place of the file.
async fn add_config_mistakes(town: &Town, search: &mut Search) {
    let config = town.installation.path().join("signer.toml");
    let good = fs::read_to_string(&config).unwrap();
    let secret = format!("secret = {SECRET:?}");
    let mistakes = [
        ("a text without an end", good.replace(&secret, secret.trim_end_matches('"'))),
        ("a secret without quotes", good.replace(&secret, &format!("secret = {SECRET}"))),
        ("a secret in a list", good.replace(&secret, &format!("secret = [{SECRET:?}]"))),
        ("a misspelt name", good.replace(&secret, &format!("secrt = {SECRET:?}"))),
        ("a secret twice", good.replace(&secret, &format!("{secret}\n{secret}"))),
        ("a secret as a file", good.replace(&secret, &format!("secret_file = {SECRET:?}"))),
        ("a key for a reference", good.replace("file:evm.key", KEY)),
        ("a key for an address", good.replace("key = \"file:evm.key\"", &format!("key = {KEY}"))),
    ];
    for (what, text) in mistakes {
        assert_ne!(text, good, "{what}");
        fs::write(&config, text).unwrap();
        let output = town.installation.run(&["check"]).await;
        assert!(!output.status.success(), "{what}");
        add_output(search, what, &output);
    }
    fs::write(&config, good).unwrap();
}

async fn no_secret_is_shown_when_keys_are_stored_and_opened(family: Family) {
    let (mut town, _nodes) = talkative(family).await;
    let mut search = search();
    fs::write(town.installation.path().join("pw"), KEYSTORE_PASSWORD).unwrap();
    let import = ["keys", "import", "billing", "--password-file", "pw"];
    for (what, input) in [("half a key", &KEY[..40]), ("a key", KEY), ("again", KEY)] {
        add_output(&mut search, what, &town.installation.tell(&import, input).await);
    }
    add_output(&mut search, "keys list", &town.installation.run(&["keys", "list"]).await);
    town.installation = town.installation.env(&variable("KEY"), "keystore:billing");
    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    search.add("the log", signer.terminate().await);
    add_journal(&mut search, &town);
    let keystore = fs::read(town.installation.path().join("keys/billing.json")).unwrap();
    search.add("the keystore", keystore);
    let password = town.installation.path().join("keys/billing.password");
    fs::write(&password, format!("{KEYSTORE_PASSWORD}-not")).unwrap();
    add_output(&mut search, "a wrong password", &town.installation.run(&[]).await);

    town.installation = town.installation.env(&variable("KEY"), "env");
    let values = [
        ("one key", KEY.to_owned()),
        ("a map", format!("{{\"139\":\"0x{KEY}\"}}")),
        ("half a map", format!("{{\"139\":\"{KEY}\"")),
        ("a key of another chain", format!("{{\"1\":\"{KEY}\"}}")),
        ("two keys", format!("{{\"139\":\"{KEY}\",\"139\":\"{KEY}\"}}")),
        ("a key too long", format!("{KEY}00")),
    ];
    for (what, value) in values {
        town.installation = town.installation.env(&variables(family)[2], &value);
        add_output(&mut search, what, &town.installation.run(&["check"]).await);
    }
    assert_clean(&search);
}
