//! Part 6: what callbacks hold, how they are signed, and when they are sent again.

use crate::world::{CHAINS, World};
use sandbox_platform::Options;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_is_signed_and_complete() {
    let world = World::new().await;
    for chain in CHAINS {
        let number = world.subscribed(chain, "ada", "ada").await;
        let due = world.due(chain).await;
        let hash = world.bill(chain, &due).await;
        let heard = world.heard();
        assert_eq!(heard.len(), 3);
        for one in &heard {
            assert!(one.verified && one.path == "/notify?shop=1", "{one:?}");
            let body = &one.body;
            let side = world.side(chain);
            assert_eq!(
                (&body["outTradeNo"], &body["externalUserId"]),
                (&json!(number), &json!("ada"))
            );
            assert_eq!(
                (&body["planId"], &body["planVersion"], &body["chainId"]),
                (&json!(7), &json!(1), &json!(chain))
            );
            assert_eq!(
                (&body["userWallet"], &body["currencySymbol"]),
                (&due[0]["userWallet"], &json!("USDT"))
            );
            assert!(
                body["amount"].is_string()
                    && body["transferHash"].is_string()
                    && body["blockTime"].is_u64()
            );
            assert_eq!(body["createTime"].as_str().unwrap().len(), "YYYY-MM-DD HH:MM:SS".len());
            assert!(side.chain.head().time_ms / 1000 >= body["blockTime"].as_u64().unwrap());
        }
        let billing = &heard[2].body;
        assert_eq!(
            (&billing["transferHash"], &billing["amount"]),
            (&json!(hash), &due[0]["amount"])
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_billing_is_told_too() {
    let world = World::new().await;
    for (chain, (fault, reason)) in CHAINS.into_iter().zip([
        (json!({"kind": "drain", "wallet": "dan"}), "Balance insufficient"),
        (json!({"kind": "revoke", "wallet": "dan"}), "Allowance insufficient"),
    ]) {
        world.subscribed(chain, "dan", "dan").await;
        let mut fault = fault;
        fault["chainId"] = json!(chain);
        world.control("fault", &fault).await;
        world.finalise().await;
        world.heard();
        let due = world.due(chain).await;
        world.bill(chain, &due).await;
        let heard = world.heard();
        assert_eq!(heard.len(), 1, "{heard:?}");
        let body = &heard[0].body;
        assert_eq!(body["subscriptionType"], "SubscriptionBilling");
        assert_eq!((&body["billingStatus"], &body["failReason"]), (&json!(1), &json!(reason)));
        assert_eq!(world.due(chain).await.len(), 1, "it is still due");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_took_the_allowance_back_can_authorise_again() {
    let world = World::new().await;
    for chain in CHAINS {
        let link = world.link(chain, "fay").await;
        let follow = json!({"paymentUrl": link["paymentUrl"], "wallet": "finn"});
        world.control("follow-link", &follow).await;
        world
            .control("fault", &json!({"kind": "revoke", "chainId": chain, "wallet": "finn"}))
            .await;
        world.control("advance", &json!({"days": 5})).await;
        let page = format!("{}{}", world.running.payment_url, link["paymentUrl"].as_str().unwrap());
        let page = world.client.get(page).send().await.unwrap().text().await.unwrap();
        assert!(page.contains("Authorise the payments again"), "{page}");
        world.control("follow-link", &follow).await;
        world.finalise().await;
        world.heard();
        let due = world.due(chain).await;
        world.bill(chain, &due).await;
        let heard = world.heard();
        assert_eq!(
            (heard.len(), &heard[0].body["billingStatus"]),
            (1, &json!(0)),
            "and no second approval"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_tries_and_no_more() {
    let world = World::new().await;
    world.answers("{\"code\":200}");
    world.subscribed(CHAINS[0], "eve", "eve").await;
    assert_eq!(world.heard().len(), 2, "two events, each at once");
    world.control("advance", &json!({"days": 1})).await;
    let heard = world.heard();
    assert_eq!(
        (heard.len(), heard.iter().all(|one| one.verified)),
        (10, true),
        "each try is signed anew"
    );
    let rows = world.control("callbacks", &json!({})).await;
    for row in rows["list"].as_array().unwrap() {
        let tries = row["tries"].as_array().unwrap();
        let times: Vec<u64> = tries.iter().map(|one| one["atSeconds"].as_u64().unwrap()).collect();
        for (pause_s, pair) in [15, 30, 180, 300, 600].into_iter().zip(times.windows(2)) {
            // A try itself takes as long as the machine makes it take, and the next pause is 15 s longer or more.
            assert!((pause_s..pause_s + 15).contains(&(pair[1] - pair[0])), "{times:?}");
        }
        assert_eq!(
            (tries.len(), &row["delivered"], &row["next"]),
            (6, &json!(false), &Value::Null)
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn success_ends_the_tries_and_a_person_can_send_again() {
    let world = World::new().await;
    world.answers("later");
    world.subscribed(CHAINS[1], "finn", "finn").await;
    assert_eq!(world.heard().len(), 2);
    world.answers("success\n");
    world.control("advance", &json!({"months": 1})).await;
    assert_eq!(world.heard().len(), 2, "each once more, and then never");
    let rows = world.control("callbacks", &json!({})).await;
    let row = &rows["list"][0];
    assert_eq!((&row["delivered"], &row["tries"][0]["answer"]), (&json!(true), &json!("later")));
    let again = world.control("send-again", &json!({"id": row["id"]})).await;
    assert_eq!(again["delivered"], true);
    let heard = world.heard();
    assert_eq!((heard.len(), heard[0].verified), (1, true));
    let rows = world.control("callbacks", &json!({})).await;
    let tries = rows["list"][0]["tries"].as_array().unwrap().clone();
    assert_eq!((tries.len(), &tries[2]["byHand"]), (3, &json!(true)));
    assert_eq!(world.try_control("send-again", &json!({"id": 4711})).await.0, 400);
}

/// Those who are there from the start have no link. Whoever bills them hears of it all the same, or its books differ for
/// ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_subscribers_of_the_founding_are_due_to_whoever_takes_their_callbacks() {
    let world = World::with(Options { people: 2, ..Options::default() }).await;
    world.platform().wait_for_a_link().unwrap();
    for chain in CHAINS {
        assert!(world.due(chain).await.is_empty(), "nobody would hear of them");
    }
    world.link(CHAINS[0], "ada").await;
    for chain in CHAINS {
        let due = world.due(chain).await;
        assert_eq!(due.len(), 2);
        world.bill(chain, &due).await;
        let heard = world.heard();
        let charged = heard.iter().filter(|one| one.body["billingStatus"] == 0);
        assert_eq!(
            (charged.count(), &heard[0].path),
            (2, &"/notify?shop=1".to_owned()),
            "{heard:?}"
        );
    }
}
