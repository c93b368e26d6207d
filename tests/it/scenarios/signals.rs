//! Signals that tell the truth: what hangs counts as down at once, readiness and metrics are of one mind,
//! and whoever looks waits for nobody.

use super::gas_money::set_balance;
use crate::world::anvil::{Family, Mining};
use crate::world::patience::{eventually, unix_ms};
use crate::world::proxy::{ANYTHING, Act};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

on_both_families![
    a_node_that_hangs_is_down_in_metrics_and_readiness_before_twice_its_time_is_over,
    gas_money_that_runs_low_is_told_long_before_it_is_gone,
    what_is_left_of_a_limit_is_told,
];

#[tokio::test]
async fn a_hangup_ends_nothing_and_says_what_to_do() {
    let town = Town::found().await;
    let signer = town.signer().await;
    signer.ready().await;
    signer.send(Signal::HUP);
    signer.wrote("SIGHUP changes nothing").await;
    assert_eq!(signer.scheduler.bill(&json!(town.entries([0]))).await.code(), 1);
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

/// The value of a series.
pub(crate) fn value(metrics: &str, series: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|value| value.parse().unwrap())
}

async fn metric(signer: &Signer, series: &str) -> Option<f64> {
    value(&signer.scheduler.get("/metrics").await.text, series)
}

/// What the chain's part of readiness says.
async fn readiness(signer: &Signer) -> (u16, Value) {
    let heard = signer.scheduler.get("/health/ready").await;
    (heard.status, heard.body["chains"][0].clone())
}

async fn a_node_that_hangs_is_down_in_metrics_and_readiness_before_twice_its_time_is_over(
    family: Family,
) {
    let timeout = Duration::from_secs(6);
    let chain_keys = "rpc_timeout = \"6s\"\npoll_interval = \"200ms\"".to_owned();
    let town = Town::with(Founding { chain_keys, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    signer.ready().await;
    let up = "signer_node_up{chain=\"139\",node=\"127.0.0.1\"}";
    assert_eq!(metric(&signer, up).await, Some(1.0));
    town.proxy.fault(ANYTHING, Act::Swallow);
    let hung = Instant::now();
    eventually("the hung node is down", async || metric(&signer, up).await == Some(0.0)).await;
    assert!(hung.elapsed() < timeout * 2, "{:?}", hung.elapsed());
    let begun = Instant::now();
    signer.scheduler.get("/metrics").await;
    readiness(&signer).await;
    assert!(begun.elapsed() < timeout / 2, "whoever looks waits for no node");
    eventually("it is not ready", async || readiness(&signer).await.0 == 503).await;
    assert!(hung.elapsed() < timeout * 3, "one question in the look's way, and the look");
    let chain = readiness(&signer).await.1;
    assert!(["silent", "busy"].contains(&chain["nodes"][0]["state"].as_str().unwrap()), "{chain}");
    let metrics = signer.scheduler.get("/metrics").await.text;
    assert_eq!(value(&metrics, "signer_ready{chain=\"139\"}"), Some(0.0));
    let nodes = "signer_obstacle{chain=\"139\",reason=\"nodes\"}";
    assert_eq!(value(&metrics, nodes), Some(1.0));
    let timeouts =
        "signer_node_unanswered_total{chain=\"139\",node=\"127.0.0.1\",reason=\"timeout\"}";
    assert!(value(&metrics, timeouts) > Some(0.0));
    town.proxy.heal();
    signer.ready().await;
    let metrics = signer.scheduler.get("/metrics").await.text;
    assert_eq!(value(&metrics, up), Some(1.0));
    assert_eq!(value(&metrics, nodes), Some(0.0));
}

/// So many coins, wei or sun.
#[expect(clippy::float_arithmetic, reason = "metrics are floats")]
fn amount(coins: f64, times: f64, family: Family) -> u128 {
    let coin = if family == Family::Tron { 1e6 } else { 1e18 };
    format!("{:.0}", coins * times * coin).parse().unwrap()
}

async fn gas_money_that_runs_low_is_told_long_before_it_is_gone(family: Family) {
    const LEFT: &str = "signer_billings_left{chain=\"139\"}";
    const LOW: &str = "signer_gas_low{chain=\"139\"}";
    let town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    signer.ready().await;
    assert_eq!(metric(&signer, LOW).await, Some(0.0));
    assert_eq!(readiness(&signer).await.1["warnings"], json!([]));
    let metrics = signer.scheduler.get("/metrics").await.text;
    let one = value(&metrics, "signer_gas_ordinary_coins{chain=\"139\"}").unwrap();
    let enough = |billings: f64| amount(one, billings, family);
    set_balance(&town, enough(50.5)).await;
    eventually("the gas money runs low", async || metric(&signer, LOW).await == Some(1.0)).await;
    let events = async || {
        signer
            .scheduler
            .send("GET", "/PayTool/events?limit=100", b"", unix_ms() / 1000)
            .await
            .unwrap()
            .text
    };
    eventually("followers hear it", async || events().await.contains("gasLow")).await;
    let left = metric(&signer, LEFT).await.unwrap();
    assert!((45.0..=51.0).contains(&left), "{left}");
    let (status, chain) = readiness(&signer).await;
    assert_eq!((status, chain["status"].as_str()), (200, Some("ok")), "it can bill: {chain}");
    assert!(chain["warnings"][0].as_str().unwrap().contains("runs low"), "{chain}");
    signer.wrote("the gas money runs low").await;
    set_balance(&town, enough(110.0)).await;
    eventually("above the mark", async || metric(&signer, LOW).await == Some(0.0)).await;
    set_balance(&town, enough(50.5)).await;
    eventually("low again", async || metric(&signer, LOW).await == Some(1.0)).await;
    set_balance(&town, enough(1_000.0)).await;
    signer.wrote("the gas money lasts again").await;
    let log = signer.log();
    assert_eq!(log.matches("the gas money runs low").count(), 1, "told once for one crossing");
}

async fn what_is_left_of_a_limit_is_told(family: Family) {
    // With a lookup: a limit over what only the caller states is refused at the start.
    let mut town = Town::with(Founding { lookup: true, ..Founding::on(family) }).await;
    let token = town.spell(town.token.address);
    town.installation = town
        .installation
        .env("SIGNER__CHAINS__139__POLICY__TOKENS__USDT", &token)
        .env("SIGNER__CHAINS__139__POLICY__MAX_AMOUNT_PER_DAY__USDT", "40000000000000000000");
    let signer = town.signer().await;
    let room = "signer_limit_headroom_ratio{chain=\"139\",limit=\"max_amount_per_day.usdt\"}";
    eventually("all of it is left", async || metric(&signer, room).await == Some(1.0)).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    eventually("a quarter is taken", async || metric(&signer, room).await == Some(0.75)).await;
}
