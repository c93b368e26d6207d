//! The chargeable list (4.2), the subscription list (4.5), chains (4.6) and currencies.

use crate::world::{CHAINS, World};
use sandbox_platform::Options;
use serde_json::{Value, json};

const DUE: &str = "/api/mer/subscribe/chargeable/list";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chains_and_currencies_are_listed() {
    let world = World::new().await;
    let chains = world.get("/api/mer/conf/list/chain").await.data();
    let ids: Vec<&Value> =
        chains.as_array().unwrap().iter().map(|chain| &chain["chainId"]).collect();
    assert_eq!(ids, CHAINS.map(|id| json!(id)).iter().collect::<Vec<_>>());
    assert!(chains[0]["chainName"].is_string());
    let all = world.get("/api/mer/conf/list/currency").await.data();
    assert_eq!(all.as_array().unwrap().len(), 2);
    let tron = world.get("/api/mer/conf/list/currency?chainId=136").await.data();
    assert_eq!((&tron[0]["decimals"], &tron[0]["chainId"]), (&json!(6), &json!(136)));
    assert!(tron[0]["address"].as_str().unwrap().starts_with('T'));
    for field in ["currencyId", "name", "symbol", "createTime", "icon", "exchangeRate"] {
        assert!(!tron[0][field].is_null(), "{field}");
    }
    assert_eq!(world.get("/api/mer/conf/list/currency?chainId=1").await.refused(), (200, 400));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_hold_what_was_asked_for() {
    let world = World::with(Options { people: 12, trial: 3, ..Options::default() }).await;
    let first = world.get(DUE).await.data();
    assert_eq!(
        (&first["count"], &first["page"], &first["size"]),
        (&json!(22), &json!(1), &json!(10))
    );
    let mut seen = vec![];
    for page in 1..=4 {
        let page = world.get(&format!("{DUE}?page={page}&size=7")).await.data();
        let list = page["list"].as_array().unwrap().clone();
        seen.extend(list.into_iter().map(|entry| entry["subscribeId"].as_u64().unwrap()));
    }
    let mut unique = seen.clone();
    unique.dedup();
    assert_eq!(
        (seen.len(), unique.len()),
        (22, 22),
        "the one with a free month is not due, on either chain"
    );
    assert_eq!(world.get(&format!("{DUE}?page=9&size=500")).await.data()["list"], json!([]));
    for bad in ["page=0", "page=1000001", "size=0", "size=501", "size=x", "page=-1"] {
        assert_eq!(world.get(&format!("{DUE}?{bad}")).await.refused(), (200, 400), "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_has_what_the_contract_is_told() {
    let world = World::with(Options { people: 1, ..Options::default() }).await;
    for chain in CHAINS {
        let due = world.due(chain).await;
        let side = world.side(chain);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0]["amount"], json!(side.town.price.to_string()));
        assert_eq!(due[0]["tokenAddress"], json!(side.spell(side.town.token)));
        assert_eq!(due[0]["userWallet"], json!(side.spell(side.town.people[0].wallet.address())));
        assert_eq!((&due[0]["period"], &due[0]["planVersion"]), (&json!(1), &json!(1)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_due_follows_the_chain() {
    let world = World::with(Options { people: 2, ..Options::default() }).await;
    for chain in CHAINS {
        let due = world.due(chain).await;
        world.bill(chain, &due[..1]).await;
        let left = world.due(chain).await;
        assert_eq!(
            (left.len(), &left[0]["subscribeId"]),
            (1, &due[1]["subscribeId"]),
            "charged is not due"
        );
    }
    world.control("advance", &json!({"days": 29})).await;
    assert_eq!(world.due(CHAINS[0]).await.len(), 1, "a day early");
    world.control("advance", &json!({"days": 1})).await;
    for chain in CHAINS {
        let due = world.due(chain).await;
        assert_eq!(
            (due.len(), &due[0]["period"], &due[1]["period"]),
            (2, &json!(2), &json!(2)),
            "a period missed stays missed"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_charge_that_is_reorganised_is_due_again() {
    let world = World::with(Options { people: 1, ..Options::default() }).await;
    for chain in CHAINS {
        let due = world.due(chain).await;
        world.send_bill(chain, &due);
        world.platform().blocks(1).await.unwrap();
        assert!(world.due(chain).await.is_empty());
        world
            .control(
                "fault",
                &json!({"kind": "reorg", "chainId": chain, "depth": 1, "keep": false}),
            )
            .await;
        assert_eq!(world.due(chain).await, due);
        world.finalise().await;
        world.bill(chain, &due).await;
        assert!(world.due(chain).await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_are_listed_with_where_they_stand() {
    let world = World::new().await;
    let list =
        async |query: &str| world.get(&format!("/api/mer/subscribe/list?{query}")).await.data();
    world.link(CHAINS[0], "waits").await;
    let number = world.subscribed(CHAINS[0], "pays", "ada").await;
    let all = list("size=500").await;
    assert_eq!(
        (&all["count"], &all["list"][0]["status"], &all["list"][1]["status"]),
        (&json!(2), &json!(0), &json!(2))
    );
    let due = world.due(CHAINS[0]).await;
    let hash = world.bill(CHAINS[0], &due).await;
    let one = list(&format!("outTradeNo={number}")).await["list"][0].clone();
    assert_eq!((&one["externalUserId"], &one["paidPeriods"]), (&json!("pays"), &json!(1)));
    assert_eq!((&one["lastTransferHash"], &one["lastPeriod"]), (&json!(hash), &json!(1)));
    assert_eq!(list("externalUserId=nobody").await["count"], 0);
}
