//! What happens when nothing goes wrong.

use crate::world::anvil::{Family, Mining};
use crate::world::proxy::sequential_round_trips;
use crate::world::town::{Founding, Town};
use serde_json::json;

on_both_families![
    a_due_subscription_is_charged_once_and_its_end_is_told,
    a_batch_is_one_transaction,
    a_batch_of_any_size_waits_for_the_node_twice,
    a_contract_that_is_looked_up_costs_one_wait_more,
];

async fn a_due_subscription_is_charged_once_and_its_end_is_told(family: Family) {
    let town = Town::on(family).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    let hash = heard.tx_hash();
    assert_eq!(heard.body["data"]["subscriptionIds"], json!([town.people[0].subscribe_id]));
    let billing = town.settled(&signer, &hash).await;
    assert_eq!(billing["state"], "charged", "{billing}");
    assert_eq!(billing["subscriptions"][0]["state"], "charged", "{billing}");
    town.assert_paid(&[1, 0, 0]).await;
}

async fn a_batch_is_one_transaction(family: Family) {
    let mining = Mining::EverySeconds(1);
    let town = Town::with(Founding { mining, people: 100, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries(0..100))).await;
    let billing = town.settled(&signer, &heard.tx_hash()).await;
    assert_eq!(billing["state"], "charged");
    town.assert_paid(&[1; 100]).await;
}

async fn a_batch_of_any_size_waits_for_the_node_twice(family: Family) {
    assert_eq!(waits(family, false).await, 2);
}

async fn a_contract_that_is_looked_up_costs_one_wait_more(family: Family) {
    assert_eq!(waits(family, true).await, 3);
}

/// How often a request has to wait for the node, one answer after the other.
async fn waits(family: Family, lookup: bool) -> usize {
    let chain_keys = "poll_interval = \"60s\"".to_owned();
    let town =
        Town::with(Founding { people: 40, lookup, chain_keys, ..Founding::on(family) }).await;
    let signer = town.signer().await;
    // Questions that go out together may be answered one by one on a busy machine: what had to wait
    // is what waited every time.
    let mut fewest = usize::MAX;
    for (from, to) in [(0, 1), (1, 2), (2, 10), (10, 20), (20, 40)] {
        town.proxy.take_asked();
        signer.scheduler.bill(&json!(town.entries(from..to))).await.tx_hash();
        fewest = fewest.min(sequential_round_trips(&town.proxy.take_asked()));
    }
    fewest
}
