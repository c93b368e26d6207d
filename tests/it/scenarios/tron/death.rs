//! Transactions that never land, and those that seem to.

use super::*;
use crate::world::signer::Scheduler;
use sandbox_chains::chain::Orphans;
use sandbox_chains::faults::{Fault, On};

/// A node that says SUCCESS and forgets.
fn forgetful(scene: &Scene) {
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
}

#[tokio::test]
async fn what_was_dropped_in_silence_is_offered_again_as_it_was_and_lands() {
    let scene = Scene::set(1).await;
    scene.node().faults().add(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn what_died_is_renewed_with_a_new_expiry_and_a_new_deadline_and_charged_once() {
    let mut town = founded(2, "").await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__BILLING__DEADLINE", "1m");
    let scene = Scene::in_town(town).await;
    let early = scene.bill(1).await;
    let first_deadline = deadline(&scene.pooled(&early).await);
    forgetful(&scene);
    let hash = scene.bill(0).await;
    let expires = scene.world().now_ms() + 60_000;
    scene.world().solidify_at(expires - 3_000);
    scene.stays(&hash, "open").await;
    assert_eq!(scene.billing(&hash).await["txHashes"].as_array().unwrap().len(), 1);
    scene.world().solidify_at(expires);
    scene.node().faults().clear();
    let renewed = scene.attempt(&hash, 2).await;
    let tx = scene.pooled(&renewed).await;
    assert!(expiry(&tx) > expires, "a new life");
    assert!(deadline(&tx) > first_deadline, "a new deadline");
    assert!(scene.world().now_ms() / 1000 > first_deadline, "the old one has passed");
    assert_eq!(scene.settled(&hash).await, "charged");
    let billing = scene.billing(&renewed).await;
    assert_eq!(billing["txHash"], renewed, "the winner");
    assert_eq!(billing["txHashes"], json!([hash, renewed]), "both find the billing");
    assert_eq!(scene.post(0).await.tx_hash(), renewed);
    assert_eq!(scene.landed(), 2);
    scene.ends_with(&[1, 1]).await;
}

#[tokio::test]
async fn what_dies_for_the_last_time_frees_its_claims() {
    for keys in ["max_attempts = 1", "retry_within = \"0s\""] {
        let scene = Scene::with(1, keys).await;
        forgetful(&scene);
        let hash = scene.bill(0).await;
        scene.world().solidify_at(scene.world().now_ms() + 60_000);
        scene.becomes(&hash, "expired").await;
        let billing = scene.billing(&hash).await;
        assert_eq!(billing["subscriptions"][0]["state"], "expired", "{billing}");
        scene.node().faults().clear();
        let again = scene.bill(0).await;
        assert_ne!(again, hash, "the claim is free");
        assert_eq!(scene.settled(&again).await, "charged");
        assert_eq!(scene.state(&hash).await, "expired", "and what ended stays ended");
        assert_eq!(scene.landed(), 1);
        scene.ends_with(&[1]).await;
    }
}

#[tokio::test]
async fn what_died_and_would_charge_nobody_any_more_is_released_at_once() {
    let scene = Scene::set(1).await;
    forgetful(&scene);
    let hash = scene.bill(0).await;
    scene.town.merchant.cancel(&scene.town.people[0]).await;
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    scene.becomes(&hash, "expired").await;
    assert_eq!(scene.billing(&hash).await["txHashes"], json!([hash]), "nothing else was signed");
    scene.node().faults().clear();
    assert_eq!(scene.landed(), 0);
    scene.town.assert_paid(&[0]).await;
}

#[tokio::test]
async fn killed_while_it_waits_for_proof_of_death_the_next_process_renews_once() {
    let scene = Scene::set(1).await;
    forgetful(&scene);
    let hash = scene.bill(0).await;
    let scene = scene.killed().await;
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    let renewed = scene.attempt(&hash, 2).await;
    let scene = scene.killed().await;
    scene.node().faults().clear();
    assert_eq!(scene.billing(&hash).await["txHash"], renewed, "the new one is not forgotten");
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn a_transaction_that_lands_in_a_block_later_than_its_expiry_counts() {
    let scene = Scene::set(1).await;
    forgetful(&scene);
    let hash = scene.bill(0).await;
    let expires = scene.world().now_ms() + 60_000;
    while scene.world().now_ms() < expires - 3_000 {
        scene.node().step();
    }
    scene.node().faults().clear();
    scene.pooled(&hash).await;
    scene.node().skip(4);
    let block = scene.node().step();
    assert!(block.header.time_ms > expires + 10_000 && block.body.len() == 1);
    scene.stays(&hash, "open").await;
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn a_block_that_is_undone_decides_nothing() {
    for orphans in [Orphans::Lose, Orphans::Return] {
        let scene = Scene::set(1).await;
        let hash = scene.bill(0).await;
        scene.pooled(&hash).await;
        scene.node().step();
        scene.stays(&hash, "open").await;
        scene.world().reorg(1, orphans);
        assert_eq!(scene.landed(), 0);
        if orphans == Orphans::Lose {
            // What was seen in a block is looked for again a few blocks later.
            scene.node().steps(6);
        }
        scene.pooled(&hash).await;
        assert_eq!(scene.settled(&hash).await, "charged");
        assert_eq!(scene.landed(), 1);
        scene.ends_with(&[1]).await;
    }
}

#[tokio::test]
async fn what_was_in_an_undone_block_and_expired_since_is_renewed_and_charged_once() {
    let scene = Scene::set(1).await;
    scene.node().node().chain().set_lag(40);
    let hash = scene.bill(0).await;
    let expires = scene.world().now_ms() + 60_000;
    scene.pooled(&hash).await;
    scene.node().step();
    while scene.world().now_ms() < expires {
        scene.node().step();
    }
    // It was in a block at the time of its expiry. Then nodes agree on a chain without it.
    scene.stays(&hash, "open").await;
    scene.world().reorg(21, Orphans::Lose);
    scene.node().skip(20);
    scene.node().step();
    assert!(scene.world().now_ms() >= expires);
    scene.stays(&hash, "open").await;
    scene.node().node().chain().set_lag(2);
    scene.node().steps(4);
    scene.attempt(&hash, 2).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn on_a_chain_that_stands_still_nothing_dies_whatever_the_clock_says() {
    let scene = Scene::behind(founded(1, "").await, 55_000).await;
    forgetful(&scene);
    let mut heard = scene.post(0).await;
    while heard.code() == 0 {
        // The machine is so slow that the head is a minute behind by now.
        scene.node().step();
        scene.town.noticed().await;
        heard = scene.post(0).await;
    }
    let hash = heard.tx_hash();
    let expires = scene.world().now_ms() + 60_000;
    eventually("the expiry has passed by this machine's clock", async || unix_ms() > expires).await;
    scene.stays(&hash, "open").await;
    scene.node().faults().clear();
    scene.pooled(&hash).await;
    scene.node().step();
    assert_eq!(scene.settled(&hash).await, "charged", "it could land all the time");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn a_node_that_calls_duplicate_what_it_once_refused_neither_proves_nor_loses_anything() {
    let scene = Scene::set(1).await;
    scene.node().configure(|options| options.trx_cache = true);
    // It lags behind the block that the transaction builds on, and remembers having seen it.
    scene.node().faults().add(On::Broadcast, Fault::Lag(3));
    let hash = scene.bill(0).await;
    scene.stays(&hash, "open").await;
    assert_eq!(scene.post(0).await.tx_hash(), hash);
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    scene.attempt(&hash, 2).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}

#[tokio::test]
async fn what_was_promised_before_a_pause_is_followed_to_its_end_and_charged_once() {
    let town = founded(1, "").await;
    let path = town.installation.path().join("signer.toml");
    let before = std::fs::read_to_string(&path).unwrap();
    let operator = "[callers.operator]\nkey = \"operator\"\nsecret = \"a secret of the operator\"\n\
                    control = true\n";
    std::fs::write(&path, format!("{before}\n{operator}")).unwrap();
    let scene = Scene::in_town(town).await;
    let (key, secret) = ("operator".to_owned(), "a secret of the operator".to_owned());
    let operator = Scheduler { key, secret, ..scene.signer.scheduler.clone() };
    forgetful(&scene);
    let hash = scene.bill(0).await;
    assert_eq!(operator.post("/PayTool/control/pause", b"").await.unwrap().code(), 1);
    assert_eq!(scene.post(0).await.tx_hash(), hash, "a repeat signs nothing");
    scene.world().solidify_at(scene.world().now_ms() + 60_000);
    scene.node().faults().clear();
    scene.attempt(&hash, 2).await;
    assert_eq!(scene.settled(&hash).await, "charged");
    assert_eq!(operator.resume().await.code(), 1);
    assert_eq!(scene.landed(), 1);
    scene.ends_with(&[1]).await;
}
