//! Part 5: who is let in; and the shape of refusals.

use crate::world::World;
use sandbox_platform::auth::Signed;
use serde_json::json;

const LIST: &str = "/api/mer/conf/list/chain";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_passes_within_sixty_seconds_and_not_beyond() {
    let world = World::new().await;
    let now_s = world.now_s();
    for at_s in [now_s - 55, now_s, now_s + 55] {
        world.signed("GET", LIST, "", at_s).await.data();
    }
    for at_s in [now_s - 62, now_s + 65] {
        let answer = world.signed("GET", LIST, "", at_s).await;
        assert_eq!(answer.body["msg"], "timestamp expired");
        assert_eq!(answer.refused(), (401, 401));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_part_of_a_request_is_signed() {
    let world = World::new().await;
    let (key, at) = (world.platform().credentials().key.clone(), world.now_s().to_string());
    let sign = |method, path, body: &str| {
        world.platform().credentials().sign(&at, Signed { method, path, body: body.as_bytes() })
    };
    let path = "/api/mer/conf/list/currency?chainId=139";
    world.raw("GET", path, "", [&key, &at, &sign("GET", path, "")]).await.data();
    let others = [
        sign("POST", path, ""),
        sign("GET", "/api/mer/conf/list/currency", ""),
        sign("GET", "/api/mer/conf/list/currency?chainId=136", ""),
        sign("GET", path, "{}"),
        "not base64".to_owned(),
        String::new(),
    ];
    for other in &others {
        assert_eq!(
            world.raw("GET", path, "", [&key, &at, other]).await.refused(),
            (401, 401),
            "{other}"
        );
    }
    let good = sign("GET", path, "");
    assert_eq!(world.raw("GET", path, "", ["somebody", &at, &good]).await.refused(), (401, 401));
    assert_eq!(world.raw("GET", path, "", [&key, "soon", &good]).await.refused(), (401, 401));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_no_json_fails_the_signature() {
    let world = World::new().await;
    let path = "/api/mer/user/create";
    let answer = world.signed("POST", path, "{\"uuid\": \"u\"", world.now_s()).await;
    assert_eq!(answer.body["msg"], "signature verification failed");
    assert_eq!(answer.refused(), (401, 401));
    let answer = world.signed("POST", path, "[1]", world.now_s()).await;
    assert_eq!(answer.refused(), (200, 400), "JSON, but no object");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_of_the_sandbox_is_not_asked_of_signatures() {
    let world = World::new().await;
    world.control("advance", &json!({"months": 1})).await;
    world.get(LIST).await.data();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_there_is_said_so() {
    let world = World::new().await;
    assert_eq!(world.get("/api/mer/nothing").await.refused(), (404, 404));
    assert_eq!(world.post(LIST, &json!({})).await.refused(), (404, 404));
    assert_eq!(world.get("/api/mer/user/detail?uuid=nobody").await.refused(), (404, 404));
    assert_eq!(world.get("/api/mer/user/detail").await.refused(), (200, 400));
    assert_eq!(world.get("/api/mer/recharge/detail?rechargeId=7").await.refused(), (404, 404));
    assert_eq!(world.get("/api/mer/withdraw/detail?withdrawId=x").await.refused(), (200, 400));
}
