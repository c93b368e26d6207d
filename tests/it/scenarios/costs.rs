//! What a transaction cost, and what was burnt for nothing, is told.

use crate::world::anvil::{Family, Mining};
use crate::world::signer::hear;
use crate::world::town::{Founding, Town, signer_address};
use alloy::primitives::U256;
use serde_json::{Value, json};

on_both_families![what_a_charge_cost_is_what_the_account_paid];

async fn balance(town: &Town) -> U256 {
    if town.family() == Family::Evm {
        return town.anvil.call("eth_getBalance", json!([signer_address(), "latest"])).await;
    }
    let asked = json!({"address": town.spell(signer_address()), "visible": true});
    let url = format!("{}/wallet/getaccount", town.tron().served.full);
    let request = reqwest::Client::new().post(url).body(asked.to_string());
    U256::from(hear(request).await.unwrap().body["balance"].as_u64().unwrap())
}

fn fee(billing: &Value) -> U256 {
    U256::from(billing["execution"]["fee"].as_u64().unwrap())
}

async fn what_a_charge_cost_is_what_the_account_paid(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let before = balance(&town).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let billing = town.settled(&signer, &hash).await;
    assert_eq!(billing["execution"]["result"], "SUCCESS", "{billing}");
    assert_eq!(fee(&billing), before - balance(&town).await, "{billing}");
    assert!(billing["execution"]["used"].as_u64().unwrap() > 21_000, "{billing}");
    assert_eq!(billing["execution"]["whatToDo"], Value::Null);
    let log = signer.terminate().await;
    assert!(log.contains("SUCCESS"), "{log}");
    let audit = town.installation.run(&["audit"]).await;
    assert!(audit.status.success(), "{audit:?}");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_revert_is_told_with_what_it_burnt_and_what_to_do() {
    let founding = Founding { mining: Mining::OnRequest, ..Founding::on(Family::Evm) };
    let town = Town::with(founding).await;
    let signer = town.signer().await;
    let before = balance(&town).await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    // The block comes an hour late, after the deadline in the calldata.
    town.anvil.pass(3600).await;
    let billing = town.settled(&signer, &hash).await;
    assert_eq!(
        (&billing["state"], &billing["execution"]["result"]),
        (&json!("reverted"), &json!("REVERT"))
    );
    assert_eq!(fee(&billing), before - balance(&town).await, "{billing}");
    assert!(billing["execution"]["whatToDo"].as_str().unwrap().contains("post it again"));
    let metrics = signer.scheduler.get("/metrics").await.text;
    let paid = "signer_fees_paid_coins_total{chain=\"139\",state=\"reverted\"} ";
    let paid: f64 =
        metrics.lines().find_map(|line| line.strip_prefix(paid)).unwrap().parse().unwrap();
    let burnt = f64::from(fee(&billing)) / 1e18;
    assert!((paid / burnt - 1.0).abs() < 1e-9, "{paid} and {burnt}");
    let log = signer.terminate().await;
    assert!(log.contains("batch reverted: post it again"), "{log}");
}
