//! One request, posted again and again while its transaction dies and is renewed.

use super::*;
use crate::scenarios::one_request::Request;
use sandbox_chains::faults::{Fault, On};

#[tokio::test]
async fn through_a_renewal_every_answer_names_the_newest_transaction() {
    let scene = Scene::set(2).await;
    let mut request = Request::new(&scene.town, [0, 1]);
    scene.node().faults().set(On::Broadcast, Fault::ActThenDrop);
    let named = request.post(&scene.signer, 10).await;
    let [first] = &named.into_iter().collect::<Vec<_>>()[..] else { panic!() };
    let expires = scene.world().now_ms() + 60_000;
    scene.world().solidify_at(expires - 3_000);
    scene.stays(first, "open").await;
    assert_eq!(request.post(&scene.signer, 10).await, [first.clone()].into(), "not proven dead");
    scene.world().solidify_at(expires);
    scene.node().faults().clear();
    let renewed = scene.attempt(first, 2).await;
    assert_eq!(request.post(&scene.signer, 15).await, [renewed.clone()].into());
    assert_eq!(scene.settled(first).await, "charged");
    assert_eq!(request.post(&scene.signer, 15).await, [renewed].into());
    request.ends(&scene.signer, 1).await;
}
