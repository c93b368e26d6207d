//! The sandbox's own controls over chains and nodes.

use crate::world::{CHAINS, World};
use sandbox_platform::Pace;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_is_down_answers_nobody_and_its_chain_goes_on() {
    let world = World::new().await;
    let evm = async || {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;
        let request = world.client.post(&world.running.evm_url).body(body);
        request.send().await.is_ok_and(|response| response.status().is_success())
    };
    let tron = async || {
        let url = format!("{}/wallet/getnowblock", world.running.tron.full);
        world.client.post(url).send().await.is_ok_and(|response| response.status().is_success())
    };
    for chain in CHAINS {
        assert!(evm().await && tron().await);
        let head = world.side(chain).chain.head().number;
        world.control("fault", &json!({"kind": "node-down", "chainId": chain})).await;
        assert_eq!([evm().await, tron().await], [chain != CHAINS[0], chain != CHAINS[1]]);
        world.finalise().await;
        assert!(world.side(chain).chain.head().number > head);
        world.control("fault", &json!({"kind": "node-down", "chainId": chain, "on": false})).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fees_rise_and_fall() {
    let world = World::new().await;
    for (chain, price) in CHAINS.into_iter().zip([50_000_000_000_u64, 420]) {
        let of_head = async || {
            world.platform().blocks(1).await.unwrap();
            let side = world.side(chain);
            side.chain.recorded(side.chain.head().number).unwrap().price
        };
        let usual = of_head().await;
        world.control("fault", &json!({"kind": "fees", "chainId": chain, "price": price})).await;
        assert_eq!(of_head().await, price);
        world.control("fault", &json!({"kind": "fees", "chainId": chain, "on": false})).await;
        let after = of_head().await;
        assert!(after < price && (chain == CHAINS[0] || after == usual), "{after}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blocked_holder_is_named_by_the_contract() {
    let world = World::new().await;
    for chain in CHAINS {
        world.subscribed(chain, "dan", "dan").await;
        world.control("fault", &json!({"kind": "block", "chainId": chain, "wallet": "dan"})).await;
        world.finalise().await;
        world.heard();
        let due = world.due(chain).await;
        world.bill(chain, &due).await;
        assert_eq!(world.heard()[0].body["failReason"], "Token holder blocked");
        world
            .control(
                "fault",
                &json!({"kind": "block", "chainId": chain, "wallet": "dan", "on": false}),
            )
            .await;
        world.finalise().await;
        world.bill(chain, &due).await;
        assert_eq!(world.heard()[0].body["billingStatus"], 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_control_says_what_it_lacks() {
    let world = World::new().await;
    for (control, body) in [
        ("nothing", json!({})),
        ("fault", json!({"kind": "flood", "chainId": 139})),
        ("fault", json!({"kind": "drain", "chainId": 139})),
        ("fault", json!({"kind": "drain", "chainId": 1, "wallet": "ada"})),
        ("transfer", json!({"chainId": 139, "from": "ada", "to": "ben", "amount": 5})),
        ("follow-link", json!({"paymentUrl": "/subscribe?apiSign=0", "wallet": "ada"})),
        ("organisation", json!({"rechargeCallbackUrl": "shop"})),
    ] {
        let (status, said) = world.try_control(control, &body).await;
        assert!(status == 400 && said["error"].is_string(), "{control}: {said}");
    }
    let url = format!("{}/sandbox/advance", world.running.admin_url);
    let unasked = world.client.post(url).header("content-type", "text/plain").body("{\"days\":1}");
    assert_eq!(
        unasked.send().await.unwrap().status().as_u16(),
        400,
        "no foreign page can send JSON unasked"
    );
}

/// The time of the newest block (s), if the node answers.
async fn head_s(client: &reqwest::Client, url: &str) -> Option<u64> {
    let body =
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}"#;
    let response = client.post(url).body(body).send().await.ok()?;
    let block: serde_json::Value = serde_json::from_slice(&response.bytes().await.ok()?).ok()?;
    u64::from_str_radix(block["result"]["timestamp"].as_str()?.trim_start_matches("0x"), 16).ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_looks_ten_times_a_second_has_no_old_head_in_mind_after_a_jump() {
    let world = World::new().await;
    world.platform().set_pace(Pace::Fast(Duration::from_millis(50)));
    let (client, url) = (world.client.clone(), world.running.evm_url.clone());
    let after_s = world.platform().clock().now_s() + 29 * 86_400;
    let looks = Arc::new(Notify::new());
    let looked = Arc::clone(&looks);
    let watch = tokio_util::task::TaskTracker::new().spawn(async move {
        let mut old = None;
        loop {
            let (asked, seen) = (Instant::now(), head_s(&client, &url).await);
            match seen {
                Some(at_s) if at_s > after_s => return asked.duration_since(old.unwrap()),
                Some(_) => {
                    old = Some(asked);
                    looks.notify_one();
                }
                None => {}
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    looked.notified().await;
    world.control("advance", &json!({"months": 1})).await;
    let silence = watch.await.unwrap();
    assert!(silence > Duration::from_millis(250), "an old head was told {silence:?} before");
    for chain in CHAINS {
        assert!(!world.side(chain).chain.is_down());
        world.control("fault", &json!({"kind": "node-down", "chainId": chain, "on": true})).await;
    }
    world.control("advance", &json!({"months": 1})).await;
    assert!(CHAINS.iter().all(|chain| world.side(*chain).chain.is_down()), "down stays down");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_the_platform_can_be_lost_after_it_did_what_was_asked() {
    let world = World::new().await;
    let lose = json!({"kind": "api", "how": "lost", "times": 1});
    world.control("fault", &lose).await;
    let asked = json!({"uuid": "lost-1"}).to_string();
    let (path, now_s) = ("/api/mer/user/create", world.now_s());
    let sent = world.try_signed("POST", path, &asked, now_s).await;
    assert!(sent.is_none(), "the connection ends before the answer does");
    let found = world.get("/api/mer/user/detail?uuid=lost-1").await.data();
    assert_eq!(found["uuid"], "lost-1", "it was done, and the next answer arrives");
    world.control("fault", &json!({"kind": "api", "how": "down"})).await;
    let refused = world.client.get(format!("{}/api/mer/conf/list/chain", world.running.base_url));
    assert_eq!(refused.send().await.unwrap().status(), 502);
    world.control("fault", &json!({"kind": "api", "on": false})).await;
    world.get("/api/mer/conf/list/chain").await.data();
    let (_, wrong) = world.try_control("fault", &json!({"kind": "api", "how": "twice"})).await;
    assert!(wrong.to_string().contains("down, slow, lost, garbled"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_can_arrive_twice_or_be_lost_and_sent_again() {
    let world = World::new().await;
    // What is lost may have been sent again before the road is mended.
    for (how, arrivals, again) in [("twice", 4..=4, 0), ("lost", 2..=4, 2), ("down", 0..=0, 2)] {
        world.control("fault", &json!({"kind": "callbacks", "how": how})).await;
        let name = world.subscribed(CHAINS[0], how, "ada").await;
        let of_it = || world.heard().iter().filter(|one| one.body["outTradeNo"] == name).count();
        let arrived = of_it();
        assert!(arrivals.contains(&arrived), "{how}: {arrived}");
        world.control("fault", &json!({"kind": "callbacks", "on": false})).await;
        world.control("advance", &json!({"seconds": 300})).await;
        assert_eq!(of_it(), again, "{how}: it is sent again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_period_can_pass_while_its_charge_waits() {
    let world = World::new().await;
    for chain in CHAINS {
        world.subscribed(chain, "dan", "dan").await;
        let late = |on: bool| json!({"kind": "late", "chainId": chain, "on": on});
        world.control("fault", &late(true)).await;
        let due = world.due(chain).await;
        world.send_bill(chain, &due);
        world.heard();
        world.control("fault", &late(false)).await;
        world.finalise().await;
        let heard = world.heard();
        let told = heard.iter().find(|one| one.body["subscriptionType"] == "SubscriptionBilling");
        assert_eq!(told.unwrap().body["failReason"], "Billing period passed", "{heard:?}");
        let next = world.due(chain).await;
        assert!(next[0]["period"].as_u64() > due[0]["period"].as_u64(), "{next:?}");
    }
}
