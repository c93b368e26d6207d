//! The number of the account's transactions that are final is proven in the state of a block on which nodes agree: one node
//! that keeps that state is enough, and none can tell another number.

use super::strangers::{lane, opens, transfer_elsewhere};
use crate::world::anvil::Mining;
use crate::world::proxy::{Act, Proxy};
use crate::world::town::{Founding, Town};
use serde_json::{Value, json};

const NONCE: &str = "eth_getTransactionCount";
const PROOF: &str = "eth_getProof";

/// An account with two final transactions that no journal knows of.
async fn town_of(providers: usize) -> (Town, Vec<Proxy>) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    let (town, proxies) = Town::with_nodes(providers, founding).await;
    for _ in 0..2 {
        transfer_elsewhere(&town).await;
        town.anvil.mine(1).await;
    }
    town.anvil.mine(10).await;
    (town, proxies)
}

/// Such a lane waits while all nodes have forgotten the state: see `pruned`.
#[tokio::test]
async fn one_node_of_three_that_keeps_the_state_is_enough() {
    let (town, proxies) = town_of(3).await;
    for proxy in proxies.iter().skip(1) {
        proxy.fault(NONCE, Act::Forget);
        proxy.fault(PROOF, Act::Forget);
    }
    let signer = town.signer().await;
    signer.ready().await;
    assert_eq!(lane(&signer).await, "ok", "{}", signer.log());
    assert!(proxies.iter().map(|proxy| proxy.asked(PROOF)).sum::<usize>() > 0);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    assert!(!signer.log().contains("no state of the final block"), "{}", signer.log());
    town.assert_paid(&[1, 0, 0]).await;
}

fn of_a_thousand(account: &mut Value) {
    account["nonce"] = json!("0x3e8");
}

fn without_the_last_node(account: &mut Value) {
    account["accountProof"].as_array_mut().unwrap().pop();
}

#[tokio::test]
async fn a_node_that_tells_another_nonce_than_its_block_is_caught() {
    for lie in [of_a_thousand, without_the_last_node] {
        let (town, proxies) = town_of(1).await;
        let signer = town.signer().await;
        opens(&town, &signer).await;
        let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        assert_eq!(town.settled(&signer, &first).await["state"], "charged");
        assert!(proxies[0].asked(PROOF) > 0, "accounts of this form are proven");
        proxies[0].fault(PROOF, Act::Rewrite(lie));
        let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
        town.anvil.mine(4).await;
        signer.wrote("this node lied: the account is not as the state root commits to").await;
        signer.terminate().await;
        proxies[0].heal();
        let signer = town.signer().await;
        assert_eq!(town.settled(&signer, &second).await["state"], "charged");
        town.assert_paid(&[1, 1, 0]).await;
    }
}

/// Such a chain may have accounts of another form: what its nodes count is believed as before.
#[tokio::test]
async fn nobody_is_a_liar_before_an_account_was_proven() {
    let (town, proxies) = town_of(1).await;
    proxies[0].fault(PROOF, Act::Rewrite(of_a_thousand));
    let signer = town.signer().await;
    opens(&town, &signer).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    assert!(proxies[0].asked(PROOF) > 0);
    assert!(!signer.log().contains("this node lied"), "{}", signer.log());
    town.assert_paid(&[1, 0, 0]).await;
}
