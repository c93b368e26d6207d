//! What nodes are asked while nothing is open, and for one billing: providers count every question. And that
//! nothing is signed by what an idle lane knew.

use super::rivals::another;
use super::strangers::lane;
use super::tron::{elect, numbered};
use crate::world::anvil::{Family, Mining};
use crate::world::patience::eventually;
use crate::world::proxy::Proxy;
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use sandbox_chains::tron::address::base58;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

on_both_families![
    a_day_on_which_nothing_is_open_costs_little,
    a_billing_costs_each_provider_little_and_is_followed_at_once,
    a_billing_costs_little_until_it_is_final,
    an_idle_lane_learns_who_else_has_its_key_before_it_signs,
    a_provider_whose_day_is_used_up_is_looked_at_seldom_and_refuses_nobody,
];

/// How many providers the chain has.
const PROVIDERS: usize = 3;

/// How often a day a chain is looked at on which nothing is open, by default.
const LOOKS_A_DAY: usize = 24 * 60;

/// How often a day a node is asked anew what it can do.
const RECHECKS_A_DAY: usize = 24 * 6;

/// What a provider may be asked in a day on which nothing is open.
const A_DAY: usize = 10_000;

/// What a provider is asked for one billing that is final in the block after it, its first look included; on TRON with
/// the blocks that tell who its witnesses are. On EVM one provider is asked for the block and its receipts besides.
const FINAL_AT_ONCE: [(Family, usize); 2] = [(Family::Evm, 16), (Family::Tron, 32)];

/// The same until it is final with blocks as far apart as looks: of an EVM chain on which that takes two blocks more,
/// and of TRON's 27 witnesses (54 to 82, as looks and blocks fall together).
const UNTIL_FINAL: [(Family, usize); 2] = [(Family::Evm, 26), (Family::Tron, 100)];

/// How many billings are counted until one costs as little as that: on a machine that has much else to do more looks are
/// made, and blocks, while one becomes final.
const TRIES: usize = 3;

type Counts = BTreeMap<String, usize>;

fn keys(idle: &str) -> String {
    format!("poll_interval = \"100ms\"\nidle_poll_interval = \"{idle}\"")
}

/// A town with several providers, whose Signer looks so seldom while nothing is open.
async fn town(family: Family, idle: &str) -> (Town, Vec<Proxy>) {
    let founding = Founding { chain_keys: keys(idle), ..Founding::on(family) };
    Town::with_nodes(PROVIDERS, founding).await
}

/// How often each method was asked of a node since the last time.
fn counted(proxy: &Proxy) -> Counts {
    let mut counts = Counts::new();
    for asked in proxy.take_asked() {
        *counts.entry(asked.method).or_default() += 1;
    }
    counts
}

/// The question that each look asks once and nothing else asks, and how many a look asks.
fn look(family: Family) -> (&'static str, usize) {
    match family {
        Family::Evm => ("eth_getBalance", 5),
        Family::Tron => ("getaccountresource", 4),
    }
}

async fn a_day_on_which_nothing_is_open_costs_little(family: Family) {
    let (town, proxies) = town(family, "1s").await;
    let signer = town.signer().await;
    signer.ready().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let began = Instant::now();
    let starts: Vec<Counts> = proxies.iter().map(counted).collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    for (proxy, start) in proxies.iter().zip(starts) {
        let idle = counted(proxy);
        let (asked_once, of_a_look) = look(family);
        let (looks, asked) = (idle[asked_once], idle.values().sum::<usize>());
        // A busy machine takes longer for a look, and for the pause. That a node can do what it could is asked without the
        // question that is counted here.
        let most = usize::try_from(began.elapsed().as_secs()).unwrap() + 2;
        assert!((1..=most).contains(&looks), "a look each second: {idle:?}");
        // A window may cut a look in two.
        assert!(asked <= (looks + 1) * of_a_look, "{looks} looks: {idle:?}");
        // What a node can do is asked at the start, and every ten minutes.
        let rare = start.iter().filter(|(method, _)| !idle.contains_key(*method));
        let again: usize = rare.map(|(_, times)| times).sum();
        let a_day = of_a_look * LOOKS_A_DAY + again * RECHECKS_A_DAY;
        println!("{family:?}: {a_day} requests a day to each provider, {idle:?}, {start:?}");
        assert!(a_day <= A_DAY, "{a_day} a day: {idle:?}, {start:?}");
    }
}

async fn a_billing_costs_each_provider_little_and_is_followed_at_once(family: Family) {
    let (town, proxies) = town(family, "60s").await;
    let signer = town.signer().await;
    signer.ready().await;
    for person in 0..TRIES {
        rests(&proxies).await;
        let began = Instant::now();
        signer.scheduler.bill(&json!(town.entries([person]))).await.tx_hash();
        town.quiet(&signer).await;
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the look that ended it was not the idle one"
        );
        if costs_at_most(&proxies, family, FINAL_AT_ONCE) {
            return;
        }
    }
    panic!("none of {TRIES} billings cost so little");
}

/// A start, or a billing before, asks nothing more; what was asked is forgotten.
async fn rests(proxies: &[Proxy]) {
    tokio::time::sleep(Duration::from_secs(3)).await;
    for proxy in proxies {
        drop(proxy.take_asked());
    }
}

/// Whether none of these was asked for more since it was last counted.
fn costs_at_most(proxies: &[Proxy], family: Family, most: [(Family, usize); 2]) -> bool {
    let most = most.into_iter().find(|(of, _)| *of == family).unwrap().1;
    let costs = proxies.iter().map(|proxy| {
        let counts = counted(proxy);
        let all: usize = counts.values().sum();
        println!("{family:?}: {all} requests for a billing: {counts:?}");
        all
    });
    costs.max().unwrap_or_default() <= most
}

async fn a_billing_costs_little_until_it_is_final(family: Family) {
    let (mining, keys) = match family {
        Family::Evm => (Mining::EverySeconds(1), "poll_interval = \"1s\"".to_owned()),
        Family::Tron => (Mining::OnRequest, pinned("poll_interval = \"300ms\"")),
    };
    let keys = format!("{keys}\nidle_poll_interval = \"60s\"\nrebroadcast_interval = \"10s\"");
    let founding = Founding { mining, chain_keys: keys, ..Founding::on(family) };
    let (town, proxies) = Town::with_nodes(PROVIDERS, founding).await;
    if family == Family::Tron {
        let node = &town.tron().node;
        node.node().chain().set_stride(1);
        node.set_param("getMaintenanceTimeInterval", 60_000);
        elect(node, numbered(1, 27));
        node.set_param("getMaintenanceTimeInterval", 21_600_000);
        node.steps(60);
    }
    let signer = town.signer().await;
    signer.ready().await;
    for person in 0..TRIES {
        rests(&proxies).await;
        signer.scheduler.bill(&json!(town.entries([person]))).await.tx_hash();
        eventually("it is final", async || {
            if family == Family::Tron {
                town.tron().node.step();
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
            signer.scheduler.get("/health/ready").await.body["chains"][0]["undecided"] == 0
        })
        .await;
        if costs_at_most(&proxies, family, UNTIL_FINAL) {
            return;
        }
    }
    panic!("none of {TRIES} billings cost so little");
}

/// These keys, and who the 27 witnesses are.
fn pinned(keys: &str) -> String {
    let witnesses = numbered(1, 27);
    let pinned: Vec<String> =
        witnesses.iter().map(|one| format!("{:?}", base58(&one.address))).collect();
    format!("{keys}\nclock_tolerance = \"1h\"\nwitnesses = [{}]", pinned.join(", "))
}

/// What somebody else has signed meanwhile is seen by the look that a request causes.
async fn an_idle_lane_learns_who_else_has_its_key_before_it_signs(family: Family) {
    let town = Town::with(Founding { chain_keys: keys("60s"), ..Founding::on(family) }).await;
    let elsewhere = another(&town);
    let (first, second) = (elsewhere.start().await, town.signer().await);
    for signer in [&first, &second] {
        eventually("both are open", async || lane(signer).await == "ok").await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    first.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.anvil.mine(1).await;
    assert_eq!(lane(&second).await, "ok", "it rests, and cannot have seen it");
    let heard = second.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(heard.code(), 0, "{heard:?}");
    assert_ne!(lane(&second).await, "ok");
}

async fn a_provider_whose_day_is_used_up_is_looked_at_seldom_and_refuses_nobody(family: Family) {
    let usual = "poll_interval = \"20ms\"\nidle_poll_interval = \"5m\"";
    let chain_keys = format!("{usual}\nmax_requests_per_day = 2800");
    let mining = Mining::OnRequest;
    let town = Town::with(Founding { mining, chain_keys, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    signer.ready().await;
    // It waits for a block that does not come.
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    for _ in 0..600 {
        if left(&signer).await < 5 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    signer.wrote("what this provider may be asked in a day is used up for now").await;
    town.proxy.take_asked();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let looks = town.proxy.asked(look(family).0);
    assert!(looks <= 1, "{looks} looks in three seconds");
    assert!(left(&signer).await < 10);
    let heard = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(heard.code(), 1, "{heard:?}");
    assert!(town.proxy.asked(look(family).0) > looks, "it was looked at before it was signed");
}

/// How many requests a provider may still get, as the metric has it.
async fn left(signer: &Signer) -> u64 {
    let metrics = signer.scheduler.get("/metrics").await.text;
    let line = metrics.lines().find(|line| line.starts_with("signer_node_requests_left{"));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap()
}
