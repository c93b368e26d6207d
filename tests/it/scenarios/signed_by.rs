//! A batch keeps the profile that it was signed by: however the call and the events are changed in the
//! configuration before it ends, it is read, and signed again, by what they were then.

use crate::world::anvil::{Family, Mining};
use crate::world::patience::eventually;
use crate::world::town::{Founding, Town};
use alloy::primitives::{B256, U256};
use rusqlite::Connection;
use sandbox_chains::faults::{Fault, On};
use serde_json::{Value, json};
use std::time::Duration;

on_both_families![
    changed_events_do_not_change_what_an_open_batch_is_read_by,
    a_profile_that_nobody_can_read_any_more_proves_nothing,
    an_old_copy_learns_by_the_profile_that_was_configured_then,
];

/// The other way round: what says that a charge failed is taken for a charge, and the other for nothing.
const TURNED: [(&str, &str); 2] = [
    (
        "CHARGED",
        "event SubscriptionBillingFailed(address indexed merKey, uint64 indexed subscribeId, uint64 planId, bytes32 userHash, uint32 period, uint8 reason)",
    ),
    ("SKIPPED", "event NobodyEmits(uint64 indexed subscribeId, uint8 reason)"),
];

/// A call that the contract does not know, and events that it does not emit.
pub(super) const ANOTHER: [(&str, &str); 3] = [
    (
        "CALL",
        "processAnotherPlan(address merKey, (uint64 subscribeId, uint64 planId, uint32 planVersion, bytes32 userHash, uint32 period, uint128 amount)[] items, uint256 deadline) returns (uint8[] reasons)",
    ),
    ("CHARGED", "event Another(uint64 indexed subscribeId)"),
    ("SKIPPED", "event NobodyEmits(uint64 indexed subscribeId, uint8 reason)"),
];

/// The same installation with another profile from the next start on.
fn with_profile(mut town: Town, keys: &[(&str, &str)]) -> Town {
    for (key, value) in keys {
        let name = format!("SIGNER__CHAINS__139__BILLING__{key}");
        town.installation = town.installation.clone().env(&name, value);
    }
    town
}

/// Has two people billed, and the second withdraw what it allows before that is in a block.
async fn one_of_two_can_pay(town: &Town) -> String {
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    signer.terminate().await;
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    town.anvil.set_automine(true).await;
    town.token.approve(town.people[1].wallet, town.contract, U256::ZERO).await;
    town.anvil.set_automine(false).await;
    hash
}

async fn changed_events_do_not_change_what_an_open_batch_is_read_by(family: Family) {
    let town = Town::on_request(family).await;
    let hash = one_of_two_can_pay(&town).await;
    let town = with_profile(town, &TURNED);
    let signer = town.signer().await;
    let ended = town.settled(&signer, &hash).await;
    let states = [0, 1].map(|at| ended["subscriptions"][at]["state"].clone());
    assert_eq!(states, ["charged", "failed"], "{ended}");
    assert_eq!(ended["subscriptions"][1]["failCode"], "ALLOWANCE_INSUFFICIENT", "{ended}");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "it is charged already: {again:?}");
    town.assert_paid(&[1, 0, 0]).await;
    town.nothing_is_stuck(signer).await;
}

async fn a_profile_that_nobody_can_read_any_more_proves_nothing(family: Family) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    // As a program would see it that no longer knows what was written.
    town.installation.forge();
    let journal = Connection::open(town.installation.journal()).unwrap();
    journal.execute_batch("UPDATE profile SET body = '{\"call\":\"a riddle\"}'").unwrap();
    drop(journal);
    let signer = town.signer().await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["subscriptions"][0]["state"], "unproven", "{ended}");
    signer.wrote("cannot read the profile").await;
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.failures()[0].1, "OUTCOME_UNKNOWN", "neither paid nor free: {again:?}");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn an_old_copy_learns_by_the_profile_that_was_configured_then(family: Family) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let first = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &first).await["state"], "charged");
    signer.terminate().await;
    let copy = town.installation.path().join("copy");
    std::fs::copy(town.installation.journal(), &copy).unwrap();
    let signer = town.signer().await;
    let forgotten = signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    assert_eq!(town.settled(&signer, &forgotten).await["state"], "charged");
    signer.terminate().await;
    std::fs::copy(&copy, town.installation.journal()).unwrap();
    let town = with_profile(town, &ANOTHER);
    let signer = town.signer().await;
    eventually("it is learnt", async || {
        town.anvil.mine(1).await;
        signer.billing(&forgotten).await["subscriptions"][0]["state"] == "charged"
    })
    .await;
    let again = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!(again.tx_hash(), forgotten, "it is charged already: {again:?}");
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn what_bids_too_little_is_outbid_by_the_call_that_it_was_signed_with() {
    let chain_keys = "replace_after = \"1s\"".to_owned();
    let founding = Founding { chain_keys, mining: Mining::OnRequest, ..Founding::default() };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    let dear = json!([U256::from(100_000_000_000_u64)]);
    town.anvil.call::<Value>("anvil_setNextBlockBaseFeePerGas", dear).await;
    town.anvil.mine(1).await;
    let town = with_profile(town, &ANOTHER);
    let signer = town.signer().await;
    eventually("another bid is signed", async || {
        signer.billing(&hash).await["txHashes"].as_array().is_some_and(|all| all.len() >= 2)
    })
    .await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["subscriptions"][0]["state"], "charged", "{ended}");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn what_dies_on_tron_is_renewed_by_the_call_that_it_was_signed_with() {
    let founding = Founding {
        mining: Mining::OnRequest,
        chain_keys: "expiry = \"1m\"".to_owned(),
        behind: Duration::from_mins(10),
        ..Founding::on(Family::Tron)
    };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    town.tron().approach(40_000);
    town.noticed().await;
    town.tron().node.faults().set(On::Broadcast, Fault::ActThenDrop);
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    let town = with_profile(town, &ANOTHER);
    let signer = town.signer().await;
    town.tron().solidify_at(town.tron().now_ms() + 60_000);
    town.tron().node.faults().clear();
    eventually("another attempt is signed", async || {
        signer.billing(&hash).await["txHashes"].as_array().is_some_and(|all| all.len() == 2)
    })
    .await;
    let ended = town.settled(&signer, &hash).await;
    assert_eq!(ended["subscriptions"][0]["state"], "charged", "{ended}");
    town.assert_paid(&[1, 0, 0]).await;
}
