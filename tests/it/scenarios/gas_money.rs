//! The gas money of an account is shared by all that is open: what is promised to one transaction is
//! not promised to another, and readiness says when nothing is left.

use crate::world::anvil::{Family, Mining};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::U256;
use futures_util::future::join_all;
use serde_json::{Value, json};

on_both_families![
    eight_requests_at_once_are_not_accepted_on_money_for_five_and_readiness_says_so,
    what_was_open_before_a_restart_keeps_its_money,
];

/// More than is needed for anything, wei or sun.
fn plenty(family: Family) -> u128 {
    match family {
        Family::Evm => 1_000_000_000_000_000_000_000,
        Family::Tron => 1_000_000_000_000,
    }
}

/// Gives the account so much, wei or sun.
pub(super) async fn set_balance(town: &Town, amount: u128) {
    if town.family() == Family::Tron {
        town.tron().node.fund(signer_address(), amount.try_into().unwrap());
    } else {
        let rich = json!([signer_address(), U256::from(amount)]);
        town.anvil.call::<Value>("anvil_setBalance", rich).await;
    }
}

/// What a billing of one person may cost at most now, wei or sun.
async fn dearest(town: &Town, signer: &Signer) -> u128 {
    let dry = json!({"dryRun": true, "list": town.entries([0])});
    let heard = signer.scheduler.bill(&dry).await;
    let gas: u128 = heard.body["data"]["gasRequired"].as_str().unwrap().parse().unwrap();
    if town.family() == Family::Tron {
        return gas;
    }
    let block = town.anvil.call::<Value>("eth_getBlockByNumber", json!(["latest", false])).await;
    let base: U256 = serde_json::from_value(block["baseFeePerGas"].clone()).unwrap();
    gas * (base.to::<u128>() * 2 + 1_000_000_000)
}

/// A town that makes no block by itself, and a Signer in it.
async fn waiting(family: Family, people: u64) -> (Town, Signer) {
    let founding = Founding { mining: Mining::OnRequest, people, ..Founding::on(family) };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    signer.ready().await;
    (town, signer)
}

/// Posts one request for each of these people at once; tells how many were accepted. The others hear
/// that there is too little money.
async fn accepted(town: &Town, signer: &Signer, people: std::ops::Range<usize>) -> usize {
    let bodies: Vec<Value> = people.map(|person| json!(town.entries([person]))).collect();
    let heard = join_all(bodies.iter().map(|body| signer.scheduler.bill(body))).await;
    for refused in heard.iter().filter(|heard| heard.code() != 1) {
        assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
        assert!(refused.body["msg"].as_str().unwrap().contains("top it up"), "{refused:?}");
    }
    heard.iter().filter(|heard| heard.code() == 1).count()
}

async fn is_short(signer: &Signer) {
    let ready = signer.scheduler.get("/health/ready").await;
    let why = ready.body["chains"][0]["status"].as_str().unwrap();
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(why.contains("an ordinary batch may cost"), "{why}");
}

async fn eight_requests_at_once_are_not_accepted_on_money_for_five_and_readiness_says_so(
    family: Family,
) {
    let (town, signer) = waiting(family, 8).await;
    set_balance(&town, dearest(&town, &signer).await * 23 / 4).await;
    town.noticed().await;
    assert_eq!(accepted(&town, &signer, 0..8).await, 5);
    is_short(&signer).await;
    town.quiet(&signer).await;
    set_balance(&town, plenty(family)).await;
    signer.ready().await;
    assert_eq!(accepted(&town, &signer, 0..8).await, 8, "repeats and the others");
    town.quiet(&signer).await;
    town.assert_paid(&[1; 8]).await;
}

async fn what_was_open_before_a_restart_keeps_its_money(family: Family) {
    let (town, signer) = waiting(family, 4).await;
    set_balance(&town, dearest(&town, &signer).await * 11 / 4).await;
    town.noticed().await;
    assert_eq!(accepted(&town, &signer, 0..2).await, 2);
    signer.kill();
    let signer = town.signer().await;
    town.noticed().await;
    assert_eq!(accepted(&town, &signer, 2..4).await, 0);
    is_short(&signer).await;
    let checked = town.installation.run(&["check"]).await;
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0, 0]).await;
    assert!(said.contains("gas money"), "{said}");
}
