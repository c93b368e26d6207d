//! How many transactions may be under way at once: what waits for a block is counted, and what only waits to be
//! final keeps nobody waiting.

use super::*;
use crate::world::signer::{TVM_PATH, unix_seconds};

#[tokio::test]
async fn what_is_in_a_block_keeps_nobody_waiting_and_what_is_full_is_said() {
    let mut town = founded(3, "max_in_flight = 1").await;
    town.installation = town.installation.env("SIGNER__HTTP__REQUEST_DEADLINE", "2s");
    let scene = Scene::in_town(town).await;
    let first = scene.bill(0).await;
    scene.pooled(&first).await;

    let body = json!(scene.town.entries([1])).to_string();
    let letter = scene.signer.scheduler.letter("POST", TVM_PATH, body.as_bytes(), unix_seconds());
    let full = letter.send().await.unwrap();
    assert_eq!(full.status(), 503);
    let again: u64 = full.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert_eq!(again, 1, "as often as it is looked at");
    let told: Value = full.json().await.unwrap();
    let msg = told["msg"].as_str().unwrap();
    assert!(msg.contains("1 of at most 1 transactions are in no block yet"), "{msg}");
    assert!(msg.contains("max_in_flight") && msg.contains("again in 1 s"), "{msg}");

    scene.node().steps(1);
    let second = scene.bill(1).await;
    scene.pooled(&second).await;
    assert_eq!(scene.state(&first).await, "open", "it is not final yet");
    scene.node().steps(1);
    let third = scene.bill(2).await;
    for hash in [first, second, third] {
        assert_eq!(scene.settled(&hash).await, "charged");
    }
    scene.ends_with(&[1, 1, 1]).await;
}
