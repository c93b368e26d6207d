//! One provider, which lies about blocks. Its blocks have to prove themselves, so whatever it shows, no
//! claim is released for a charge that landed, nobody is charged twice, and the liar is named.

use super::nodes::{Lie, tell, with_nodes};
use super::*;
use crate::world::lies::{an_empty_block, failed_on_tron, nothing_at_all};
use sandbox_chains::faults::{Fault, On};
use sandbox_chains::tron::Witness;
use sandbox_chains::tron::address::base58;

const INFO: &str = "gettransactioninfobyid";
const BY_ID: &str = "gettransactionbyid";
const SOLID_BLOCK: &str = "walletsolidity/getblock";

/// The transactions are left out, and nothing else is changed.
fn without_transactions(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.remove("transactions");
    }
}

/// Every transaction in the block is said to have failed.
fn failed_in_the_block(block: &mut Value) {
    let transactions = block.get_mut("transactions").and_then(Value::as_array_mut);
    for transaction in transactions.into_iter().flatten() {
        transaction["ret"] = json!([{ "contractRet": "REVERT" }]);
    }
}

/// The block is said to stand on another one.
fn on_another_parent(block: &mut Value) {
    if block["blockID"].is_string() {
        block["block_header"]["raw_data"]["parentHash"] = json!("ab".repeat(32));
    }
}

/// A charge lands, a lone provider lies about it until long after its time is over.
async fn lied_about(lie: Lie, word: &str) {
    let (scene, proxies) = with_nodes(1, "max_attempts = 1").await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    tell(&proxies[0], lie);
    scene.node().steps(4);
    scene.world().solidify_at(scene.world().now_ms() + 66_000);
    eventually("the liar is named", async || !scene.caught(0).await.is_empty()).await;
    assert!(scene.caught(0).await.contains(word), "{}", scene.caught(0).await);
    assert!(scene.signer.log().contains("this node lied"), "{}", scene.signer.log());
    assert_eq!(scene.state(&hash).await, "open", "{}", scene.signer.log());
    assert_eq!(scene.landed(), 1, "nothing else was sent");
    proxies[0].heal();
    let scene = scene.killed().await;
    scene.becomes(&hash, "charged").await;
    assert_eq!(scene.landed(), 1);
    scene.town.assert_paid(&[1, 0]).await;
}

#[tokio::test]
async fn an_empty_block_with_a_zeroed_root_frees_nothing() {
    const LIE: Lie =
        &[(INFO, nothing_at_all), (BY_ID, nothing_at_all), (SOLID_BLOCK, an_empty_block)];
    lied_about(LIE, "its id does not follow from its header").await;
}

#[tokio::test]
async fn a_block_without_its_transactions_frees_nothing() {
    const LIE: Lie =
        &[(INFO, nothing_at_all), (BY_ID, nothing_at_all), (SOLID_BLOCK, without_transactions)];
    lied_about(LIE, "its transactions are not those").await;
}

#[tokio::test]
async fn another_result_in_block_and_record_frees_nothing() {
    const LIE: Lie = &[(INFO, failed_on_tron), (SOLID_BLOCK, failed_in_the_block)];
    lied_about(LIE, "its transactions are not those").await;
}

#[tokio::test]
async fn another_result_in_the_record_alone_is_refuted_by_the_block() {
    lied_about(&[(INFO, failed_on_tron)], "whose block proves otherwise").await;
}

#[tokio::test]
async fn a_block_on_another_parent_frees_nothing() {
    const LIE: Lie =
        &[(INFO, nothing_at_all), (BY_ID, nothing_at_all), (SOLID_BLOCK, on_another_parent)];
    lied_about(LIE, "its id does not follow from its header").await;
}

/// Blocks that prove themselves and follow one another, of which no witness has signed one.
#[tokio::test]
async fn a_whole_chain_of_made_up_witnesses_frees_nothing() {
    let elected = Witness::numbered(1);
    let pinned = format!("max_attempts = 1\nwitnesses = [\"{}\"]", base58(&elected.address));
    let (scene, _proxies) = with_nodes(1, &pinned).await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    let stranger = elected.signing_with([0x66; 32]);
    scene.node().node().chain().family_mut().witnesses = vec![stranger];
    scene.world().solidify_at(scene.world().now_ms() + 66_000);
    eventually("the liar is named", async || !scene.caught(0).await.is_empty()).await;
    assert!(scene.caught(0).await.contains("not made by the witnesses"));
    assert_eq!(scene.state(&hash).await, "open", "{}", scene.signer.log());
    scene.node().node().chain().family_mut().witnesses = vec![elected];
    let scene = scene.killed().await;
    scene.becomes(&hash, "expired").await;
    assert_eq!(scene.landed(), 0);
    scene.town.assert_paid(&[0, 0]).await;
}
