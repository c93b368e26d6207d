//! The spans of a charge, as a receiver hears of them: one trace from the request to the final block.

use super::hostile_evm::spike;
use crate::world::anvil::{Family, Mining};
use crate::world::collector::{Collector, ReceivedSpan};
use crate::world::patience::eventually;
use crate::world::proxy::{Act, SEND};
use crate::world::signer::{SECRET, hear, unix_seconds};
use crate::world::town::{Founding, KEY, Town};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

on_both_families![
    a_charge_is_one_trace_from_the_request_to_the_final_block,
    another_transaction_stands_in_the_trace_of_its_request,
    after_a_restart_the_settlement_is_a_trace_of_its_own,
    a_receiver_that_hangs_or_is_gone_slows_nothing,
];

/// The trace that the caller begins, and the span of his that asks.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const ASKING: &str = "00f067aa0ba902b7";

async fn a_charge_is_one_trace_from_the_request_to_the_final_block(family: Family) {
    let collector = Collector::begin().await;
    let mut town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    town.installation = town.installation.env("SIGNER__TRACES__URL", &collector.url);
    let signer = town.signer().await;
    let letter = |body: String| {
        signer.scheduler.letter("POST", signer.scheduler.path, body.as_bytes(), unix_seconds())
    };
    let asked = letter(json!(town.entries([0])).to_string());
    let asked = asked.header("traceparent", format!("00-{TRACE}-{ASKING}-01"));
    let hash = hear(asked).await.unwrap().tx_hash();
    // Not sampled by its caller: nothing is told of it.
    let unsampled = letter(json!(town.entries([1])).to_string());
    let other = TRACE.replace('4', "5");
    let unsampled = unsampled.header("traceparent", format!("00-{other}-{ASKING}-00"));
    assert_eq!(hear(unsampled).await.unwrap().code(), 1);
    // Without a trace of the caller's own it gets the name that its answer tells.
    let unnamed = letter(json!(town.entries([2])).to_string()).send().await.unwrap();
    let named = unnamed.headers()["x-trace-id"].to_str().unwrap().to_owned();
    town.quiet(&signer).await;
    // The last spans are sent at the end.
    let log = signer.terminate().await;
    assert_eq!(collector.wait(&named, root(family)).await.parent, "");
    let end = collector.wait(TRACE, "settlement").await;
    collector.wait(&named, "settlement").await;

    let spans = collector.trace(TRACE);
    let asked = spans.iter().find(|span| span.name == root(family)).unwrap();
    let told: BTreeSet<_> = spans.iter().map(|span| (parent(&spans, span), &*span.name)).collect();
    let within = [
        ("the caller", root(family)),
        (root(family), "prepare"),
        ("prepare", "simulate"),
        ("prepare", "draft"),
        (root(family), "sign"),
        (root(family), "commit"),
        (root(family), "broadcast"),
        (root(family), "settlement"),
    ];
    assert_eq!(told, BTreeSet::from(within));
    assert_eq!(asked.told("tx.hash").map(bare), Some(bare(&hash)));
    assert_eq!(asked.told("signer.code"), Some("1"));
    assert_eq!(asked.told("signer.chain"), Some("139"));
    assert_eq!(asked.told("signer.caller"), Some("tests"));
    assert_eq!(end.told("signer.state"), Some("charged"));
    assert_eq!(end.told("tx.hash").map(bare), Some(bare(&hash)));
    assert!(asked.from <= end.from && end.from <= asked.until && asked.until <= end.until);
    assert_eq!(collector.trace(&other).len(), 0);
    let raw = String::from_utf8_lossy(&collector.raw()).to_lowercase();
    let wallet = format!("{:x}", town.people[0].wallet);
    for secret in [KEY, SECRET, &wallet, &town.spell(town.people[0].wallet).to_lowercase()] {
        assert!(!raw.contains(&secret.to_lowercase()), "{secret}");
    }
    // They are no business of the log.
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let logged: BTreeSet<String> = lines.map(|line| line["spans"].to_string()).collect();
    assert!(logged.iter().any(|spans| spans.contains("request")), "{logged:?}");
    assert!(logged.iter().all(|spans| spans.matches("name").count() < 2), "{logged:?}");
}

async fn after_a_restart_the_settlement_is_a_trace_of_its_own(family: Family) {
    let collector = Collector::begin().await;
    let mut town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    town.installation = town.installation.env("SIGNER__TRACES__URL", &collector.url);
    let signer = town.signer().await;
    let (scheduler, body) = (&signer.scheduler, json!(town.entries([0])).to_string());
    let asked = scheduler.letter("POST", scheduler.path, body.as_bytes(), unix_seconds());
    let asked = asked.header("traceparent", format!("00-{TRACE}-{ASKING}-01"));
    let hash = hear(asked).await.unwrap().tx_hash();
    signer.terminate().await;
    assert_eq!(collector.wait(TRACE, "settlement").await.told("signer.state"), None);
    let signer = town.signer().await;
    town.quiet(&signer).await;
    signer.terminate().await;

    let spans = collector.spans();
    let ends = |span: &&ReceivedSpan| span.told("signer.state") == Some("charged");
    let end = spans.iter().find(ends).unwrap();
    assert_eq!((&*end.name, &*end.parent), ("settlement", ""));
    assert_ne!(end.trace, TRACE);
    assert_eq!(end.told("tx.hash").map(bare), Some(bare(&hash)));
    town.assert_paid(&[1]).await;
}

async fn another_transaction_stands_in_the_trace_of_its_request(family: Family) {
    let collector = Collector::begin().await;
    let chain_keys = match family {
        Family::Evm => "replace_after = \"1s\"",
        // Blocks are asked for faster than time passes.
        Family::Tron => "expiry = \"1m\"\nclock_tolerance = \"1d\"",
    };
    let founding = Founding {
        mining: Mining::OnRequest,
        chain_keys: chain_keys.to_owned(),
        ..Founding::on(family)
    };
    let mut town = Town::with(founding).await;
    town.installation = town.installation.env("SIGNER__TRACES__URL", &collector.url);
    let signer = town.signer().await;
    town.proxy.fault(SEND, Act::Refuse("not now"));
    let body = json!(town.entries([0])).to_string();
    let scheduler = &signer.scheduler;
    let asked = scheduler.letter("POST", scheduler.path, body.as_bytes(), unix_seconds());
    let asked = asked.header("traceparent", format!("00-{TRACE}-{ASKING}-01"));
    let first = hear(asked).await.unwrap().tx_hash();
    match family {
        Family::Evm => spike(&town).await,
        Family::Tron => town.anvil.mine(40).await,
    }
    let again = collector.wait(TRACE, "sign again").await;
    town.proxy.heal();
    let billing = async || signer.scheduler.billings(&first).await.body["data"][0].clone();
    eventually("it is charged", async || {
        town.noticed().await;
        town.anvil.mine(2).await;
        billing().await["state"] == "charged"
    })
    .await;
    let ended = billing().await;
    signer.terminate().await;

    let spans = collector.trace(TRACE);
    assert_eq!(parent(&spans, &again), "settlement");
    let parts: BTreeSet<_> =
        spans.iter().filter(|span| span.parent == again.id).map(|span| &*span.name).collect();
    assert_eq!(parts, BTreeSet::from(["draft", "sign", "commit"]));
    let signed = again.told("tx.hash").map(bare).unwrap();
    assert_ne!(signed, bare(&first));
    let all: Vec<String> = serde_json::from_value(ended["txHashes"].clone()).unwrap();
    assert!(all.iter().any(|hash| bare(hash) == signed), "{all:?}");
    let asked = spans.iter().find(|span| span.name == root(family)).unwrap();
    assert!(asked.until <= again.from && again.from <= again.until);
    let end = spans.iter().find(|span| span.name == "settlement").unwrap();
    assert_eq!(parent(&spans, end), root(family));
    town.assert_paid(&[1]).await;
}

/// What the span of a request is called.
fn root(family: Family) -> &'static str {
    match family {
        Family::Evm => "bill evm",
        Family::Tron => "bill tvm",
    }
}

fn bare(hash: &str) -> &str {
    hash.trim_start_matches("0x")
}

/// What the span around a span is called.
fn parent<'a>(all: &'a [ReceivedSpan], span: &ReceivedSpan) -> &'a str {
    if span.parent == ASKING {
        return "the caller";
    }
    let found = all.iter().find(|one| one.id == span.parent);
    found.map_or("nobody", |found| &found.name)
}

async fn a_receiver_that_hangs_or_is_gone_slows_nothing(family: Family) {
    let (silent, hangs) = Collector::silent().await;
    for url in [hangs, "http://127.0.0.1:1/v1/traces".to_owned()] {
        let mut town = Town::on(family).await;
        town.installation = town.installation.env("SIGNER__TRACES__URL", &url);
        let signer = town.signer().await;
        let mut fastest = Duration::MAX;
        for place in 0..3 {
            let begun = Instant::now();
            let hash = signer.scheduler.bill(&json!(town.entries([place]))).await.tx_hash();
            fastest = fastest.min(begun.elapsed());
            town.settled(&signer, &hash).await;
        }
        // The receiver is given five seconds. One of three is as fast as that on a busy machine as well.
        assert!(fastest < Duration::from_secs(4), "{fastest:?}");
        signer.wrote("spans are lost").await;
        let count = async |result: &str| {
            let metrics = signer.scheduler.get("/metrics").await.text;
            let name = format!("signer_spans_total{{result=\"{result}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)).map(str::to_owned)
        };
        eventually("they are counted", async || count("lost").await.as_deref() != Some("0")).await;
        assert_eq!(count("sent").await.as_deref(), Some("0"));
        let begun = Instant::now();
        let log = signer.terminate().await;
        assert!(begun.elapsed() < Duration::from_secs(18), "{:?}", begun.elapsed());
        assert_eq!(log.matches("spans are lost").count(), 1, "{log}");
        town.assert_paid(&[1, 1, 1]).await;
    }
    drop(silent);
}
