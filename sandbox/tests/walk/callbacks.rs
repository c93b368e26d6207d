//! How callbacks are sent: signed, until `success`, six times at most (5, 6.1, 8).

use crate::world::{CHAINS, World};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_comes_six_times_unless_it_is_taken() {
    let world = World::new().await;
    let (chain, _) = CHAINS[0];
    world.set_disk_full(true);
    let link = world.client.create_link(&world.link_request(chain, crate::world::PLAN, "u")).await;
    let url = link.unwrap().url;
    let wallet = world.tester(chain, "finn").await;
    world.press(&url, &format!("step=confirm&wallet={wallet}")).await;
    world.press(&url, "step=sign").await;
    world.finalise().await;
    assert_eq!(world.deliveries(), 1, "at once");
    for (pause, deliveries) in [(16, 2), (31, 3), (181, 4), (301, 5), (601, 6), (86_400, 6)] {
        world.control("advance", json!({"seconds": pause})).await.unwrap();
        assert_eq!(world.deliveries(), deliveries, "after {pause} s more");
    }
    assert!(world.heard().is_empty(), "nothing was kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_callback_that_is_taken_ends_its_tries_and_a_copy_has_its_key() {
    let world = World::new().await;
    for (chain, _) in CHAINS {
        world.subscribed(chain, "u", "finn").await;
        let before = world.deliveries();
        world.control("advance", json!({"days": 1})).await.unwrap();
        assert_eq!(world.deliveries(), before, "answered success, never sent again");
    }
    let rows = world.control("callbacks", json!({})).await.unwrap();
    let again = json!({"id": rows["list"][0]["id"]});
    world.control("send-again", again.clone()).await.unwrap();
    world.control("send-again", again).await.unwrap();
    let heard = world.heard();
    let keys: Vec<_> = heard.iter().rev().take(2).map(|one| one.event.key()).collect();
    assert_eq!(keys[0], keys[1]);
}
