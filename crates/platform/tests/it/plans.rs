//! Plans and their two approvals (3.1), on both chains.

use crate::world::{CHAINS, World};
use serde_json::{Value, json};

fn proposal(chain: u32) -> Value {
    json!({"admin": "alice", "planId": 21, "chainId": chain, "name": "Gold", "amount": "5", "periods": 2})
}

fn approval(chain: u32, admin: &str) -> Value {
    json!({"admin": admin, "planId": 21, "chainId": chain, "version": 1})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_needs_two_admins() {
    let world = World::new().await;
    for chain in CHAINS {
        let mut link = world.link_body(chain, "gold");
        link["planId"] = json!(21);
        let create = async || world.post("/api/mer/subscribe/payment/create", &link).await;
        world.control("propose-plan", &proposal(chain)).await;
        assert_eq!(create().await.refused(), (404, 404), "sent, and in no block");
        world.finalise().await;
        assert_eq!(create().await.refused(), (404, 404), "pending");
        let (status, said) = world.try_control("approve-plan", &approval(chain, "alice")).await;
        assert_eq!(
            (status, said["error"].as_str().unwrap().contains("another admin")),
            (400, true)
        );
        assert_eq!(world.try_control("approve-plan", &approval(chain, "mallory")).await.0, 400);
        world.control("approve-plan", &approval(chain, "bob")).await;
        world.finalise().await;
        create().await.data();
        assert_eq!(
            world.try_control("approve-plan", &approval(chain, "bob")).await.0,
            400,
            "Active already"
        );
        assert_eq!(
            world.try_control("propose-plan", &proposal(chain)).await.0,
            400,
            "an id is used once"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_version_leaves_subscribers_as_they_are() {
    let world = World::new().await;
    let chain = CHAINS[0];
    world.subscribed(chain, "old", "ada").await;
    let mut wanted = proposal(chain);
    (wanted["planId"], wanted["amount"], wanted["newVersion"]) =
        (json!(7), json!("12"), json!(true));
    let version = world.control("propose-plan", &wanted).await["version"].clone();
    assert_eq!(version, 2);
    world.finalise().await;
    world
        .control(
            "approve-plan",
            &json!({"admin": "bob", "planId": 7, "chainId": chain, "version": 2}),
        )
        .await;
    world.finalise().await;
    world.subscribed(chain, "new", "ben").await;
    let due = world.due(chain).await;
    let amounts: Vec<&Value> = due.iter().map(|entry| &entry["amount"]).collect();
    assert_eq!(amounts, [&json!("10000000000000000000"), &json!("12000000000000000000")]);
    assert_eq!((&due[0]["planVersion"], &due[1]["planVersion"]), (&json!(1), &json!(2)));
    world.heard();
    world.bill(chain, &due).await;
    let mut versions: Vec<Option<u64>> =
        world.heard().iter().map(|heard| heard.body["planVersion"].as_u64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, [Some(1), Some(2)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_ends_with_its_periods() {
    let world = World::new().await;
    let chain = CHAINS[1];
    world.control("propose-plan", &proposal(chain)).await;
    world.finalise().await;
    world.control("approve-plan", &approval(chain, "bob")).await;
    world.finalise().await;
    let mut link = world.link_body(chain, "gold");
    link["planId"] = json!(21);
    let made = world.post("/api/mer/subscribe/payment/create", &link).await.data();
    world.control("follow-link", &json!({"paymentUrl": made["paymentUrl"], "wallet": "eve"})).await;
    for due in [1, 1, 0] {
        assert_eq!(world.due(chain).await.len(), due);
        world.control("advance", &json!({"months": 1})).await;
    }
    world.post("/api/mer/subscribe/payment/create", &link).await.data();
}
