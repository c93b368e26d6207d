//! Links (4.1, 4.4) and the states of a subscription (3.2), on both chains.

use crate::world::{CHAINS, World};
use serde_json::{Value, json};

const CREATE: &str = "/api/mer/subscribe/payment/create";
const CANCEL: &str = "/api/mer/subscribe/cancel/create";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_is_relative_and_expires() {
    let world = World::new().await;
    let link = world.link(CHAINS[0], "ada").await;
    assert!(link["subscriptionId"].as_u64().is_some_and(|id| id > 1_000_000_000), "{link}");
    assert!(link["paymentUrl"].as_str().unwrap().starts_with("/subscribe?apiSign="), "{link}");
    let now_s = world.platform().clock().now_s();
    assert!(link["expiration"].as_u64().unwrap() > now_s + 20 * 3600, "nobody has to hurry");
    let other = world.link(CHAINS[0], "ada").await;
    assert_ne!(link["subscriptionId"], other["subscriptionId"]);

    world.control("advance", &json!({"days": 2})).await;
    let follow = json!({"paymentUrl": link["paymentUrl"], "wallet": "ada"});
    let (status, said) = world.try_control("follow-link", &follow).await;
    assert_eq!(
        (status, said["error"].as_str().unwrap().contains("expired")),
        (400, true),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_are_asked_for_at_once_lead_to_different_subscriptions() {
    let world = World::new().await;
    let users: Vec<String> = (0..16).map(|number| format!("user {number}")).collect();
    let all = futures_util::future::join_all(users.iter().map(|user| world.link(CHAINS[0], user)));
    let ids = all.await.iter().map(|link| link["subscriptionId"].as_u64().unwrap()).collect();
    let ids: std::collections::BTreeSet<u64> = ids;
    assert_eq!(ids.len(), users.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_wallet_signs_for_many_at_once() {
    let world = World::new().await;
    let links = futures_util::future::join_all((0..12).map(async |number| {
        let link = world.link(CHAINS[0], &format!("user {number}")).await;
        world
            .control(
                "follow-link",
                &json!({"paymentUrl": link["paymentUrl"], "wallet": "ada", "authorise": false}),
            )
            .await
    }));
    assert!(links.await.iter().all(|link| link["status"] == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_needs_every_field_and_an_active_plan() {
    let world = World::new().await;
    let good = world.link_body(CHAINS[0], "ada");
    for field in ["chainId", "planId", "externalUserId", "redirectionUrl", "notifyUrl"] {
        for bad in [Value::Null, json!(""), json!({}), json!("ftp://x")] {
            if field == "externalUserId" && bad == "ftp://x" {
                continue; // a user may be called that
            }
            let mut body = good.clone();
            body[field] = bad.clone();
            assert_eq!(world.post(CREATE, &body).await.refused(), (200, 400), "{field} {bad}");
        }
    }
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    assert_eq!(world.post(CREATE, &with("planId", json!(99))).await.refused(), (404, 404));
    assert_eq!(world.post(CREATE, &with("chainId", json!(1))).await.refused(), (200, 400));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_signs_authorises_pays_and_leaves() {
    let world = World::new().await;
    for chain in CHAINS {
        let link = world.link(chain, "ben").await;
        let sign = json!({"paymentUrl": link["paymentUrl"], "wallet": "ben", "authorise": false});
        let number = world.control("follow-link", &sign).await["outTradeNo"].clone();
        world.finalise().await;
        assert!(world.due(chain).await.is_empty(), "signed is not authorised");
        world.control("follow-link", &json!({"paymentUrl": link["paymentUrl"]})).await;
        world.finalise().await;
        let due = world.due(chain).await;
        assert_eq!((due.len(), &due[0]["subscribeId"]), (1, &link["subscriptionId"]));
        world.bill(chain, &due).await;

        let mut body = world.link_body(chain, "ben");
        assert_eq!(
            world.post(CREATE, &body).await.refused(),
            (200, 409),
            "one subscription to a plan at a time"
        );
        body = json!({"outTradeNo": number, "redirectionUrl": "https://shop.example/bye", "notifyUrl": world.notify});
        let bye = world.post(CANCEL, &body).await.data();
        assert!(bye["paymentUrl"].as_str().unwrap().starts_with("/unsubscribe?apiSign="));
        world.control("follow-link", &json!({"paymentUrl": bye["paymentUrl"]})).await;
        world.finalise().await;
        world.control("advance", &json!({"months": 1})).await;
        assert!(world.due(chain).await.is_empty(), "nothing is due after a cancellation");
        assert_eq!(world.post(CANCEL, &body).await.refused(), (200, 409), "cancelled already");

        let heard = world.heard();
        let mut told: Vec<&str> =
            heard.iter().filter_map(|heard| heard.body["subscriptionType"].as_str()).collect();
        told.sort_unstable();
        let expected = [
            "SubscriptionApprove",
            "SubscriptionBilling",
            "SubscriptionCancel",
            "SubscriptionRegister",
        ];
        assert_eq!(told, expected);
        world.subscribed(chain, "ben", "ben").await;
        assert_eq!(world.due(chain).await[0]["period"], 3, "a later subscription counts on");
        world.heard();
    }
    let nobody = json!({"outTradeNo": "SUB0", "redirectionUrl": "https://x.example", "notifyUrl": world.notify});
    assert_eq!(world.post(CANCEL, &nobody).await.refused(), (404, 404));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registration_that_is_reorganised_is_told_once() {
    let world = World::new().await;
    for chain in CHAINS {
        let link = world.link(chain, "cleo").await;
        let sign = json!({"paymentUrl": link["paymentUrl"], "wallet": "cleo", "authorise": false});
        world.control("follow-link", &sign).await;
        world
            .control("fault", &json!({"kind": "reorg", "chainId": chain, "depth": 1, "keep": true}))
            .await;
        assert!(world.heard().is_empty(), "what is not final is not told");
        world.finalise().await;
        world.finalise().await;
        let heard = world.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0].body["subscriptionType"], "SubscriptionRegister");
    }
}
