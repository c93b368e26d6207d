//! Ordinary nodes forget old states: 128 blocks of them are usual, and on the OP Stack a block is final
//! only after many hundreds. What the account sent is settled all the same, by receipts and headers,
//! which nodes keep.

use super::lanes::{change_key, introduce_the_new_key, new_address};
use super::strangers::{lane, opens, transfer_elsewhere};
use crate::world::anvil::Mining;
use crate::world::lies::nothing;
use crate::world::patience::eventually;
use crate::world::proxy::{Act, Proxy};
use crate::world::town::{Founding, Town};
use alloy::primitives::B256;
use alloy::rpc::types::TransactionRequest;
use serde_json::{Value, json};

const NONCE: &str = "eth_getTransactionCount";
const PROOF: &str = "eth_getProof";

/// Blocks are made on request, and every node has only the state of its newest block.
async fn town_of(nodes: usize) -> (Town, Vec<Proxy>) {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::default() };
    let (town, proxies) = Town::with_nodes(nodes, founding).await;
    forget(&proxies);
    (town, proxies)
}

fn forget(proxies: &[Proxy]) {
    for proxy in proxies {
        for method in [NONCE, PROOF] {
            proxy.fault(method, Act::Forget);
        }
    }
}

/// As if the Signer had left its journal ten minutes later.
fn minutes_later(town: &Town) {
    town.installation.forge();
    let journal = rusqlite::Connection::open(town.installation.journal()).unwrap();
    for table in ["boot", "history"] {
        journal.execute(&format!("UPDATE {table} SET at_ms = at_ms + 600000"), []).unwrap();
    }
}

#[tokio::test]
async fn what_was_signed_here_is_settled_by_receipts_and_a_restart_changes_nothing() {
    for nodes in [1, 2] {
        let (town, proxies) = town_of(nodes).await;
        let signer = town.signer().await;
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        town.anvil.mine(4).await;
        eventually("it is settled", async || {
            let heard = signer.scheduler.billings(&hash).await;
            heard.body["data"][0]["state"] == "charged"
        })
        .await;
        assert!(proxies[0].asked(NONCE) > 0);
        assert!(signer.log().contains("the node has no state of the final block"));
        let second = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
        town.anvil.mine(4).await;
        signer.terminate().await;
        let signer = town.signer().await;
        assert_eq!(town.settled(&signer, &second).await["state"], "charged");
        town.assert_paid(&[1, 1, 0]).await;
    }
}

#[tokio::test]
async fn a_new_lane_of_an_account_with_history_begins_once_what_was_seen_is_final() {
    for nodes in [1, 2] {
        let (town, _proxies) = town_of(nodes).await;
        for _ in 0..2 {
            transfer_elsewhere(&town).await;
            town.anvil.mine(1).await;
        }
        town.anvil.mine(10).await;
        let signer = town.signer().await;
        town.noticed().await;
        let why = lane(&signer).await;
        assert!(why.contains("forgotten the state"), "{why}");
        opens(&town, &signer).await;
        let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
        assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
        assert_eq!(town.transactions().await, 3);
        town.assert_paid(&[1, 0, 0]).await;
    }
}

/// Whether a journal that does not know an account is a copy that has forgotten it is told by old states.
/// They are needed once.
#[tokio::test]
async fn an_account_that_a_used_journal_does_not_know_waits_for_a_node_that_keeps_states() {
    let (town, proxies) = town_of(1).await;
    introduce_the_new_key(&town).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    signer.terminate().await;
    let new = new_address();
    let transfer = TransactionRequest { gas: Some(21_000), ..Default::default() };
    let transfer = transfer.from(new).to(new);
    town.anvil.call::<Value>("anvil_impersonateAccount", json!([new])).await;
    town.anvil.call::<B256>("eth_sendTransaction", json!([transfer])).await;
    town.anvil.mine(20).await;
    // What is older is the account's own affair.
    minutes_later(&town);
    change_key(&town, "");
    town.installation.edit("clock_tolerance = \"36500d\"", "clock_tolerance = \"5m\"");
    let signer = town.signer().await;
    let why = lane(&signer).await;
    assert!(
        why.contains("before the journal was left") && why.contains("keep the states"),
        "{why}"
    );
    proxies[0].heal();
    opens(&town, &signer).await;
    signer.terminate().await;
    forget(&proxies);
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 1, 0]).await;
}

/// What docs/incidents.md advises whoever has no such node, where nothing was ever billed.
#[tokio::test]
async fn an_installation_that_has_never_billed_may_begin_anew_instead() {
    let (town, proxies) = town_of(1).await;
    town.installation.edit("clock_tolerance = \"36500d\"", "clock_tolerance = \"5m\"");
    // Nobody tells the first process of the account, so it writes nothing down.
    proxies[0].heal();
    for method in [NONCE, PROOF] {
        proxies[0].fault(method, Act::Refuse("no"));
    }
    town.signer().await.terminate().await;
    proxies[0].heal();
    forget(&proxies);
    transfer_elsewhere(&town).await;
    town.anvil.mine(20).await;
    minutes_later(&town);
    let signer = town.signer().await;
    eventually("old states are asked for", async || {
        lane(&signer).await.contains("before the journal was left")
    })
    .await;
    signer.terminate().await;
    for file in ["journal.sqlite", "journal.sqlite.mark"] {
        std::fs::remove_file(town.installation.path().join(file)).unwrap();
    }
    assert!(town.installation.run(&["init"]).await.status.success());
    let signer = town.signer().await;
    opens(&town, &signer).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn what_nobody_can_prove_is_held_up_with_its_reason() {
    let (town, proxies) = town_of(1).await;
    let signer = town.signer().await;
    proxies[0].fault("eth_getTransactionReceipt", Act::Rewrite(nothing));
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.anvil.mine(1).await;
    let billing = async || signer.scheduler.billings(&hash).await.body["data"][0].clone();
    eventually("it says why", async || {
        let why = billing().await["heldUp"].to_string();
        why.contains("have forgotten the state of the final block")
    })
    .await;
    assert_eq!(billing().await["state"], "open");
    proxies[0].heal();
    forget(&proxies);
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    town.assert_paid(&[1, 0, 0]).await;
}
