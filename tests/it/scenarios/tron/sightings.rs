//! What a look at the chain may miss: an index that lags, no history, a solidity node that is behind,
//! a lite node. None of it is taken for proof.

use super::*;
use sandbox_chains::faults::{Fault, On};

/// A charge whose block is irrevocable while the node answers like this, and is honest later.
async fn seen_late(on: On, fault: Fault) {
    let scene = Scene::set(1).await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    scene.node().faults().set(on.clone(), fault.clone());
    scene.node().steps(5);
    scene.stays(&hash, "open").await;
    // Also when its time is over.
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    scene.town.noticed().await;
    let state = scene.state(&hash).await;
    assert!(matches!(&*state, "open" | "charged"), "{on:?} {fault:?}: {state}");
    scene.node().faults().clear();
    scene.becomes(&hash, "charged").await;
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

fn path(end: &str) -> On {
    On::Path(end.to_owned())
}

#[tokio::test]
async fn an_index_that_lags_is_no_proof_of_absence() {
    seen_late(path("gettransactioninfobyid"), Fault::NoInfo).await;
    seen_late(path("walletsolidity/gettransactioninfobyid"), Fault::NoInfo).await;
}

#[tokio::test]
async fn a_lite_node_proves_nothing() {
    seen_late(path("gettransactioninfobyid"), Fault::Lite).await;
}

#[tokio::test]
async fn garbled_answers_prove_nothing() {
    seen_late(path("gettransactioninfobyid"), Fault::ActThenTruncate).await;
    seen_late(path("gettransactioninfobyid"), Fault::ActThenHtml).await;
    seen_late(path("gettransactioninfobyid"), Fault::status(502, "")).await;
}

#[tokio::test]
async fn a_solidity_node_that_lags_delays_the_end_and_changes_nothing() {
    let scene = Scene::set(2).await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let lost = scene.bill(1).await;
    scene.node().faults().clear();
    let hash = scene.bill(0).await;
    scene.pooled(&lost).await;
    scene.node().faults().set(path("walletsolidity/getblock"), Fault::Lag(12));
    scene.node().faults().set(path("walletsolidity/gettransactioninfobyid"), Fault::NoInfo);
    scene.node().steps(10);
    scene.stays(&hash, "open").await;
    scene.stays(&lost, "open").await;
    scene.node().faults().clear();
    scene.becomes(&hash, "charged").await;
    scene.becomes(&lost, "charged").await;
    scene.ends_with(&[1, 1]).await;
}

#[tokio::test]
async fn without_history_a_charge_that_landed_is_unproven_and_never_repeated() {
    let scene = Scene::set(2).await;
    scene.node().configure(|options| options.history = false);
    let hash = scene.bill(0).await;
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    scene.stays(&hash, "open").await;
    scene.node().steps(45);
    scene.becomes(&hash, "charged").await;
    let billing = scene.billing(&hash).await;
    assert_eq!(billing["subscriptions"][0]["state"], "unproven", "{billing}");
    let again = scene.post(0).await;
    assert_eq!(again.code(), 2, "its claim stays: {again:?}");
    let failure = &again.body["data"][0];
    assert_eq!(
        (failure["failCode"].as_str(), failure["retry"].as_str()),
        (Some("OUTCOME_UNKNOWN"), Some("FIX"))
    );
    assert_eq!(failure["txHash"], hash);
    scene.town.assert_paid(&[1, 0]).await;
}

#[tokio::test]
async fn without_history_a_charge_that_never_landed_is_renewed_all_the_same() {
    let scene = Scene::set(1).await;
    scene.node().configure(|options| options.history = false);
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    let renewed = scene.attempt(&hash, 2).await;
    scene.node().faults().clear();
    scene.node().configure(|options| options.history = true);
    scene.pooled(&renewed).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.ends_with(&[1]).await;
}
