//! On EVM nothing is decided by a final block that witnesses do not bear out, nor while nodes deny one that was final
//! before, however many they are.

use super::authorizations::authorized;
use crate::world::anvil::Mining;
use crate::world::made_up;
use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy, SEND};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

const HEADER: &str = "eth_getBlockByNumber";
const RECEIPT: &str = "eth_getTransactionReceipt";

/// Another block of the same height.
fn another(block: &mut Value) {
    block["hash"] = json!(format!("0x{}", "ab".repeat(32)));
}

/// Blocks are made on request. The Signer knows so many providers, and so many witnesses.
async fn town_of(providers: usize, witnesses: usize) -> (Town, Vec<Proxy>, Vec<Proxy>) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    let (mut town, nodes) = Town::with_nodes(providers, founding).await;
    let mut others = Vec::new();
    for _ in 0..witnesses {
        others.push(Proxy::before(&town.anvil.url).await);
    }
    if witnesses > 0 {
        let urls: Vec<&str> = others.iter().map(|proxy| proxy.url.as_str()).collect();
        town.installation =
            town.installation.env("SIGNER__CHAINS__139__WITNESS_RPC", &urls.join(" "));
    }
    (town, nodes, others)
}

async fn chain(signer: &Signer) -> Value {
    signer.scheduler.get("/health/ready").await.body["chains"][0].clone()
}

async fn state(signer: &Signer, hash: &str) -> Value {
    signer.scheduler.billings(hash).await.body["data"][0]["state"].clone()
}

/// Bills one person, and makes that final for the nodes.
async fn billed(town: &Town, signer: &Signer, person: usize) -> String {
    let hash = signer.scheduler.bill(&json!(town.entries([person]))).await.tx_hash();
    town.anvil.mine(5).await;
    hash
}

#[tokio::test]
async fn a_block_that_the_witness_holds_otherwise_decides_nothing() {
    let (town, _, witnesses) = town_of(1, 1).await;
    let signer = town.signer().await;
    witnesses[0].fault(HEADER, Act::Rewrite(another));
    let hash = billed(&town, &signer, 0).await;
    eventually("readiness tells", async || {
        let records = chain(&signer).await["records"].to_string();
        records.contains("not believed before witnesses bear it out: the witness 127.0.0.1 holds")
    })
    .await;
    signer.wrote("nothing is decided by a block: the witness 127.0.0.1 holds block").await;
    assert_eq!(state(&signer, &hash).await, "open");
    witnesses[0].heal();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let told = chain(&signer).await;
    assert_eq!(told["records"], "proven by the blocks that they name", "{told}");
    assert_eq!(told["witnesses"][0]["state"], "alive", "{told}");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_silent_witness_keeps_batches_open_and_nobody_from_being_billed() {
    let (town, _, witnesses) = town_of(2, 1).await;
    witnesses[0].fault(HEADER, Act::Break);
    let signer = town.signer().await;
    let first = billed(&town, &signer, 0).await;
    let second = billed(&town, &signer, 1).await;
    eventually("readiness tells", async || {
        let records = chain(&signer).await["records"].to_string();
        records.contains("of 1 witnesses 0 tell which block is final")
    })
    .await;
    assert_eq!(state(&signer, &first).await, "open");
    let metrics = async || signer.scheduler.get("/metrics").await.text;
    let up = |up: u8| format!("signer_witness_up{{chain=\"139\",witness=\"127.0.0.1\"}} {up}\n");
    eventually("the metric tells", async || metrics().await.contains(&up(0))).await;
    witnesses[0].heal();
    eventually("the witness is heard", async || metrics().await.contains(&up(1))).await;
    for hash in [first, second] {
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    }
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn more_than_half_of_the_witnesses_decide_and_are_asked_for_headers_alone() {
    let (town, _, witnesses) = town_of(1, 3).await;
    witnesses[1].fault(HEADER, Act::Rewrite(another));
    let signer = town.signer().await;
    let hash = billed(&town, &signer, 0).await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let asked = witnesses[0].take_asked();
    assert!(asked.iter().all(|asked| [HEADER, "eth_chainId"].contains(&asked.method.as_str())));
    town.assert_paid(&[1, 0, 0]).await;
}

/// A sole provider makes up a whole block in which the transaction failed. Without a witness it is believed: that is the
/// limit of what a block proves. With one the batch stays open until the provider tells the truth.
#[tokio::test]
async fn a_block_that_a_sole_provider_made_up_is_believed_only_without_a_witness() {
    for witnesses in [0, 1] {
        let (town, nodes, _) = town_of(1, witnesses).await;
        let signer = town.signer().await;
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        nodes[0].fault(RECEIPT, Act::Swallow);
        town.anvil.mine(1).await;
        let lie = made_up::in_place_of(&town.anvil, &hash).await;
        nodes[0].heal();
        lie.told_by(&nodes[0]);
        town.anvil.mine(4).await;
        if witnesses == 0 {
            assert_eq!(town.settled(&signer, &hash).await["state"], "reverted");
            continue;
        }
        signer.wrote("nothing is decided by a block: the witness 127.0.0.1 holds block").await;
        assert_eq!(state(&signer, &hash).await, "open");
        nodes[0].heal();
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
        town.assert_paid(&[1, 0, 0]).await;
    }
}

/// Until it shows the block that was final, whatever it says of others.
#[tokio::test]
async fn a_sole_provider_that_denies_a_block_by_which_something_was_decided_is_not_billed_through()
{
    let (mut town, nodes, _) = town_of(1, 0).await;
    let signer = town.signer().await;
    let hash = billed(&town, &signer, 0).await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.terminate().await;
    nodes[0].fault(HEADER, Act::Rewrite(another));
    let signer = town.installation.start().await;
    eventually("readiness tells", async || {
        let status = chain(&signer).await["status"].to_string();
        status.contains("and it was final as 0x")
    })
    .await;
    let heard = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(heard.status, 503, "{heard:?}");
    nodes[0].heal();
    eventually("the lane is open", async || chain(&signer).await["status"] == "ok").await;
    let hash = billed(&town, &signer, 1).await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
    signer.terminate().await;
    nodes[0].fault(HEADER, Act::Rewrite(another));
    let until = "1000000";
    town.installation = town.installation.env("SIGNER__CHAINS__139__REWRITTEN_UNTIL", until);
    let signer = town.installation.start().await;
    eventually("a person said so", async || chain(&signer).await["status"] == "ok").await;
}

#[tokio::test]
async fn of_three_providers_the_one_that_denies_such_a_block_is_caught() {
    let (town, nodes, _) = town_of(3, 0).await;
    let signer = town.signer().await;
    let hash = billed(&town, &signer, 0).await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.terminate().await;
    nodes[2].fault(HEADER, Act::Rewrite(another));
    let signer = town.signer().await;
    eventually("it is caught", async || chain(&signer).await["nodes"][2]["state"] == "quarantined")
        .await;
    let caught = chain(&signer).await["nodes"][2]["caught"].to_string();
    assert!(caught.contains("which was final before"), "{caught}");
    let hash = billed(&town, &signer, 1).await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
}

/// Providers together could name a nonce used that is free, and hold back the transaction.
#[tokio::test]
async fn beside_a_witness_a_nonce_is_used_by_no_transaction_only_where_that_is_proven() {
    let (town, nodes, _) = town_of(1, 1).await;
    nodes[0].fault("eth_getProof", Act::Refuse("the method does not exist"));
    let signer = town.signer().await;
    nodes[0].fault(SEND, Act::Refuse("not now"));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    authorized(&town, 0).await;
    eventually("nothing new is signed", async || {
        town.anvil.mine(1).await;
        signer.scheduler.get("/health/ready").await.status == 503
    })
    .await;
    for _ in 0..8 {
        town.anvil.mine(1).await;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        assert_eq!(state(&signer, &hash).await, "open", "{}", signer.log());
    }
    signer.terminate().await;
    nodes[0].heal();
    let signer = town.signer().await;
    eventually("the proof ends it", async || {
        town.anvil.mine(1).await;
        state(&signer, &hash).await == "usurped"
    })
    .await;
    town.assert_paid(&[0, 0, 0]).await;
}
