//! The sandbox's own controls over chains and nodes.

use crate::world::{CHAINS, World};
use serde_json::json;

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
