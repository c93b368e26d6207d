//! A node of another chain, one that is out of time, and an account that is read from the environment.

use super::*;
use crate::world::town::KEY;

#[tokio::test]
async fn a_node_of_another_chain_is_not_billed_on() {
    let mut town = founded(1, "").await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__CHAIN_ID", "0x2b6653dd");
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("chains.139.nodes") && log.contains("0x2b6653dd"), "{log}");
    let mut town = founded(1, "").await;
    let other = founded(1, "").await;
    let elsewhere = &other.tron().served.solidity;
    // The other chain began in the same second, so that it takes other contracts to differ.
    town.installation = town.installation.env("SIGNER__CHAINS__139__SOLIDITY", elsewhere);
    let outcome = town.installation.try_start().await;
    let genesis = |town: &Town| town.tron().node.node().chain().block(0).unwrap().id;
    if genesis(&town) != genesis(&other) {
        let log = outcome.unwrap_err();
        assert!(log.contains("chains.139.nodes: the node is on chain"), "{log}");
    }
}

#[tokio::test]
async fn by_a_head_that_is_more_than_a_minute_off_nothing_is_signed() {
    let town = founded(1, "").await;
    let signer = town.signer().await;
    let refused = async |side: &str| {
        town.noticed().await;
        let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
        assert_eq!((heard.code(), heard.status), (0, 503), "{heard:?}");
        let said = heard.body["msg"].as_str().unwrap();
        assert!(said.contains(&format!("{side} this machine's clock")), "{said}");
        assert_eq!(town.tron().transactions_of(signer_address()), (vec![], vec![]));
    };
    refused("s behind").await;
    town.tron().approach(20_000);
    town.noticed().await;
    let dry = json!({"dryRun": true, "list": town.entries([0])});
    assert!(signer.scheduler.bill(&dry).await.body["data"]["gasRequired"].is_string());
    town.tron().node.skip(30);
    town.tron().node.step();
    refused("s ahead of").await;
    town.assert_paid(&[0]).await;
}

#[tokio::test]
async fn while_finality_stands_still_nothing_new_is_signed() {
    let scene = Scene::set(2).await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    scene.node().node().chain().set_lag(1000);
    scene.node().steps(5);
    scene.stays(&hash, "open").await;
    scene.node().node().chain().set_lag(2);
    scene.node().step();
    assert_eq!(scene.settled(&hash).await, "charged");
    scene.ends_with(&[1, 0]).await;
}

#[tokio::test]
async fn the_key_may_come_from_the_environment_or_from_a_keystore() {
    let mut town = founded(3, "").await;
    std::fs::write(town.installation.path().join("pw"), "a password").unwrap();
    let import = ["keys", "import", "billing", "--password-file", "pw"];
    assert!(town.installation.tell(&import, KEY).await.status.success());
    town.tron().approach(20_000);
    let map = format!("{{\"139\":\"0x{KEY}\"}}");
    let ways = [("env", KEY), ("env", &map), ("keystore:billing", "")];
    for (place, (key, value)) in ways.into_iter().enumerate() {
        let place_of_key = town.installation.clone().env("SIGNER__CHAINS__139__KEY", key);
        town.installation = place_of_key.env("TVM_PRIVATE_KEY", value);
        let signer = town.signer().await;
        let heard = signer.scheduler.bill(&json!(town.entries([place]))).await;
        assert_eq!(heard.body["data"]["address"], town.spell(signer_address()), "{key}");
        town.settled(&signer, &heard.tx_hash()).await;
        signer.terminate().await;
    }
    town.assert_paid(&[1, 1, 1]).await;
}
