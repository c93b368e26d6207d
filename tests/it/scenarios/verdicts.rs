//! What became of a batch is what as many nodes say as have to agree. One that lies, or that has lost
//! its receipts, neither frees a claim nor ends a batch.

use crate::world::anvil::Mining;
use crate::world::lies::{in_another_block, nothing, of_another_hash, reverted};
use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

/// What is done to an answer.
type Lie = fn(&mut Value);

const RECEIPT: &str = "eth_getTransactionReceipt";
const BY_NONCE: &str = "eth_getTransactionBySenderAndNonce";

/// Blocks are made on request, and the Signer knows so many nodes.
async fn town_of(nodes: usize) -> (Town, Vec<Proxy>) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    Town::with_nodes(nodes, founding).await
}

async fn state(signer: &Signer, hash: &str) -> Value {
    signer.scheduler.billings(hash).await.body["data"][0]["state"].clone()
}

/// Makes the block final, and waits until the Signer has had two looks at that.
async fn made_final(town: &Town) {
    town.anvil.mine(4).await;
    town.noticed().await;
    town.noticed().await;
}

#[tokio::test]
async fn one_forged_receipt_of_three_frees_no_claim_and_its_node_is_caught() {
    let (town, proxies) = town_of(3).await;
    let signer = town.signer().await;
    proxies[1].fault(RECEIPT, Act::Rewrite(reverted));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    let heard = signer.scheduler.get("/health/ready").await;
    let state = |node: usize| heard.body["chains"][0]["nodes"][node]["state"].clone();
    assert_eq!(
        (state(0), state(1), state(2)),
        (json!("alive"), json!("quarantined"), json!("alive"))
    );
    let lied = "this node lied: about a transaction in a final block";
    assert!(signer.log().contains(lied), "{}", signer.log());
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn two_nodes_that_disagree_about_the_end_end_nothing() {
    let lies: [(Lie, &str); 3] = [
        (reverted, "its nodes tell different records of one final block"),
        (in_another_block, "too few nodes show the record of it"),
        (nothing, "too few nodes show the record of it"),
    ];
    for (lie, why) in lies {
        let (town, proxies) = town_of(2).await;
        let signer = town.signer().await;
        proxies[1].fault(RECEIPT, Act::Rewrite(lie));
        proxies[1].fault(BY_NONCE, Act::Rewrite(of_another_hash));
        proxies.iter().for_each(Proxy::tells_no_block);
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        made_final(&town).await;
        assert_eq!(state(&signer, &hash).await, "open");
        let told = signer.scheduler.billings(&hash).await.body["data"][0]["heldUp"].clone();
        assert!(told.to_string().contains(why), "{told}");
        let held = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!(held.tx_hash(), hash, "the claim stays");
        proxies[1].heal();
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
        town.assert_paid(&[1, 0, 0]).await;
    }
}

#[tokio::test]
async fn receipts_that_are_missing_prove_nothing_however_final_the_nonce_is() {
    let (town, proxies) = town_of(1).await;
    let signer = town.signer().await;
    proxies[0].fault(RECEIPT, Act::Rewrite(nothing));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    made_final(&town).await;
    assert_eq!(state(&signer, &hash).await, "open");
    let held = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(held.tx_hash(), hash, "the claim stays");
    proxies[0].heal();
    eventually("it is settled", async || state(&signer, &hash).await == "charged").await;
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}
