//! Outages, made against a real Signer, and what the alerts of operate/alerts.yml make of them. Each drill
//! scrapes before and during the outage and plays both to `promtool test rules`: exactly the alerts that
//! docs/alerts.md tells of fire, and no other.

mod dashboard;
mod played;

use super::gas_money::set_balance;
use crate::world::anvil::{Family, Mining};
use crate::world::lies;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use alloy::primitives::U256;
use played::{Played, documented};
use serde_json::{Value, json};

/// A town whose chain goes on by itself.
fn lively(family: Family, chain_keys: &str) -> Founding {
    let chain_keys = chain_keys.to_owned();
    Founding { mining: Mining::EverySeconds(1), chain_keys, ..Founding::on(family) }
}

async fn ready_says(signer: &Signer, words: &str) {
    eventually(words, async || {
        let heard = signer.scheduler.get("/health/ready").await;
        heard.status == 503 && heard.text.contains(words)
    })
    .await;
}

/// Scrapes before the outage, makes it, waits for it to be seen, and compares what fires.
async fn drill(
    what: &str,
    signer: &Signer,
    outage: impl AsyncFnOnce(),
    seen: impl AsyncFnOnce(&Signer),
) {
    signer.ready().await;
    let before = Played::scrape(signer).await;
    assert_eq!(before.clone().firing(None), documented("none"), "before: {what}");
    outage().await;
    seen(signer).await;
    let during = Played::scrape(signer).await;
    assert_eq!(before.firing(Some(during)), documented(what), "{what}");
}

#[tokio::test]
async fn the_node_hangs() {
    let town = Town::with(lively(Family::Evm, "rpc_timeout = \"500ms\"")).await;
    let signer = town.signer().await;
    let outage = async || town.proxy.fault(ANYTHING, Act::Swallow);
    drill("the node hangs", &signer, outage, async |signer: &Signer| {
        ready_says(signer, "did not answer").await;
    })
    .await;
}

#[tokio::test]
async fn one_node_of_three_lies() {
    let (town, proxies) = Town::with_nodes(3, lively(Family::Evm, "")).await;
    let signer = town.signer().await;
    let outage = async || {
        proxies[2].fault("eth_sendRawTransaction", Act::Rewrite(lies::another_hash));
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        town.settled(&signer, &hash).await;
    };
    drill("one node of three lies", &signer, outage, async |signer: &Signer| {
        signer.wrote("this node lied").await;
    })
    .await;
}

#[tokio::test]
async fn gas_empty() {
    let town = Town::with(lively(Family::Evm, "")).await;
    let signer = town.signer().await;
    let outage = async || set_balance(&town, 1).await;
    drill("gas empty", &signer, outage, async |signer: &Signer| {
        ready_says(signer, "top it up").await;
        signer.wrote("the gas money runs low").await;
    })
    .await;
}

#[tokio::test]
async fn fees_over_the_ceiling() {
    let town = Town::with(lively(Family::Evm, "")).await;
    let signer = town.signer().await;
    let outage = async || {
        let dear = json!([U256::from(5_000_000_000_000_u64)]);
        town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
        town.anvil.mine(1).await;
    };
    drill("fees over the ceiling", &signer, outage, async |signer: &Signer| {
        ready_says(signer, "above the ceiling").await;
    })
    .await;
}

#[tokio::test]
async fn disk_nearly_full_and_full() {
    let mut town = Town::with(lively(Family::Evm, "")).await;
    let signer = town.signer().await;
    signer.ready().await;
    let before = Played::scrape(&signer).await;
    let free = before.value("signer_disk_free_bytes");
    signer.terminate().await;
    let usual = town.installation.clone();
    for (what, min_free) in [("disk nearly full", free / 3 * 2), ("disk full", free * 2)] {
        town.installation =
            usual.clone().env("SIGNER__JOURNAL__MIN_FREE", &format!("{}MiB", min_free >> 20));
        let signer = town.signer().await;
        let status = if what == "disk full" { 503 } else { 200 };
        eventually(what, async || signer.scheduler.get("/health/ready").await.status == status)
            .await;
        let during = Played::scrape(&signer).await;
        assert_eq!(before.clone().firing(Some(during)), documented(what), "{what}");
        signer.terminate().await;
    }
}

#[tokio::test]
async fn the_copys_disk_is_gone() {
    let mut town = Town::with(lively(Family::Evm, "")).await;
    let second = town.installation.path().join("second");
    std::fs::create_dir(&second).unwrap();
    town.installation = town.installation.env("SIGNER__JOURNAL__COPY_DIR", "second");
    let signer = town.signer().await;
    let outage = async || std::fs::remove_dir_all(&second).unwrap();
    drill("the copy's disk is gone", &signer, outage, async |signer: &Signer| {
        signer.wrote("the copy of the journal is not kept up").await;
    })
    .await;
}

#[tokio::test]
async fn clock_off() {
    let town = Town::with(lively(Family::Evm, "clock_tolerance = \"5m\"")).await;
    let signer = town.signer().await;
    let outage = async || {
        town.anvil.call::<Value>("evm_increaseTime", json!([3600])).await;
    };
    drill("clock off", &signer, outage, async |signer: &Signer| {
        ready_says(signer, "this machine's clock").await;
    })
    .await;
}

#[tokio::test]
async fn key_unreadable() {
    let town = Town::with(lively(Family::Evm, "")).await;
    let signer = town.signer().await;
    signer.ready().await;
    let before = Played::scrape(&signer).await;
    signer.terminate().await;
    std::fs::write(town.installation.path().join("evm.key"), "no key").unwrap();
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("key"), "{log}");
    assert_eq!(before.firing(Some(Played::nothing())), documented("key unreadable"));
}

#[tokio::test]
async fn an_old_copy_of_the_journal() {
    let what = "an old copy of the journal (TRON)";
    let town = Town::with(lively(Family::Tron, "")).await;
    let signer = town.signer().await;
    signer.ready().await;
    let before = Played::scrape(&signer).await;
    signer.terminate().await;
    let (journal, copy) = (town.installation.journal(), town.installation.path().join("copy"));
    std::fs::copy(&journal, &copy).unwrap();
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    signer.terminate().await;
    std::fs::copy(&copy, &journal).unwrap();
    let signer = town.signer().await;
    ready_says(&signer, "old copy").await;
    let during = Played::scrape(&signer).await;
    assert_eq!(before.firing(Some(during)), documented(what));
}
