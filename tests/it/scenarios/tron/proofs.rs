//! One provider, which lies about blocks. Its blocks have to prove themselves, so whatever it shows, no
//! claim is released for a charge that landed, nobody is charged twice, and the liar is named.

use super::nodes::{Lie, for_people, tell, with_nodes};
use super::*;
use crate::world::lies::{an_empty_block, failed_on_tron, nothing_at_all};
use crate::world::proxy::Proxy;
use sandbox_chains::faults::{Fault, On};
use sandbox_chains::tron::Witness;
use sandbox_chains::tron::address::base58;
use sandbox_chains::tron::witness::Election;

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

/// The block goes by another id of the same number: there is none like it.
fn of_another_id(block: &mut Value) {
    if let Some(id) = block["blockID"].as_str() {
        block["blockID"] = json!(format!("{}{}", &id[..16], "ab".repeat(24)));
    }
}

/// The header is true, and under it stands somebody else's signature, which no id covers.
fn signed_by_somebody_else(block: &mut Value) {
    if block["block_header"]["witness_signature"].is_string() {
        // The curve's generator as r: some key or other has signed so.
        let r = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
        block["block_header"]["witness_signature"] = json!(format!("{r}{}00", "22".repeat(32)));
    }
}

/// A charge lands, a lone provider lies about it until long after its time is over.
async fn lied_about(lie: Lie, word: &str) {
    let (scene, proxies) = with_nodes(1, "max_attempts = 1").await;
    let hash = scene.bill(0).await;
    scene.pooled(&hash).await;
    tell(&proxies[0], lie);
    scene.node().steps(5);
    scene.world().solidify_at(scene.world().now_ms() + 66_000);
    eventually("the liar is named", async || !scene.caught(0).await.is_empty()).await;
    assert!(scene.caught(0).await.contains(word), "{}", scene.caught(0).await);
    scene.signer.wrote("this node lied").await;
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
    lied_about(LIE, "another answer proves what is in it").await;
}

#[tokio::test]
async fn another_result_in_block_and_record_frees_nothing() {
    const LIE: Lie = &[(INFO, failed_on_tron), (SOLID_BLOCK, failed_in_the_block)];
    lied_about(LIE, "another answer proves what is in it").await;
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

/// Of three providers the first puts other signatures under true headers. Neither does it say who the
/// witnesses are, nor are the others called liars because theirs are others.
#[tokio::test]
async fn other_signatures_under_true_headers_get_no_honest_provider_shut_out() {
    const LIE: Lie = &[("getblock", signed_by_somebody_else)];
    let (scene, proxies) = with_nodes(3, "").await;
    tell(&proxies[0], LIE);
    for place in [0, 1] {
        let hash = scene.bill(place).await;
        scene.pooled(&hash).await;
        scene.node().steps(5);
        scene.becomes(&hash, "charged").await;
    }
    proxies[0].struck().await;
    assert_eq!([scene.caught(1).await, scene.caught(2).await], ["", ""], "{}", scene.signer.log());
    scene.town.assert_paid(&[1, 1]).await;
}

/// A lone provider told of a block that does not exist, and a transaction builds on it: no chain ever
/// takes it. It dies with its time like any other, and its claim is free.
#[tokio::test]
async fn what_builds_on_a_made_up_block_dies_with_its_time() {
    const LIE: Lie = &[(SOLID_BLOCK, of_another_id)];
    let elected = base58(&Witness::numbered(1).address);
    let (scene, proxies) =
        with_nodes(1, &format!("max_attempts = 1\nwitnesses = [\"{elected}\"]")).await;
    tell(&proxies[0], LIE);
    scene.node().steps(3);
    scene.town.noticed().await;
    let hash = scene.bill(0).await;
    proxies[0].heal();
    // An answer that was asked for before tells the made-up block of a later height, and that would stay irrevocable.
    scene.town.noticed().await;
    scene.world().solidify_at(scene.world().now_ms() + 66_000);
    scene.becomes(&hash, "expired").await;
    assert_eq!(scene.landed(), 0);
    let again = scene.bill(0).await;
    assert_ne!(again, hash);
    scene.pooled(&again).await;
    scene.node().steps(5);
    scene.becomes(&again, "charged").await;
    scene.town.assert_paid(&[1, 0]).await;
}

/// How far two maintenances are apart (ms), after each of which other witnesses may make the blocks.
const PERIOD_MS: i64 = 60_000;

/// Witnesses by number.
pub(in crate::scenarios) fn numbered(from: u8, to: u8) -> Vec<Witness> {
    (from..=to).map(Witness::numbered).collect()
}

/// The next maintenance comes, and from then on these make the blocks.
pub(in crate::scenarios) fn elect(node: &TronNode, witnesses: Vec<Witness>) {
    node.elect(witnesses);
    let (next, head) = {
        let chain = node.node().chain();
        (chain.family().next_maintenance(&chain.head().header), chain.head().header.time_ms)
    };
    node.skip((next - head) / 3000);
    node.step();
}

/// A network of 27 witnesses, as the main one is, and one provider; the list is pinned.
async fn with_27_witnesses() -> (Scene, Vec<Proxy>) {
    let pinned: Vec<String> =
        numbered(1, 27).iter().map(|one| format!("\"{}\"", base58(&one.address))).collect();
    let pinned = pinned.join(", ");
    let keys = format!("max_attempts = 1\nclock_tolerance = \"1h\"\nwitnesses = [{pinned}]");
    let (scene, proxies) = for_people(3, 1, &keys).await;
    // The nineteenth witness decides, and not the block after it.
    scene.node().node().chain().set_stride(1);
    scene.node().set_param("getMaintenanceTimeInterval", PERIOD_MS);
    elect(scene.node(), numbered(1, 27));
    scene.node().steps(60);
    scene.town.noticed().await;
    (scene, proxies)
}

/// A charge is final with the nineteenth witness on it and not before. Twice five are voted out and five in, and it
/// goes on, though of the third list the pin names seventeen. Eight can be followed where the blocks that were read
/// show everybody, which depends on whose turn it was.
#[tokio::test]
async fn of_27_witnesses_nineteen_end_a_charge_and_elections_are_followed() {
    let (scene, _proxies) = with_27_witnesses().await;

    let first = scene.bill(0).await;
    scene.pooled(&first).await;
    scene.node().steps(18);
    scene.stays(&first, "open").await;
    scene.node().step();
    scene.becomes(&first, "charged").await;

    for (place, first) in [(1, 6), (2, 11)] {
        elect(scene.node(), numbered(first, first + 26));
        scene.node().steps(60);
        scene.town.noticed().await;
        let next = scene.bill(place).await;
        scene.pooled(&next).await;
        scene.node().steps(60);
        scene.becomes(&next, "charged").await;
    }
    assert_eq!(scene.caught(0).await, "", "{}", scene.signer.log());
    scene.town.assert_paid(&[1, 1, 1]).await;
}

/// The same network, and a provider that has the keys of eighteen: it makes as many blocks as it likes, its
/// node calls them irrevocable, and a charge that never lands there stays open. Nobody is called a liar for
/// it: the same is seen where nine honest witnesses are down.
#[tokio::test]
async fn eighteen_of_27_witnesses_prove_no_death() {
    let (scene, _proxies) = with_27_witnesses().await;
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = scene.bill(0).await;
    elect(scene.node(), numbered(10, 27));
    scene.node().steps(20);
    scene.node().solidify();
    scene.stays(&hash, "open").await;
    scene.node().steps(54);
    scene.stays(&hash, "open").await;
    assert_eq!(scene.caught(0).await, "", "{}", scene.signer.log());
    scene.town.assert_paid(&[0, 0, 0]).await;
}

/// A provider shows an empty chain of its own until the time of two charges is over, and then the true one,
/// in which they landed. What was read of the one proves nothing about a block of the other that has the
/// same number.
#[tokio::test]
async fn what_was_read_of_a_made_up_chain_proves_nothing_by_a_true_block() {
    const SILENT: Lie = &[(INFO, nothing_at_all), (BY_ID, nothing_at_all)];
    let (scene, proxies) = with_27_witnesses().await;
    tell(&proxies[0], SILENT);
    let truth = scene.node().split();
    let mut hashes = vec![];
    for place in [0, 1] {
        let hash = scene.bill(place).await;
        truth.broadcast(scene.pooled(&hash).await).unwrap();
        hashes.push(hash);
    }
    truth.steps(90);
    {
        let mut chain = scene.node().node().chain();
        chain.pool_mut().clear();
        let from_ms = chain.head().header.time_ms + 1;
        let witnesses = numbered(101, 127);
        chain.family_mut().elections.push(Election { from_ms, witnesses });
    }
    scene.node().steps(45);
    scene.stays(&hashes[1], "open").await;
    scene.town.noticed().await;
    let true_chain = truth.node().chain().clone();
    *scene.node().node().chain() = true_chain;
    for _ in 0..3 {
        scene.town.noticed().await;
        for hash in &hashes {
            assert_ne!(scene.state(hash).await, "expired", "{}", scene.signer.log());
        }
    }
    proxies[0].heal();
    for hash in &hashes {
        scene.becomes(hash, "charged").await;
    }
    scene.town.assert_paid(&[1, 1, 0]).await;
}
