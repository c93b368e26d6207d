//! What is kept between starts, and the clock.

use crate::world::{CHAINS, World};
use sandbox_platform::{Options, Platform};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_has_one_platform_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let world = World::in_directory(place.path()).await;
    let options = Options { state: Some(place.path().to_owned()), ..Options::default() };
    let second = options.clone();
    let refused = tokio::task::spawn_blocking(move || Platform::found(&second)).await.unwrap();
    let words = refused.unwrap_err().to_string();
    assert!(words.contains("another sandbox runs on the state"), "{words}");
    world.running.shutdown().await;
    tokio::task::spawn_blocking(move || Platform::found(&options).unwrap()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_there_after_a_start() {
    let place = tempfile::tempdir().unwrap();
    let world = World::in_directory(place.path()).await;
    world.answers("no");
    for chain in CHAINS {
        world.subscribed(chain, "ada", "ada").await;
    }
    world.control("advance", &json!({"months": 1})).await;
    world.control("fault", &json!({"kind": "reorg", "chainId": CHAINS[0], "depth": 2})).await;
    world.platform().blocks(2).await.unwrap();
    let heads = |world: &World| CHAINS.map(|chain| world.side(chain).chain.head());
    let before = (heads(&world), world.due(CHAINS[0]).await, world.due(CHAINS[1]).await);
    let ahead_ms = world.platform().clock().ahead_ms();
    world.running.shutdown().await;

    let world = World::in_directory(place.path()).await;
    let after = (heads(&world), world.due(CHAINS[0]).await, world.due(CHAINS[1]).await);
    assert_eq!(before, after, "both chains, to the last block");
    assert_eq!(world.platform().clock().ahead_ms(), ahead_ms);
    for chain in CHAINS {
        let due = world.due(chain).await;
        assert_eq!((due.len(), &due[0]["period"]), (1, &json!(2)));
        world.bill(chain, &due).await;
        assert!(world.due(chain).await.is_empty(), "the chains go on");
    }
    let rows = world.control("callbacks", &json!({"most": 2})).await;
    for row in rows["list"].as_array().unwrap() {
        assert_eq!(row["kind"], "SubscriptionBilling", "callbacks go on too");
        assert!(!row["tries"].as_array().unwrap().is_empty(), "{row}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawal_survives_a_start_at_every_step() {
    let place = tempfile::tempdir().unwrap();
    let mut world = World::in_directory(place.path()).await;
    let side = world.side(CHAINS[0]).clone();
    world.subscribed(CHAINS[0], "ada", "ada").await;
    let due = world.due(CHAINS[0]).await;
    world.bill(CHAINS[0], &due).await;
    let body = json!({
        "chainId": side.id, "currencyId": side.currency, "withdrawAmount": "4", "outTradeNo": "w",
        "withdrawAddress": side.spell(side.town.mer_key),
    });
    let id = world.post("/api/mer/withdraw/apply", &body).await.data()["withdrawId"].clone();
    let path = format!("/api/mer/withdraw/detail?withdrawId={id}");
    for expected in [1, 2, 3] {
        assert_eq!(world.get(&path).await.data()["withdrawStatus"], expected);
        world.running.shutdown().await;
        world = World::in_directory(place.path()).await;
        match expected {
            1 => drop(
                world
                    .control(
                        "decide-withdrawal",
                        &json!({"withdrawId": id, "approve": true, "admin": "bob"}),
                    )
                    .await,
            ),
            2 => assert_eq!(
                world.get(&path).await.data()["withdrawStatus"],
                3,
                "the start itself sends it"
            ),
            _ => {}
        }
    }
    world.finalise().await;
    world.finalise().await;
    assert_eq!(world.get(&path).await.data()["withdrawStatus"], 0);
    let left = world
        .control("balance", &json!({"chainId": side.id, "of": side.spell(side.town.payee)}))
        .await;
    assert_eq!(left["amount"], "6");
}

#[test]
fn the_state_of_another_version_is_not_taken_up() {
    let place = tempfile::tempdir().unwrap();
    let options = Options { state: Some(place.path().to_owned()), ..Options::default() };
    drop(Platform::found(&options).unwrap());
    drop(Platform::found(&options).unwrap());
    let file = rusqlite::Connection::open(place.path().join("platform.sqlite")).unwrap();
    file.execute("UPDATE blocks SET id = zeroblob(32) WHERE number > 5", []).unwrap();
    drop(file);
    let refused = Platform::found(&options).unwrap_err().to_string();
    assert!(refused.contains("another version"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_moves_forward_only_and_everything_goes_with_it() {
    let world = World::new().await;
    let before_s = world.platform().clock().now_s();
    world.control("advance", &json!({"days": 1})).await;
    for chain in CHAINS {
        let head_s = world.side(chain).chain.head().time_ms / 1000;
        assert!(
            (before_s + 86_400..before_s + 86_500).contains(&head_s),
            "the chains are a day on"
        );
    }
    for bad in [json!({}), json!({"days": 0}), json!({"seconds": -5}), json!({"days": "x"})] {
        assert_eq!(world.try_control("advance", &bad).await.0, 400, "{bad}");
    }
}
