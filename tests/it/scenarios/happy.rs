//! What happens when nothing goes wrong.

use crate::world::anvil::Mining;
use crate::world::town::{Founding, Town};
use serde_json::json;

#[tokio::test]
async fn a_due_subscription_is_charged_once_and_its_end_is_told() {
    let town = Town::found().await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    let hash = heard.tx_hash();
    assert_eq!(heard.body["data"]["subscriptionIds"], json!([town.people[0].subscribe_id]));
    let billing = town.settled(&signer, &hash).await;
    assert_eq!(billing["state"], "charged", "{billing}");
    assert_eq!(billing["subscriptions"][0]["state"], "charged", "{billing}");
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_batch_is_one_transaction() {
    let mining = Mining::EverySeconds(1);
    let town = Town::with(Founding { mining, people: 100, ..Founding::default() }).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries(0..100))).await;
    let billing = town.settled(&signer, &heard.tx_hash()).await;
    assert_eq!(billing["state"], "charged");
    town.assert_paid(&[1; 100]).await;
}
