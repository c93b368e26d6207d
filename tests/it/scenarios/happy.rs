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
    let (questions, waits) = least_asked(Founding::on(family)).await;
    assert_eq!(waits, 2);
    // One look, in two questions on TRON, and the transaction.
    assert_eq!(questions, if family == Family::Evm { 2 } else { 3 });
}

async fn a_contract_that_is_looked_up_costs_one_wait_more(family: Family) {
    let (questions, waits) = least_asked(Founding { lookup: true, ..Founding::on(family) }).await;
    assert_eq!(waits, 3);
    assert_eq!(questions, if family == Family::Evm { 3 } else { 4 });
}

/// Counts the questions that a request asks, at most of several sizes, each the least of three requests: the look
/// at the head may come between. And how often it has to wait for the node, one answer after the other:
/// questions that go out together may be answered one by one on a busy machine, so what had to wait is
/// what waited every time.
async fn least_asked(founding: Founding) -> (usize, usize) {
    let family = founding.family;
    let chain_keys = "poll_interval = \"60s\"".to_owned();
    let sizes = if family == Family::Evm { [1, 10, 250] } else { [1, 6, 13] };
    let people = 3 * sizes.iter().sum::<usize>();
    let people = u64::try_from(people).unwrap();
    let town = Town::with(Founding { people, chain_keys, ..founding }).await;
    let signer = town.signer().await;
    let (mut from, mut most, mut fewest) = (0, 0, usize::MAX);
    for size in sizes {
        let mut least = usize::MAX;
        for _ in 0..3 {
            town.proxy.take_asked();
            signer.scheduler.bill(&json!(town.entries(from..from + size))).await.tx_hash();
            let asked = town.proxy.take_asked();
            least = least.min(asked.len());
            fewest = fewest.min(sequential_round_trips(&asked));
            from += size;
        }
        most = most.max(least);
    }
    (most, fewest)
}
