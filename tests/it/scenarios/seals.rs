//! On BNB Smart Chain final blocks are proven by the seals of its validators: providers that collude decide nothing by a
//! block that they made up, nor by one on which too few have sealed yet.

use crate::world::anvil::Mining;
use crate::world::made_up;
use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy};
use crate::world::sealed::Sealed;
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};
use std::time::Duration;

/// Blocks are made on request, and sealed by 21 validators in turn. The Signer knows two providers.
async fn town() -> (Town, Vec<Proxy>, Sealed) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    let mut town = Town::with(founding).await;
    let sealed = Sealed::before(town.anvil.rpc(), &town.anvil.url).await;
    let nodes = vec![Proxy::before(&sealed.url).await, Proxy::before(&sealed.url).await];
    town.proxy = nodes[0].clone();
    let urls: Vec<&str> = nodes.iter().map(|node| node.url.as_str()).collect();
    let checkpoint = sealed.checkpoint().await.to_string();
    town.installation = town
        .installation
        .env("SIGNER__CHAINS__139__RPC", &urls.join(" "))
        .env("SIGNER__CHAINS__139__SEALS__CHECKPOINT", &checkpoint);
    (town, nodes, sealed)
}

async fn chain(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
}

async fn state(signer: &Signer, hash: &str) -> Value {
    signer.scheduler.billings(hash).await.body["data"][0]["state"].clone()
}

/// Lets the chain go on until it has decided.
async fn charged(town: &Town, signer: &Signer, hash: &str) {
    eventually("charged", async || {
        town.anvil.mine(3).await;
        state(signer, hash).await == "charged"
    })
    .await;
}

/// Lets the chain go on until readiness tells so of its records.
async fn told(town: &Town, signer: &Signer, words: &str) {
    eventually(words, async || {
        town.anvil.mine(3).await;
        chain(signer).await["records"].to_string().contains(words)
    })
    .await;
}

#[tokio::test]
async fn what_enough_validators_sealed_decides() {
    let (town, _, _) = town().await;
    let signer = town.signer().await;
    for person in 0..2 {
        let hash = signer.scheduler.insist(&json!(town.entries([person]))).await.tx_hash();
        charged(&town, &signer, &hash).await;
    }
    let told = chain(&signer).await;
    assert_eq!(told["witnesses"][0]["node"], "seals of validators", "{told}");
    assert_eq!(told["witnesses"][0]["state"], "alive", "{told}");
    assert_eq!(told["records"], "proven by the blocks that they name", "{told}");
    town.assert_paid(&[1, 1, 0]).await;
}

/// Nodes call the block final all the while. Fourteen of 21 are not enough.
#[tokio::test]
async fn what_too_few_validators_sealed_decides_nothing() {
    let (town, _, sealed) = town().await;
    let signer = town.signer().await;
    let first = signer.scheduler.insist(&json!(town.entries([0]))).await.tx_hash();
    charged(&town, &signer, &first).await;
    sealed.sealed_by(0..14);
    town.anvil.mine(40).await;
    town.noticed().await;
    let hash = signer.scheduler.insist(&json!(town.entries([1]))).await.tx_hash();
    told(&town, &signer, "14 of 15 validators sealed on it in").await;
    assert_eq!(state(&signer, &hash).await, "open");
    sealed.sealed_by(0..21);
    charged(&town, &signer, &hash).await;
    town.assert_paid(&[1, 1, 0]).await;
}

/// The list of a later epoch header counts once the list before has proven that header.
#[tokio::test]
async fn validators_are_followed_from_one_list_to_the_next() {
    let (town, _, sealed) = town().await;
    let signer = town.signer().await;
    town.anvil.mine(1_000).await;
    sealed.seals_all().await;
    let hash = signer.scheduler.insist(&json!(town.entries([0]))).await.tx_hash();
    charged(&town, &signer, &hash).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn two_providers_that_collude_decide_nothing_by_a_block_that_they_made_up() {
    let (town, nodes, _) = town().await;
    let signer = town.signer().await;
    let honest = signer.scheduler.insist(&json!(town.entries([1]))).await.tx_hash();
    charged(&town, &signer, &honest).await;
    let hash = signer.scheduler.insist(&json!(town.entries([0]))).await.tx_hash();
    for node in &nodes {
        node.fault("eth_getTransactionReceipt", Act::Swallow);
    }
    town.anvil.mine(1).await;
    let lie = made_up::in_place_of(&town.anvil, &hash).await;
    for node in &nodes {
        node.heal();
        lie.told_by(node);
    }
    told(&town, &signer, "not believed before witnesses bear it out").await;
    town.anvil.mine(60).await;
    town.noticed().await;
    assert_eq!(state(&signer, &hash).await, "open");
    nodes.iter().for_each(Proxy::heal);
    charged(&town, &signer, &hash).await;
    town.assert_paid(&[1, 1, 0]).await;
}

/// Honest nodes tell no block above the newest, so that this one alone is heard there, whichever is asked first.
#[tokio::test]
async fn a_provider_that_tells_blocks_above_the_newest_keeps_no_billing_open() {
    let (mut town, nodes, sealed) = town().await;
    let liar = Proxy::before(&sealed.lies_above().await).await;
    let urls = [&liar.url, &nodes[0].url, &nodes[1].url].map(String::as_str).join(" ");
    town.installation = town.installation.env("SIGNER__CHAINS__139__RPC", &urls);
    let signer = town.signer().await;
    let hash = signer.scheduler.insist(&json!(town.entries([0]))).await.tx_hash();
    // A look every three seconds sees a few new blocks, of the 29 that it takes.
    for _ in 0..40 {
        town.anvil.mine(4).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        if state(&signer, &hash).await == "charged" {
            break;
        }
    }
    assert_eq!(state(&signer, &hash).await, "charged", "{}", chain(&signer).await);
    town.assert_paid(&[1, 0, 0]).await;
}
