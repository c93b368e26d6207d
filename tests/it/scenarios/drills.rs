//! Outages, made against a real Signer, and what the alerts of operate/alerts.yml make of them. Each drill
//! scrapes before and during the outage and plays both to `promtool test rules`: exactly the alerts that
//! docs/alerts.md tells of fire, each when it says, and no other; and readiness, `signer_obstacle` and the log
//! say what stands there.

mod around;
mod dashboard;
mod pairs;
pub(super) mod played;
mod rules;

use super::gas_money::set_balance;
use crate::world::anvil::{Family, Mining};
use crate::world::contracts::{Billing, Merchant};
use crate::world::lies;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act, LOOK};
use crate::world::signer::{Signer, unix_seconds};
use crate::world::town::{Founding, Town};
use alloy::primitives::U256;
use futures_util::future::join_all;
use played::{Played, documented};
use serde_json::{Value, json};
use std::time::Duration;

on_both_families![
    the_node_hangs,
    one_node_of_three_lies,
    gas_empty,
    fees_over_the_ceiling,
    the_account_loses_its_permission,
    a_plan_is_paused,
    most_are_refused,
    callers_hear_503,
    disk_nearly_full_and_full,
    the_backups_disk_is_gone,
    clock_off,
    key_unreadable,
];

/// A town whose chain goes on by itself.
fn lively(family: Family, chain_keys: &str) -> Founding {
    let chain_keys = chain_keys.to_owned();
    Founding { mining: Mining::EverySeconds(1), chain_keys, ..Founding::on(family) }
}

/// Waits until readiness and the log say what stands in the row of an outage, and compares what is scraped
/// then and what fires.
async fn seen(what: &str, before: Played, signer: &Signer) {
    let row = documented(what);
    let (status, words) = &row.ready;
    eventually(&format!("{what}: readiness says {status}, {words}"), async || {
        let heard = signer.scheduler.get("/health/ready").await;
        heard.status == *status && heard.text.contains(words)
    })
    .await;
    for words in &row.log {
        signer.wrote(words).await;
    }
    let during = Played::scrape(signer).await;
    assert_eq!(during.obstacle(), row.obstacle, "{what}");
    assert_eq!(before.firing(Some(during)), row.alerts, "{what}");
}

/// The state of a Signer with which all is well.
async fn well(signer: &Signer) -> Played {
    signer.ready().await;
    let before = Played::scrape(signer).await;
    assert_eq!(before.clone().firing(None), documented("none").alerts);
    before
}

/// Scrapes before the outage, makes it, and compares what is seen of it.
async fn drill(what: &str, signer: &Signer, outage: impl AsyncFnOnce()) {
    let before = well(signer).await;
    outage().await;
    seen(what, before, signer).await;
}

async fn the_node_hangs(family: Family) {
    let town = Town::with(lively(family, "rpc_timeout = \"500ms\"")).await;
    let signer = town.signer().await;
    let outage = async || {
        town.proxy.fault(ANYTHING, Act::Swallow);
        // A block of TRON may be ahead of the clock, by less than a slot.
        tokio::time::sleep(Duration::from_secs(3)).await;
    };
    drill("the node hangs", &signer, outage).await;
}

async fn one_node_of_three_lies(family: Family) {
    let (town, proxies) = Town::with_nodes(3, lively(family, "")).await;
    let signer = town.signer().await;
    let (broadcast, lie): (&str, fn(&mut Value)) = match family {
        Family::Evm => ("eth_sendRawTransaction", lies::another_hash),
        Family::Tron => ("broadcasthex", lies::another_txid),
    };
    let outage = async || {
        proxies[2].fault(broadcast, Act::Rewrite(lie));
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        town.settled(&signer, &hash).await;
    };
    drill("one node of three lies", &signer, outage).await;
}

async fn gas_empty(family: Family) {
    let town = Town::with(lively(family, "")).await;
    let signer = town.signer().await;
    drill("gas empty", &signer, async || set_balance(&town, 1).await).await;
}

async fn fees_over_the_ceiling(family: Family) {
    let mut town = Town::with(lively(family, "")).await;
    if family == Family::Tron {
        town.installation =
            town.installation.env("SIGNER__CHAINS__139__FEES__MAX_FEE_LIMIT", "100 TRX");
    }
    let signer = town.signer().await;
    let (usual, dear) = match family {
        Family::Evm => (1_000_000_000, 5_000_000_000_000_000),
        Family::Tron => (100, 1_000_000),
    };
    drill("fees over the ceiling", &signer, async || price(&town, dear).await).await;
    let above = "above the ceiling fees.";
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    assert!(heard.text.contains(above), "{heard:?}");
    eventually("the feed tells it", async || {
        let told =
            signer.scheduler.send("GET", "/PayTool/events", b"", unix_seconds()).await.unwrap();
        told.text.contains("laneClosed") && told.text.contains(above)
    })
    .await;
    price(&town, usual).await;
    signer.ready().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    town.assert_paid(&[1]).await;
}

/// Has a unit of gas cost so much, wei; or one of energy, sun, which nodes are asked again when a connection to
/// them breaks.
async fn price(town: &Town, each: u64) {
    if town.family() == Family::Tron {
        town.tron().node.set_param("getEnergyFee", i64::try_from(each).unwrap());
        town.proxy.fault(LOOK, Act::Break);
        town.proxy.struck().await;
        town.proxy.heal();
    } else {
        let dear = json!([U256::from(each)]);
        town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
        town.anvil.mine(1).await;
    }
}

async fn the_account_loses_its_permission(family: Family) {
    let town = Town::with(lively(family, "")).await;
    let signer = town.signer().await;
    let outage = async || {
        let Merchant { mer_key, owner, biller, .. } = town.merchant;
        let forbid = Billing::setBillerCall { merKey: mer_key, who: biller, allowed: false };
        town.merchant.execute(owner, &forbid).await;
        let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    };
    drill("the account loses its permission", &signer, outage).await;
}

async fn a_plan_is_paused(family: Family) {
    let town = Town::with(lively(family, "")).await;
    let signer = town.signer().await;
    let outage = async || {
        let Merchant { mer_key, admins, .. } = &town.merchant;
        let pause = Billing::pausePlanCall { merKey: *mer_key, planId: town.plan.id, paused: true };
        town.merchant.execute(admins[0], &pause).await;
        let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!((heard.status, heard.code()), (200, 2), "{heard:?}");
    };
    drill("a plan is paused", &signer, outage).await;
}

async fn most_are_refused(family: Family) {
    let town = Town::with(Founding { people: 25, ..lively(family, "") }).await;
    let signer = town.signer().await;
    let outage = async || {
        let Merchant { mer_key, admins, .. } = &town.merchant;
        let pause = Billing::pausePlanCall { merKey: *mer_key, planId: town.plan.id, paused: true };
        town.merchant.execute(admins[0], &pause).await;
        let heard = signer.scheduler.bill(&json!(town.entries(0..25))).await;
        assert_eq!((heard.status, heard.code()), (200, 2), "{heard:?}");
    };
    drill("most are refused", &signer, outage).await;
}

async fn callers_hear_503(family: Family) {
    let town = Town::with(lively(family, "rpc_timeout = \"500ms\"")).await;
    let signer = town.signer().await;
    let outage = async || {
        town.proxy.fault(ANYTHING, Act::Swallow);
        // A block of TRON may be ahead of the clock, by less than a slot.
        tokio::time::sleep(Duration::from_secs(3)).await;
        let entries = json!(town.entries([0]));
        for heard in join_all((0..14).map(|_| signer.scheduler.bill(&entries))).await {
            assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
        }
    };
    drill("callers hear 503", &signer, outage).await;
}

async fn disk_nearly_full_and_full(family: Family) {
    let mut town = Town::with(lively(family, "")).await;
    let signer = town.signer().await;
    let before = well(&signer).await;
    let free = before.value("signer_disk_free_bytes");
    signer.terminate().await;
    let usual = town.installation.clone();
    for (what, min_free) in [("disk nearly full", free / 3 * 2), ("disk full", free * 2)] {
        town.installation =
            usual.clone().env("SIGNER__JOURNAL__MIN_FREE", &format!("{}MiB", min_free >> 20));
        let signer = town.signer().await;
        seen(what, before.clone(), &signer).await;
        signer.terminate().await;
    }
}

async fn the_backups_disk_is_gone(family: Family) {
    let mut town = Town::with(lively(family, "")).await;
    let second = town.installation.path().join("second");
    std::fs::create_dir(&second).unwrap();
    town.installation = town.installation.env("SIGNER__JOURNAL__BACKUP_DIR", "second");
    town.installation = town.installation.env("SIGNER__JOURNAL__BACKUP_EVERY", "1s");
    let signer = town.signer().await;
    let outage = async || std::fs::rename(&second, second.with_extension("gone")).unwrap();
    drill("the backups' disk is gone", &signer, outage).await;
}

async fn clock_off(family: Family) {
    let town = Town::with(lively(family, "clock_tolerance = \"5m\"")).await;
    let signer = town.signer().await;
    let outage = async || {
        town.anvil.call::<Value>("evm_increaseTime", json!([3600])).await;
        // On TRON blocks in that time: enough for some of them to be irrevocable.
        town.anvil.mine(30).await;
    };
    drill("clock off", &signer, outage).await;
}

async fn key_unreadable(family: Family) {
    let town = Town::with(lively(family, "")).await;
    let signer = town.signer().await;
    let before = well(&signer).await;
    signer.terminate().await;
    std::fs::write(town.installation.path().join("evm.key"), "no key").unwrap();
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("key"), "{log}");
    assert_eq!(before.firing(Some(Played::nothing())), documented("key unreadable").alerts);
}

#[tokio::test]
async fn an_old_copy_of_the_journal() {
    let town = Town::with(lively(Family::Tron, "")).await;
    let signer = town.signer().await;
    let before = well(&signer).await;
    signer.terminate().await;
    let (journal, copy) = (town.installation.journal(), town.installation.path().join("copy"));
    std::fs::copy(&journal, &copy).unwrap();
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.settled(&signer, &hash).await;
    signer.terminate().await;
    std::fs::copy(&copy, &journal).unwrap();
    let signer = town.signer().await;
    seen("an old copy of the journal (TRON)", before, &signer).await;
}
