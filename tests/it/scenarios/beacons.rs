//! On Ethereum final blocks are proven by its sync committees: providers that collude decide nothing by a block that they
//! made up, nor by one that the committees have not signed yet.

use crate::world::anvil::Mining;
use crate::world::beacon::{Beacon, Says};
use crate::world::made_up;
use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

/// Blocks are made on request. The Signer knows two providers, and a beacon node.
async fn town() -> (Town, Vec<Proxy>, Beacon) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    let (mut town, nodes) = Town::with_nodes(2, founding).await;
    let beacon = Beacon::of(town.anvil.rpc()).await;
    for (key, value) in [
        ("URL", beacon.url.clone()),
        ("CHECKPOINT", beacon.checkpoint.to_string()),
        ("NETWORK", Beacon::NETWORK.to_owned()),
    ] {
        let key = format!("SIGNER__CHAINS__139__BEACON__{key}");
        town.installation = town.installation.env(&key, &value);
    }
    (town, nodes, beacon)
}

async fn chain(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
}

async fn state(signer: &Signer, hash: &str) -> Value {
    signer.scheduler.billings(hash).await.body["data"][0]["state"].clone()
}

#[tokio::test]
async fn what_the_sync_committees_signed_decides() {
    let (town, _, _) = town().await;
    let signer = town.signer().await;
    for person in 0..3 {
        let hash = signer.scheduler.bill(&json!(town.entries([person]))).await.tx_hash();
        town.anvil.mine(5).await;
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    }
    let told = chain(&signer).await;
    assert_eq!(told["witnesses"][0]["node"], "beacon 127.0.0.1", "{told}");
    assert_eq!(told["witnesses"][0]["state"], "alive", "{told}");
    assert_eq!(told["records"], "proven by the blocks that they name", "{told}");
    town.assert_paid(&[1, 1, 1]).await;
}

#[tokio::test]
async fn what_too_few_of_a_sync_committee_signed_decides_nothing() {
    let (town, _, beacon) = town().await;
    beacon.says(Says::Forgery);
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.anvil.mine(5).await;
    eventually("readiness tells", async || {
        let records = chain(&signer).await["records"].to_string();
        records.contains("only 341 of 512 members of the sync committee signed it")
    })
    .await;
    assert_eq!(state(&signer, &hash).await, "open");
    beacon.says(Says::Truth);
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

/// And keeps nobody from being billed.
#[tokio::test]
async fn what_the_sync_committees_have_not_signed_yet_is_not_final() {
    let (town, _, beacon) = town().await;
    beacon.says(Says::Old);
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.anvil.mine(5).await;
    town.noticed().await;
    let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(state(&signer, &first).await, "open");
    assert_eq!(chain(&signer).await["witnesses"][0]["head"], 1);
    town.anvil.mine(5).await;
    beacon.says(Says::Truth);
    for hash in [first, second] {
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    }
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn two_providers_that_collude_decide_nothing_by_a_block_that_they_made_up() {
    let (town, nodes, _) = town().await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    for node in &nodes {
        node.fault("eth_getTransactionReceipt", Act::Swallow);
    }
    town.anvil.mine(1).await;
    let lie = made_up::in_place_of(&town.anvil, &hash).await;
    for node in &nodes {
        node.heal();
        lie.told_by(node);
    }
    town.anvil.mine(4).await;
    eventually("readiness tells", async || {
        let records = chain(&signer).await["records"].to_string();
        records.contains(
            "not believed before witnesses bear it out: the headers from the proven block",
        )
    })
    .await;
    assert_eq!(state(&signer, &hash).await, "open");
    nodes.iter().for_each(Proxy::heal);
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}
