//! An honest node in trouble: it is down, it loses answers, it forgets.

use crate::world::anvil::Family;
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act, SEND};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town};
use alloy::primitives::B256;
use serde_json::{Value, json};
use std::time::Duration;

on_both_families![
    without_its_node_it_starts_and_remembers_and_charges_nobody_new,
    a_node_that_goes_away_costs_no_charge_and_a_new_one_waits_for_it,
    a_lost_answer_to_a_send_is_one_payment_and_a_promise_all_the_same,
    a_transaction_that_the_node_forgot_is_offered_again_as_it_was,
    a_payment_counts_as_settled_when_its_block_is_final_and_no_sooner,
];

/// What `/health/ready` says of the chain.
async fn chain_health(signer: &Signer) -> (u16, Value) {
    let heard = signer.scheduler.get("/health/ready").await;
    (heard.status, heard.body["chains"][0].clone())
}

async fn without_its_node_it_starts_and_remembers_and_charges_nobody_new(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.terminate().await;
    town.proxy.fault(ANYTHING, Act::Break);

    let signer = town.signer().await;
    let (status, chain) = chain_health(&signer).await;
    assert_eq!(status, 503);
    assert!(chain["status"].as_str().unwrap().contains("did not answer"), "{chain}");
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash, "what was answered once is answered again");

    town.proxy.heal();
    signer.ready().await;
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn a_node_that_goes_away_costs_no_charge_and_a_new_one_waits_for_it(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.proxy.fault(ANYTHING, Act::Break);
    let refused = signer.scheduler.bill(&json!(town.entries([1]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    eventually("the Signer says that it cannot work", async || {
        chain_health(&signer).await.0 == 503
    })
    .await;
    town.proxy.heal();
    signer.ready().await;
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

async fn a_lost_answer_to_a_send_is_one_payment_and_a_promise_all_the_same(family: Family) {
    let acts = [
        ("never answered", Act::PassOnAndHang),
        ("connection cut", Act::PassOnAndBreak),
        ("HTTP 502", Act::PassOnAndFail),
        ("sent too late", Act::Delay(Duration::from_millis(1_700))),
        ("not sent at all", Act::Break),
        ("refused for no reason", Act::Refuse("the moon is full")),
    ];
    let chain_keys = "rpc_timeout = \"1s\"".to_owned();
    let people = u64::try_from(acts.len()).unwrap();
    let town = Town::with(Founding { people, chain_keys, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    for (place, (what, act)) in acts.iter().enumerate() {
        town.proxy.fault(SEND, act.clone());
        let body = json!(town.entries([place]));
        let heard = signer.scheduler.insist(&body).await;
        assert_eq!(heard.code(), 1, "{what}: {heard:?}");
        let again = signer.scheduler.bill(&body).await;
        assert_eq!(again.tx_hash(), heard.tx_hash(), "{what}");
        town.proxy.heal();
        town.quiet(&signer).await;
    }
    assert_eq!(town.transactions().await, people);
    town.assert_paid(&[1; 6]).await;
}

#[tokio::test]
async fn a_node_of_another_chain_is_not_billed_on() {
    let mut town = Town::found().await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__EIP155_ID", "5656");
    let log = town.installation.try_start().await.unwrap_err();
    assert!(log.contains("chains.139.rpc"), "{log}");
    assert!(log.contains("31337") && log.contains("5656"), "both are named: {log}");
}

#[tokio::test]
async fn a_node_that_turns_out_to_be_of_another_chain_is_not_billed_on() {
    let mut town = Town::found().await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__EIP155_ID", "5656");
    town.proxy.fault(ANYTHING, Act::Break);
    let signer = town.signer().await;
    town.proxy.heal();
    eventually("the Signer names both chains", async || {
        let said = chain_health(&signer).await.1["status"].to_string();
        said.contains("31337") && said.contains("5656")
    })
    .await;
    let refused = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((refused.status, refused.code()), (503, 0), "{refused:?}");
    assert_eq!(town.transactions().await, 0);
}

async fn a_transaction_that_the_node_forgot_is_offered_again_as_it_was(family: Family) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.anvil.drop_transaction(hash.parse::<B256>().unwrap()).await;
    eventually("the same transaction is in the pool again", async || {
        let found: Value = town.anvil.call("eth_getTransactionByHash", json!([hash])).await;
        !found.is_null()
    })
    .await;
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

async fn a_payment_counts_as_settled_when_its_block_is_final_and_no_sooner(family: Family) {
    let town = Town::on_request(family).await;
    let signer = town.signer().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    for _ in 0..2 {
        town.anvil.mine(1).await;
        let mined = town.anvil.block_number().await;
        town.assert_paid(&[1, 0, 0]).await;
        eventually("the Signer saw the block", async || {
            chain_health(&signer).await.1["head"] == mined
        })
        .await;
        assert_eq!(signer.billing(&hash).await["state"], "open", "paid, but not for good");
    }
    town.anvil.mine(3).await;
    eventually("the payment is settled", async || {
        signer.billing(&hash).await["state"] == "charged"
    })
    .await;
}
