//! Ends that cannot be written down keep neither other ends nor offers from happening.

use crate::world::anvil::{Family, Mining};
use crate::world::patience::eventually;
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use alloy::primitives::B256;
use rusqlite::Connection;
use serde_json::json;

on_both_families![an_end_that_cannot_be_written_keeps_nothing_else_from_happening];

fn in_journal(town: &Town, sql: &str) {
    Connection::open(town.installation.journal()).unwrap().execute_batch(sql).unwrap();
}

async fn status(signer: &Signer) -> String {
    let heard = signer.scheduler.get("/health/ready").await;
    heard.body["chains"][0]["status"].as_str().unwrap().to_owned()
}

async fn an_end_that_cannot_be_written_keeps_nothing_else_from_happening(family: Family) {
    let town = Town::with(Founding { mining: Mining::OnRequest, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let mut hashes = vec![];
    for place in 0..3 {
        hashes.push(signer.scheduler.bill(&json!(town.entries([place]))).await.tx_hash());
    }
    signer.terminate().await;
    // An end gives back what the batch has counted, and that cannot be read.
    in_journal(&town, "UPDATE batch SET counted = 'torn' || counted WHERE id = 1");
    // The last one is forgotten, the others land.
    town.anvil.drop_transaction(hashes[2].parse::<B256>().unwrap()).await;
    town.anvil.mine(3).await;
    assert_eq!(town.transactions().await, 2);
    let signer = town.signer().await;
    for hash in &hashes[1..] {
        assert_eq!(town.settled(&signer, hash).await["state"], "charged", "{hash}");
    }
    assert_eq!(signer.billing(&hashes[0]).await["state"], "open");
    eventually("the trouble is told", async || status(&signer).await.contains("torn")).await;
    signer.terminate().await;
    in_journal(&town, "UPDATE batch SET counted = substr(counted, 5) WHERE id = 1");
    let signer = town.signer().await;
    assert_eq!(town.settled(&signer, &hashes[0]).await["state"], "charged");
    signer.ready().await;
    town.assert_paid(&[1, 1, 1]).await;
}
