//! Several nodes in front of one chain, some of them dead, slow, late, lying, or of another chain.
//! None of them alone stops a charge, makes one twice, or has one refused.

use crate::world::anvil::{Family, Mining};
use crate::world::lies::{
    a_thousand, another_chain, another_hash, nobody_has_anything, the_next_period,
    twenty_blocks_ago,
};
use crate::world::patience::eventually;
use crate::world::proxy::{ANYTHING, Act, Asked, Proxy, SIMULATE, sequential_round_trips};
use crate::world::signer::Signer;
use crate::world::town::{Founding, Town, refusals};
use alloy::primitives::U256;
use serde_json::json;
use std::time::Duration;

on_both_families![one_of_two_providers_refuses_nobody_while_the_other_is_down];

async fn three() -> (Town, Vec<Proxy>) {
    Town::with_nodes(3, Founding { people: 6, ..Founding::default() }).await
}

/// Makes the first node the best one: the others take their time, a little of it.
fn prefer_the_first(proxies: &[Proxy]) {
    for proxy in &proxies[1..] {
        proxy.fault(ANYTHING, Act::Delay(Duration::from_millis(40)));
    }
}

/// The same, and what the first says of a billing arrives first on a busy machine as well. The first fault that fits
/// counts.
fn the_first_tells_first(town: &Town, proxies: &[Proxy]) {
    for proxy in &proxies[1..] {
        proxy.fault_billings_of(&town.people, Act::Delay(Duration::from_secs(1)));
    }
    prefer_the_first(proxies);
}

/// Asserts that this node was asked about these people. The Signer asks the contract for its own sake as well.
fn told_of_people(town: &Town, liar: &Proxy) {
    assert!(liar.asked_about("eth_call", &town.people) > 0, "it was never asked");
}

/// What `/health/ready` says of every node.
async fn states(signer: &Signer) -> Vec<String> {
    let heard = signer.scheduler.get("/health/ready").await;
    let nodes = heard.body["chains"][0]["nodes"].as_array().unwrap().clone();
    nodes.iter().map(|node| node["state"].as_str().unwrap().to_owned()).collect()
}

async fn state_of(signer: &Signer, node: usize) -> String {
    states(signer).await[node].clone()
}

async fn becomes(signer: &Signer, node: usize, state: &str) {
    eventually(&format!("node {node} is {state}"), async || state_of(signer, node).await == state)
        .await;
}

#[tokio::test]
async fn a_node_that_is_dead_at_the_start_is_done_without_and_taken_up_when_it_lives() {
    let (town, proxies) = three().await;
    proxies[0].fault(ANYTHING, Act::Break);
    let signer = town.signer().await;
    signer.ready().await;
    signer.scheduler.bill(&json!(town.entries([0, 1]))).await.tx_hash();
    town.anvil.mine(1).await;
    assert_ne!(state_of(&signer, 0).await, "alive");
    proxies[0].heal();
    becomes(&signer, 0, "alive").await;
    signer.scheduler.bill(&json!(town.entries([2]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 1, 0]).await;
}

#[tokio::test]
async fn a_node_that_dies_at_work_and_returns_costs_no_charge() {
    let (town, proxies) = three().await;
    prefer_the_first(&proxies);
    let signer = town.signer().await;
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    proxies[0].fault(ANYTHING, Act::Break);
    for person in 1..4 {
        let heard = signer.scheduler.bill(&json!(town.entries([person]))).await;
        assert_eq!(heard.code(), 1, "{heard:?}");
    }
    becomes(&signer, 0, "busy").await;
    assert_eq!(signer.scheduler.get("/health/ready").await.status, 200, "two are left");
    proxies[0].heal();
    becomes(&signer, 0, "alive").await;
    signer.scheduler.bill(&json!(town.entries([4]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 1, 1, 1, 0]).await;
}

#[tokio::test]
async fn a_node_of_another_chain_is_not_sent_to_and_does_not_come_back_at_once() {
    let (town, proxies) = three().await;
    proxies[1].fault("eth_chainId", Act::Rewrite(another_chain));
    let signer = town.signer().await;
    signer.ready().await;
    assert_eq!(state_of(&signer, 1).await, "wrong chain");
    assert!(signer.log().contains("is on chain 56, not on 31337"), "{}", signer.log());
    let check = town.installation.run(&["check"]).await;
    let told = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(told.contains("127.0.0.1[1]: wrong chain"), "{told}");
    proxies[1].heal();
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    assert_eq!(state_of(&signer, 1).await, "wrong chain");
    assert_eq!(proxies[1].asked("eth_sendRawTransaction"), 0);
    assert_eq!(proxies[1].asked("eth_getBalance"), 0);
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn one_liar_among_three_has_nobody_refused() {
    let (town, proxies) = three().await;
    the_first_tells_first(&town, &proxies);
    let signer = town.signer().await;
    signer.ready().await;
    proxies[0].fault("eth_call", Act::Rewrite(nobody_has_anything));
    for person in 0..4 {
        let heard = signer.scheduler.bill(&json!(town.entries([person]))).await;
        assert_eq!(heard.code(), 1, "{heard:?}");
    }
    signer.wrote("disagrees with the others").await;
    told_of_people(&town, &proxies[0]);
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 1, 1, 0, 0]).await;
}

/// Its lookup names no period that was ever due; with that period a claim would be another one.
#[tokio::test]
async fn one_liar_among_three_does_not_say_which_period_is_due() {
    let founding = Founding { people: 3, lookup: true, ..Founding::default() };
    let (town, proxies) = Town::with_nodes(3, founding).await;
    the_first_tells_first(&town, &proxies);
    let signer = town.signer().await;
    signer.ready().await;
    proxies[0].fault("eth_call", Act::Rewrite(the_next_period));
    for person in 0..2 {
        let mut bare = town.entries([person]);
        bare[0].as_object_mut().unwrap().remove("period");
        let heard = signer.scheduler.bill(&json!(bare)).await;
        assert_eq!(heard.code(), 1, "{heard:?}");
        let billing = signer.scheduler.billings(&heard.tx_hash()).await;
        let period = billing.body["data"][0]["subscriptions"][0]["period"].to_string();
        assert_eq!(period.trim_matches('"'), "1", "{billing:?}");
    }
    told_of_people(&town, &proxies[0]);
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn two_nodes_that_disagree_have_nobody_refused_and_nobody_charged() {
    let (town, proxies) = Town::with_nodes(2, Founding::default()).await;
    the_first_tells_first(&town, &proxies);
    let signer = town.signer().await;
    signer.ready().await;
    proxies[0].fault("eth_call", Act::Rewrite(nobody_has_anything));
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    assert!(heard.body["msg"].as_str().unwrap().contains("disagree"), "{heard:?}");
    proxies[0].heal();
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

/// Where two providers are configured, neither alone stops anybody or says which period is due.
async fn one_of_two_providers_refuses_nobody_while_the_other_is_down(family: Family) {
    let founding = Founding { lookup: true, ..Founding::on(family) };
    let (town, proxies) = Town::with_nodes(2, founding).await;
    let poor = &town.people[0];
    town.token.approve(poor.wallet, town.contract, U256::ZERO).await;
    let signer = town.signer().await;
    signer.ready().await;
    let body = json!(town.entries([0]));
    for (up, down) in [(0, 1), (1, 0)] {
        proxies[down].fault(ANYTHING, Act::Break);
        let heard = signer.scheduler.bill(&body).await;
        assert_eq!((heard.status, heard.code()), (503, 0), "{up} is up: {heard:?}");
        let said = heard.body["msg"].as_str().unwrap();
        assert!(said.contains("2 providers must agree") && !said.contains("disagree"), "{said}");
        eventually("readiness says what every request would hear", async || {
            let ready = signer.scheduler.get("/health/ready").await;
            let why = ready.body["chains"][0]["status"].as_str().unwrap().to_owned();
            ready.status == 503 && why.contains("must agree about every entry")
        })
        .await;
        proxies[down].heal();
        becomes(&signer, down, "alive").await;
    }
    let heard = signer.scheduler.bill(&body).await;
    assert_eq!(heard.failures(), refusals(&[(poor, "ALLOWANCE_INSUFFICIENT")]), "both say so");
    town.assert_paid(&[0, 0, 0]).await;
}

#[tokio::test]
async fn of_two_nodes_that_are_far_apart_neither_supports_a_refusal() {
    let (town, proxies) = Town::with_nodes(2, Founding::default()).await;
    let poor = &town.people[0];
    town.token.approve(poor.wallet, town.contract, U256::ZERO).await;
    town.anvil.mine(30).await;
    let signer = town.signer().await;
    signer.ready().await;
    proxies[1].fault("eth_getBlockByNumber", Act::Rewrite(twenty_blocks_ago));
    becomes(&signer, 1, "out of sync").await;
    let body = json!(town.entries([0]));
    let heard = signer.scheduler.bill(&body).await;
    assert_eq!((heard.status, heard.code()), (503, 0), "{heard:?}");
    let said = heard.body["msg"].as_str().unwrap();
    assert!(said.contains("2 providers must agree, and fewer can be asked now"), "{heard:?}");
    proxies[1].heal();
    becomes(&signer, 1, "alive").await;
    let heard = signer.scheduler.bill(&body).await;
    assert_eq!(heard.failures(), refusals(&[(poor, "ALLOWANCE_INSUFFICIENT")]));
    town.assert_paid(&[0, 0, 0]).await;
}

#[tokio::test]
async fn what_all_nodes_say_is_a_verdict() {
    let (town, _proxies) = three().await;
    let poor = &town.people[1];
    town.token.approve(poor.wallet, town.contract, U256::ZERO).await;
    let signer = town.signer().await;
    let heard = signer.scheduler.bill(&json!(town.entries([0, 1]))).await;
    assert_eq!(heard.code(), 2, "{heard:?}");
    assert_eq!(heard.failures(), refusals(&[(poor, "ALLOWANCE_INSUFFICIENT")]));
    town.assert_paid(&[0, 0]).await;
}

#[tokio::test]
async fn a_nonce_that_one_node_invents_neither_closes_the_lane_nor_settles_anything() {
    let (town, proxies) =
        Town::with_nodes(3, Founding { mining: Mining::OnRequest, ..Founding::default() }).await;
    proxies[0].fault("eth_getTransactionCount", Act::Rewrite(a_thousand));
    let signer = town.signer().await;
    signer.ready().await;
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    proxies[0].struck_times(6).await;
    let ready = signer.scheduler.get("/health/ready").await;
    assert_eq!(ready.status, 200, "{ready:?}");
    let billing = signer.scheduler.billings(&hash).await;
    assert_eq!(billing.body["data"][0]["state"], "open", "{billing:?}");
    assert_eq!(town.settled(&signer, &hash).await["state"], "charged");
    // A node that has seen a block more than the others is not contradicted before they have seen it.
    signer.ready().await;
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn a_node_that_lags_is_not_asked_until_it_has_caught_up() {
    let (town, proxies) = three().await;
    town.anvil.mine(30).await;
    proxies[2].fault("eth_getBlockByNumber", Act::Rewrite(twenty_blocks_ago));
    let signer = town.signer().await;
    signer.ready().await;
    becomes(&signer, 2, "out of sync").await;
    proxies[2].take_asked();
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    let asked = |proxy: &Proxy| {
        let questions = [SIMULATE, "eth_call"];
        questions.map(|question| proxy.asked_about(question, &town.people)).iter().sum::<usize>()
    };
    assert_eq!(asked(&proxies[2]), 0);
    assert!(asked(&proxies[0]) + asked(&proxies[1]) > 0, "the others were");
    proxies[2].heal();
    becomes(&signer, 2, "alive").await;
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_node_that_keeps_a_request_waiting_is_overtaken_by_another() {
    let chain_keys = "rpc_timeout = \"30s\"".to_owned();
    let (town, proxies) = Town::with_nodes(3, Founding { chain_keys, ..Founding::default() }).await;
    the_first_tells_first(&town, &proxies);
    let signer = town.signer().await;
    signer.ready().await;
    // Held until the end: whoever waited for it would be told that the deadline has passed.
    proxies[0].fault_billings_of(&town.people, Act::Hold);
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    proxies[0].struck().await;
    proxies[0].heal();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_transaction_is_sent_to_every_node_and_the_first_that_takes_it_is_enough() {
    let (mut town, proxies) = three().await;
    let relay = Proxy::before(&town.anvil.url).await;
    town.installation = town.installation.env("SIGNER__CHAINS__139__SEND_ONLY", &relay.url);
    let signer = town.signer().await;
    signer.ready().await;
    proxies[1].fault("eth_sendRawTransaction", Act::Hold);
    signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    proxies[1].struck().await;
    proxies[1].heal();
    eventually("every node has it", async || {
        let all = proxies.iter().chain([&relay]);
        all.map(|proxy| proxy.asked("eth_sendRawTransaction")).all(|times| times >= 1)
    })
    .await;
    let others: Vec<Asked> = relay.take_asked();
    let allowed = ["eth_chainId", "eth_sendRawTransaction"];
    assert!(others.iter().all(|asked| allowed.contains(&asked.method.as_str())), "{others:?}");
    town.quiet(&signer).await;
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn one_node_that_takes_it_outweighs_two_that_say_it_is_too_late() {
    let (town, proxies) = three().await;
    let signer = town.signer().await;
    signer.ready().await;
    for proxy in &proxies[..2] {
        proxy.fault("eth_sendRawTransaction", Act::Refuse("nonce too low"));
    }
    let hash = signer.scheduler.bill(&json!(town.entries([0]))).await.tx_hash();
    signer.wrote("offered to the chain").await;
    let again = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(again.tx_hash(), hash);
    town.quiet(&signer).await;
    assert_eq!(town.transactions().await, 1);
    town.assert_paid(&[1, 0, 0]).await;
}

#[tokio::test]
async fn a_node_that_names_another_transaction_is_caught_and_not_believed() {
    let (town, proxies) = three().await;
    let signer = town.signer().await;
    signer.ready().await;
    proxies[2].fault("eth_sendRawTransaction", Act::Rewrite(another_hash));
    let heard = signer.scheduler.bill(&json!(town.entries([0]))).await;
    assert_eq!(heard.code(), 1, "{heard:?}");
    becomes(&signer, 2, "quarantined").await;
    proxies[2].heal();
    signer.scheduler.bill(&json!(town.entries([1]))).await.tx_hash();
    town.quiet(&signer).await;
    town.assert_paid(&[1, 1, 0]).await;
}

#[tokio::test]
async fn three_nodes_cost_a_request_no_round_trip_more_than_one() {
    for (lookup, trips) in [(false, 2), (true, 3)] {
        let chain_keys = "poll_interval = \"60s\"".to_owned();
        let founding = Founding { people: 6, lookup, chain_keys, ..Founding::default() };
        let (town, proxies) = Town::with_nodes(3, founding).await;
        let signer = town.signer().await;
        let mut fewest = usize::MAX;
        for person in 0..6 {
            for proxy in &proxies {
                proxy.take_asked();
            }
            signer.scheduler.bill(&json!(town.entries([person]))).await.tx_hash();
            let asked: Vec<Asked> = proxies.iter().flat_map(Proxy::take_asked).collect();
            fewest = fewest.min(sequential_round_trips(&asked));
        }
        assert_eq!(fewest, trips, "with a lookup: {lookup}");
    }
}
